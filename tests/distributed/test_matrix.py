"""One hash: workers, batches, order, slices and history never reach artifact and traces."""

from __future__ import annotations

import itertools
import os
import random
import signal
from collections import defaultdict
from contextlib import nullcontext
from hashlib import sha256

import pytest

from emberbench_dist.agents.baselines import Counting
from emberbench_dist.agents.interface import FreshAgents
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.merge import merge_ledgers
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.evaluation.episode import Player
from emberbench_dist.evaluation.manifest import load_manifest
from emberbench_dist.evaluation.slices import Slice
from emberbench_dist.runner import schedule
from emberbench_dist.runner.drive import Controls
from emberbench_dist.runner.evaluate import evaluate
from emberbench_dist.runner.pool import Finished, Joined, Lost
from emberbench_dist.runner.run import Plan, run, write_results
from manifests import hall, write_manifest

SPEC = "counting"


@pytest.fixture(scope="module")
def manifest_path(tmp_path_factory):
    """Write a manifest of 60 episodes of different length."""
    blocks = [
        (hall("one"), {"first": 2**64 - 20, "count": 20}),
        (hall("two", 20, people=9, steps=40), {"first": 5, "count": 5}),
        (hall("three", 8, people=1, steps=3), {"first": 0, "count": 35}),
    ]
    return write_manifest(tmp_path_factory.mktemp("input"), blocks)


@pytest.fixture(scope="module")
def expected(manifest_path):
    """Return the one hash: that of a run in this process, one episode after the other."""
    result = evaluate(manifest_path, Counting)
    return digest(result.artifact, result.traces)


def digest(artifact, traces):
    """Return one hash of both files."""
    return sha256(sha256(artifact).digest() + sha256(traces).digest()).hexdigest()


def digest_of(folder):
    """Return the hash of a run folder, after an audit of its ledger."""
    with Ledger.reading(folder / "ledger.sqlite") as ledger:
        ledger.check()
    return digest((folder / "artifact.jsonl").read_bytes(), (folder / "traces.jsonl").read_bytes())


class Shuffled:
    """What disturbs the order of a pool's events: some are held back, the others are mixed.

    What one worker tells stays in order, as it does on any cluster.
    """

    chance = random.Random(0)

    def disturb(self, events):
        """Return some of the events so far, in another order."""
        told = [*getattr(self, "_held", []), *events]
        by_worker = defaultdict(list)
        for event in told:
            by_worker[event.worker].append(event)
        order = [event.worker for event in told]
        self.chance.shuffle(order)
        mixed = [by_worker[worker].pop(0) for worker in order]
        cut = self.chance.randint(min(1, len(mixed)), len(mixed))
        self._held = mixed[cut:]
        return mixed[:cut]


class Table(Shuffled):
    """Workers around one table in this process; now and then one goes, and another comes."""

    linger = 0.001

    def __init__(self, manifest, workers, chance, losses):
        """Let the workers join; `losses` of them are to be lost."""
        self.manifest, self.chance, self.losses = manifest, chance, losses
        self.ids = itertools.count()
        self.queues = {}
        self.news = [self._join() for _ in range(workers)]

    def submit(self, worker, items, budget):
        """Queue a batch."""
        if worker in self.queues:  # that it is gone may not be known yet
            self.queues[worker][1].append((items, budget))

    def wait(self, timeout):
        """Let one worker after the other work, or be lost."""
        del timeout
        news, self.news = self.news, []
        for worker, (player, queue) in list(self.queues.items()):
            if queue and self.losses and self.chance.random() < 0.2:
                self.losses -= 1
                del self.queues[worker]
                news += [Lost(worker, "gone", self.chance.random() < 0.5), self._join()]
            elif queue:
                items, budget = queue.pop(0)
                some = self.chance.randint(1, len(items))
                news.append(Finished(worker, player.play(items[:some], budget)))
        return self.disturb(news)

    def note(self):
        """Lack nothing."""
        return ""

    def _join(self):
        worker = next(self.ids)
        player = Player(self.manifest.scenarios, FreshAgents(Counting))
        self.queues[worker] = (player, [])
        return Joined(worker)


def opening(pool):
    """Return how to open a pool that is there."""
    return lambda: nullcontext(pool)


@pytest.fixture
def scheduled(monkeypatch):
    """Return a function that sets the budget, the largest batch, and batches in flight."""

    def call(budget, largest, window):
        monkeypatch.setattr("emberbench_dist.runner.drive.SLICE_SECONDS", budget)
        monkeypatch.setattr(schedule, "MAX_BATCH", largest)
        monkeypatch.setattr(schedule.Schedule, "_window", lambda _: window)

    return call


@pytest.mark.parametrize("workers", [1, 2, 3, 8])
@pytest.mark.parametrize("budget", [0.0, 0.01, 0.25])
@pytest.mark.parametrize("largest", [1, 4, 2000])
@pytest.mark.parametrize("window", [1, 2, 5])
def test_any_schedule(manifest_path, expected, scheduled, workers, budget, largest, window):
    """Workers x budget x batch x in flight, in any order, with losses: one hash."""
    scheduled(budget, largest, window)
    manifest = load_manifest(manifest_path)
    seed = hash((workers, budget, largest, window))
    pool = Table(manifest, workers, random.Random(seed), losses=3)
    result = run(Plan(manifest, SPEC, None, max_crashes=9), opening(pool))
    assert (result.outcome, digest(result.artifact, result.traces)) == ("complete", expected)


@pytest.mark.parametrize(
    ("workers", "budget", "largest", "window"),
    [(1, 0.0, 2000, 5), (2, 0.01, 4, 2), (3, 0.25, 1, 1), (5, 0.25, 2000, 2)],
)
def test_any_schedule_on_ray(
    play, manifest_path, expected, tmp_path, scheduled, workers, budget, largest, window
):
    """The same on Ray, whose events come in another order."""
    from emberbench_dist.distributed.ray_pool import RayPool

    class ShuffledRay(Shuffled, RayPool):
        chance = random.Random(workers)

        def wait(self, timeout):
            return self.disturb(super().wait(0.01 if self._held else timeout))

        _held = ()

    scheduled(budget, largest, window)
    assert play(manifest_path, SPEC, workers=workers, pool=ShuffledRay).outcome == "complete"
    assert digest_of(tmp_path / "run") == expected


def test_slices_of_different_histories_merge(play, manifest_path, expected, tmp_path):
    """Slices of Ray and of one process, one with a killed worker, merge to the same hash."""
    from emberbench_dist.distributed.ray_pool import RayPool

    class Killing(RayPool):
        killed: list[int] = []  # noqa: RUF012 - one test, one class

        def submit(self, worker, items, budget):
            import ray

            process = ray.get(self._actors[worker].ready.remote()) if not self.killed else None
            super().submit(worker, items, budget)
            if process is not None:
                self.killed.append(process)
                os.kill(process, signal.SIGKILL)

    for part, pool in ((1, Killing), (2, RayPool)):
        result = play(manifest_path, SPEC, f"part{part}", slice=Slice(part, 3), pool=pool)
        assert result.outcome == "complete"
    assert len(Killing.killed) == 1
    parts = [RunFolder(tmp_path / f"part{part}") for part in (1, 2, 3)]
    manifest = load_manifest(manifest_path)
    table = Table(manifest, 2, random.Random(1), losses=0)
    run(Plan(manifest, SPEC, parts[2], slice=Slice(3, 3)), opening(table))
    whole = RunFolder(tmp_path / "whole")
    whole.create()
    merge_ledgers(whole, parts[::-1])
    with Ledger.reading(whole.ledger) as ledger:
        assert write_results(manifest, ledger, whole, steps=False).complete
    assert digest_of(whole.path) == expected


def test_a_history_of_interruptions(manifest_path, expected, tmp_path, scheduled):
    """A run that is stopped again and again, and resumed with other workers, has the one hash."""
    scheduled(0.0, 4, 2)
    manifest, outcomes = load_manifest(manifest_path), []
    for workers in itertools.cycle((2, 1, 3)):
        asked = itertools.count()
        plan = Plan(
            manifest,
            SPEC,
            RunFolder(tmp_path / "run"),
            resume=True,
            controls=Controls(stop=lambda asked=asked: next(asked) == 3),
        )
        pool = Table(manifest, workers, random.Random(len(outcomes)), losses=1)
        outcomes.append(run(plan, opening(pool)).outcome)
        if outcomes[-1] == "complete":
            break
    assert outcomes[:-1] == ["interrupted"] * (len(outcomes) - 1)
    assert len(outcomes) > 3
    assert digest_of(tmp_path / "run") == expected
