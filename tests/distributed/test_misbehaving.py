"""Agents that misbehave, on Ray and in one process: the same failures and the same bytes."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

import misbehaving
import pytest
from misbehaving import FIRST_WIDTH, HARMLESS, RAISING
from rows import played

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.evaluation.manifest import load_manifest
from emberbench_dist.runner.drive import Controls
from emberbench_dist.runner.evaluate import evaluate
from manifests import hall, write_manifest

EXPECTED = {
    "HoldsALock": ("LockError", "locked"),
    "HasArguments": ("TwoArgumentsError", "429: slow down"),
    "CannotBePickled": ("ReducingError", "stay here"),
    "CannotBeShown": ("SilentError", "(its text cannot be shown: RuntimeError)"),
    "ShowsANumber": ("NumberError", "(its text cannot be shown: TypeError)"),
    "HasNoName": ("NamelessError", "who am I"),
    "TalksTooMuch": ("ValueError", "x" * 20_000 + "… (10000000 characters)"),
    "SpeaksBadly": ("ValueError", "a\\udc80b\0c"),
    "FailsInJson": (
        "JSONDecodeError",
        "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
    ),
    "FailsInC": ("OSError", "no such device"),
    "NeedsTooMuchMemory": ("MemoryError", ""),
    "Recurses": ("RecursionError", "maximum recursion depth exceeded"),
    "Exits": ("SystemExit", "3"),
    "Interrupts": ("KeyboardInterrupt", "pressed"),
    "ClosesGenerators": ("GeneratorExit", ""),
    "EndsIteration": ("StopIteration", "5"),
    "RaisesItsOwn": ("OwnBaseError", "mine"),
    "FailsOverHttp": ("HTTPError", "HTTP Error 404: Not Found"),
    "RaisesAGroup": ("BaseExceptionGroup", "both (2 sub-exceptions)"),
    "AnswersWithLists": ("ModelOutputError", "step 0: person ids must be text, got list"),
}


def worlds(folder, agents, *, seeds=1):
    """Write a manifest with a small map, then one of the width that belongs to each agent."""
    blocks = [(hall("small"), {"first": 7, "count": 3})] + [
        (hall(agent.__name__, FIRST_WIDTH + number), {"first": 1, "count": seeds})
        for number, agent in enumerate(agents)
    ]
    return write_manifest(folder / "input", blocks)


@pytest.mark.parametrize("agent", RAISING, ids=lambda agent: agent.__name__)
def test_whatever_is_raised_is_told(tmp_path, agent):
    """In one process an agent's failure has type, message, step and the very exception."""
    manifest = load_manifest(worlds(tmp_path, [agent]))
    (failure,) = played(manifest, [3], agent)
    assert (failure.type, failure.message) == EXPECTED[agent.__name__]
    assert failure.step == (0 if agent.__name__ == "AnswersWithLists" else 1)
    assert (failure.episode, failure.scenario_id, failure.seed) == (3, agent.__name__, 1)
    assert isinstance(failure.exception, BaseException)


def test_whatever_is_raised_arrives_from_a_worker(play, tmp_path):
    """From a worker process come the same type, message, place and traceback as in one process."""
    manifest = worlds(tmp_path, RAISING)
    result = play(manifest, "misbehaving:Each", controls=Controls(keep_going=True))
    assert (result.outcome, result.committed) == ("failed", 3)
    with Ledger.reading(tmp_path / "run/ledger.sqlite") as ledger:
        failures, crashes = ledger.failures(), ledger.crashes()
    assert {one.scenario_id: (one.type, one.message) for one in failures} == EXPECTED
    assert failures == [
        outcome
        for episode in range(3, 3 + len(RAISING))
        for outcome in played(load_manifest(manifest), [episode], misbehaving.Each)
    ]
    assert crashes == {}


@pytest.fixture
def restored():
    """Put back what an agent may have replaced, should the evaluator fail to."""
    environment, folder = os.environ, Path.cwd()
    yield
    os.environ = environment  # noqa: B003 - it may have been replaced
    os.chdir(folder)


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("agent", HARMLESS, ids=lambda agent: agent.__name__)
def test_what_an_agent_changes_ends_with_its_episode(tmp_path, agent):
    """In one process no episode sees what an earlier one changed, nor does the caller."""
    manifest, agent.seen = worlds(tmp_path, [agent], seeds=3), None
    before = misbehaving.surroundings(), Path.cwd()
    result = evaluate(manifest, agent)
    assert (misbehaving.surroundings(), Path.cwd()) == before
    assert result.artifact == evaluate(manifest, Greedy).artifact


def test_what_an_agent_changes_in_a_worker_ends_with_its_episode(play, tmp_path):
    """In a worker no episode sees what an earlier one changed: the bytes are those of greedy."""
    manifest = worlds(tmp_path, HARMLESS, seeds=4)
    assert play(manifest, "misbehaving:EachHarmless", workers=1).outcome == "complete"
    assert (tmp_path / "run/artifact.jsonl").read_bytes() == evaluate(manifest, Greedy).artifact


def test_the_working_folder_may_go(play, tmp_path, monkeypatch):
    """An agent that removes the working folder harms no later episode."""
    manifest, folder = worlds(tmp_path, [Greedy], seeds=5), tmp_path / "here"
    folder.mkdir()
    (folder / "doomed").touch()
    monkeypatch.chdir(folder)
    assert play(manifest, "misbehaving:RemovesFolder").outcome == "complete"
    assert not folder.exists()
    assert (tmp_path / "run/artifact.jsonl").read_bytes() == evaluate(manifest, Greedy).artifact


def test_what_an_agent_leaves_behind_holds_nobody_up(play, tmp_path):
    """Daemon threads and child processes that an agent leaves do not keep the run from ending."""
    manifest = worlds(tmp_path, [Greedy])
    try:
        assert play(manifest, "misbehaving:LeavesOthersBehind").outcome == "complete"
        children = [int(line) for line in (tmp_path / "children").read_text().split()]
    finally:
        for child in (tmp_path / "children").read_text().split():
            with suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)
    assert len(children) >= 4
    assert (tmp_path / "run/artifact.jsonl").read_bytes() == evaluate(manifest, Greedy).artifact


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_global_chance_is_the_same_everywhere(play, tmp_path, workers):
    """An agent that draws from the global generator gives the same bytes on any workers."""
    manifest = worlds(tmp_path, [Greedy], seeds=12)
    expected = evaluate(manifest, misbehaving.AtRandom)
    assert play(manifest, "misbehaving:AtRandom", workers=workers).outcome == "complete"
    assert (tmp_path / "run/artifact.jsonl").read_bytes() == expected.artifact
    assert (tmp_path / "run/traces.jsonl").read_bytes() == expected.traces
