"""What the tests of the analysis share: a real browser."""

from __future__ import annotations

import pytest
from browser import chromium
from commands import folder_in_memory
from truth import write_runs


@pytest.fixture(scope="module")
def browser():
    """Start a browser for a module; its event loop must not outlive the module's tests."""
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def runs():
    """Play three runs of the same three episodes; (label, folder) of each."""
    with folder_in_memory() as folder:
        yield write_runs(folder)
