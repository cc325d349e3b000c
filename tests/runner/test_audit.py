"""The audit: what comes out otherwise is named with its step, and the sample is what was asked."""

from __future__ import annotations

from contextlib import closing, contextmanager

import keepers
import pytest
from hypothesis import given
from hypothesis import strategies as st
from players import Raises
from rows import played, synthetic

from emberbench_dist.agents.baselines import Counting, Greedy, Stay
from emberbench_dist.agents.interface import FreshAgents
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.evaluation.episode import Player, sealed
from emberbench_dist.runner.audit import Deviation, audit, sample
from emberbench_dist.runner.pool import InProcessPool

COUNT = 16
EVERY = list(range(COUNT))


@pytest.fixture(autouse=True)
def forget():
    """Let the keeping agent begin anew."""
    keepers.EPISODES.clear()


def again(manifest, factory, *, fresh=False):
    """Return how to open a pool that plays with an agent; `fresh` as in a process for each."""
    player = Player(manifest.scenarios, FreshAgents(factory))

    def job(episodes, budget):
        assert len(episodes) == 1, "each episode travels alone"
        if fresh:
            keepers.EPISODES.clear()
        return player.play(episodes, budget)

    @contextmanager
    def open_pool():
        with closing(InProcessPool(job)) as pool:
            yield pool

    return open_pool


@contextmanager
def committed(manifest, factory, episodes=range(COUNT)):
    """Play some episodes in one process and commit them."""
    with closing(Ledger.create(None, {})) as ledger:
        ledger.begin_session("any")
        ledger.commit(played(manifest, episodes, factory))
        yield ledger


def test_a_deterministic_agent_is_accepted(manifest):
    """An agent that does the same again deviates nowhere, and every episode is reported."""
    done = []
    with committed(manifest, Counting) as ledger:
        assert audit(manifest, ledger, EVERY, again(manifest, Counting), done.append) == []
    assert done == list(range(1, COUNT + 1))


def test_only_the_sample_is_played(manifest):
    """What was not asked for is not played."""
    built = []
    with committed(manifest, Greedy) as ledger:
        pool = again(manifest, lambda: built.append(1) or Greedy())
        assert audit(manifest, ledger, [3, 11], pool) == []
        assert audit(manifest, ledger, [], pool) == []
    assert len(built) == 2


def test_another_behaviour_is_named_with_its_first_step(manifest):
    """Where an episode comes out otherwise, its number, the step and both actions are told."""
    with committed(manifest, Stay) as ledger:
        deviations = audit(manifest, ledger, [4, 0], again(manifest, Greedy))
    assert deviations == [
        Deviation(0, "other actions from step 0 on: '.' is committed, now 'n'"),
        Deviation(4, "other actions from step 0 on: '.' is committed, now 'n'"),
    ]


def test_an_agent_that_draws_from_the_system_is_found(manifest):
    """An agent whose choices are chance does not come out the same sixteen times."""
    with committed(manifest, keepers.Rolls) as ledger:
        deviations = audit(manifest, ledger, EVERY, again(manifest, keepers.Rolls))
    assert deviations
    assert all("other actions from step" in deviation.difference for deviation in deviations)


def test_an_agent_that_keeps_state_is_found(manifest):
    """An agent that remembers its earlier episodes differs where each has a process of its own."""
    with committed(manifest, keepers.KeepsState) as ledger:
        pool = again(manifest, keepers.KeepsState, fresh=True)
        deviations = audit(manifest, ledger, EVERY, pool)
    assert [deviation.episode for deviation in deviations] == EVERY[1:]


def test_an_agent_that_fails_now_is_found(manifest):
    """An episode that was committed and now fails is named with what was raised."""
    with committed(manifest, Greedy) as ledger:
        (deviation,) = audit(manifest, ledger, [5, 6], again(manifest, Raises))
    assert deviation.episode == 6
    assert deviation.difference == (
        f"this time it failed: episode 6 (scenario wide, seed {2**63}, step 1): "
        "ValueError: no plan for step 1"
    )


def test_the_same_actions_with_another_result_are_found(manifest):
    """Also where every action is the same the committed line must be."""
    result = played(manifest, [2])[0]
    forged = sealed(2, result.line.replace(b'"seed":', b'"sead":'), *parts(result))
    longer = sealed(2, result.line, result.trace.replace(b'"]', b'","."]'), *parts(result)[1:])
    for row in (forged, longer):
        with closing(Ledger.create(None, {})) as ledger:
            ledger.begin_session("any")
            ledger.commit([row])
            deviations = audit(manifest, ledger, [2], again(manifest, Greedy))
        assert deviations == [Deviation(2, "other results")]


def parts(result):
    """Return what stands behind a result's line."""
    return result[2:-1]


def test_a_row_that_is_gone_is_told(manifest):
    """An episode that the ledger does not find any more deviates too."""
    with committed(manifest, Greedy, [1]) as ledger:
        deviations = audit(manifest, ledger, [1, 2], again(manifest, Greedy))
    assert deviations == [Deviation(2, "its row is gone")]


@given(
    st.sets(st.integers(0, 40) | st.integers(0, 2**62), max_size=30),
    st.integers(1, 40),
    st.integers(0, 2**64 - 1),
)
def test_a_sample_is_of_committed_episodes(episodes, count, seed):
    """A sample has the size that was asked for, or all there is; once each, by its seed alone."""
    with closing(Ledger.create(None, {})) as ledger:
        ledger.begin_session("any")
        ledger.commit([synthetic(episode) for episode in episodes])
        chosen = sample(ledger, count, seed)
        assert chosen == sample(ledger, count, seed)
    assert len(chosen) == min(count, len(episodes))
    assert chosen == sorted(set(chosen))
    assert set(chosen) <= episodes


def test_seeds_choose_different_samples(manifest):
    """Another seed gives another sample, and in the end every episode is in one."""
    with committed(manifest, Stay) as ledger:
        samples = [sample(ledger, 4, seed) for seed in range(30)]
    assert len({tuple(chosen) for chosen in samples}) > 20
    assert set().union(*samples) == set(range(COUNT))
