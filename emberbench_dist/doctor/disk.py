"""Checks of the folder for runs, by doing there what a run does."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from emberbench_dist.apart import Send, apart
from emberbench_dist.artifacts.database import connect
from emberbench_dist.artifacts.durable import replacing
from emberbench_dist.artifacts.filesystem import mount_of
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.doctor.finding import OK, PROBLEM, WARNING, Asked, Finding
from emberbench_dist.errors import DiskFullError, RunFolderError

PATIENCE_SECONDS = 10.0
_MIB = 2**20
_LOW_MIB, _LEAST_MIB = 1024, 50
_LOW_FILES, _LEAST_FILES = 10_000, 100
_LEAST_SQLITE = (3, 37)  # STRICT
_SLOW_SECONDS = 0.25


def disk(asked: Asked) -> Iterator[Finding]:
    """Tell of the disk that runs go to; one that does not answer is given up."""
    try:
        yield from apart(_look, asked.out.absolute(), patience=PATIENCE_SECONDS)
    except TimeoutError as error:
        advice = "look at its disk, or choose another with --out"
        yield Finding("run folder", PROBLEM, f"{asked.out}: {error}", advice)


def sqlite(_: Asked) -> Iterator[Finding]:
    """Tell whether SQLite can keep a ledger."""
    with closing(connect(None)) as connection:
        ((found,),) = connection.execute("SELECT sqlite_version()")
    if tuple(map(int, found.split(".")[:2])) < _LEAST_SQLITE:
        yield Finding("SQLite", PROBLEM, found, "use a Python with SQLite 3.37 or newer")
    else:
        yield Finding("SQLite", OK, found)


def _look(send: Send, out: Path) -> None:
    # Not Path.exists: who may not look into a folder is told so by what is tried there.
    there = next(path for path in (out, *out.parents) if os.path.exists(path))  # noqa: PTH110
    for check in (_file_system, _space, _files, _writing):
        send(check(there))


def _file_system(folder: Path) -> Finding:
    mount = mount_of(folder)
    if mount is None:
        return Finding("file system", WARNING, "not known", "prefer a disk of this machine")
    text = f"{mount.type}, mounted at {mount.point}"
    if mount.is_network:
        advice = "locks and syncs may lie there: keep runs on a local disk, and --publish them"
        return Finding("file system", WARNING, text, advice)
    if mount.is_memory:
        advice = "it is in memory: runs are gone after a reboot"
        return Finding("file system", WARNING, text, advice)
    return Finding("file system", OK, text)


def _space(folder: Path) -> Finding:
    free = shutil.disk_usage(folder).free // _MIB
    text = f"{free:,} MiB free at {folder}"
    return _enough("disk space", text, free, low=_LOW_MIB, least=_LEAST_MIB)


def _files(folder: Path) -> Finding:
    status = os.statvfs(folder)
    if not status.f_files:
        return Finding("inodes", OK, "no limit")
    text = f"{status.f_favail:,} free"
    return _enough("inodes", text, status.f_favail, low=_LOW_FILES, least=_LEAST_FILES)


def _enough(name: str, text: str, free: int, *, low: int, least: int) -> Finding:
    if free >= low:
        return Finding(name, OK, text)
    advice = "make room, or choose another folder with --out"
    return Finding(name, WARNING if free >= least else PROBLEM, text, advice)


def _writing(folder: Path) -> Finding:
    """Write, sync, rename, lock and commit in a folder of its own that is removed again."""
    try:
        with tempfile.TemporaryDirectory(prefix=".dist-eval-doctor-", dir=folder) as name:
            seconds = _commit_seconds(RunFolder(Path(name)))
    except (OSError, RunFolderError) as error:
        advice = "make it writable, or choose another folder with --out"
        return Finding("writing", PROBLEM, f"{folder}: {_why(error)}", advice)
    if seconds is None:
        advice = "two runs could write one folder: choose a disk of this machine with --out"
        return Finding("writing", PROBLEM, f"locks do not hold at {folder}", advice)
    text = f"a commit takes {seconds * 1000:.1f} ms, locks hold"
    if seconds > _SLOW_SECONDS:
        return Finding("writing", WARNING, text, "a faster disk would not hold runs up")
    return Finding("writing", OK, text)


def _why(error: OSError | RunFolderError) -> str:
    if isinstance(error, DiskFullError):
        return "the disk is full"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _commit_seconds(run: RunFolder) -> float | None:
    """Return how long a commit takes, as a run does it; None where a lock keeps nobody out."""
    with run.locked():
        try:
            with run.locked():
                return None
        except RunFolderError:
            pass
        with replacing(run.artifact) as file:
            file.write(b"doctor\n")
        with closing(Ledger.create(run.ledger, {})) as ledger:
            before = time.perf_counter()
            ledger.begin_session("doctor")
            return time.perf_counter() - before
