"""The command line called in this process, and a place for runs on a disk that needs no waiting."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from emberbench_dist.cli.main import main
from manifests import write_manifest

_MEMORY = Path("/dev/shm")


class Done(NamedTuple):
    """How a command ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def dist_eval(*arguments: object) -> Done:
    """Call the command; what it does not turn into an exit code comes out as it is."""
    printed, told = StringIO(), StringIO()
    with redirect_stdout(printed), redirect_stderr(told):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as ended:
            return Done(int(ended.code or 0), printed.getvalue(), told.getvalue())
    raise AssertionError("the command did not end")


@contextmanager
def folder_in_memory() -> Iterator[Path]:
    """Make a folder, in memory where there is one: a killed process loses nothing of it either."""
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as name:
        yield Path(name)


@contextmanager
def played_room(blocks: list[Any]) -> Iterator[Path]:
    """Play a manifest of worlds and seeds; give the folder that has `input` and `run` in it."""
    with folder_in_memory() as room:
        manifest = write_manifest(room / "input", blocks)
        done = dist_eval("run", manifest, "--in-process", "--no-steps", "--out", room / "run")
        assert done.returncode == 0, done.stderr
        yield room
