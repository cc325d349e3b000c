"""The environment: it plays what the evaluator plays, and tells of it as PettingZoo wants."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import worlds

from emberbench_dist.contract.rng import SplitMix64, stream_seed
from emberbench_dist.contract.scenario import load_scenario, parse_scenario
from emberbench_dist.errors import (
    EvaluationError,
    InvalidActionError,
    ScenarioError,
    SimulationError,
)
from emberbench_dist.rl import outcome_reward, parallel_env
from emberbench_dist.rl.encoding import ACTIONS
from emberbench_dist.simulator.simulator import Simulator

STAY, NORTH, SOUTH, EAST, WEST = range(5)
CORRIDOR = Path(__file__).parents[2] / "manifests" / "scenarios" / "corridor-5x1.json"


def random_world(seed, enter_fire):
    """Return a crowded random scenario."""
    document = worlds.random_document(random.Random(seed), 8, 12, enter_fire=enter_fire)
    return parse_scenario(document)


def random_play(env, rng, seed=None):
    """Play an episode to its end; yield what each step was given and returned."""
    env.reset(seed=seed)
    while env.agents:
        actions = {agent: rng.randrange(5) for agent in env.agents}
        yield actions, env.step(actions)


@pytest.mark.parametrize("enter_fire", ["blocked", "casualty"])
@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_it_plays_the_evaluators_episode(seed, enter_fire):
    """Under a seed the same actions give the same record of every step as the simulator."""
    scenario, records = random_world(5, enter_fire), []

    def reward(record):
        records.append(record.to_dict())
        return {}

    simulator, env = Simulator(scenario, seed), parallel_env(scenario, 3, reward=reward)
    for actions, _ in random_play(env, random.Random(seed), seed):
        names = {agent: str(ACTIONS[action]) for agent, action in actions.items()}
        assert simulator.step(names).to_dict() == records[-1]
    assert simulator.state.terminated
    assert len(records) == simulator.state.step


@pytest.mark.parametrize("observations", ["dict", "array"])
@pytest.mark.parametrize("enter_fire", ["blocked", "casualty"])
def test_what_it_returns_is_in_its_spaces(observations, enter_fire):
    """Every observation, also the last of who ends, is of the documented shape."""
    env = parallel_env(random_world(2, enter_fire), 1, observations=observations)
    steps = list(random_play(env, random.Random(1)))
    assert len(steps) > 10
    for actions, (views, *_, infos) in steps:
        assert views.keys() == infos.keys() == actions.keys()
        for agent, view in views.items():
            assert env.observation_space(agent).contains(view)
            assert infos[agent]["action_mask"].dtype == np.int8
            assert infos[agent]["action_mask"].shape == (5,)


def test_agents_end_one_by_one():
    """Who is out or lost terminates at once, with its reward; who is left is truncated."""
    env = parallel_env(worlds.scenario("E a . * b . c", interval=2, max_steps=3))
    env.reset()
    assert env.agents == env.possible_agents == ["a", "b", "c"]
    _, rewards, ended, cut, _ = env.step({"a": WEST, "b": WEST, "c": STAY})
    assert rewards == {"a": 1.0, "b": -1.0, "c": 0.0}
    assert ended == {"a": True, "b": True, "c": False}
    assert cut == {"a": False, "b": False, "c": False}
    assert env.agents == ["c"]
    env.step({"c": STAY})
    _, rewards, ended, cut, _ = env.step({"c": STAY})
    assert (rewards, ended, cut) == ({"c": 0.0}, {"c": False}, {"c": True})
    assert env.agents == []


def test_who_ends_in_the_last_step_is_not_truncated():
    """An agent that gets out in the step `max_steps` terminates."""
    env = parallel_env(worlds.scenario("E a .", max_steps=1))
    env.reset()
    _, _, ended, cut, _ = env.step({"a": WEST})
    assert (ended, cut) == ({"a": True}, {"a": False})


def test_a_reward_of_your_own():
    """A callable takes the place of the reward; who is left out gets 0."""

    def reward(record):
        return {move.id: 2 for move in record.movements if move.outcome == "moved"}

    env = parallel_env(worlds.scenario("E . a b"), reward=reward)
    env.reset()
    assert env.step({"a": WEST, "b": STAY})[1] == {"a": 2.0, "b": 0.0}


def test_the_reward_counts_outcomes():
    """Without another one the rewards of an episode are the evacuated less the casualties."""
    records, total = [], 0.0

    def reward(record):
        records.append(record)
        return outcome_reward(record)

    env = parallel_env("rooms-16x16", 1, reward=reward)
    for _, (_, rewards, *_) in random_play(env, random.Random(0)):
        total += sum(rewards.values())
    statuses = [person.status for person in records[-1].state.people]
    assert total == statuses.count("evacuated") - statuses.count("casualty") != 0


def test_episode_seeds_come_from_a_stream_of_the_constructors_seed():
    """`reset()` takes the next seed of the labelled stream, and `reset(seed)` leaves it alone."""
    stream, env = SplitMix64(stream_seed(9, "rl-episodes")), parallel_env("corridor-5x1", 9)
    seeds = []
    for given in (None, 4, None, None, 4):
        env.reset(seed=given)
        seeds.append(env.episode_seed)
    assert seeds == [stream.next_u64(), 4, stream.next_u64(), stream.next_u64(), 4]
    assert seeds[0] == 3081423471522432277


def test_a_scenario_may_be_named_in_three_ways():
    """A file, the id of a built-in scenario and a value mean the same."""
    envs = [parallel_env(what) for what in (CORRIDOR, "corridor-5x1", load_scenario(CORRIDOR))]
    assert {env._scenario.scenario_hash for env in envs} == {envs[0]._scenario.scenario_hash}


def test_numbers_of_numpy_are_numbers():
    """Seeds and actions may be what numpy and spaces draw."""
    env = parallel_env("corridor-5x1", np.uint64(2**64 - 1))
    env.reset(seed=np.int64(7))
    assert env.episode_seed == 7
    env.step({"P1": np.array(4), "P2": np.int8(0)})
    assert env.agents == ["P1", "P2"]


@pytest.mark.parametrize(
    ("actions", "said"),
    [
        ({"P1": 4}, "no action for the active person 'P2'"),
        ({"P1": 4, "P2": 0, "P3": 0}, "'P3' is not an active person"),
        ({"P1": 5, "P2": 0}, r"the action of 'P1' must be 0 to 4 \(stay, .*\), got 5"),
        ({"P1": -1, "P2": 0}, "got -1"),
        ({"P1": 1.0, "P2": 0}, r"got 1\.0"),
        ({"P1": None, "P2": 0}, "got null"),
        ({"P1": "west", "P2": 0}, "got 'west'"),
    ],
)
def test_wrong_actions_change_nothing(actions, said):
    """Actions that are not one index for each agent are refused; the step can be tried again."""
    env = parallel_env("corridor-5x1", render_mode="ansi")
    env.reset(seed=1)
    before = env.render()
    with pytest.raises(InvalidActionError, match=said):
        env.step(actions)
    assert env.render() == before
    assert env.agents == ["P1", "P2"]


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "1"])
def test_a_seed_is_an_unsigned_64_bit_integer(seed):
    """Any other seed is refused, of the environment and of an episode."""
    with pytest.raises(EvaluationError, match=r"from 0 to 2\*\*64 - 1, got"):
        parallel_env("corridor-5x1", seed)
    with pytest.raises(EvaluationError, match=r"from 0 to 2\*\*64 - 1, got"):
        parallel_env("corridor-5x1").reset(seed=seed)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"observations": "list"}, "observations must be dict or array, got 'list'"),
        ({"render_mode": "svg"}, "render_mode must be human, rgb_array, ansi or None, got 'svg'"),
    ],
)
def test_unknown_settings_are_refused(settings, said):
    """A setting that does not exist is named, with those that do."""
    with pytest.raises(EvaluationError, match=said):
        parallel_env("corridor-5x1", **settings)


def test_an_unknown_scenario_is_refused():
    """A name that is neither a file nor built in is told which ones there are."""
    with pytest.raises(ScenarioError, match=r"corridor: there is no such file.*, corridor-5x1,"):
        parallel_env("corridor")


def test_there_is_no_step_outside_an_episode():
    """Before the first reset and after the end nothing can be played."""
    env = parallel_env(worlds.scenario("E a"), render_mode="ansi")
    for call in (lambda: env.step({}), env.render):
        with pytest.raises(SimulationError, match=r"call reset\(\) first"):
            call()
    env.reset()
    env.step({"a": WEST})
    with pytest.raises(SimulationError, match="the episode is over"):
        env.step({})
    env.reset()
    assert env.agents == ["a"]
