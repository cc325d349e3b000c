"""Pages in a real browser: Debian's Chromium, through Playwright, without any network."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

_FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a browser with a fresh profile, and end it."""
    path = shutil.which("chromium")
    assert path, "there is no chromium on the PATH; scripts/install_chromium installs it"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def visit(browser: Browser, path: Path, *, width: int = 1000, **options: Any) -> Iterator[Page]:
    """Open a page from a file; at the end nothing may have gone wrong, or left the file.

    `options` are those of a Playwright context: `color_scheme`, `reduced_motion` and so on.
    """
    viewport = {"width": width, "height": 900}
    context = browser.new_context(viewport=viewport, offline=True, **options)
    context.set_default_timeout(20_000)
    complaints, requests = list[str](), list[str]()
    try:
        page = context.new_page()
        page.on("console", lambda said: complaints.append(f"{said.type}: {said.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.resolve().as_uri())
        yield page
        assert complaints == [], "the console of a page stays empty"
        left = [url for url in requests if not url.startswith(("data:", "blob:"))]
        assert left == [page.url.partition("#")[0]], "a page asks for nothing but itself"
    finally:
        context.close()


def overflow(page: Page) -> int:
    """Return by how many CSS pixels a page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")
