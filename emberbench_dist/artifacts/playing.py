"""What each worker plays just now, noted in a small file, so that a hang or a death has a name.

A note costs about a microsecond: 16 bytes into the page cache, nothing is synced. Each thread of a
worker that notes anything has its own place in the file.
"""

from __future__ import annotations

import os
import struct
import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from threading import Lock, local

_NOTE = struct.Struct("<qd")
_NOTHING = -1


@dataclass(frozen=True, slots=True)
class Playing:
    """A worker, the episode that it plays, and for how many seconds."""

    worker: int
    episode: int
    seconds: float

    def __str__(self) -> str:
        """Say it in a few words."""
        return f"episode {self.episode} on worker {self.worker} for {self.seconds:.0f} s"


class _Place(local):
    """A number for each thread that asks, from 0."""

    def __init__(self, numbers: count[int]) -> None:
        self.number = next(numbers)


class Notepad:
    """One worker's notes; none where the folder is not of this machine, or its disk is full."""

    def __init__(self, folder: Path, worker: int) -> None:
        """Open the worker's file."""
        self._file: int | None = None
        self._place = _Place(count())
        self._lock = Lock()
        with suppress(OSError):
            self._file = os.open(folder / str(worker), os.O_WRONLY | os.O_CREAT, 0o644)

    def close(self) -> None:
        """Close the file; a thread that still plays notes nothing any more."""
        with self._lock:
            if self._file is not None:
                os.close(self._file)
            self._file = None

    def __call__(self, episode: int | None) -> None:
        """Note the episode that this thread begins (None: none)."""
        note = _NOTE.pack(_NOTHING if episode is None else episode, time.time())
        place = self._place.number * _NOTE.size
        with self._lock, suppress(OSError):
            if self._file is not None:
                os.pwrite(self._file, note, place)


def read_note(folder: Path, worker: int) -> list[Playing]:
    """Return what a worker plays, or played when it died, as far as that is known."""
    try:
        notes = list(_NOTE.iter_unpack((folder / str(worker)).read_bytes()))
    except (OSError, struct.error):
        return []
    # A place that is not written yet reads as zeros: nobody began anything in 1970.
    playing = [note for note in notes if note[0] != _NOTHING and note[1]]
    return [Playing(worker, episode, time.time() - since) for episode, since in playing]


def read_notes(folder: Path) -> list[Playing]:
    """Return what all workers play, the longest first."""
    try:
        workers = [int(path.name) for path in folder.iterdir() if path.name.isdigit()]
    except OSError:
        return []
    notes = [note for worker in workers for note in read_note(folder, worker)]
    return sorted(notes, key=lambda note: -note.seconds)
