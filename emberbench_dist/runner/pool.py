"""Who plays: the seam between the run and its workers, and the pool of this one process."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Protocol

from emberbench_dist.evaluation.episode import Outcome, Player
from emberbench_dist.evaluation.manifest import Episode
from emberbench_dist.runner.schedule import WorkerId


@dataclass(frozen=True, slots=True)
class Joined:
    """A worker is ready for batches."""

    worker: WorkerId


@dataclass(frozen=True, slots=True)
class Finished:
    """A worker played the first episodes of its oldest batch; the rest was not started."""

    worker: WorkerId
    outcomes: list[Outcome]


@dataclass(frozen=True, slots=True)
class Lost:
    """A worker is gone with all its batches; `charged` when its own process died."""

    worker: WorkerId
    reason: str
    charged: bool


Event = Joined | Finished | Lost


class Pool(Protocol):
    """Workers that play batches in the order given and never raise."""

    def submit(self, worker: WorkerId, episodes: list[Episode], budget: float) -> None:
        """Give a worker a batch; no episode is started after `budget` seconds, but the first."""
        ...

    def wait(self, timeout: float) -> list[Event]:
        """Return what happened, waiting up to `timeout` seconds for something."""
        ...

    def close(self) -> None:
        """Let all workers go."""
        ...


class InProcessPool:
    """One worker: this process and thread, so that a debugger can stop in the agent."""

    def __init__(self, player: Player) -> None:
        """Play with `player`."""
        self._player = player
        self._batches: deque[tuple[list[Episode], float]] = deque()
        self._events: list[Event] = [Joined(0)]

    def submit(self, worker: WorkerId, episodes: list[Episode], budget: float) -> None:
        """Keep the batch until `wait` plays it."""
        del worker
        self._batches.append((episodes, budget))

    def wait(self, timeout: float) -> list[Event]:
        """Play the oldest batch."""
        del timeout
        events, self._events = self._events, []
        if not events and self._batches:
            events = [Finished(0, self._player.play(*self._batches.popleft()))]
        return events

    def close(self) -> None:
        """Drop what was not played."""
        self._batches.clear()
