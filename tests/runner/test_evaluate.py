"""Evaluating in one process: the same bytes from every path to the end, and faults as they are."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import contents, played

from emberbench_dist.agents.baselines import Counting, Greedy, Stay
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.errors import EvaluationError, ManifestError, ModelOutputError
from emberbench_dist.evaluation.manifest import load_manifest
from emberbench_dist.runner.drive import Controls
from emberbench_dist.runner.evaluate import evaluate, in_process
from emberbench_dist.runner.run import Plan, missing, run

COUNT = 16
# Episodes 6 to 8 are on a map of 9 columns.
WIDE = 9


@pytest.fixture(scope="module")
def whole(manifest):
    """Evaluate the manifest in memory, undisturbed."""
    return evaluate(manifest, Counting)


class Fails(Counting):
    """Count, and raise on wide maps at the second step."""

    error = ValueError("no plan")

    def act(self, observation):
        """Raise, or act."""
        if observation.map.width == WIDE and observation.step == 1:
            raise self.error
        return super().act(observation)


def canonical(folder):
    """Return the canonical bytes of a run folder."""
    return RunFolder(folder).artifact.read_bytes(), RunFolder(folder).traces.read_bytes()


def stop_after(episodes):
    """Return controls that ask to stop once so many episodes were played in the session."""
    played = [0]
    return Controls(
        stop=lambda: played[-1] >= episodes, report=lambda progress: played.append(progress.played)
    )


def one_at_a_time(monkeypatch):
    """Let every batch come back after its first episode, so that a run can stop after any."""
    monkeypatch.setattr("emberbench_dist.runner.drive.SLICE_SECONDS", 0.0)


def test_without_a_folder_the_result_holds_the_bytes(manifest, whole):
    """The lines are those of the episodes played one by one, and the counts are right."""
    results = played(manifest, range(COUNT), Counting)
    assert whole.artifact.splitlines()[1:-1] == [result.line for result in results]
    assert whole.traces.splitlines() == [result.trace for result in results]
    assert (whole.outcome, whole.failure, whole.folder) == ("complete", None, None)
    assert (whole.committed, whole.played, whole.summary.committed) == (COUNT, COUNT, COUNT)
    assert whole.seconds > 0


def test_a_folder_holds_the_same_bytes(tmp_path, manifest, whole):
    """Evaluating into a folder writes what evaluating in memory returns."""
    result = evaluate(manifest, Counting, tmp_path / "run")
    assert canonical(tmp_path / "run") == (whole.artifact, whole.traces)
    assert (result.artifact, result.traces, result.folder) == (b"", b"", tmp_path / "run")
    assert result.summary == whole.summary


def test_a_manifest_may_be_a_path(manifest_path, whole):
    """A manifest can be given as a file name, a path or loaded."""
    for given_as in (str(manifest_path), manifest_path, load_manifest(manifest_path)):
        assert evaluate(given_as, Counting).artifact == whole.artifact
    with pytest.raises(ManifestError, match="nowhere"):
        evaluate("nowhere.json", Counting)


def test_the_bytes_tell_agents_apart(manifest, whole):
    """Another behaviour gives another artifact, another name for the same behaviour does not."""
    assert evaluate(manifest, Stay).artifact != whole.artifact
    assert evaluate(manifest, lambda: Counting(), agent_spec="other").artifact == whole.artifact  # noqa: PLW0108 - another object


@pytest.mark.parametrize("size", [1, 2, 5, 14])
def test_an_interrupted_run_resumes_to_the_same_bytes(tmp_path, manifest, whole, monkeypatch, size):
    """However often a run is interrupted, it ends with the bytes of one that was not."""
    one_at_a_time(monkeypatch)
    results, committed = [], 0
    while not results or results[-1].outcome != "complete":
        controls = stop_after(size)
        result = evaluate(manifest, Counting, tmp_path, resume=bool(results), controls=controls)
        assert result.played > 0
        committed += result.played
        assert result.committed == committed
        artifact, traces = canonical(tmp_path)
        done = result.summary.committed
        assert artifact.splitlines()[1:-1] == whole.artifact.splitlines()[1:-1][:done]
        assert traces == b"".join(whole.traces.splitlines(keepends=True)[:done])
        results.append(result)
    assert {result.outcome for result in results[:-1]} == {"interrupted"}
    assert canonical(tmp_path) == (whole.artifact, whole.traces)


def test_resume_builds_agents_only_for_missing_episodes(tmp_path, manifest, whole, monkeypatch):
    """A resumed run builds one agent for each episode that is not committed, and no other."""
    one_at_a_time(monkeypatch)
    done = evaluate(manifest, Counting, tmp_path, controls=stop_after(8)).committed
    built = []
    result = evaluate(manifest, lambda: built.append(1) or Counting(), tmp_path, resume=True)
    assert len(built) == COUNT - done
    assert (result.played, result.committed) == (COUNT - done, COUNT)
    assert canonical(tmp_path) == (whole.artifact, whole.traces)


def test_resuming_a_complete_run_plays_nothing_and_changes_no_result(tmp_path, manifest, whole):
    """A complete run can be resumed without an agent; its results keep every byte."""
    evaluate(manifest, Counting, tmp_path)
    before = contents(tmp_path)

    def never():
        raise AssertionError("no agent is needed")

    result = evaluate(manifest, never, tmp_path, resume=True)
    assert (result.outcome, result.played, result.committed) == ("complete", 0, COUNT)
    after = contents(tmp_path)
    changed = {name for name in before | after if before.get(name) != after.get(name)}
    assert changed <= {"run.json", "ledger.sqlite"}
    assert canonical(tmp_path) == (whole.artifact, whole.traces)


def test_resuming_nothing_is_a_run_from_the_start(tmp_path, manifest, whole):
    """Where there is no run yet, resume begins one."""
    evaluate(manifest, Counting, tmp_path / "new", resume=True)
    assert canonical(tmp_path / "new") == (whole.artifact, whole.traces)


@pytest.mark.parametrize(
    "error", [ValueError("no plan"), TimeoutError(), KeyboardInterrupt(), SystemExit(0)]
)
def test_what_the_agent_raises_comes_out_unchanged(tmp_path, manifest, monkeypatch, error):
    """The very object that the agent raised ends the evaluation, in memory and in a folder."""
    monkeypatch.setattr(Fails, "error", error)
    for out in (None, tmp_path / "run"):
        with pytest.raises(type(error)) as caught:
            evaluate(manifest, Fails, out)
        assert caught.value is error


def test_output_that_is_refused_is_an_error_of_the_model(manifest):
    """An answer that is no action comes out as `ModelOutputError` with its step."""

    class Shouts(Counting):
        def act(self, observation):
            return dict.fromkeys(observation.active, "NORTH")

    with pytest.raises(ModelOutputError, match=r"^step 0: "):
        evaluate(manifest, Shouts)


def test_an_agent_that_comes_twice_is_refused(tmp_path, manifest):
    """A factory that returns an earlier episode's agent stops the run at that episode."""
    agent = Stay()
    with pytest.raises(EvaluationError, match="earlier episode"):
        evaluate(manifest, lambda: agent, tmp_path)
    assert len(RunFolder(tmp_path).traces.read_bytes().splitlines()) == 1


def test_a_failed_run_keeps_what_is_below_the_failure(tmp_path, manifest, whole):
    """After a failure the artifact is the prefix before it, and the ledger tells where it was."""
    for out in ("one", "two"):
        with pytest.raises(ValueError, match="no plan"):
            evaluate(manifest, Fails, tmp_path / out)
    artifact, traces = canonical(tmp_path / "one")
    assert (artifact, traces) == canonical(tmp_path / "two")
    assert artifact.splitlines()[1:-1] == whole.artifact.splitlines()[1:-1][:6]
    footer = json.loads(artifact.splitlines()[-1])
    assert (footer["committed"], footer["complete"]) == (6, False)
    with Ledger.reading(RunFolder(tmp_path / "one").ledger) as ledger:
        ledger.check()
        failure, *_ = ledger.failures()
    assert (failure.episode, failure.scenario_id, failure.seed) == (6, "wide", 2**63)
    assert (failure.step, failure.type, failure.message) == (1, "ValueError", "no plan")
    assert "in act" in failure.traceback


def test_nothing_is_played_after_a_failure(manifest, monkeypatch):
    """Once an episode failed no agent is built for a higher one, however episodes are batched."""
    one_at_a_time(monkeypatch)
    built = []

    class Counted(Fails):
        def __init__(self):
            super().__init__()
            built.append(1)

    with pytest.raises(ValueError, match="no plan"):
        evaluate(manifest, Counted)
    assert len(built) == 7


def test_a_failed_run_resumes_once_the_agent_is_fixed(tmp_path, manifest, whole):
    """After a failure only the missing episodes are played, to the undisturbed bytes."""
    with pytest.raises(ValueError, match="no plan"):
        evaluate(manifest, Fails, tmp_path)
    with pytest.raises(ValueError, match="no plan"):
        evaluate(manifest, Fails, tmp_path, resume=True)
    with Ledger.reading(RunFolder(tmp_path).ledger) as ledger:
        done = sum(map(len, ledger.committed()))
    result = evaluate(manifest, Counting, tmp_path, resume=True)
    assert result.played == COUNT - done
    assert canonical(tmp_path) == (whole.artifact, whole.traces)
    with Ledger.reading(RunFolder(tmp_path).ledger) as ledger:
        ledger.check()
        assert ledger.failures() == []


def test_a_run_returns_the_failure_as_data(tmp_path, manifest):
    """`run` itself does not raise what the agent raised: it says so."""
    plan = Plan(manifest, "fails", RunFolder(tmp_path))
    result = run(plan, in_process(manifest, Fails))
    assert result.outcome == "failed"
    assert result.failure.episode == 6
    assert result.failure.exception is Fails.error
    assert result.summary.committed == 6
    assert not result.summary.complete


@pytest.mark.parametrize("failing", [0, COUNT - 1])
def test_the_first_and_the_last_episode_may_fail(manifest, failing):
    """A failure at either end leaves an empty prefix, or all but one."""
    built = []

    class FailsOnce(Greedy):
        def __init__(self):
            super().__init__()
            built.append(1)

        def act(self, observation):
            if len(built) == failing + 1:
                raise ValueError
            return super().act(observation)

    result = run(Plan(manifest, "fails", None), in_process(manifest, FailsOnce))
    assert (result.failure.episode, result.summary.committed) == (failing, failing)
    assert len(result.traces.splitlines()) == failing


@given(st.sets(st.integers(0, 20)), st.integers(0, 21))
def test_missing_is_the_complement(episodes, planned):
    """Committed ranges and the missing ones make up the plan."""
    committed = sorted(episode for episode in episodes if episode < planned)
    with_ranges = [range(episode, episode + 1) for episode in committed]
    gaps = missing(with_ranges, range(planned))
    assert all(gaps)
    assert [episode for gap in gaps for episode in gap] == sorted({*range(planned)} - episodes)
