"""Keep one program: start it, and end it with all that it started once nobody asks it any more.

A script of its own process, between the evaluator and the program, called with a folder, a grace
in seconds, and the program with its arguments. Its standard input is the program's: when that is
closed, because the episode is over or because the evaluator was killed, the program has the grace
to leave, then gets SIGTERM, and after another grace it and all its descendants get SIGKILL. Then
the folder is removed, and the program's exit code (128 + signal) is this script's.

It imports little, and nothing of the package, because every episode waits for it to start: even
`typing` and `contextlib` would add a third to that.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_CANNOT_BE_STARTED = 127
# What may be sent to a group by mistake; only SIGKILL ends a keeper before its program.
_SPARED = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
# Python ignores these two, and an ignored signal stays ignored in a new program.
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)

_prctl = ctypes.CDLL(None, use_errno=True).prctl


def main(folder: str, grace: float, command: list[str]) -> int:
    """Run the program to its end; return its exit code."""
    for number in _SPARED:
        signal.signal(number, signal.SIG_IGN)
    # There are two keepers: one whose parent is about to end may be killed with it, as Ray does
    # with the children of its workers, and one may be killed by the program.
    _adopt_orphans()
    if keeper := os.fork():
        return _keep(lambda: os.waitpid(keeper, 0)[1])
    _adopt_orphans()
    program = os.fork() or _become(command)
    code = _keep(lambda: _watch(program, grace))
    _remove(folder)
    return code


def _adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends, whatever it does to get away."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _keep(wait: Callable[[], int]) -> int:
    """Kill all descendants after `wait`; return as an exit code the status that it returned."""
    _let_go_of_output()
    status = wait()
    _kill_children()
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code


def _become(command: list[str]) -> NoReturn:
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    os.setsid()
    for number in (*_SPARED, *_IGNORED_BY_PYTHON):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execv(command[0], command)  # noqa: S606 - without a shell is what is meant
    except OSError as error:
        os.write(2, f"{command[0]}: cannot be started: {error.strerror}\n".encode())
    os._exit(_CANNOT_BE_STARTED)


def _let_go_of_output() -> None:
    """Leave the output to the program, so that its end can be read there."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)


def _watch(program: int, grace: float) -> int:
    """Return the wait status of the program, which has ended by then."""
    pidfd = os.pidfd_open(program)
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    poll.register(0, 0)  # asks for nothing but the hang-up
    poll.poll()
    poll.unregister(0)
    if not poll.poll(grace * 1000):
        os.killpg(program, signal.SIGTERM)
        poll.poll(grace * 1000)
    # Not yet waited for, so the number of the group is still the program's.
    os.killpg(program, signal.SIGKILL)
    return os.waitpid(program, 0)[1]


def _kill_children() -> None:
    """Kill and reap children until there are none; killed ones bequeath theirs."""
    try:
        while True:
            if os.waitpid(-1, os.WNOHANG)[0]:
                continue
            for child in _children():
                os.kill(child, signal.SIGKILL)
            os.waitpid(-1, 0)
    except ChildProcessError:
        return


def _children() -> list[int]:
    processes = filter(str.isdigit, os.listdir("/proc"))  # noqa: PTH208 - pathlib loads slowly
    return [int(process) for process in processes if _parent(process) == os.getpid()]


def _parent(process: str) -> int:
    try:
        with open(f"/proc/{process}/stat", "rb") as file:  # noqa: PTH123
            # The name is in parentheses, and may have some of its own.
            return int(file.read().rpartition(b") ")[2].split()[1])
    except OSError:  # it is gone
        return 0


def _remove(folder: str) -> None:
    try:
        os.rmdir(folder)  # noqa: PTH106
    except OSError:
        import shutil  # noqa: PLC0415 - most programs leave nothing behind

        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    os._exit(main(sys.argv[1], float(sys.argv[2]), sys.argv[3:]))
