"""The loop: pending, submit, commit. Resume is the same loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.playing import Playing, read_note, read_notes
from emberbench_dist.evaluation.accounting import LostAttempt, execution_record
from emberbench_dist.evaluation.episode import EpisodeResult, Failure, Outcome
from emberbench_dist.evaluation.manifest import Manifest
from emberbench_dist.runner.pool import Event, Finished, Joined, Lost, Pool
from emberbench_dist.runner.schedule import SLICE_SECONDS, Crash, Schedule, WorkerId

_POLL_SECONDS = 0.5
GRACE_SECONDS = 5.0
# What the first worker has to get ready, however short a stall may be.
_START_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: episodes planned, committed in all and in this session, failures.

    `running` is what is being played, the longest first; `note` says what the pool lacks.
    """

    planned: int
    committed: int
    played: int
    failed: int
    seconds: float
    running: tuple[Playing, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Controls:
    """What a caller may ask of a running loop.

    `stop` is asked whether to stop and `report` is told how far it is; `stall_seconds` ends a
    run in which nothing was committed for so long, where workers are other processes;
    `keep_going` plays on after failures.
    """

    stop: Callable[[], bool] = lambda: False
    report: Callable[[Progress], None] = lambda _: None
    grace_seconds: float = GRACE_SECONDS
    stall_seconds: float = float("inf")
    keep_going: bool = False


@dataclass(slots=True)
class Drive:
    """One session: hand pending episodes to a pool, commit what comes back.

    Afterwards `failure` is the lowest failure (None: all was played), `interrupted` says
    whether the caller asked to stop, `stalled` what was running when nothing moved any more,
    `played` counts the episodes committed, and `seconds` is the time from the first batch to
    the last commit.
    """

    manifest: Manifest
    ledger: Ledger
    schedule: Schedule
    planned: int
    committed: int
    controls: Controls = field(default_factory=Controls)
    playing: Path | None = None
    failures: dict[int, Failure] = field(default_factory=dict)
    played: int = 0
    seconds: float = 0.0
    interrupted: bool = False
    stalled: str = ""
    _results: list[EpisodeResult] = field(default_factory=list)
    _failures: list[Failure] = field(default_factory=list)
    _started: float | None = None
    _moved: float = 0.0
    _committed_at: float = 0.0
    _deadline: float = float("inf")

    @property
    def failure(self) -> Failure | None:
        """Return the lowest failure."""
        return self.failures[min(self.failures)] if self.failures else None

    def run(self, pool: Pool) -> None:
        """Drive the pool until nothing is left to start, or the caller asks to stop.

        Outcomes of a short while become durable together, and count only then.
        """
        self._moved = time.monotonic()
        try:
            while self._goes_on():
                holds = self._results or self._failures
                self._take_in(pool.wait(pool.linger if holds else _POLL_SECONDS))
                self._listen()
                if not self.interrupted:
                    # Before the commit: workers play while the disk is waited for.
                    self._hand_out(pool)
                if self._is_due(pool.linger):
                    self._commit()
                    self.controls.report(self._progress(pool.note()))
                self._look_for_stall()
        finally:
            self._commit()
            self._give_up()

    def _goes_on(self) -> bool:
        under_way = self.schedule.in_flight > 0 if self.interrupted else not self.schedule.done
        return under_way and not self.stalled and time.monotonic() < self._deadline

    def _listen(self) -> None:
        if not self.interrupted and self.controls.stop():
            self.interrupted = True
            self._deadline = time.monotonic() + self.controls.grace_seconds

    def _hand_out(self, pool: Pool) -> None:
        takers = self.schedule.workers
        while takers:
            # In turn, so that few batches are spread over all.
            takers = [worker for worker in takers if self._assign(pool, worker)]

    def _assign(self, pool: Pool, worker: WorkerId) -> bool:
        """Give a worker its next batch, if it takes one."""
        batch = self.schedule.assign(worker)
        if batch is None:
            return False
        episodes = [self.manifest.episode(index) for index in batch.episodes]
        pool.submit(worker, episodes, SLICE_SECONDS)
        self._started = self._started or time.monotonic()
        return True

    def _take_in(self, events: list[Event]) -> None:
        """Note what became of each batch, and hold its outcomes."""
        for event in events:
            match event:
                case Joined(worker):
                    self.schedule.join(worker)
                    self._moved = time.monotonic()
                case Finished(worker, outcomes, position):
                    self.schedule.finished(worker, len(outcomes), position)
                    self._hold(outcomes)
                case Lost(worker, reason, charged):
                    crash = self._lose(worker, charged=charged)
                    if crash is not None and crash.final:
                        self._hold([self._crashed(crash, reason)])

    def _hold(self, outcomes: Iterable[Outcome]) -> None:
        for outcome in outcomes:
            if isinstance(outcome, EpisodeResult):
                self._results.append(outcome)
            else:
                self._failures.append(outcome)
                if not self.controls.keep_going:
                    self.schedule.fail(outcome.episode)
        self._moved = time.monotonic()

    def _is_due(self, linger: float) -> bool:
        """Say whether to commit: not again so soon, unless no more results are to be expected."""
        at_once = self._failures or self.interrupted or not self.schedule.in_flight
        return bool(at_once) or time.monotonic() - self._committed_at >= linger

    def _commit(self) -> None:
        """Make durable what is held, in one transaction."""
        results, failures = self._results, self._failures
        if not results and not failures:
            return
        self._results, self._failures = [], []
        self.played += self.ledger.commit(results, failures)
        self.failures |= {failure.episode: failure for failure in failures}
        self._committed_at = self._moved = time.monotonic()
        if self._started is not None:
            self.seconds = self._committed_at - self._started

    def _lose(self, worker: int, *, charged: bool) -> Crash | None:
        notes = {note.episode: note for note in self._notes(worker)}
        lost = [_lost(episode, "died", notes) for episode in self.schedule.begun(worker, notes)]
        crash = self.schedule.lost(worker, charged=charged, playing=notes)
        if crash is not None or lost:
            self.ledger.record_crash(crash.episode if crash else None, lost)
        return crash

    def _notes(self, worker: WorkerId) -> list[Playing]:
        """Return what a dead worker played, as far as it told; it plays nothing any more."""
        if self.playing is None:
            return []
        notes = read_note(self.playing, worker)
        (self.playing / str(worker)).unlink(missing_ok=True)
        return notes

    def _give_up(self) -> None:
        """Note what is being played although nobody waits for it any more."""
        if self.schedule.in_flight:
            notes = {note.episode: note for note in self._running()}
            lost = [_lost(episode, "interrupted", notes) for episode in notes]
            self.ledger.record_crash(None, lost)

    def _crashed(self, crash: Crash, reason: str) -> Failure:
        episode = self.manifest.episode(crash.episode)
        times = self.schedule.max_crashes
        return Failure(
            episode=episode.index,
            scenario_id=episode.scenario_id,
            seed=episode.seed,
            step=None,
            kind="crash",
            type="WorkerDied",
            message=f"its worker died {times} times, alone with it; the last time: {reason}",
            traceback="",
        )

    def _look_for_stall(self) -> None:
        idle, patience = time.monotonic() - self._moved, self.controls.stall_seconds
        if not self.schedule.workers:
            patience = max(patience, _START_SECONDS)
        if idle > patience:
            elsewhere = f"{self.schedule.in_flight} batches on other machines"
            unnoted = elsewhere if self.schedule.in_flight else "no worker is ready"
            running = "; ".join(map(str, self._running())) or unnoted
            self.stalled = f"nothing was committed for {idle:.0f} s; running: {running}"

    def _running(self) -> tuple[Playing, ...]:
        return tuple(read_notes(self.playing)) if self.playing else ()

    def _progress(self, note: str) -> Progress:
        return Progress(
            planned=self.planned,
            committed=self.committed + self.played,
            played=self.played,
            failed=len(self.failures),
            seconds=self.seconds,
            running=self._running(),
            note=note,
        )


def _lost(episode: int, reason: str, notes: Mapping[int, Playing]) -> LostAttempt:
    """Return an attempt that was lost; its time is known only where it was being played."""
    note = notes.get(episode)
    return LostAttempt(episode, reason, execution_record(note.seconds) if note else b"")
