"""Notice that a Ray of our own has died: it would end this process a while later, unasked."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

# Returns what of Ray is gone, in a few words; empty while all is there.
Watch = Callable[[], str]

_NEEDED = ("raylet", "gcs_server")


class _Process(NamedTuple):
    name: str
    state: str
    parent: int


def watch_children() -> Watch:
    """Return a watch over those children of this process that Ray cannot do without."""
    needed = {
        int(folder.name): process.name
        for folder in Path("/proc").glob("[0-9]*")
        if (process := _read(folder)) and process.parent == os.getpid() and process.name in _NEEDED
    }

    def gone() -> str:
        dead = (name for process, name in needed.items() if not _lives(process))
        return " and ".join(sorted(dead))

    return gone


def _lives(process: int) -> bool:
    found = _read(Path("/proc", str(process)))
    return found is not None and found.state not in "ZX"


def _read(folder: Path) -> _Process | None:
    """Return name, state and parent of a process; None where it is gone."""
    try:
        text = (folder / "stat").read_text(errors="replace")
    except OSError:
        return None
    # The name is in parentheses, and may have some of its own.
    name, _, rest = text.partition(" (")[2].rpartition(") ")
    state, parent = rest.split()[:2]
    return _Process(name, state, int(parent))
