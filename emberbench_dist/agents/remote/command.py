"""An agent that is a program: an observation a line in, an action payload a line out."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

from emberbench_dist.agents.remote.program import Program
from emberbench_dist.agents.remote.text import TIMEOUT_SECONDS, TextAgent
from emberbench_dist.errors import AgentSpecError, RemoteAgentError

# All that a program's environment has beside HOME and TMPDIR, which are its own folder. Without
# the last one, a Python program would keep its answers in a buffer.
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1"}
GRACE_SECONDS = 2.0


class CommandAgent(TextAgent):
    """Ask a program that is started for the episode and ended with it."""

    # How long the program may take to leave after its last line, and again after SIGTERM.
    grace_seconds = GRACE_SECONDS

    def __init__(
        self,
        command: str,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        environment: Mapping[str, str] | None = None,
        log: str | Path | None = None,
    ) -> None:
        """Start `command` (see `split_command`) in an empty folder of its own.

        `environment` is added to the little that it has. Its standard error is appended to the
        file `log` (None: to this process's own).
        """
        super().__init__(timeout_seconds)
        self._program: Program | None = Program(
            split_command(command), {**ENVIRONMENT, **(environment or {})}, log, self.grace_seconds
        )

    def exchange(self, request: bytes) -> bytes:
        """Write a line and return the next one; `RemoteAgentError` where none comes in time."""
        if self._program is None:
            raise RemoteAgentError("the agent's program was ended; build a new agent")
        try:
            return self._program.ask(request, self.timeout_seconds)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the program with all that it started; wait until it is gone."""
        program, self._program = self._program, None
        if program is not None:
            program.end()


def split_command(command: str) -> list[str]:
    """Split a command as a shell does; return it with absolute paths of its files.

    The program is looked for on the PATH or, with a slash in it, in the working folder. Any
    other word that is the path of a file becomes absolute, too: the program runs in another
    folder. `AgentSpecError` where there is no such program.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise AgentSpecError(f"agent command {command!r}: {error}") from error
    if not words or "\0" in command:
        raise AgentSpecError(f"agent command {command!r} must be a program and its arguments")
    program = shutil.which(words[0])
    if program is None:
        where = "in this folder" if "/" in words[0] else "on the PATH"
        raise AgentSpecError(f"agent command {command!r}: there is no program {words[0]!r} {where}")
    return [_absolute(program), *map(_absolute, words[1:])]


def _absolute(word: str) -> str:
    # Links are kept: the `python` of an environment is one, and knows by its name where it is.
    return os.path.abspath(word) if os.path.isfile(word) else word  # noqa: PTH100, PTH113
