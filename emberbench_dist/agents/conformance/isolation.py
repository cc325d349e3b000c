"""Plays in a process of their own, so that each begins in the same state and none can harm."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess

from emberbench_dist.agents.conformance.trials import Trial
from emberbench_dist.agents.conformance.witness import Event, Witness
from emberbench_dist.agents.interface import AgentFactory

_SECONDS_TO_END = 2.0
_SILENCE = "nothing returned within the step limit"


@dataclass(frozen=True, slots=True)
class Play:
    """One play of one trial: its events in order."""

    trial: str
    events: tuple[Event, ...]

    @property
    def hangs(self) -> bool:
        """Say whether the play was given up."""
        return bool(self.events) and self.events[-1].text == _SILENCE

    @property
    def asks(self) -> bool:
        """Say whether there was an agent to ask."""
        return any(event.kind == "asks" for event in self.events)


def play_apart(
    factory: AgentFactory, trials: Sequence[Trial], step_limit: float | None
) -> list[Play]:
    """Play `trials` in a row in a fork of this process; return the plays that were begun.

    A process that ends, or is silent for `step_limit` seconds (None: for ever), breaks the rule
    `returns`. Whatever it does, it is gone afterwards, and this process is as it was.
    """
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(
        target=_witness, args=(factory, trials, sender)
    )
    with warnings.catch_warnings():  # a lock that another thread holds is a hang, hence the limit
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    sender.close()
    try:
        first = Event("begins", text=trials[0].name)
        return _plays([first, *_events(process, receiver, step_limit)])
    finally:
        process.kill()
        process.join()
        process.close()
        receiver.close()


def _witness(factory: AgentFactory, trials: Sequence[Trial], sender: Connection) -> None:
    """Be the process: what the agent prints goes to standard error, Ctrl-C to the caller."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdout = sys.stderr
    os.dup2(2, 1)
    Witness(factory, sender.send).play(trials)


def _events(
    process: ForkProcess, receiver: Connection, step_limit: float | None
) -> Iterator[Event]:
    step: int | None = None
    while True:
        if not receiver.poll(step_limit):
            yield Event("broken", step, "returns", _SILENCE)
            return
        try:
            event: Event = receiver.recv()
        except (EOFError, OSError):  # OSError: it ended within an event
            yield Event("broken", step, "returns", f"the process {_end(_exit_code(process))}")
            return
        if event.kind == "done":
            return
        step = event.step
        yield event


def _exit_code(process: ForkProcess) -> int | None:
    """Wait a little; `join` would wait for ever where the agent closed what it listens to."""
    give_up = time.monotonic() + _SECONDS_TO_END
    while process.exitcode is None and time.monotonic() < give_up:
        time.sleep(0.01)
    return process.exitcode


def _end(code: int | None) -> str:
    if code is None:
        return "closed its files"
    if code >= 0:
        return f"ended with code {code}"
    return f"was ended by signal {-code} ({signal.strsignal(-code)})"


def _plays(events: list[Event]) -> list[Play]:
    starts = [index for index, event in enumerate(events) if event.kind == "begins"]
    ends = [*starts[1:], len(events)]
    return [
        Play(events[start].text, tuple(events[start + 1 : end]))
        for start, end in zip(starts, ends, strict=True)
    ]
