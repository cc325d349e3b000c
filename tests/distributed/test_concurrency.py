"""Several episodes at once in each worker: time, bytes, failures, and deaths with many in play."""

from __future__ import annotations

import json
from contextlib import closing

import pytest
from players import TRIGGER

from emberbench_dist.agents.baselines import Counting, Greedy
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.distributed.evaluate import _own_cpus, ray_pool
from emberbench_dist.distributed.worker import Setup
from emberbench_dist.errors import ClusterError, EvaluationError
from emberbench_dist.runner.drive import Controls
from emberbench_dist.runner.evaluate import evaluate
from emberbench_dist.runner.schedule import MAX_CRASHES
from manifests import hall, write_manifest


@pytest.fixture
def manifest(tmp_path):
    """Write 10 episodes, 3 on a map of `TRIGGER` columns, then 12 more."""
    return write_manifest(
        tmp_path / "input",
        [
            (hall("before"), {"first": 2**64 - 10, "count": 10}),
            (hall("trap", TRIGGER), [5, 2**63, 7]),
            (hall("after", 8), {"first": 0, "count": 12}),
        ],
    )


def test_episodes_that_wait_take_little_more_than_the_time_of_one(play, tmp_path):
    """256 episodes of a second, on 4 workers with 64 at once, take seconds, and the same bytes."""
    blocks = [(hall("one", people=1, steps=1), {"first": 0, "count": 256})]
    manifest = write_manifest(tmp_path / "input", blocks)
    result = play(manifest, "players:Waits", workers=4, cpus=0.1, concurrency=64)
    assert result.outcome == "complete"
    assert result.spent.seconds >= 256
    assert result.seconds < result.spent.seconds / 20
    expected = evaluate(manifest, Greedy)
    assert (tmp_path / "run/artifact.jsonl").read_bytes() == expected.artifact
    assert (tmp_path / "run/traces.jsonl").read_bytes() == expected.traces


@pytest.mark.parametrize(("cpus", "workers"), [(0.1, 20), (3.0, 2)])
def test_workers_share_or_take_several_cpus(play, manifest, tmp_path, cpus, workers):
    """More workers than CPUs have a place where each takes a part of one."""
    result = play(manifest, "greedy", workers=workers, cpus=cpus)
    assert result.outcome == "complete"
    assert (tmp_path / "run/artifact.jsonl").read_bytes() == evaluate(manifest, Greedy).artifact


@pytest.mark.parametrize(
    ("cpus", "gpus", "fitting"), [(1, 0, 6), (0.1, 0, 60), (4, 0, 1), (1, 1, 0)]
)
def test_as_many_workers_as_fit(cluster, cpus, gpus, fitting):
    """Without a number there are as many workers as the cluster has room for; none is an error."""
    from emberbench_dist.distributed.ray_pool import RayPool

    with closing(RayPool(Setup({}, None, cpus=cpus, gpus=gpus), 1)) as pool:
        assert pool._places.in_all() == fitting
        if fitting:
            pool.require_place()
        else:
            told = rf"no worker fits .*: each needs 1 CPU, .* has {cluster} .*; 1 GPU, .* has 0 and"
            with pytest.raises(ClusterError, match=told):
                pool.require_place()


@pytest.mark.parametrize(
    ("name", "share"), [("cpus", 0), ("cpus", -1), ("cpus", 1.5), ("gpus", -0.5)]
)
def test_a_share_that_ray_cannot_give_is_refused(name, share):
    """Shares are whole numbers or parts of one; anything else is an error before Ray is started."""
    with pytest.raises(EvaluationError, match=f"of a worker are .*, got {share}$"):
        ray_pool(Setup({}, "greedy", **{name: share}), workers=1, address=None)


@pytest.mark.parametrize(
    ("workers", "cpus", "told"), [(4, 0.1, 4), (2, 3.0, 6), (None, 64.0, 64), (3, 1.0, 3)]
)
def test_a_ray_of_our_own_has_room_for_the_workers(workers, cpus, told):
    """However many workers are asked for, our own Ray is told of CPUs enough."""
    assert _own_cpus(Setup({}, None, cpus=cpus), workers) == told


@pytest.mark.parametrize("most", [1, 3])
def test_no_more_than_the_most_are_in_play(play, tmp_path, most):
    """With a bound on what is in flight no more episodes are in play, however many could be."""
    manifest = write_manifest(tmp_path / "input", [(hall("one"), {"first": 0, "count": 12})])
    seen = []
    controls = Controls(report=lambda progress: seen.append(len(progress.running)))
    options = {"workers": 3, "concurrency": 4, "max_in_flight": most, "controls": controls}
    result = play(manifest, "players:Slow", **options)
    assert result.outcome == "complete"
    assert max(seen) <= most
    assert (tmp_path / "run/artifact.jsonl").read_bytes() == evaluate(manifest, Greedy).artifact


@pytest.mark.parametrize("slice_seconds", [0.25, 0.0])
def test_bytes_do_not_depend_on_concurrency(play, manifest, tmp_path, monkeypatch, slice_seconds):
    """Artifact and traces are the same bytes with several episodes at once in each worker."""
    expected = evaluate(manifest, Counting)
    monkeypatch.setattr("emberbench_dist.runner.drive.SLICE_SECONDS", slice_seconds)
    result = play(manifest, "counting", concurrency=5)
    assert result.outcome == "complete"
    assert (tmp_path / "run/artifact.jsonl").read_bytes() == expected.artifact
    assert (tmp_path / "run/traces.jsonl").read_bytes() == expected.traces


def test_the_lowest_failure_decides(play, manifest, tmp_path):
    """A failure of one of many at once is the lowest, and the artifact the prefix below it."""
    result = play(manifest, "players:Raises", concurrency=6)
    assert (result.outcome, result.failure.episode, result.failure.step) == ("failed", 10, 1)
    expected = evaluate(manifest, Greedy).artifact.splitlines()[1:11]
    assert (tmp_path / "run/artifact.jsonl").read_bytes().splitlines()[1:-1] == expected
    assert result.lost.attempts >= 1


def test_a_poisonous_episode_is_found_among_many_at_once(play, manifest, tmp_path):
    """What kills a worker with many in play is found by trying each alone; none other is blamed."""
    result = play(manifest, "players:Dies", concurrency=6)
    assert (result.outcome, result.failure.kind, result.failure.episode) == ("crashed", "crash", 10)
    with Ledger.reading(tmp_path / "run/ledger.sqlite") as ledger:
        crashes = ledger.crashes()
    assert crashes[10] == MAX_CRASHES
    assert set(crashes) <= {10, 11, 12}
    lines = (tmp_path / "run/artifact.jsonl").read_bytes().splitlines()
    assert json.loads(lines[-1])["committed"] == 10


def test_one_death_with_many_in_play_costs_nothing(play, manifest, tmp_path):
    """All that a dying worker played is played again, and told apart as lost."""
    result = play(manifest, "players:DiesOnce", workers=1, concurrency=30)
    assert result.outcome == "complete"
    with Ledger.reading(tmp_path / "run/ledger.sqlite") as ledger:
        assert ledger.crashes() == {}
        assert {attempt.reason for attempt in ledger.lost_attempts()} == {"died"}
    assert result.lost.attempts > 1
    assert result.spent.attempts == 25
    assert (tmp_path / "run/artifact.jsonl").read_bytes() == evaluate(manifest, Greedy).artifact
