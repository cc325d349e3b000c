"""The browser of the tests: it notices what must not happen on a page."""

from __future__ import annotations

import pytest
from browser import overflow, visit


@pytest.mark.parametrize(
    "fault",
    [
        "console.log('here')",
        "console.error('here')",
        "throw Error('here')",
        "Promise.reject(Error('here'))",
        "fetch('https://example.org/')",
        "new Image().src = 'beside.png'",
        "document.head.innerHTML = '<link rel=stylesheet href=beside.css>'",
    ],
)
def test_what_must_not_happen_is_noticed(browser, tmp_path, fault):
    """A word on the console, an error or a request fails the visit."""
    path = tmp_path / "page.html"
    path.write_text(f"<!doctype html><title>x</title><script>{fault}</script>")
    with pytest.raises(AssertionError), visit(browser, path) as page:
        page.wait_for_load_state("networkidle")


def test_a_quiet_page_passes(browser, tmp_path):
    """A page that only asks for itself passes, and its width is measured."""
    path = tmp_path / "page.html"
    path.write_text("<!doctype html><title>x</title><div style='width: 700px'>x</div>")
    with visit(browser, path, width=500) as page:
        assert overflow(page) > 150
        page.set_viewport_size({"width": 900, "height": 900})
        assert overflow(page) == 0
