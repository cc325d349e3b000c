"""The run folder: every path of a run, and its lock."""

from __future__ import annotations

import errno
import os
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from emberbench_dist.artifacts.durable import read_json, unwritable, write_json
from emberbench_dist.errors import RunFolderError

_PATIENCE_SECONDS = 1.0


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
        """Return what agents and cluster printed."""
        return self.path / "run.log"

    @property
    def playing(self) -> Path:
        """Return the folder in which workers of this machine note what they play."""
        return self.path / "playing"

    def table(self, name: str) -> Path:
        """Return a Parquet table: episodes, people, steps, execution or failures."""
        return self.path / f"{name}.parquet"

    def results(self, tables: Iterable[str]) -> list[Path]:
        """Return every file that is made from the ledger, with these tables."""
        return [self.artifact, self.traces, *map(self.table, tables)]

    @property
    def _owner(self) -> Path:
        return self.path / "run.owner.json"

    def in_use(self) -> bool:
        """Say whether a driver has the folder; one on another host is believed to live."""
        owner = read_json(self._owner)
        if owner.get("host") == socket.gethostname():
            return Path("/proc", str(owner.get("pid"))).exists()
        return bool(owner)

    def create(self) -> None:
        """Make the folder; `RunFolderError` where that cannot be."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(self.path, error) from error

    def require_usable(self) -> None:
        """Raise what `create` and `locked` would, as far as can be said without a trace."""
        nearest = next(path for path in (self.path, *self.path.absolute().parents) if path.exists())
        if not nearest.is_dir():
            code = errno.EEXIST if nearest == self.path else errno.ENOTDIR
            raise unwritable(self.path, OSError(code, os.strerror(code)))
        if not os.access(nearest, os.W_OK):
            raise unwritable(self.path, OSError(errno.EACCES, os.strerror(errno.EACCES)))
        if self.in_use():
            raise RunFolderError(f"{self.path}: is in use by {self._told()}")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for one driver; `RunFolderError` names the driver that has it.

        A lock of a dead process is free. A driver on another host cannot be seen, so its mark
        is believed until somebody removes it.
        """
        # Loaded here: without a folder, an evaluation needs only the standard library.
        from filelock import FileLock, Timeout  # noqa: PLC0415

        lock = FileLock(self.path / "run.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout as error:
            raise RunFolderError(f"{self.path}: is in use by {self._told()}") from error
        except OSError as error:
            raise unwritable(self.path, error) from error
        try:
            self._require_no_other_host()
            mine = {"host": socket.gethostname(), "pid": os.getpid(), "since": timestamp()}
            write_json(self._owner, mine)
            try:
                yield
            finally:
                self._owner.unlink(missing_ok=True)
        finally:
            lock.release()

    def _require_no_other_host(self) -> None:
        owner = read_json(self._owner)
        if owner and owner.get("host") != socket.gethostname():
            raise RunFolderError(
                f"{self.path}: is in use by {self._told()}; "
                f"if that driver is gone, remove {self._owner}"
            )

    def _told(self) -> str:
        # The other driver has the lock a moment before its name is written.
        patience = time.monotonic() + _PATIENCE_SECONDS
        while not self._owner.exists() and time.monotonic() < patience:
            time.sleep(0.01)
        try:
            return "process {pid} on {host} since {since}".format(**read_json(self._owner))
        except (KeyError, TypeError):
            return "another driver"


def timestamp() -> str:
    """Return the current time, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
