"""Playbacks: what the simulator did, and nothing that a folder does not hold."""

from __future__ import annotations

import json
import shutil

import pytest
import truth
from commands import dist_eval
from truth import AGENTS, EPISODES

from emberbench_dist.analysis.episodes.playback import fire_of, playbacks
from emberbench_dist.artifacts.database import connect, disconnect
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.repair import kept_manifest
from emberbench_dist.errors import LedgerError, ManifestError, ReplayError, RunFolderError
from emberbench_dist.evaluation.episode import sealed
from manifests import hall, write_manifest


def test_the_worlds_have_everything():
    """The episodes that these tests look at have every event that there is to show."""
    entries = [
        step for name in AGENTS for number in range(3) for step in truth.record(name, number).steps
    ]
    outcomes = {outcome.value for step in entries for outcome in step.outcomes}
    assert outcomes >= {"moved", "stayed", "blocked_wall", "blocked_occupied", "blocked_conflict"}
    assert {lost.cause.value for step in entries for lost in step.casualties} == {
        "entered_fire",
        "fire_spread",
    }
    assert any(step.evacuations for step in entries)
    assert any(step.state.trapped for step in entries)
    assert any(step.state.termination_reason == "max_steps" for step in entries)
    assert len({truth.steps(name, 0) for name in AGENTS}) > 1


def test_a_playback_is_what_the_simulator_did(runs):
    """Everybody's place, deed and fate at every step, and every fire, are those of playing."""
    shown = list(playbacks(runs, range(3)))
    assert [play.label for play in shown[0]] == list(AGENTS)
    for number, plays in enumerate(shown):
        for play in plays:
            record = truth.record(play.label, number)
            assert (play.episode.index, play.episode.seed) == (number, EPISODES[number][1])
            assert play.metrics["steps"] == play.steps == len(record.steps)
            for step in range(play.steps + 1):
                state = truth.state(play.label, number, step)
                assert play.at(step) == state.people
                assert [p.id for p in state.people if play.is_trapped(p, step)] == list(
                    state.trapped
                )
                burning = sorted(cell for cell, since in play.ignited.items() if since <= step)
                assert burning == list(state.burning)
            assert list(play.deeds) == [
                tuple(zip(entry.choices, entry.outcomes, strict=True)) for entry in record.steps
            ]
            assert play.evacuated == {
                out.id: (entry.step, out.exit)
                for entry in record.steps
                for out in entry.evacuations
            }
            assert play.lost == {
                lost.id: (step.step, lost.cause)
                for step in record.steps
                for lost in step.casualties
            }


def test_after_its_end_an_episode_stays_as_it_is(runs):
    """A step past the end shows the last state; the fire is that of the longest play."""
    (plays,) = playbacks(runs, [0])
    shortest = min(plays, key=lambda play: play.steps)
    longest = max(plays, key=lambda play: play.steps)
    assert shortest.at(longest.steps) == shortest.people[-1]
    assert shortest.counts(longest.steps) == shortest.counts(shortest.steps)
    fire = fire_of(plays)
    assert fire is longest.ignited
    assert all(fire[cell] == since for play in plays for cell, since in play.ignited.items())


def test_counts_are_the_metrics_at_the_end(runs):
    """The counts of the last step are the metrics of the episode."""
    for plays in playbacks(runs, range(3)):
        for play in plays:
            metrics = play.metrics
            assert play.counts(play.steps) == (
                metrics["unresolved"],
                metrics["trapped_at_end"],
                metrics["evacuated"],
                metrics["casualties"],
            )


def test_an_unplanned_episode_is_refused(runs):
    """An episode that the manifest does not have is named, with those that it has."""
    with pytest.raises(ManifestError, match="there is no episode 3; they are 0 to 2"):
        list(playbacks(runs, [3]))


def test_a_folder_without_a_run_is_refused(tmp_path):
    """A folder without a ledger is named."""
    with pytest.raises(LedgerError, match=f"{tmp_path}/ledger.sqlite: there is no run here"):
        list(playbacks([("none", tmp_path)], [0]))


def test_an_empty_run_is_refused(runs, tmp_path):
    """A run without a committed episode has none to show."""
    _, folder = runs[0]
    with Ledger.reading(folder / "ledger.sqlite") as ledger:
        Ledger.create(tmp_path / "ledger.sqlite", ledger.meta(), ledger.documents()).close()
    with pytest.raises(RunFolderError, match=f"{tmp_path}: episode 0 is not committed"):
        list(playbacks([("empty", tmp_path)], [0]))


def test_runs_of_different_manifests_are_refused(runs, tmp_path):
    """Episodes of different manifests are not put side by side."""
    manifest = write_manifest(tmp_path / "input", [(hall("other"), [1])])
    assert dist_eval("run", manifest, "--in-process", "--out", tmp_path / "run").returncode == 0
    with pytest.raises(RunFolderError, match="run: is a run of another manifest than"):
        list(playbacks([runs[0], ("other", tmp_path / "run")], [0]))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda actions: actions[:-1], "the trace ends before the episode"),
        (lambda actions: [*actions, "....."], "the episode is over"),
        (lambda actions: ["." * len(actions[0])] * 5, "does not lead to the final state"),
        (lambda actions: [actions[0] + ".", *actions[1:]], "actions for 5 active people"),
    ],
)
def test_a_trace_that_leads_elsewhere_is_refused(runs, tmp_path, change, told):
    """A row whose trace does not give its result is named, not shown."""
    _, folder = runs[0]
    shutil.copy(folder / "ledger.sqlite", tmp_path)
    with Ledger.reading(tmp_path / "ledger.sqlite") as ledger:
        result = ledger.result(2)
    trace = json.dumps({"actions": change(json.loads(result.trace)["actions"]), "episode": 2})
    changed = sealed(*result._replace(trace=trace.encode())[:-1])
    connection = connect(tmp_path / "ledger.sqlite")
    connection.execute("DELETE FROM episodes WHERE episode = 2")
    disconnect(connection)
    ledger = Ledger.open(tmp_path / "ledger.sqlite")
    ledger.commit([changed])
    ledger.close()
    with pytest.raises(ReplayError, match=f"{tmp_path}: episode 2: .*{told}"):
        list(playbacks([("changed", tmp_path)], [2]))


def test_reading_changes_nothing(runs):
    """Playing back leaves every byte of a run folder as it was."""
    _, folder = runs[0]
    before = {path: path.read_bytes() for path in folder.iterdir()}
    list(playbacks(runs, [2, 0]))
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_the_kept_manifest_is_used(runs):
    """Scenarios come from the ledger, so a folder is enough."""
    _, folder = runs[0]
    with Ledger.reading(folder / "ledger.sqlite") as ledger:
        manifest = kept_manifest(ledger, "ledger")
    ((play,),) = playbacks(runs[:1], [2])
    assert play.scenario == manifest.scenarios["odd-hall"]
