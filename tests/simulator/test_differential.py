"""The simulator and the plain oracle give the same bytes."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Oracle
from strategies import action_values, scenario_documents, seeds
from worlds import random_actions, random_document

from emberbench_dist.contract.canonical import canonical_json
from emberbench_dist.contract.scenario import parse_scenario
from emberbench_dist.simulator.simulator import Simulator


def assert_same_run(document, seed, choose):
    """Play both to the end with `choose(active)`; compare every observation, record and state."""
    scenario = parse_scenario(document)
    simulator, oracle = Simulator(scenario, seed), Oracle(scenario.to_dict(), seed)
    assert_same(simulator.state, oracle.state)
    while not simulator.state.terminated:
        observation = simulator.observe()
        assert_same(observation, oracle.observe())
        actions = choose(observation.active)
        assert_same(simulator.step(actions), oracle.step(actions))
        assert_same(simulator.state, oracle.state)
    assert_same(simulator.observe(), oracle.observe())


def assert_same(ours, plain):
    """Compare canonical JSON."""
    assert canonical_json(ours.to_dict()) == canonical_json(plain.to_dict())


@settings(max_examples=300, deadline=None)
@given(document=scenario_documents(), seed=seeds, data=st.data())
def test_small_worlds(document, seed, data):
    """Any small world under any actions gives the oracle's bytes at every step."""

    def choose(active):
        size = len(active)
        drawn = data.draw(st.lists(action_values, min_size=size, max_size=size))
        return dict(zip(active, drawn, strict=True))

    assert_same_run(document, seed, choose)


@pytest.mark.parametrize(("size", "people"), [(32, 32), (64, 128)])
@pytest.mark.parametrize("probability", [None, 0.3])
@pytest.mark.parametrize(("enter_fire", "interval"), [("casualty", 1), ("blocked", 2)])
def test_large_worlds(size, people, probability, enter_fire, interval):
    """Large worlds, beyond one block of draws, give the oracle's bytes at every step."""
    rng = random.Random(f"{size}/{probability}/{enter_fire}")
    document = random_document(
        rng, size, people, probability=probability, interval=interval, enter_fire=enter_fire
    )
    assert_same_run(document, rng.getrandbits(64), lambda active: random_actions(rng, active))


def test_crowded_world():
    """A crowd of 300 on 20 x 20 cells collides as the oracle says."""
    rng = random.Random(20)
    document = random_document(rng, 20, 300, max_steps=40)
    assert_same_run(document, 20, lambda active: random_actions(rng, active))
