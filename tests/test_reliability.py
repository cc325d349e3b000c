"""The page of promises names tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_promise_names_its_tests():
    """Each row of the table of promises names test files of this project, and all of them exist."""
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    table = page.partition("## What is promised\n")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][2:]
    named = [re.findall(r"`(tests/[\w/]+\.py)`", row) for row in rows]
    assert len(named) > 10
    assert all(named)
    assert [name for names in named for name in names if not (ROOT / name).is_file()] == []
