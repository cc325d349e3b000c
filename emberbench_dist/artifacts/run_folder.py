"""The run folder: every path of a run, its lock, and the one way to write a final file."""

from __future__ import annotations

import errno
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from emberbench_dist.errors import DiskFullError, RunFolderError


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Where each part of one run lies."""

    path: Path

    @property
    def ledger(self) -> Path:
        """Return the database of committed episodes, the source of all the rest."""
        return self.path / "ledger.sqlite"

    @property
    def artifact(self) -> Path:
        """Return the canonical result."""
        return self.path / "artifact.jsonl"

    @property
    def traces(self) -> Path:
        """Return the actions taken."""
        return self.path / "traces.jsonl"

    @property
    def run_json(self) -> Path:
        """Return who ran what, where and when."""
        return self.path / "run.json"

    @property
    def log(self) -> Path:
        """Return what the cluster printed."""
        return self.path / "run.log"

    def table(self, name: str) -> Path:
        """Return a Parquet table: episodes, people, steps or execution."""
        return self.path / f"{name}.parquet"

    @property
    def _owner(self) -> Path:
        return self.path / "run.owner.json"

    def in_use(self) -> bool:
        """Say whether a driver has the folder; one on another host is believed to live."""
        owner = read_json(self._owner)
        here = owner.get("host") == socket.gethostname()
        return bool(owner) and not (here and not Path("/proc", str(owner.get("pid"))).exists())

    def create(self) -> None:
        """Make the folder; `RunFolderError` where that cannot be."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(self.path, error) from error

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for one driver; `RunFolderError` names the driver that has it."""
        # Loaded here: without a folder, an evaluation needs only the standard library.
        from filelock import FileLock, Timeout  # noqa: PLC0415

        owner = self._owner
        lock = FileLock(self.path / "run.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout as error:
            raise RunFolderError(f"{self.path}: is in use by {_told(owner)}") from error
        except OSError as error:
            raise unwritable(self.path, error) from error
        try:
            write_json(
                owner, {"host": socket.gethostname(), "pid": os.getpid(), "since": timestamp()}
            )
            yield
        finally:
            owner.unlink(missing_ok=True)
            lock.release()


def unwritable(path: Path, error: OSError) -> RunFolderError:
    """Return the error to raise where the system refused to write."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFullError(f"{path}: the disk is full; make room and go on with --resume")
    return RunFolderError(f"{path}: cannot be written: {error.strerror or error}")


def _told(owner: Path) -> str:
    try:
        known = json.loads(owner.read_text())
        return f"process {known['pid']} on {known['host']} since {known['since']}"
    except (OSError, ValueError, KeyError):
        return "another driver"


def timestamp() -> str:
    """Return the current time, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


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
        beside.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        beside.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Replace a file by readable JSON."""
    with replacing(path) as file:
        file.write((json.dumps(value, indent=2) + "\n").encode())


def read_json(path: Path) -> dict[str, Any]:
    """Return a JSON object from a file that is not needed: empty where it is missing or damaged."""
    try:
        value = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def sync_folder(path: Path) -> None:
    """Make the folder's entries durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
