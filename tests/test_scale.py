"""The tables of docs/scale.md are what the stored measurements give."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_page_has_the_tables():
    """Each table that `scripts/scale_table` prints stands on the page as it is."""
    printed = subprocess.run(
        [sys.executable, ROOT / "scripts" / "scale_table"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    tables = printed.strip().split("\n\n")
    assert len(tables) == 3
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    assert [table for table in tables if table not in page] == []
