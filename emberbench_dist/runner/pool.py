"""Who works: the seam between a run and its workers, and the pool of this one process."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from emberbench_dist.errors import ClusterError
from emberbench_dist.evaluation.episode import Failure
from emberbench_dist.runner.schedule import WorkerId

# What a worker does with a batch: work through the items in order, start none after the budget
# of seconds is used up but the first, return an answer for each one started, never raise.
Job = Callable[[list[Any], float], list[Any]]
# How long answers of other processes and threads are held, so that few commits serve many.
LINGER_SECONDS = 0.25
_MAX_LOSSES = 3
_POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Joined:
    """A worker is ready for batches."""

    worker: WorkerId


@dataclass(frozen=True, slots=True)
class Finished:
    """A worker answered the first items of a batch; the rest was not started.

    `position` says which of its batches, from 0 for the oldest.
    """

    worker: WorkerId
    answers: list[Any]
    position: int = 0


@dataclass(frozen=True, slots=True)
class Lost:
    """A worker is gone with all its batches; `charged` when its own process died."""

    worker: WorkerId
    reason: str
    charged: bool


Event = Joined | Finished | Lost


class Pool(Protocol):
    """Workers that do one job, each batch by batch in the order given, or some of them at once."""

    @property
    def linger(self) -> float:
        """Return for how many seconds answers may be held, to become durable together.

        0 where `wait` may take longer than it was asked to.
        """
        ...

    def submit(self, worker: WorkerId, items: list[Any], budget: float) -> None:
        """Give a worker a batch."""
        ...

    def wait(self, timeout: float) -> list[Event]:
        """Return what happened, waiting up to `timeout` seconds for something."""
        ...

    def note(self) -> str:
        """Say what the pool lacks, in one line; empty while all is well."""
        ...

    def close(self) -> None:
        """Let all workers go."""
        ...


OpenPool = Callable[[], AbstractContextManager[Pool]]


class InProcessPool:
    """One worker: this process and thread, so that a debugger can stop in the agent."""

    linger = 0.0

    def __init__(self, job: Job) -> None:
        """Do `job` here."""
        self._job = job
        self._batches: deque[tuple[list[Any], float]] = deque()
        self._events: list[Event] = [Joined(0)]

    def submit(self, worker: WorkerId, items: list[Any], budget: float) -> None:
        """Keep the batch until `wait` works on it."""
        del worker
        self._batches.append((items, budget))

    def wait(self, timeout: float) -> list[Event]:
        """Work on the oldest batch."""
        del timeout
        events, self._events = self._events, []
        if not events and self._batches:
            answers = self._job(*self._batches.popleft())
            events = [Finished(0, answers)]
            if isinstance(answers[-1], Failure):
                # What waits behind is not begun: it may be above a failure by now.
                events += [Finished(0, []) for _ in self._batches]
                self._batches.clear()
        return events

    def note(self) -> str:
        """Lack nothing."""
        return ""

    def close(self) -> None:
        """Drop what was not worked on."""
        self._batches.clear()


def spread(pool: Pool, batches: Iterable[list[Any]], *, window: int = 2) -> Iterator[list[Any]]:
    """Yield the answers to each batch as workers finish them, in any order.

    `window` batches are with a worker at once. A batch whose worker died goes to another one;
    `ClusterError` where that happens again and again.
    """
    waiting = deque[tuple[list[Any], int]]()
    source = ((batch, 0) for batch in batches)
    queues: dict[WorkerId, deque[tuple[list[Any], int]]] = {}
    while True:
        for worker, queue in queues.items():
            while len(queue) < window:
                entry = waiting.popleft() if waiting else next(source, None)
                if entry is None:
                    break
                queue.append(entry)
                pool.submit(worker, entry[0], float("inf"))
        if queues and not any(queues.values()):
            return
        for event in pool.wait(_POLL_SECONDS):
            match event:
                case Joined(worker):
                    queues[worker] = deque()
                case Finished(worker, answers, position):
                    del queues[worker][position]
                    yield answers
                case Lost(worker, reason, charged):
                    for batch, losses in queues.pop(worker, ()):
                        if losses + charged >= _MAX_LOSSES:
                            raise ClusterError(f"workers die again and again: {reason}")
                        waiting.append((batch, losses + charged))
