"""An observation as arrays: planes, features and masks that tell the truth."""

from __future__ import annotations

import random
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import worlds

from emberbench_dist.contract.actions import Action
from emberbench_dist.contract.scenario import parse_scenario
from emberbench_dist.rl import FEATURES, PLANES, encode, flatten
from emberbench_dist.rl.encoding import ACTIONS
from emberbench_dist.simulator.simulator import Simulator

DRAWING = """
    a . # E0 .
    b * . E1* c
"""
REFUSED = {"blocked_wall", "blocked_boundary", "blocked_fire"}


def ones(plane):
    """Return the positions of a plane's ones."""
    return [tuple(cell) for cell in np.argwhere(plane).tolist()]


def test_planes_are_what_is_drawn():
    """Each plane has a one where the drawing has it, and only the own place differs."""
    observation = worlds.simulator(DRAWING).observe()
    views = encode(observation, ["a", "c"])
    assert list(views) == ["a", "c"]
    seen = dict(zip(PLANES, map(ones, views["a"]["observation"]), strict=True))
    assert seen == {
        "wall": [(0, 2)],
        "exit": [(0, 3), (1, 3)],
        "burning": [(1, 1), (1, 3)],
        "other": [(1, 0), (1, 4)],
        "self": [(0, 0)],
    }
    other = dict(zip(PLANES, map(ones, views["c"]["observation"]), strict=True))
    assert other == seen | {"other": [(0, 0), (1, 0)], "self": [(1, 4)]}


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ({}, [1.0, 1.0, 1.0, 1.0]),
        (
            {"probability": 0.25, "interval": 4, "enter_fire": "blocked"},
            [0.25, 0.25, 1.0, 0.0],
        ),
        ({"probability": 0.0, "interval": 2}, [0.0, 0.5, 1.0, 1.0]),
    ],
)
def test_features_are_the_documented_shares(rules, told):
    """Place, time, the share of active people and the rules, each from 0 to 1."""
    simulator = worlds.simulator(DRAWING, max_steps=10, **rules)
    simulator.step(worlds.actions("a. b. c^"))
    view = encode(simulator.observe(), ["c"])["c"]
    assert view["features"].dtype == np.float32
    active = len(simulator.active) / 3
    row, col = simulator.state.people[2].position
    expected = [row / 2, col / 5, 0.1, active, *told]
    assert view["features"].tolist() == np.array(expected, np.float32).tolist()
    assert len(FEATURES) == len(expected)


def test_exits_that_do_not_burn_are_told():
    """The feature is 0 where exits are not flammable."""
    observation = worlds.simulator("E a *", exits_flammable=False).observe()
    assert encode(observation, ["a"])["a"]["features"][FEATURES.index("exits_flammable")] == 0


@pytest.mark.parametrize("enter_fire", ["blocked", "casualty"])
@pytest.mark.parametrize("seed", range(3))
def test_masks_are_what_the_simulator_refuses(seed, enter_fire):
    """An action is masked exactly if it ends at a wall, the boundary, or fire that blocks."""
    rng = random.Random(seed)
    document = worlds.random_document(rng, 8, 12, probability=0.4, enter_fire=enter_fire)
    simulator, outcomes = Simulator(parse_scenario(document), seed), set()
    while not simulator.state.terminated:
        views = encode(simulator.observe(), simulator.active)
        for index, action in enumerate(ACTIONS):
            record = deepcopy(simulator).step(dict.fromkeys(simulator.active, action))
            outcomes.update(record.outcomes)
            for person, outcome in zip(record.active, record.outcomes, strict=True):
                assert views[person]["action_mask"][index] == (outcome not in REFUSED)
        simulator.step(worlds.random_actions(rng, simulator.active))
    assert ("blocked_fire" in outcomes) == (enter_fire == "blocked")
    assert {"blocked_wall", "blocked_boundary", "moved"} <= outcomes


def test_masks_heed_what_the_observation_allows():
    """An action that is not allowed at all is masked for everybody."""
    observation = worlds.simulator(". a . E").observe()
    narrow = replace(observation, allowed_actions=(Action.STAY, Action.WEST))
    assert encode(observation, ["a"])["a"]["action_mask"].tolist() == [1, 0, 0, 1, 1]
    assert encode(narrow, ["a"])["a"]["action_mask"].tolist() == [1, 0, 0, 0, 1]


def test_who_is_gone_is_on_no_plane():
    """The last observation of who got out shows the others, and only staying is left."""
    simulator = worlds.simulator("E a b .")
    simulator.step(worlds.actions("a< b."))
    view = encode(simulator.observe(), ["a"])["a"]
    assert ones(view["observation"][PLANES.index("other")]) == [(0, 2)]
    assert ones(view["observation"][PLANES.index("self")]) == []
    assert view["action_mask"].tolist() == [1, 0, 0, 0, 0]


def test_the_vector_is_planes_and_then_features():
    """Flattening loses nothing and keeps the documented order."""
    view = encode(worlds.simulator(DRAWING).observe(), ["b"])["b"]
    vector = flatten(view)
    assert vector.dtype == np.float32
    assert (vector[:50].reshape(5, 2, 5) == view["observation"]).all()
    assert (vector[50:] == view["features"]).all()


def test_arrays_belong_to_who_gets_them():
    """Writing into an observation changes no other one, now or later."""
    observation = worlds.simulator(DRAWING).observe()
    first, second = encode(observation, ["a", "b"]), encode(observation, ["a", "b"])
    for array in first["a"].values():
        array[...] = 0
    again = encode(observation, ["a", "b"])
    for person, views in second.items():
        for name, array in views.items():
            assert (array == again[person][name]).all()
    assert (first["b"]["observation"] == again["b"]["observation"]).all()
