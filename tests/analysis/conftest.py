"""What the tests of the analysis share: a real browser."""

from __future__ import annotations

import pytest
from browser import chromium


@pytest.fixture(scope="module")
def browser():
    """Start a browser for a module; its event loop must not outlive the module's tests."""
    with chromium() as browser:
        yield browser
