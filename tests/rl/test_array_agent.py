"""From training to evaluation: a policy sees the same, and plays by its SPEC as any agent."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import worlds

from emberbench_dist import evaluate, load_manifest
from emberbench_dist.agents.registry import load_agent
from emberbench_dist.errors import EvaluationError, InvalidActionError
from emberbench_dist.rl import ArrayAgent, parallel_env
from manifests import hall, write_manifest

POLICY = """
from pathlib import Path

import numpy as np

from emberbench_dist.rl import ArrayAgent

WEIGHTS = np.load(Path(__file__).with_name("weights.npy"))


class Agent(ArrayAgent):
    def __init__(self):
        super().__init__(policy, observations="array")


def policy(vector, mask):
    return np.where(mask, vector @ WEIGHTS, -np.inf).argmax()
"""


def bytes_of(view):
    """Return type, shape and content of everything in an observation."""
    arrays = view if isinstance(view, dict) else {"": view}
    return {name: (str(a.dtype), a.shape, a.tobytes()) for name, a in arrays.items()}


@pytest.mark.parametrize("observations", ["dict", "array"])
def test_a_policy_sees_the_same_in_training_and_evaluation(observations, tmp_path):
    """The evaluator's inputs are the environment's, person by person, step by step, bit by bit."""
    manifest = load_manifest(
        write_manifest(tmp_path, [(hall("a"), [1, 2**64 - 1]), (hall("b", 9, people=8), [5])])
    )
    evaluated, trained = [], []

    def policy_into(inputs):
        def policy(view, mask):
            inputs.append((bytes_of(view), mask.tobytes()))
            return np.flatnonzero(mask)[len(inputs) * 7 % mask.sum()]

        return policy

    policy = policy_into(evaluated)
    evaluate(manifest, lambda: ArrayAgent(policy, observations=observations))
    policy = policy_into(trained)
    for index in range(len(manifest)):
        episode = manifest.episode(index)
        env = parallel_env(manifest.scenarios[episode.scenario_id], observations=observations)
        views, infos = env.reset(seed=episode.seed)
        while env.agents:
            actions = {
                agent: policy(views[agent], infos[agent]["action_mask"]) for agent in env.agents
            }
            views, _, _, _, infos = env.step(actions)
    assert trained == evaluated
    assert len(evaluated) > 50


def test_a_trained_policy_is_an_agent_by_its_spec(tmp_path):
    """What was trained, saved and named by a SPEC gets people out in an evaluation."""
    manifest = load_manifest(write_manifest(tmp_path, [(hall("a", 5), {"first": 1, "count": 30})]))
    weights = train(manifest.scenarios["a"])
    (tmp_path / "policy.py").write_text(POLICY)

    def evacuated(some_weights):
        np.save(tmp_path / "weights.npy", some_weights)
        sys.modules.pop(f"policy@{tmp_path}", None)
        result = evaluate(manifest, load_agent(f"{tmp_path / 'policy.py'}:Agent"))
        return result.summary.totals["evacuated"]

    assert evacuated(weights) > 2 * evacuated(np.zeros_like(weights)) + 10


def train(scenario):
    """Return linear weights that the cross-entropy method finds, by episodes of the stream."""
    env, rng = parallel_env(scenario, 1, observations="array"), np.random.default_rng(1)
    size = env.observation_space(env.possible_agents[0]).shape[0]

    def gain(weights):
        (views, infos), total = env.reset(), 0.0
        while env.agents:
            actions = {
                agent: np.where(
                    infos[agent]["action_mask"], views[agent] @ weights, -np.inf
                ).argmax()
                for agent in env.agents
            }
            views, rewards, _, _, infos = env.step(actions)
            total += sum(rewards.values())
        return total

    mean, spread = np.zeros((size, 5)), 1.0
    for _ in range(8):
        tried = [mean + spread * rng.standard_normal(mean.shape) for _ in range(24)]
        tried.sort(key=lambda weights: gain(weights) + gain(weights), reverse=True)
        mean, spread = np.mean(tried[:5], axis=0), 0.8 * spread
    return mean


@pytest.mark.parametrize("index", [5, -1, 0.0, None])
def test_an_agent_refuses_what_is_no_action(index):
    """An index that a policy should not return does not pass for another action."""
    agent = ArrayAgent(lambda *_: index)
    with pytest.raises(InvalidActionError, match="the action of 'a' must be 0 to 4"):
        agent.act(worlds.simulator("E a").observe())


def test_an_agent_refuses_unknown_forms():
    """The form of the observations is one of the environment's."""
    with pytest.raises(EvaluationError, match="observations must be dict or array, got 'flat'"):
        ArrayAgent(lambda *_: 0, observations="flat")


def test_evaluating_needs_numpy_alone():
    """A trained agent is loaded without PettingZoo and Gymnasium."""
    script = "import sys; from emberbench_dist.rl import ArrayAgent, encode; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", script], text=True).split()
    assert "numpy" in loaded
    assert not {"pettingzoo", "gymnasium", "ray", "pandas"} & set(loaded)
