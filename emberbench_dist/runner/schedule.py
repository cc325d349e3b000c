"""Which episodes to play next: a pure state machine without clock, process or disk.

Episodes travel in batches, in manifest order. A batch carries a time budget: what a worker did
not start within it comes back. So the size of a batch follows the measured cost of episodes,
and a slow episode never holds up the ones behind it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

WorkerId = int

SLICE_SECONDS = 0.25
MAX_BATCH = 2000
MAX_CRASHES = 3
# Batches grow fast: what does not fit into the slice comes back.
_GROWTH = 4
# Towards the end a batch is a share of what is left for each worker, but no less than a part of a
# slice: less work is not worth a call.
_LAST_SHARE = 4
_LEAST_PART = 8


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive episodes that travel in one call."""

    episodes: range
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Crash:
    """A worker died while it played only this episode; `final` when it will not be tried again."""

    episode: int
    final: bool


class Schedule:
    """Hand out pending episodes to workers that come and go.

    The lowest failure decides: nothing at or above it is started any more, everything below it
    still is. Episodes that shared a batch with a worker's death are suspects and are tried
    alone; only a death alone is charged, and `max_crashes` of them are final. A worker works on
    its `concurrency` oldest batches at once, and all together on no more than `max_in_flight`.
    """

    def __init__(
        self,
        pending: Iterable[range],
        *,
        max_crashes: int = MAX_CRASHES,
        crashes: Mapping[int, int] | None = None,
        first_size: int = 1,
        concurrency: int = 1,
        max_in_flight: int | None = None,
    ) -> None:
        """Plan the ascending ranges of `pending`."""
        self._pending = [(span.start, span.stop) for span in pending]
        self._left = sum(stop - start for start, stop in self._pending)
        self._suspects: list[int] = []
        self._crashes = dict(crashes or {})
        self.max_crashes = max_crashes
        self._size = first_size
        self._short = first_size > 1
        self._concurrency = concurrency
        self._max_in_flight = max_in_flight or sys.maxsize
        self._queues: dict[WorkerId, list[Batch]] = {}
        self.limit: int | None = None
        heapify(self._pending)

    @property
    def done(self) -> bool:
        """Say whether nothing is in flight and nothing is left to start."""
        return not self.in_flight and not self._has_pending() and not self._has_suspect()

    @property
    def in_flight(self) -> int:
        """Return the number of batches in flight."""
        return sum(map(len, self._queues.values()))

    @property
    def workers(self) -> list[WorkerId]:
        """Return the workers that are here, those with the least to do first."""
        return sorted(self._queues, key=lambda worker: len(self._queues[worker]))

    def join(self, worker: WorkerId) -> None:
        """Count on a new worker."""
        self._queues[worker] = []

    def assign(self, worker: WorkerId) -> Batch | None:
        """Return the next batch for a worker, or None where it has enough."""
        queue = self._queues[worker]
        if queue and queue[0].alone:
            return None
        if len(queue) < self._concurrency and self._in_play() >= self._max_in_flight:
            return None
        if self._has_suspect():
            if queue:
                return None  # it must come to rest first
            batch = Batch(_single(heappop(self._suspects)), alone=True)
        elif len(queue) >= self._window() or not self._has_pending():
            return None
        else:
            batch = Batch(self._take())
        queue.append(batch)
        return batch

    def finished(self, worker: WorkerId, played: int, position: int = 0) -> None:
        """Note that a worker played the first `played` episodes of a batch (0: its oldest)."""
        episodes = self._queues[worker].pop(position).episodes
        rest = episodes[played:]
        self._give_back(rest)
        # One episode that filled the slice, or was all of the batch, says nothing about two.
        self._short = played > 1
        if rest:
            self._size = math.ceil(played * 1.25) if self._short else 1
        elif len(episodes) >= self._size:
            self._size = min(self._size * _GROWTH, MAX_BATCH)

    def begun(self, worker: WorkerId, playing: Collection[int]) -> list[int]:
        """Return what a worker had begun of what it works on, as far as `playing` tells."""
        found = list[int]()
        for batch in self._queues.get(worker, ())[: self._concurrency]:
            last = _noted(batch.episodes, playing)
            if last:
                found += range(batch.episodes.start, last.stop)
            elif len(batch.episodes) == 1:
                found += batch.episodes
        return found

    def lost(
        self, worker: WorkerId, *, charged: bool, playing: Collection[int] = ()
    ) -> Crash | None:
        """Note that a worker is gone; say which episode is to blame, if one was alone with it.

        Where `playing` says what it played of a batch, only that episode is a suspect.
        """
        queue = self._queues.pop(worker, [])
        running, waiting = queue[: self._concurrency], queue[self._concurrency :]
        for batch in waiting:
            self._give_back(batch.episodes)
        if charged and [len(batch.episodes) for batch in running] == [1]:
            return self._charge(running[0].episodes[0])
        for batch in running:
            suspects = batch.episodes if charged or batch.alone else range(0)
            suspects = _noted(suspects, playing) or suspects
            for episode in suspects:
                heappush(self._suspects, episode)
            for rest in _without(batch.episodes, suspects):
                self._give_back(rest)
        return None

    def fail(self, episode: int) -> None:
        """Start nothing at or above a failed episode any more."""
        self.limit = episode if self.limit is None else min(self.limit, episode)

    def _charge(self, episode: int) -> Crash:
        count = self._crashes[episode] = self._crashes.get(episode, 0) + 1
        final = count >= self.max_crashes
        if not final:
            heappush(self._suspects, episode)
        return Crash(episode, final)

    def _window(self) -> int:
        """Keep a second batch ready where episodes are short; nothing waits behind a slow one."""
        is_second = self._short and self._left > self._size * self._lanes()
        return self._concurrency * (2 if is_second else 1)

    def _in_play(self) -> int:
        """Return how many batches are being worked on."""
        return sum(min(len(queue), self._concurrency) for queue in self._queues.values())

    def _lanes(self) -> int:
        """Return how many batches can be worked on at once."""
        return min(self._concurrency * len(self._queues), self._max_in_flight)

    def _take(self) -> range:
        start, stop = heappop(self._pending)
        if self.limit is not None:
            stop = min(stop, self.limit)
        # Smaller batches towards the end, so that all workers end together.
        share = math.ceil(self._left / (_LAST_SHARE * self._lanes()))
        cut = min(stop, start + max(1, self._size // _LEAST_PART, min(self._size, share)))
        if cut < stop:
            heappush(self._pending, (cut, stop))
        self._left -= cut - start
        return range(start, cut)

    def _give_back(self, episodes: range) -> None:
        if episodes:
            heappush(self._pending, (episodes.start, episodes.stop))
            self._left += len(episodes)

    def _has_pending(self) -> bool:
        return bool(self._pending) and self._below_limit(self._pending[0][0])

    def _has_suspect(self) -> bool:
        return bool(self._suspects) and self._below_limit(self._suspects[0])

    def _below_limit(self, episode: int) -> bool:
        return self.limit is None or episode < self.limit


def _single(episode: int) -> range:
    return range(episode, episode + 1)


def _noted(episodes: range, playing: Collection[int]) -> range:
    """Return the episode of a batch that is being played, if that is known."""
    noted = [episode for episode in playing if episode in episodes]
    return _single(noted[0]) if noted else range(0)


def _without(episodes: range, part: range) -> tuple[range, range]:
    """Return what is before and after a part of some episodes; an empty part takes nothing."""
    if not part:
        return episodes, range(0)
    return range(episodes.start, part.start), range(part.stop, episodes.stop)
