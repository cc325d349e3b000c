"""Places where the system refuses: somebody else's folder, also for root."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

NOBODY = 65534


@pytest.fixture
def foreign_folder():
    """Make a folder that anybody may read and only its owner may write."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:  # pytest's own folders are private
        Path(name).chmod(0o555)
        yield Path(name)
        Path(name).chmod(0o755)


@pytest.fixture
def unprivileged():
    """Return how to be somebody whom the system can refuse: root may do everything."""

    @contextmanager
    def somebody():
        user = os.geteuid()
        if user == 0:
            os.seteuid(NOBODY)
        try:
            yield
        finally:
            os.seteuid(user)

    return somebody
