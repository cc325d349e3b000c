"""Drive a manifest with a pool into a real ledger: what a run does before it writes its files."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.evaluation.manifest import Manifest
from emberbench_dist.runner.drive import Drive
from emberbench_dist.runner.pool import Pool
from emberbench_dist.runner.schedule import Schedule, WorkerId


class Driven(NamedTuple):
    """From the first batch to the last commit: wall time, CPU of the driver, time in commits."""

    episodes: int
    seconds: float
    cpu: float
    commits: float


class _TimedLedger(Ledger):
    """A ledger that knows how long its commits took."""

    seconds = 0.0

    def commit(self, *arguments: Any) -> int:
        """Commit."""
        start = time.perf_counter()
        new = super().commit(*arguments)
        self.seconds += time.perf_counter() - start
        return new


class _WatchedPool:
    """A pool that notes the driver's CPU time when it gets its first batch."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.cpu_at_start: float | None = None

    def __getattr__(self, name: str) -> Any:
        """Do all else as the pool does."""
        return getattr(self._pool, name)

    def submit(self, worker: WorkerId, items: list[Any], budget: float) -> None:
        if self.cpu_at_start is None:
            self.cpu_at_start = time.process_time()
        self._pool.submit(worker, items, budget)


def drive(manifest: Manifest, pool: Pool, folder: Path) -> Driven:
    """Play a manifest to its end."""
    playing = folder / "playing"
    playing.mkdir(exist_ok=True)
    watched = _WatchedPool(pool)
    with closing(_TimedLedger.create(folder / "ledger.sqlite", {}, manifest.documents())) as ledger:
        ledger.begin_session("bench")
        planned = len(manifest)
        session = Drive(manifest, ledger, Schedule([range(planned)]), planned, 0, playing=playing)
        session.run(watched)
        cpu = time.process_time() - (watched.cpu_at_start or 0.0)
        assert session.played == planned, session.failure
        return Driven(planned, session.seconds, cpu, ledger.seconds)
