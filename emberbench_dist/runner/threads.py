"""The pool of this one process with several threads: for agents that wait more than they think."""

from __future__ import annotations

from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

from emberbench_dist.runner.pool import LINGER_SECONDS, Event, Finished, Job, Joined
from emberbench_dist.runner.schedule import WorkerId


class _Batch(NamedTuple):
    number: int
    items: list[Any]
    budget: float


class ThreadPool:
    """One worker: this process, which works on `concurrency` batches at once.

    Its threads end with the process: one that hangs in an agent holds up nobody.
    """

    linger = LINGER_SECONDS

    def __init__(self, job: Job, concurrency: int) -> None:
        """Do `job` in as many threads."""
        self._job = job
        self._batches: SimpleQueue[_Batch | None] = SimpleQueue()
        self._answers: SimpleQueue[tuple[int, list[Any]]] = SimpleQueue()
        self._next = 0
        self._under_way: list[int] = []
        self._joining: list[Event] = [Joined(0)]
        self._threads = [Thread(target=self._work, daemon=True) for _ in range(concurrency)]
        for thread in self._threads:
            thread.start()

    def submit(self, worker: WorkerId, items: list[Any], budget: float) -> None:
        """Queue the batch for the next thread that is free."""
        del worker
        self._under_way.append(self._next)
        self._batches.put(_Batch(self._next, items, budget))
        self._next += 1

    def wait(self, timeout: float) -> list[Event]:
        """Return what is answered, several batches together where they are there."""
        events, self._joining = self._joining, []
        try:
            while True:
                number, answers = self._answers.get(timeout=0 if events else timeout)
                position = self._under_way.index(number)
                del self._under_way[position]
                events.append(Finished(0, answers, position))
        except Empty:
            return events

    def note(self) -> str:
        """Lack nothing."""
        return ""

    def close(self) -> None:
        """Let the threads end once their episode does; drop what was not begun."""
        try:
            while True:
                self._batches.get_nowait()
        except Empty:
            for _ in self._threads:
                self._batches.put(None)

    def _work(self) -> None:
        while (batch := self._batches.get()) is not None:
            self._answers.put((batch.number, self._job(batch.items, batch.budget)))
