"""Runs that are disturbed on purpose: the short version of `scripts/soak`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

SOAK = Path(__file__).parents[1] / "scripts" / "soak"


def test_disturbed_runs_give_the_undisturbed_bytes():
    """Kills, interruptions, damage, repair, other workers and slices leave the same bytes."""
    asked = subprocess.run(
        [sys.executable, SOAK, "--quick", "--seed", "3"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (asked.returncode, asked.stderr) == (0, ""), asked
    table = dict(re.findall(r"^(\S.*\S) +(\d+)$", asked.stdout, re.MULTILINE))
    assert table == {
        "kill -9 of the driver": "1",
        "kill -9 of a worker": "1",
        "kill -9 of the raylet": "1",
        "SIGINT": "1",
        "SIGINT twice": "1",
        "SIGTERM": "1",
        "a changed byte of the ledger": "1",
        "2 slices merged": "1",
        "session in process": "4",
        "session on Ray": "1",
    }
