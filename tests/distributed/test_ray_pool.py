"""The pool on Ray: failures as data, deaths replaced, the same bytes as in one process."""

from __future__ import annotations

import json
import re
import sys
from types import ModuleType

import pytest
from players import TRIGGER

from emberbench_dist.agents.baselines import Counting, Greedy
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.runner import schedule
from emberbench_dist.runner.evaluate import evaluate
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


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize(("slice_seconds", "max_batch"), [(0.25, 2000), (0.0, 3)])
def test_bytes_do_not_depend_on_workers_or_batches(
    play, manifest, tmp_path, monkeypatch, workers, slice_seconds, max_batch
):
    """Artifact and traces are the same bytes for any number of workers and size of batches."""
    expected = evaluate(manifest, Counting)
    monkeypatch.setattr("emberbench_dist.runner.drive.SLICE_SECONDS", slice_seconds)
    monkeypatch.setattr(schedule, "MAX_BATCH", max_batch)
    result = play(manifest, "counting", workers=workers)
    assert result.outcome == "complete"
    assert (tmp_path / "run/artifact.jsonl").read_bytes() == expected.artifact
    assert (tmp_path / "run/traces.jsonl").read_bytes() == expected.traces


@pytest.mark.parametrize(
    ("spec", "type_", "message"),
    [
        ("players:Raises", "ValueError", "no plan for step 1"),
        ("players:RaisesUnpicklable", "KeywordOnlyError", "code 1"),
        ("players:Exits", "SystemExit", "0"),
        ("players:PressesCtrlC", "KeyboardInterrupt", ""),
        (
            "players:AnswersBadly",
            "ModelOutputError",
            "step 1: the action of 'P0' must be one of stay, north, south, east, west; got 'up'",
        ),
    ],
)
def test_failure_arrives_as_data(play, manifest, tmp_path, spec, type_, message):
    """What an agent raises in a worker arrives with type, message, traceback and place."""
    expected = evaluate(manifest, Greedy).artifact.splitlines()[1:11]
    result = play(manifest, spec)
    failure = result.failure
    assert result.outcome == "failed"
    assert (failure.episode, failure.scenario_id, failure.seed, failure.step) == (10, "trap", 5, 1)
    assert (failure.kind, failure.type, failure.message) == ("agent", type_, message)
    assert ("players.py" in failure.traceback) == (type_ != "ModelOutputError")
    assert "emberbench_dist/evaluation" not in failure.traceback
    assert (tmp_path / "run/artifact.jsonl").read_bytes().splitlines()[1:-1] == expected


@pytest.mark.parametrize("spec", ["players:Dies", "players:DiesByKill"])
def test_poison_episode_is_isolated(play, manifest, tmp_path, spec):
    """An episode that kills its worker each time is named, charged alone, all below committed."""
    result = play(manifest, spec)
    assert (result.outcome, result.failure.kind, result.failure.episode) == ("crashed", "crash", 10)
    assert result.summary.committed == 10
    with Ledger.reading(tmp_path / "run/ledger.sqlite") as ledger:
        crashes = ledger.crashes()
    assert crashes[10] == schedule.MAX_CRASHES
    assert set(crashes) <= {10, 11, 12}


def test_death_of_a_worker_costs_nothing(play, manifest, tmp_path):
    """A worker that dies once is replaced, and the bytes are those of an undisturbed run."""
    result = play(manifest, "players:DiesOnce")
    assert result.outcome == "complete"
    assert (tmp_path / "died").exists()
    expected = evaluate(manifest, Greedy).artifact
    assert (tmp_path / "run/artifact.jsonl").read_bytes() == expected


def test_accounting_reaches_the_ledger_and_not_the_artifact(play, manifest, tmp_path):
    """An agent's accounting is kept per step, and the artifact is the same without it."""
    play(manifest, "players:Accounts")
    with Ledger.reading(tmp_path / "run/ledger.sqlite") as ledger:
        first = next(ledger.results())
    steps = json.loads(first.execution)["steps"]
    assert steps[0]["input_tokens"] == 7
    assert steps[0]["model"] == "stub"
    assert len(steps) == json.loads(first.line)["metrics"]["steps"]
    expected = evaluate(manifest, Greedy).artifact
    assert (tmp_path / "run/artifact.jsonl").read_bytes() == expected


def test_many_short_episodes_travel_in_few_calls(play, tmp_path):
    """Thousands of short episodes need a small number of Ray calls, ever two in flight."""
    from emberbench_dist.distributed.ray_pool import RayPool

    class Counted(RayPool):
        calls = 0
        most = 0

        def submit(self, worker, episodes, budget):
            super().submit(worker, episodes, budget)
            Counted.calls += 1
            mine = [who for who, _ in self._calls.values()].count(worker)
            Counted.most = max(Counted.most, mine)

    short = write_manifest(
        tmp_path / "short", [(hall("tiny", people=1, steps=1), {"first": 0, "count": 4000})]
    )
    result = play(short, "stay", pool=Counted)
    assert result.summary.committed == 4000
    assert Counted.calls < 120
    assert Counted.most == 2


def test_workers_that_cannot_start_end_the_run(play, manifest):
    """An agent that only the driver can import ends the run with the workers' reason."""
    module = ModuleType("only_here")
    module.Agent = Greedy
    sys.modules["only_here"] = module
    try:
        result = play(manifest, "only_here:Agent")
    finally:
        del sys.modules["only_here"]
    assert (result.outcome, result.committed) == ("crashed", 0)
    assert re.match(r"workers cannot be started: .*only_here", result.problem)
