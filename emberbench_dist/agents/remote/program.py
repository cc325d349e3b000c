"""A running program behind its keeper: lines in, lines out, and nothing left of it at the end."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import IO

from emberbench_dist.agents.remote.text import MAX_ANSWER_BYTES, MIB
from emberbench_dist.contract.document import shown
from emberbench_dist.errors import AgentTimeoutError, RemoteAgentError

# Enough for what a program says of an episode; a flood must not fill the disk.
MAX_LOGGED_BYTES = MIB

_KEEPER = str(Path(__file__).with_name("keeper.py"))
# How long a keeper may take, beyond its two graces, to kill, reap and remove.
_KEEPER_SECONDS = 10.0
# How long an exit code may take to arrive after the end of the output.
_EXIT_SECONDS = 2.0
_CHUNK_BYTES = 64 * 1024
_TAIL_BYTES = 1000
_MAX_SHOWN = 300
_NOTHING = memoryview(b"")


class Program:
    """One program in an empty folder of its own, with an environment of its own."""

    def __init__(
        self,
        command: list[str],
        environment: Mapping[str, str],
        log: str | Path | None,
        grace: float,
    ) -> None:
        """Start it; `log` gets its standard error, `grace` is what it has to leave (seconds)."""
        self._grace = grace
        self._folder = tempfile.mkdtemp(prefix="agent-")
        self._log = _Log(log)
        try:
            self._keeper = _start(command, environment, self._folder, grace)
        except (OSError, ValueError) as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise RemoteAgentError(f"the agent's program cannot be started: {error}") from error
        pipes = self._keeper.stdin, self._keeper.stdout, self._keeper.stderr
        self._input, self._output, self._errors = (pipe.fileno() for pipe in pipes if pipe)
        os.set_blocking(self._input, False)
        self._unsent, self._received = _NOTHING, bytearray()
        self._readable = {self._output, self._errors}
        self._poll = select.poll()
        for descriptor in self._readable:
            self._poll.register(descriptor, select.POLLIN)

    def ask(self, request: bytes, timeout: float) -> bytes:
        """Return the line that answers a line, both without their ends.

        `AgentTimeoutError` after `timeout` seconds; `RemoteAgentError` where the program ends
        or answers without end.
        """
        deadline = monotonic() + timeout
        self._unsent = memoryview(request + b"\n")
        self._poll.register(self._input, select.POLLOUT)
        searched = 0
        while self._unsent or (end := self._received.find(b"\n", searched)) < 0:
            searched = 0 if self._unsent else len(self._received)
            self._require_more_to_come(deadline, timeout)
            self._transfer(deadline - monotonic())
        line = bytes(memoryview(self._received)[:end])
        del self._received[: end + 1]
        return line

    def end(self) -> None:
        """Close its input, upon which the keeper ends it, as it does when this process dies."""
        self._stop_sending()
        _close(self._keeper.stdin)
        if self._received:  # it says more than it was asked, maybe without end
            self._stop_reading(self._output)
            _close(self._keeper.stdout)
        deadline = monotonic() + 2 * self._grace + _KEEPER_SECONDS
        self._drain(deadline)
        try:
            self._keeper.wait(max(0.1, deadline - monotonic()))
        except subprocess.TimeoutExpired:  # stopped by its program, which dies with it
            os.killpg(self._keeper.pid, signal.SIGKILL)
            self._keeper.wait()
        _close(self._keeper.stdout)
        _close(self._keeper.stderr)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _require_more_to_come(self, deadline: float, timeout: float) -> None:
        if len(self._received) > MAX_ANSWER_BYTES:
            raise RemoteAgentError(
                f"the agent's program answered with more than {MAX_ANSWER_BYTES // MIB} MiB"
            )
        if self._output not in self._readable:
            ended = self._how_it_ended()
            raise RemoteAgentError(f"the agent's program {ended}{self._last_words()}")
        if monotonic() >= deadline:
            raise AgentTimeoutError(
                f"the agent's program did not answer within {timeout:g} s{self._last_words()}"
            )

    def _how_it_ended(self) -> str:
        where = "in the middle of its answer" if self._received else "without an answer"
        deadline = monotonic() + _EXIT_SECONDS
        self._drain(deadline)
        try:
            code = self._keeper.wait(max(0.1, deadline - monotonic()))
        except subprocess.TimeoutExpired:
            return f"closed its standard output {where}"
        return f"ended {where}, with exit code {code}"

    def _last_words(self) -> str:
        line = self._log.last_line()
        return f"; its last line on standard error: {shown(line, _MAX_SHOWN)}" if line else ""

    def _drain(self, deadline: float) -> None:
        """Read what still comes, for the log."""
        while self._readable and (left := deadline - monotonic()) > 0:
            self._transfer(left)
            self._received.clear()

    def _transfer(self, seconds: float) -> None:
        """Wait up to so long for pipes that are ready, and use them."""
        for descriptor, _ in self._poll.poll(max(0.0, seconds) * 1000):
            if descriptor == self._input:
                self._send()
            elif not (chunk := os.read(descriptor, _CHUNK_BYTES)):
                self._stop_reading(descriptor)
            elif descriptor == self._output:
                self._received += chunk
            else:
                self._log.write(chunk)

    def _send(self) -> None:
        try:
            self._unsent = self._unsent[os.write(self._input, self._unsent) :]
        except BlockingIOError:
            return
        except BrokenPipeError:  # it may have answered all the same; if not, its end is read
            self._unsent = _NOTHING
        if not self._unsent:
            self._stop_sending()

    def _stop_sending(self) -> None:
        self._unsent = _NOTHING
        with suppress(KeyError):
            self._poll.unregister(self._input)

    def _stop_reading(self, descriptor: int) -> None:
        if descriptor in self._readable:
            self._readable.remove(descriptor)
            self._poll.unregister(descriptor)
        if descriptor == self._output:  # nobody is left to send to
            self._stop_sending()


class _Log:
    """Where standard error goes, up to a limit; the last line is remembered."""

    def __init__(self, path: str | Path | None) -> None:
        self._path = path
        self._left = MAX_LOGGED_BYTES
        self._tail = b""

    def write(self, chunk: bytes) -> None:
        self._tail = (self._tail + chunk)[-_TAIL_BYTES:]
        if self._left < 0:
            return
        kept, self._left = chunk[: self._left], self._left - len(chunk)
        if self._left < 0:
            kept += b"\n(more of this episode is left out)\n"
        with suppress(OSError):  # a full disk is told by those who cannot do without
            if self._path is None:
                os.write(2, kept)
            else:
                with open(self._path, "ab") as file:  # noqa: PTH123 - a text will do
                    file.write(kept)

    def last_line(self) -> str:
        lines = self._tail.decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _start(
    command: list[str], environment: Mapping[str, str], folder: str, grace: float
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - the program that the user named, without a shell
        [sys.executable, "-I", "-S", _KEEPER, folder, str(grace), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        cwd=folder,
        env={**environment, "HOME": folder, "TMPDIR": folder},
        start_new_session=True,
    )


def _close(pipe: IO[bytes] | None) -> None:
    if pipe is not None:
        pipe.close()
