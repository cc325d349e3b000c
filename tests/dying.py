"""Drivers that die where they are told.

As a script: it reads orders, a line of JSON each, and forks a process for each one. That process
calls `dist-eval` and kills itself at the crash point of the given number. The answer is its exit
code and the crash points that it passed. Python and the imports are started once for all of them.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import NamedTuple, Self

NEVER = 0


class Death(NamedTuple):
    """How a driver ended: exit code, and the crash points that it passed, the last one included."""

    code: int
    points: list[str]

    @property
    def killed(self) -> bool:
        """Say whether it came to the point where it was to die."""
        return self.code == -signal.SIGKILL


class Drivers:
    """Start drivers that die; the script is started with the first one and ends with the block."""

    def __enter__(self) -> Self:
        """Start the script."""
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        """End the script."""
        self._process.communicate(timeout=60)

    def call(self, passing: int, *arguments: object) -> Death:
        """Call `dist-eval` in a new process that dies at crash point `passing`, counted from 1."""
        order = {"passing": passing, "arguments": [str(argument) for argument in arguments]}
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return Death(*json.loads(self._process.stdout.readline()))


def _serve() -> None:
    import emberbench_dist.artifacts.parquet  # noqa: F401 - slow to import

    for line in sys.stdin:
        receiver, sender = os.pipe()
        process = os.fork()
        if process == 0:
            _drive(json.loads(line), sender)
        os.close(sender)
        with os.fdopen(receiver) as notes:
            points = notes.read().splitlines()
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        print(json.dumps([code, points]), flush=True)  # noqa: T201 - the answer


def _drive(order: dict, notes: int) -> None:
    """Call the command in a forked process, and end it."""
    from emberbench_dist.artifacts import durable
    from emberbench_dist.cli.main import main
    from emberbench_dist.runner import drive

    passed = 0

    def crash_point(name: str) -> None:
        nonlocal passed
        passed += 1
        os.write(notes, f"{name}\n".encode())
        if passed == order["passing"]:
            os.kill(os.getpid(), signal.SIGKILL)

    durable.crash_point = crash_point
    drive.SLICE_SECONDS = 0.0  # every episode is a commit of its own
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    code = 99
    try:
        main(order["arguments"])
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        os._exit(code)


if __name__ == "__main__":
    _serve()
