"""The loop: pending, submit, commit. Resume is the same loop."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.evaluation.episode import EpisodeResult, Failure
from emberbench_dist.evaluation.manifest import Manifest
from emberbench_dist.runner.pool import Event, Finished, Joined, Lost, Pool
from emberbench_dist.runner.schedule import SLICE_SECONDS, Crash, Schedule

_POLL_SECONDS = 0.5
GRACE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: episodes planned, committed in all and in this session, failures."""

    planned: int
    committed: int
    played: int
    failed: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Controls:
    """What a caller may ask of a running loop: to stop, and to be told."""

    stop: Callable[[], bool] = lambda: False
    report: Callable[[Progress], None] = lambda _: None
    grace_seconds: float = GRACE_SECONDS


@dataclass(slots=True)
class Drive:
    """One session: hand pending episodes to a pool, commit what comes back.

    Afterwards `failure` is the lowest failure (None: all was played), `interrupted` says
    whether the caller asked to stop, `played` counts the episodes committed, and `seconds`
    is the time from the first batch to the last commit.
    """

    manifest: Manifest
    ledger: Ledger
    schedule: Schedule
    committed: int
    controls: Controls = field(default_factory=Controls)
    failures: dict[int, Failure] = field(default_factory=dict)
    played: int = 0
    seconds: float = 0.0
    interrupted: bool = False
    lost_workers: list[str] = field(default_factory=list)
    _started: float | None = None

    @property
    def failure(self) -> Failure | None:
        """Return the lowest failure."""
        return self.failures[min(self.failures)] if self.failures else None

    def run(self, pool: Pool) -> None:
        """Drive the pool until nothing is left to start, or the caller asks to stop."""
        deadline = float("inf")
        while not self.schedule.done and time.monotonic() < deadline:
            if not self.interrupted and self.controls.stop():
                self.interrupted = True
                deadline = time.monotonic() + self.controls.grace_seconds
            if self.interrupted and not self.schedule.in_flight:
                return
            if not self.interrupted:
                self._hand_out(pool)
            self._take_in(pool.wait(_POLL_SECONDS))
            if self._started is not None:
                self.seconds = time.monotonic() - self._started
            self._report()

    def _hand_out(self, pool: Pool) -> None:
        for worker in self.schedule.workers:
            while (batch := self.schedule.assign(worker)) is not None:
                episodes = [self.manifest.episode(index) for index in batch.episodes]
                pool.submit(worker, episodes, SLICE_SECONDS)
                self._started = self._started or time.monotonic()

    def _take_in(self, events: list[Event]) -> None:
        """Commit all results first, so that what is known to be lost is known to be uncommitted."""
        results: list[EpisodeResult] = []
        for event in events:
            match event:
                case Joined(worker):
                    self.schedule.join(worker)
                case Finished(worker, outcomes):
                    self.schedule.finished(worker, len(outcomes))
                    for outcome in outcomes:
                        if isinstance(outcome, Failure):
                            self._fail(outcome)
                        else:
                            results.append(outcome)
                case Lost(worker, reason, charged):
                    self.lost_workers.append(reason)
                    crash = self.schedule.lost(worker, charged=charged)
                    if crash is not None:
                        self._crash(crash, reason)
        if results:
            self.played += self.ledger.commit(results)

    def _crash(self, crash: Crash, reason: str) -> None:
        self.ledger.record_crash(crash.episode)
        if crash.final:
            episode = self.manifest.episode(crash.episode)
            self._fail(
                Failure(
                    episode=episode.index,
                    scenario_id=episode.scenario_id,
                    seed=episode.seed,
                    step=None,
                    kind="crash",
                    type="WorkerDied",
                    message=f"its worker died each time it was tried alone: {reason}",
                    traceback="",
                )
            )

    def _fail(self, failure: Failure) -> None:
        self.schedule.fail(failure.episode)
        self.failures[failure.episode] = failure
        self.ledger.record_failure(failure)

    def _report(self) -> None:
        self.controls.report(
            Progress(
                planned=len(self.manifest),
                committed=self.committed + self.played,
                played=self.played,
                failed=len(self.failures),
                seconds=self.seconds,
            )
        )
