"""Workers that die and agents that fail: what is charged, kept, played again and given up."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from misbehaving import FIRST_WIDTH, EachDeath, Sick

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.runner.drive import Controls
from emberbench_dist.runner.evaluate import evaluate
from manifests import hall, write_manifest

NARROWEST, EPISODES = 6, 16
POISON = Sick.dies - NARROWEST
RAISING = [width - NARROWEST for width in Sick.raises]
KEEP_GOING = Controls(keep_going=True)


@pytest.fixture
def manifest(tmp_path):
    """Write a manifest in which the width of the map tells the episode."""
    widths = range(NARROWEST, NARROWEST + EPISODES)
    return write_manifest(tmp_path / "input", [(hall(f"w{w}", w), [w]) for w in widths])


@pytest.fixture
def recording(cluster, monkeypatch):  # noqa: ARG001 - Ray is imported after it has its settings
    """Return a pool that keeps its batches, which are as large as the schedule likes."""
    from emberbench_dist.distributed.ray_pool import RayPool

    class Recording(RayPool):
        batches: list[list[int]] = []  # noqa: RUF012 - one test, one class

        def submit(self, worker, items, budget):
            self.batches.append([item.index for item in items])
            super().submit(worker, items, budget)

    monkeypatch.setattr("emberbench_dist.runner.drive.SLICE_SECONDS", float("inf"))
    return Recording


def kept(folder):
    """Return committed episodes, failures and crashes of a run's ledger, after an audit."""
    with Ledger.reading(folder / "ledger.sqlite") as ledger:
        ledger.check()
        committed = [result.episode for result in ledger.results()]
        return committed, ledger.failures(), ledger.crashes()


def executions(folder=Path()):
    """Return how often each episode was begun."""
    return Counter(int(line) - NARROWEST for line in (folder / "played").read_text().split())


def assert_undisturbed(folder, manifest):
    """Compare artifact and traces with those of a run in this process."""
    expected = evaluate(manifest, Greedy)
    assert (folder / "artifact.jsonl").read_bytes() == expected.artifact
    assert (folder / "traces.jsonl").read_bytes() == expected.traces


def test_keep_going_plays_all_that_can_be_played(play, manifest, tmp_path):
    """With keep_going every failure is kept, all others are committed, and resume goes on."""
    run, wanted = tmp_path / "run", sorted([*RAISING, POISON])
    others = [episode for episode in range(EPISODES) if episode not in wanted]
    result = play(manifest, "misbehaving:Sick", max_crashes=1, controls=KEEP_GOING)
    assert (result.outcome, result.committed) == ("failed", len(others))
    assert result.failure.episode == RAISING[0]
    committed, failures, crashes = kept(run)
    assert (committed, crashes) == (others, {POISON: 1})
    told = [(one.episode, one.step, one.kind, one.type, one.attempts) for one in failures]
    assert told == [
        (episode, None, "crash", "WorkerDied", 1)
        if episode == POISON
        else (episode, 1, "agent", "ValueError", 1)
        for episode in wanted
    ]
    assert failures[0].message == "no plan for 9 columns"
    lines = (run / "artifact.jsonl").read_bytes().splitlines()
    assert lines[1:-1] == evaluate(manifest, Greedy).artifact.splitlines()[1 : RAISING[0] + 1]
    assert json.loads(lines[-1])["committed"] == RAISING[0]
    for table in ("episodes", "execution"):
        column = pq.read_table(run / f"{table}.parquet")["episode"]
        assert sorted(set(column.to_pylist())) == others
    rows = pq.read_table(run / "failures.parquet").to_pylist()
    assert [(row["episode"], row["step"], row["attempts"]) for row in rows] == [
        (one.episode, one.step, one.attempts) for one in failures
    ]
    assert [row["message"] for row in rows] == [one.message for one in failures]

    (tmp_path / "played").unlink()
    again = {"max_crashes": 1, "controls": KEEP_GOING, "resume": True}
    assert play(manifest, "misbehaving:Sick", **again).outcome == "failed"
    assert executions().keys() == set(wanted)
    assert [one.attempts for one in kept(run)[1]] == [2, 2, 2, 2]

    (tmp_path / "played").write_text("")
    result = play(manifest, "misbehaving:Sick", skip_failed=True, **again)
    assert (result.outcome, result.played, executions()) == ("failed", 0, {})
    assert [one.attempts for one in kept(run)[1]] == [2, 2, 2, 2]

    (tmp_path / "mended").touch()
    assert play(manifest, "misbehaving:Sick", **again).outcome == "complete"
    assert executions() == dict.fromkeys(wanted, 1)
    assert kept(run)[1] == []
    assert not (run / "failures.parquet").exists()
    assert_undisturbed(run, manifest)


def test_skip_failed_leaves_the_failed_alone(play, manifest, tmp_path):
    """With skip_failed a resume plays what is pending but what failed, and says that it is left."""
    assert play(manifest, "misbehaving:Sick").outcome == "failed"
    (tmp_path / "mended").touch()
    before = kept(tmp_path / "run")
    result = play(manifest, "misbehaving:Sick", resume=True, skip_failed=True)
    committed, failures, _ = kept(tmp_path / "run")
    left = {one.episode for one in before[1]}
    assert RAISING[0] in left
    assert committed == [episode for episode in range(EPISODES) if episode not in left]
    assert (result.outcome, failures) == ("failed", before[1])
    assert play(manifest, "misbehaving:Sick", resume=True).outcome == "complete"
    assert_undisturbed(tmp_path / "run", manifest)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_max_crashes_is_honoured(play, manifest, tmp_path, recording, most):
    """An episode is given up after as many deaths alone as allowed, counted in the ledger."""
    result = play(
        manifest,
        "misbehaving:Sick",
        workers=1,
        pool=recording,
        max_crashes=most,
        controls=KEEP_GOING,
    )
    committed, failures, crashes = kept(tmp_path / "run")
    assert result.outcome == "failed"
    assert crashes == {POISON: most}
    (given_up,) = (one for one in failures if one.kind == "crash")
    assert f"its worker died {most} times, alone with it; the last time: " in given_up.message
    assert len(committed) == EPISODES - 1 - len(RAISING)
    assert executions()[POISON] == len([batch for batch in recording.batches if POISON in batch])
    first = next(batch for batch in recording.batches if POISON in batch)
    assert executions()[POISON] == most + (len(first) > 1)


def test_crashes_are_counted_across_sessions(play, manifest, tmp_path):
    """Deaths of earlier sessions count, until an episode is given up: then it is tried afresh."""
    for most, counted in ((1, 1), (2, 2), (1, 3)):
        result = play(
            manifest,
            "misbehaving:Sick",
            resume=True,
            max_crashes=most,
            controls=KEEP_GOING,
        )
        assert result.outcome == "failed"
        assert kept(tmp_path / "run")[2] == {POISON: counted}


def test_what_is_lost_with_a_worker_starts_over(play, manifest, tmp_path, recording):
    """Exactly what a dead worker had begun and not returned is begun again, with new agents."""
    result = play(manifest, "misbehaving:DiesOnce", workers=1, pool=recording)
    assert result.outcome == "complete"
    (lost, *_) = (batch for batch in recording.batches if POISON in batch)
    again = lost[: lost.index(POISON) + 1]
    assert executions() == Counter([*range(EPISODES), *again])
    assert len((tmp_path / "built").read_text().split()) == EPISODES + len(again)
    assert kept(tmp_path / "run")[2] == ({} if len(lost) > 1 else {POISON: 1})
    with Ledger.reading(tmp_path / "run/ledger.sqlite") as ledger:
        attempts = ledger.lost_attempts()
        assert ledger.spent().attempts == EPISODES
    assert [(one.episode, one.reason) for one in attempts] == [(number, "died") for number in again]
    assert json.loads(attempts[-1].execution)["seconds"] >= 0
    assert_undisturbed(tmp_path / "run", manifest)


def test_every_way_to_die_is_survived(play, tmp_path):
    """A segmentation fault, an abort, an exit and a signal to itself each cost one episode."""
    ways = EachDeath.agents
    blocks = [(hall("small"), {"first": 1, "count": 4})] + [
        (hall(way.__name__, FIRST_WIDTH + number), [1]) for number, way in enumerate(ways)
    ]
    manifest = write_manifest(tmp_path / "input", [*blocks, (hall("last", 7), [1, 2])])
    result = play(manifest, "misbehaving:EachDeath", max_crashes=1, controls=KEEP_GOING)
    committed, failures, crashes = kept(tmp_path / "run")
    assert result.outcome == "failed"
    assert committed == [0, 1, 2, 3, 8, 9]
    assert [(one.scenario_id, one.kind) for one in failures] == [
        (way.__name__, "crash") for way in ways
    ]
    assert crashes == {4: 1, 5: 1, 6: 1, 7: 1}


def test_a_worker_killed_while_it_imports_costs_nothing(play, manifest, tmp_path):
    """A worker that is killed before it is ready is replaced, and no episode is charged."""
    (tmp_path / "slow_to_import.py").write_text(
        "import os, pathlib, time\n"
        "from emberbench_dist.agents.baselines import Greedy\n"
        "FOLDER = pathlib.Path.cwd()\n"
        "(FOLDER / f'importing-{os.getpid()}').touch()\n"
        "time.sleep(1)\n"
        "class WaitsForTheThird(Greedy):\n"
        "    def act(self, observation):\n"
        "        while len(list(FOLDER.glob('importing-*'))) < 3:\n"
        "            time.sleep(0.01)\n"
        "        return super().act(observation)\n"
    )
    killed = []

    def kill_the_first():
        while not (found := list(tmp_path.glob("importing-*"))):
            time.sleep(0.01)
        killed.append(int(found[0].name.partition("-")[2]))
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill_the_first, daemon=True)
    killer.start()
    result = play(manifest, "slow_to_import:WaitsForTheThird")
    killer.join()
    assert result.outcome == "complete"
    assert kept(tmp_path / "run")[1:] == ([], {})
    assert_undisturbed(tmp_path / "run", manifest)
