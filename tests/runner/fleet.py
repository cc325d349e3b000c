"""Workers in simulated time: they play what a schedule hands out, fail, die and are replaced."""

from __future__ import annotations

from collections import Counter
from heapq import heappop, heappush
from itertools import count

from emberbench_dist.runner.schedule import MAX_CRASHES, SLICE_SECONDS

MAX_EVENTS = 20_000
START_SECONDS = 0.1


class Fleet:
    """Workers that play a schedule to its end; every rule of the schedule is checked on the way.

    `pending` maps episodes to seconds. A poisonous episode ends its worker's process, a failing
    one its batch. Each True of `losses` takes a worker away in the middle of a batch it starts.
    Each worker plays its `concurrency` oldest batches at once, all together no more than `most`.
    """

    def __init__(
        self,
        schedule,
        pending,
        workers,
        *,
        poison=(),
        failing=(),
        losses=(),
        concurrency=1,
        most=MAX_EVENTS,
    ):
        """Let `workers` workers join as soon as it is played."""
        self.schedule = schedule
        self.pending = dict(pending)
        self.poison, self.failing = set(poison), set(failing)
        self.losses = iter(losses)
        self.concurrency = concurrency
        self.most = most
        self.finished = Counter()
        self.charges = Counter()
        self.failed = set()
        self.suspects = set()
        self.in_flight = set()
        self.batches = []
        self.seconds = 0.0
        self.queues = {}
        self._ids, self._ties = count(), count()
        self._events = []
        for _ in range(workers):
            self._later(0.0, "join", next(self._ids))

    def play(self):
        """Play until nothing happens any more; return this fleet."""
        for _ in range(MAX_EVENTS):
            if not self._events:
                assert self.schedule.done
                return self
            self.seconds, _, kind, worker, batch, played = heappop(self._events)
            if kind == "join" or worker in self.queues:
                getattr(self, f"_{kind}")(worker, batch, played)
                self._hand_out()
        raise AssertionError("the schedule comes to no end")

    @property
    def limit(self):
        """Return the lowest failure that is known."""
        return min(self.failed, default=float("inf"))

    def _later(self, seconds, kind, worker, batch=None, played=0):
        event = self.seconds + seconds, next(self._ties), kind, worker, batch, played
        heappush(self._events, event)

    def _hand_out(self):
        assert sorted(self.schedule.workers) == sorted(self.queues)
        for worker, queue in self.queues.items():
            while (batch := self.schedule.assign(worker)) is not None:
                self._check(batch, queue)
                self.in_flight |= set(batch.episodes)
                self.batches.append(batch)
                queue.append(batch)
                if len(queue) <= self.concurrency:
                    self._start(worker, batch)
        assert self.schedule.in_flight == sum(map(len, self.queues.values()))
        playing = sum(min(len(queue), self.concurrency) for queue in self.queues.values())
        assert playing <= self.most, "no more than the most are in play"

    def _check(self, batch, queue):
        """Check a batch against everything that is promised of it."""
        episodes = set(batch.episodes)
        assert episodes
        assert batch.episodes.step == 1
        assert episodes <= self.pending.keys(), "only what is pending is played"
        assert not episodes & self.in_flight, "nothing is played by two"
        assert not episodes & self.finished.keys(), "nothing is played again"
        assert max(episodes) < self.limit, "nothing at or above a failure is started"
        assert len(queue) < 2 * self.concurrency, "two batches a thread are enough"
        waiting = self.pending.keys() - self.in_flight - self.finished.keys()
        if batch.alone:
            assert len(episodes) == 1, "alone means one"
            assert episodes <= self.suspects, "only suspects are tried alone"
            assert not queue, "a suspect has its process for itself"
            assert min(episodes) == min(self.suspects & waiting), "the lowest suspect comes first"
        else:
            assert not episodes & self.suspects, "a suspect is only ever tried alone"
            assert min(episodes) == min(waiting - self.suspects), "the lowest pending comes first"
            assert not any(other.alone for other in queue), "nobody waits behind a suspect"

    def _start(self, worker, batch):
        """Let a worker play a batch: the clock stands still for nobody else."""
        elapsed = 0.0
        lost = next(self.losses, False)
        for played, episode in enumerate(batch.episodes, start=1):
            elapsed += self.pending[episode]
            if lost:
                self._later(elapsed / 2, "lose", worker)
                return
            if episode in self.poison:
                self._later(elapsed, "die", worker)
                return
            if elapsed >= SLICE_SECONDS or episode in self.failing or played == len(batch.episodes):
                self._later(elapsed, "finish", worker, batch, played)
                return

    def _join(self, worker, *_):
        self.queues[worker] = []
        self.schedule.join(worker)

    def _finish(self, worker, batch, played):
        queue = self.queues[worker]
        position = queue.index(batch)
        queue.remove(batch)
        self.in_flight -= set(batch.episodes)
        self.schedule.finished(worker, played, position)
        for episode in batch.episodes[:played]:
            self.suspects.discard(episode)
            if episode in self.failing:
                self._fail(episode)
            else:
                self.finished[episode] += 1
        if len(queue) >= self.concurrency:
            self._start(worker, queue[self.concurrency - 1])

    def _die(self, worker, *_):
        running = self._leave(worker)[: self.concurrency]
        crash = self.schedule.lost(worker, charged=True)
        played = {episode for batch in running for episode in batch.episodes}
        if len(played) > 1:
            assert crash is None, "of several nobody is to blame yet"
            self.suspects |= played
            return
        (episode,) = played
        self.charges[episode] += 1
        self.suspects.add(episode)
        assert (crash.episode, crash.final) == (episode, self.charges[episode] == MAX_CRASHES)
        assert episode in self.poison, "a neighbour is never charged"
        if crash.final:
            self._fail(episode)

    def _lose(self, worker, *_):
        self._leave(worker)
        assert self.schedule.lost(worker, charged=False) is None

    def _leave(self, worker):
        """Forget a worker and what it had; another one comes."""
        queue = self.queues.pop(worker)
        for batch in queue:
            self.in_flight -= set(batch.episodes)
        self._later(START_SECONDS, "join", next(self._ids))
        return queue

    def _fail(self, episode):
        self.failed.add(episode)
        self.schedule.fail(episode)
