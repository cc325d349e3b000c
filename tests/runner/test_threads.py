"""Several episodes at once in this process: the same bytes, the same failure, nobody waits."""

from __future__ import annotations

import json
import os
import random
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from emberbench_dist.agents.baselines import Counting, Greedy
from emberbench_dist.agents.interface import FreshAgents
from emberbench_dist.artifacts.playing import read_notes
from emberbench_dist.errors import EvaluationError
from emberbench_dist.evaluation.episode import Player
from emberbench_dist.evaluation.manifest import load_manifest
from emberbench_dist.runner.drive import Controls
from emberbench_dist.runner.evaluate import evaluate, in_process
from emberbench_dist.runner.pool import Finished, Joined
from emberbench_dist.runner.run import Plan, run
from emberbench_dist.runner.threads import ThreadPool
from manifests import hall, write_manifest

LONG = 60.0


@pytest.mark.parametrize("concurrency", [2, 5, 40])
def test_bytes_do_not_depend_on_concurrency(manifest, tmp_path, concurrency):
    """Artifact and traces are the same bytes for any number of episodes at once, also on disk."""
    expected = evaluate(manifest, Counting)
    alone = evaluate(manifest, Counting, concurrency=concurrency)
    assert (alone.artifact, alone.traces) == (expected.artifact, expected.traces)
    assert evaluate(manifest, Counting, tmp_path, concurrency=concurrency).outcome == "complete"
    assert (tmp_path / "artifact.jsonl").read_bytes() == expected.artifact


class Meets(Greedy):
    """Act once as many episodes as there are, all of them, have come to their first step."""

    gate = threading.Barrier(16)

    def act(self, observation):
        """Wait for the others, then act."""
        if observation.step == 0:
            self.gate.wait(timeout=60)
        return super().act(observation)


def test_as_many_episodes_as_asked_for_are_in_play_at_once(manifest, tmp_path):
    """Sixteen episodes that each wait for the other fifteen end, with sixteen at once."""
    assert len(manifest) == Meets.gate.parties
    seen = []

    class Looks(Meets):
        def act(self, observation):
            seen.append(len(read_notes(tmp_path / "playing")))
            return super().act(observation)

    result = evaluate(manifest, Looks, tmp_path, concurrency=16)
    assert result.outcome == "complete"
    assert max(seen) == 16
    assert result.spent.attempts == 16


def test_episodes_that_wait_cost_the_time_of_one(tmp_path):
    """Fifty episodes that sleep take no longer than a few of them one after the other."""
    path = write_manifest(tmp_path, [(hall("one", people=1, steps=1), {"first": 0, "count": 50})])

    class Sleeps(Greedy):
        def act(self, observation):
            time.sleep(0.3)
            return super().act(observation)

    result = evaluate(load_manifest(path), Sleeps, concurrency=50)
    assert result.spent.seconds >= 50 * 0.3
    assert result.seconds < result.spent.seconds / 5


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("keep_going", [False, True])
def test_the_lowest_failure_decides(manifest, seed, keep_going):
    """Whoever fails first in time: the failure is the lowest one, and all below it is there."""
    rng, expected = random.Random(seed), evaluate(manifest, Greedy).artifact.splitlines()
    delays = [rng.random() / 50 for _ in range(3)]

    class Fails(Greedy):
        def act(self, observation):
            if observation.map.width == 9:
                time.sleep(delays.pop())
                raise ValueError("no plan")
            return super().act(observation)

    plan = Plan(manifest, "fails", None, concurrency=4, controls=Controls(keep_going=keep_going))
    result = run(plan, in_process(manifest, Fails, concurrency=4, keep_going=keep_going))
    assert (result.outcome, result.failure.episode) == ("failed", 6)
    assert result.artifact.splitlines()[1:-1] == expected[1:7]
    assert not keep_going or result.committed == 13


def test_nothing_above_a_failure_is_started(tmp_path):
    """After a failure slow episodes above it are left alone, and those below it are played."""
    path = write_manifest(tmp_path / "in", [(hall("one"), {"first": 0, "count": 40})])
    begun = []

    class Fails(Greedy):
        def act(self, observation):
            if observation.step == 0:
                begun.append(self)
                if len(begun) == 6:
                    raise ValueError("no plan")
            time.sleep(0.02)
            return super().act(observation)

    with pytest.raises(ValueError, match="no plan"):
        evaluate(load_manifest(path), Fails, tmp_path / "run", concurrency=4)
    assert len(begun) < 20
    lines = (tmp_path / "run/artifact.jsonl").read_bytes().splitlines()
    assert json.loads(lines[-1])["committed"] >= 4


def test_one_agent_for_two_threads_is_refused():
    """Of many threads that are given the same agent at the same time only one gets it."""
    agent, gate, told = Greedy(), threading.Barrier(16), []

    def factory():
        gate.wait(timeout=60)
        return agent

    agents = FreshAgents(factory)

    def ask():
        try:
            told.append(agents())
        except EvaluationError as error:
            told.append(error)

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([answer for answer in told if isinstance(answer, EvaluationError)]) == 15


def test_surroundings_are_put_back_when_no_other_episode_is_in_play(manifest, tmp_path):
    """What one episode changes stays while others play, and is gone once none does."""
    before, seen = Path.cwd(), []

    class Moves(Greedy):
        gate = threading.Barrier(2)

        def act(self, observation):
            if observation.step == 0:
                seen.append(Path.cwd())
                self.gate.wait(timeout=60)
                os.chdir(tmp_path)
                self.gate.wait(timeout=60)
                seen.append(Path.cwd())
            return super().act(observation)

    player = Player(manifest.scenarios, FreshAgents(Moves))
    plays = [threading.Thread(target=player.play, args=([manifest.episode(n)], 1)) for n in (0, 1)]
    try:
        for thread in plays:
            thread.start()
        for thread in plays:
            thread.join()
        assert Path.cwd() == before
    finally:
        os.chdir(before)
    assert seen == [before, before, tmp_path, tmp_path]


def test_answers_come_as_they_are_ready():
    """A batch that is done is told of while an older one goes on, and says which one it was."""
    gate = threading.Event()

    def job(items, budget):
        assert budget == LONG
        if items == ["slow"]:
            gate.wait(timeout=60)
        return items

    with closing(ThreadPool(job, 2)) as pool:
        assert pool.wait(LONG) == [Joined(0)]
        assert pool.wait(0) == []
        for name in ("slow", "quick", "next"):
            pool.submit(0, [name], LONG)
        told = []
        while len(told) < 2:
            told += pool.wait(LONG)
        assert told == [Finished(0, ["quick"], 1), Finished(0, ["next"], 1)]
        gate.set()
        assert pool.wait(LONG) == [Finished(0, ["slow"], 0)]
        assert pool.note() == ""


def test_a_closed_pool_begins_nothing():
    """What waits when a pool is closed is dropped, and its threads end."""
    gate, begun = threading.Event(), []

    def job(items, _):
        begun.append(items)
        gate.wait(timeout=60)
        return items

    pool = ThreadPool(job, 1)
    pool.submit(0, ["first"], LONG)
    pool.submit(0, ["second"], LONG)
    while not begun:
        time.sleep(0.001)
    pool.close()
    pool.close()
    gate.set()
    for thread in pool._threads:
        thread.join(timeout=60)
        assert not thread.is_alive()
    assert begun == [["first"]]


def test_an_interruption_does_not_wait_for_a_thread_that_hangs(manifest, tmp_path):
    """After the grace a run ends although agents hang, and what they played is told as lost."""
    gate = threading.Event()

    class Hangs(Greedy):
        def act(self, observation):
            if observation.map.width == 9:
                gate.wait(timeout=60)
            return super().act(observation)

    told = []

    def stop():
        notes = {note.episode for note in read_notes(tmp_path / "playing")}
        return bool(told) and told[-1].committed == 6 and notes == {6, 7, 8}

    controls = Controls(stop=stop, report=told.append, grace_seconds=0.1)
    result = evaluate(manifest, Hangs, tmp_path, concurrency=3, controls=controls)
    gate.set()
    assert (result.outcome, result.committed) == ("interrupted", 6)
    assert result.lost.attempts == 3
    assert result.lost.seconds > 0
    again = evaluate(manifest, Greedy, tmp_path, resume=True, concurrency=3)
    assert (again.outcome, again.played, again.lost) == ("complete", 10, result.lost)
    assert (tmp_path / "artifact.jsonl").read_bytes() == evaluate(manifest, Greedy).artifact


@pytest.mark.parametrize("concurrency", [0, -1])
def test_nothing_at_once_is_refused(manifest, concurrency):
    """Fewer than one episode at once is an error that says so."""
    with pytest.raises(EvaluationError, match="at least one episode is played at once, got"):
        evaluate(manifest, Greedy, concurrency=concurrency)
