"""One session in one run folder: what is refused, what is told, and what a bad end leaves."""

from __future__ import annotations

import json
import os
import platform
import shutil
import socket
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path

import pytest
from rows import contents

import emberbench_dist
from emberbench_dist.agents.baselines import Counting, Stay
from emberbench_dist.artifacts.durable import read_json
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.artifacts.tables import TABLE
from emberbench_dist.errors import ClusterError, LedgerError, RunFolderError
from emberbench_dist.evaluation.manifest import load_manifest
from emberbench_dist.runner.drive import Controls
from emberbench_dist.runner.evaluate import evaluate, in_process
from emberbench_dist.runner.run import Plan, run
from manifests import hall, write_manifest

COUNT = 16
TABLES = {f"{name}.parquet" for name in ("episodes", "people", "steps", "execution")}
RESULTS = {"artifact.jsonl", "traces.jsonl", "ledger.sqlite", "run.json"}


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """Load another manifest."""
    return load_manifest(write_manifest(tmp_path_factory.mktemp("other"), [(hall("x"), [1])]))


def results_in(folder):
    """Return the bytes of every file in a folder but the lock."""
    return {name: data for name, data in contents(folder).items() if name != "run.lock"}


def sessions(folder):
    """Return what `run.json` tells of the sessions."""
    return read_json(RunFolder(folder).run_json)["sessions"]


def interrupted_at_once():
    """Return controls that ask to stop before anything is played."""
    return Controls(stop=lambda: True)


def test_a_finished_folder_holds_what_the_formats_list(tmp_path, manifest):
    """A run leaves its results, its tables and nothing half done."""
    evaluate(manifest, Counting, tmp_path)
    assert results_in(tmp_path).keys() == RESULTS | TABLES


def test_steps_may_be_left_out(tmp_path, manifest):
    """Without steps there is no table of them, also where an earlier session wrote one."""
    evaluate(manifest, Counting, tmp_path)
    evaluate(manifest, Counting, tmp_path, resume=True, steps=False)
    assert results_in(tmp_path).keys() == RESULTS | TABLES - {"steps.parquet"}


def test_a_folder_that_holds_a_run_is_refused(tmp_path, manifest):
    """Without resume a run is never added to or written over; the error says what to do."""
    evaluate(manifest, Counting, tmp_path)
    before = results_in(tmp_path)
    with pytest.raises(RunFolderError, match=r"already holds a run.*--resume"):
        evaluate(manifest, Counting, tmp_path)
    assert results_in(tmp_path) == before


def test_the_run_of_another_manifest_is_refused(tmp_path, manifest, other):
    """A resumed run must be of the same manifest; the error names both."""
    evaluate(other, Counting, tmp_path)
    before = results_in(tmp_path)
    with pytest.raises(RunFolderError) as caught:
        evaluate(manifest, Counting, tmp_path, resume=True)
    assert f"is a run of manifest test ({other.manifest_hash[:12]}…), not of" in str(caught.value)
    assert manifest.manifest_hash[:12] in str(caught.value)
    assert results_in(tmp_path) == before


def test_a_changed_description_is_the_same_manifest(tmp_path, manifest_path):
    """Words that are not hashed do not keep a run from being resumed."""
    evaluate(manifest_path, Counting, tmp_path / "run")
    shutil.copytree(manifest_path.parent, tmp_path / "input")
    copy = tmp_path / "input" / manifest_path.name
    copy.write_text(json.dumps(json.loads(copy.read_text()) | {"description": "Other words."}))
    assert evaluate(copy, Counting, tmp_path / "run", resume=True).played == 0


def test_the_run_of_another_agent_is_refused_unless_asked_for(tmp_path, manifest):
    """A run goes on with the agent it began with, or with another on request."""
    folder = RunFolder(tmp_path)
    run(Plan(manifest, "stay", folder, controls=interrupted_at_once()), in_process(manifest, Stay))
    plan = partial(Plan, manifest, "counting", folder, resume=True)
    before = results_in(tmp_path)
    with pytest.raises(RunFolderError, match=r"agent 'stay', not of 'counting'.*--agent-changed"):
        run(plan(), in_process(manifest, Counting))
    assert results_in(tmp_path) == before
    result = run(plan(agent_changed=True), in_process(manifest, Counting))
    assert (result.outcome, result.played) == ("complete", COUNT)
    assert read_json(folder.run_json)["agent_spec"] == "counting"
    assert run(plan(), in_process(manifest, Counting)).played == 0


def test_an_artifact_without_a_ledger_is_refused(tmp_path, manifest):
    """Results whose ledger is gone are not written over."""
    evaluate(manifest, Counting, tmp_path)
    RunFolder(tmp_path).ledger.unlink()
    before = results_in(tmp_path)
    for resume in (False, True):
        with pytest.raises(RunFolderError, match="holds an artifact but no ledger"):
            evaluate(manifest, Stay, tmp_path, resume=resume)
    assert results_in(tmp_path) == before


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path, manifest):
    """A run folder must be a folder, or become one."""
    (tmp_path / "run").write_text("kept")
    with pytest.raises(RunFolderError, match=r"run: cannot be written"):
        evaluate(manifest, Counting, tmp_path / "run")
    assert (tmp_path / "run").read_text() == "kept"


def test_a_ledger_that_is_none_is_refused(tmp_path, manifest):
    """A foreign file under the ledger's name is neither used nor replaced."""
    RunFolder(tmp_path).ledger.write_bytes(b"no database at all" * 100)
    with pytest.raises(LedgerError, match=r"ledger\.sqlite: is damaged or no ledger"):
        evaluate(manifest, Counting, tmp_path, resume=True)
    assert RunFolder(tmp_path).ledger.read_bytes() == b"no database at all" * 100


def test_what_is_there_and_untouched_is_not_written_again(tmp_path, manifest):
    """A complete run that is resumed writes only those sessions down; other steps are another."""
    first = evaluate(manifest, Counting, tmp_path)
    results = RunFolder(tmp_path).results(TABLE.keys() - {"failures"})
    before = {path: path.stat().st_mtime_ns for path in results}
    again = evaluate(manifest, Counting, tmp_path, resume=True)
    assert again.summary == first.summary
    assert {path: path.stat().st_mtime_ns for path in before} == before
    evaluate(manifest, Counting, tmp_path, resume=True, steps=False)
    assert not (tmp_path / "steps.parquet").exists()
    evaluate(manifest, Counting, tmp_path, resume=True)
    assert (tmp_path / "steps.parquet").exists()


@pytest.mark.parametrize("name", ["artifact.jsonl", "traces.jsonl", "people.parquet"])
@pytest.mark.parametrize("how", [Path.unlink, Path.touch, lambda path: path.write_bytes(b"")])
def test_what_is_missing_or_was_touched_is_written_again(tmp_path, manifest, name, how):
    """Whatever happened to a result of a complete run, resume makes it as it was."""
    evaluate(manifest, Counting, tmp_path)
    before = results_in(tmp_path)
    how(tmp_path / name)
    evaluate(manifest, Counting, tmp_path, resume=True)
    after = results_in(tmp_path)
    assert {key for key in before if before[key] != after[key]} <= {"run.json", "ledger.sqlite"}


def test_a_damaged_row_does_not_reach_the_artifact(tmp_path, manifest):
    """A ledger with a changed byte is an error that names the episode, not a new artifact."""
    evaluate(manifest, Counting, tmp_path)
    folder = RunFolder(tmp_path)
    data = bytearray(folder.ledger.read_bytes())
    data[data.index(b'"wide","seed":9223372036854775809') + 32] = ord("8")
    folder.ledger.write_bytes(data)
    before = folder.artifact.read_bytes()
    folder.artifact.touch()  # it is to be written anew
    with pytest.raises(LedgerError, match="the row of episode 7 is damaged"):
        evaluate(manifest, Counting, tmp_path, resume=True)
    assert folder.artifact.read_bytes() == before


def test_the_folder_is_locked_while_a_run_goes_on(tmp_path, manifest):
    """A second driver in the same folder is refused by name, and the first goes on."""
    refused = []

    class Meets(Counting):
        def act(self, observation):
            if not refused:
                with pytest.raises(RunFolderError, match=f"in use by process {os.getpid()} on"):
                    evaluate(manifest, Counting, tmp_path, resume=True)
                refused.append(True)
            return super().act(observation)

    assert evaluate(manifest, Meets, tmp_path).outcome == "complete"
    assert refused
    assert evaluate(manifest, Counting, tmp_path, resume=True).outcome == "complete"


def test_run_json_tells_who_ran_what_where_and_when(tmp_path, manifest):
    """The run's record names manifest, agent, command line, versions, host, times and outcome."""
    plan = Plan(manifest, "counting", RunFolder(tmp_path), command=("run", "m.json", "--out", "x"))
    run(plan, in_process(manifest, Counting))
    document = read_json(tmp_path / "run.json")
    (session,) = document.pop("sessions")
    assert document == session | {
        "manifest_id": "test",
        "manifest_hash": manifest.manifest_hash,
        "episodes": str(COUNT),
        "slice": "1/1",
        "agent_spec": "counting",
    }
    started, ended = (datetime.fromisoformat(session.pop(name)) for name in ("started", "ended"))
    assert started <= ended
    spent, lost = session.pop("spent"), session.pop("lost")
    assert (spent["attempts"], lost["attempts"]) == (COUNT, 0)
    assert spent["seconds"] > 0
    assert session == {
        "command": ["run", "m.json", "--out", "x"],
        "host": socket.gethostname(),
        "versions": {
            "python": platform.python_version(),
            "emberbench_dist": emberbench_dist.__version__,
            "ray": version("ray"),
            "pyarrow": version("pyarrow"),
        },
        "outcome": "complete",
    }


def test_run_json_says_running_while_it_runs(tmp_path, manifest):
    """During a run its record says so."""
    seen = []

    class Looks(Counting):
        def act(self, observation):
            seen.append(sessions(tmp_path)[-1])
            return super().act(observation)

    evaluate(manifest, Looks, tmp_path)
    assert {(session["outcome"], session["ended"]) for session in seen} == {("running", None)}


def test_each_session_keeps_its_entry(tmp_path, manifest):
    """Sessions are told in order, each with its own end."""
    evaluate(manifest, Counting, tmp_path, controls=interrupted_at_once())

    class Fails(Counting):
        def act(self, observation):
            raise KeyError

    with pytest.raises(KeyError):
        evaluate(manifest, Fails, tmp_path, resume=True)
    evaluate(manifest, Counting, tmp_path, resume=True)
    outcomes = [session["outcome"] for session in sessions(tmp_path)]
    assert outcomes == ["interrupted", "failed", "complete"]


def test_an_interrupted_session_leaves_no_old_tables(tmp_path, manifest):
    """Tables are of all that is committed or not there: an interruption does not wait for them."""

    class Fails(Counting):
        def act(self, observation):
            if observation.map.width == 9:
                raise KeyError
            return super().act(observation)

    with pytest.raises(KeyError):
        evaluate(manifest, Fails, tmp_path)
    assert results_in(tmp_path).keys() == RESULTS | TABLES | {"failures.parquet"}
    result = evaluate(manifest, Counting, tmp_path, resume=True, controls=interrupted_at_once())
    assert (result.outcome, result.played) == ("interrupted", 0)
    assert results_in(tmp_path).keys() == RESULTS


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(ClusterError("no workers"), "crashed"), (KeyboardInterrupt(), "interrupted")],
)
def test_a_pool_that_breaks_ends_the_session_and_loses_nothing(tmp_path, manifest, error, outcome):
    """Lost workers are an outcome, an interruption comes out, and what was committed stays."""

    @contextmanager
    def breaking():
        with in_process(manifest, Counting)() as pool:
            waits = iter(range(4))

            def wait(timeout):
                if next(waits) == 3:
                    raise error
                return type(pool).wait(pool, timeout)

            pool.wait = wait
            yield pool

    plan = partial(Plan, manifest, "counting", RunFolder(tmp_path))
    if isinstance(error, KeyboardInterrupt):
        with pytest.raises(KeyboardInterrupt) as caught:
            run(plan(), breaking)
        assert caught.value is error
    else:
        broken = run(plan(), breaking)
        assert (broken.outcome, broken.problem) == (outcome, "no workers")
    assert sessions(tmp_path)[-1]["outcome"] == outcome
    with Ledger.reading(RunFolder(tmp_path).ledger) as ledger:
        done = sum(map(len, ledger.committed()))
    assert done > 0
    result = run(plan(resume=True), in_process(manifest, Counting))
    assert (result.outcome, result.played) == ("complete", COUNT - done)
    assert RunFolder(tmp_path).artifact.read_bytes() == evaluate(manifest, Counting).artifact


def test_a_pool_is_closed_and_opened_only_where_something_is_pending(tmp_path, manifest):
    """A pool is opened once where there is something to play, and let go at the end."""
    told = []

    @contextmanager
    def watched():
        told.append("open")
        with in_process(manifest, Counting)() as pool:
            yield pool
        told.append("closed")

    plan = partial(Plan, manifest, "counting", RunFolder(tmp_path))
    run(plan(), watched)
    run(plan(resume=True), watched)
    assert told == ["open", "closed"]
