"""Durable writes: everything that must survive a crash goes through here."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from emberbench_dist.errors import DiskFullError, RunFolderError


def crash_point(name: str) -> None:
    """Mark a place where a crash must do no harm; tests replace this to die there."""


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Write a file that appears under its name only when complete and durable.

    Written beside, synced, renamed, and the folder synced: two syncs of the disk. An error
    leaves what was there before; `RunFolderError` for a full or unwritable disk.
    """
    beside = path.with_name(f".{path.name}.partial")
    try:
        with beside.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        put_in_place(beside, path)
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        with suppress(OSError):
            beside.unlink()


def put_in_place(beside: Path, path: Path) -> None:
    """Give a durable file its final name, in one step that survives a crash."""
    crash_point(f"{path.name} written")
    beside.replace(path)
    crash_point(f"{path.name} renamed")
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove(path: Path) -> None:
    """Remove a file that may be missing."""
    path.unlink(missing_ok=True)
    crash_point(f"{path.name} removed")


def write_json(path: Path, value: Any) -> None:
    """Replace a file by readable JSON."""
    with replacing(path) as file:
        file.write((json.dumps(value, indent=2) + "\n").encode())


def read_json(path: Path) -> dict[str, Any]:
    """Return a JSON object from a file that is not needed: empty where it is missing or damaged."""
    try:
        value = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def unwritable(path: Path, error: OSError) -> RunFolderError:
    """Return the error to raise where the system refused to write."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFullError(f"{path}: the disk is full; make room and go on with --resume")
    return RunFolderError(f"{path}: cannot be written: {error.strerror or error}")
