"""The pool of one process: one worker, one batch at a time, agents' exceptions as they are."""

from __future__ import annotations

import pytest
from rows import played

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.agents.interface import FreshAgents
from emberbench_dist.evaluation.episode import EpisodeResult, Player
from emberbench_dist.runner.pool import Finished, InProcessPool, Joined

FOREVER = float("inf")


@pytest.fixture
def pool_of(manifest):
    """Return how to make a pool that its one worker has joined."""

    def make(factory=Greedy):
        pool = InProcessPool(Player(manifest.scenarios, FreshAgents(factory)).play)
        assert pool.wait(0.5) == [Joined(0)]
        return pool

    return make


def episodes(manifest, *indices):
    """Return episodes of a manifest."""
    return [manifest.episode(index) for index in indices]


def lines(outcomes):
    """Return the canonical part of results."""
    return [(result.episode, result.line, result.trace) for result in outcomes]


def test_nothing_to_play_is_nothing_to_tell(pool_of):
    """Once the worker has joined, an idle pool returns at once and empty."""
    assert pool_of().wait(FOREVER) == []


def test_a_batch_comes_back_finished(pool_of, manifest):
    """The episodes of a batch come back in order, as they are played anywhere."""
    pool = pool_of()
    pool.submit(0, episodes(manifest, 3, 4, 5), FOREVER)
    (event,) = pool.wait(0.5)
    assert event.worker == 0
    assert lines(event.answers) == lines(played(manifest, [3, 4, 5]))
    assert pool.wait(0.5) == []


def test_batches_are_played_one_at_a_time_oldest_first(pool_of, manifest):
    """Each wait plays one batch, in the order of submission."""
    pool = pool_of()
    for index in (2, 0, 1):
        pool.submit(0, episodes(manifest, index), FOREVER)
    answers = [pool.wait(0.5) for _ in range(4)]
    told = [
        [outcome.episode for event in events for outcome in event.answers] for events in answers
    ]
    assert told == [[2], [0], [1], []]


def test_nothing_is_played_before_it_is_waited_for(pool_of, manifest):
    """Submitting a batch builds no agent: an agent's fault appears where the run waits."""
    built = []
    pool = pool_of(lambda: built.append(1) or Greedy())
    pool.submit(0, episodes(manifest, 0, 1), FOREVER)
    assert built == []
    pool.wait(0.5)
    assert built == [1, 1]


def test_a_spent_budget_leaves_the_rest(pool_of, manifest):
    """With no time at all a batch comes back with its first episode, the rest not started."""
    pool = pool_of()
    pool.submit(0, episodes(manifest, 0, 1, 2), 0.0)
    (event,) = pool.wait(0.5)
    assert [outcome.episode for outcome in event.answers] == [0]


@pytest.mark.parametrize("error", [ValueError("no plan"), SystemExit(0), KeyboardInterrupt()])
def test_what_an_agent_raises_comes_back_as_it_is(pool_of, manifest, error):
    """An agent's exception ends its batch and is kept as the same object."""

    class Raises(Greedy):
        def act(self, observation):
            if observation.map.width == 9:
                raise error
            return super().act(observation)

    pool = pool_of(Raises)
    pool.submit(0, episodes(manifest, 5, 6, 7), FOREVER)
    match pool.wait(0.5):
        case [Finished(0, [EpisodeResult(episode=5), failure])]:
            assert failure.episode == 6
            assert failure.exception is error
        case other:
            pytest.fail(f"unexpected: {other}")


def test_closing_drops_what_was_not_played(pool_of, manifest):
    """A closed pool plays nothing more, and may be closed again."""
    pool = pool_of()
    pool.submit(0, episodes(manifest, 0), FOREVER)
    pool.close()
    pool.close()
    assert pool.wait(0.5) == []
