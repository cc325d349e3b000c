"""What the serialized observation holds and what it never holds, over whole episodes."""

from __future__ import annotations

import hashlib
import json

import plain_policies
import pytest
from builders import edited
from worlds import document

from emberbench_dist.contract.observation import (
    load_observation,
    parse_observation,
    serialize_observation,
)
from emberbench_dist.contract.scenario import parse_scenario
from emberbench_dist.evaluation.manifest import load_manifest
from emberbench_dist.evaluation.suites import find_manifest
from emberbench_dist.simulator.simulator import Simulator
from manifests import hall

PUBLIC = load_manifest(find_manifest("public-v1"))
SEEDS = {block.scenario_id: block.seeds[-1] for block in reversed(PUBLIC.blocks)}
SMALL = [name for name, item in PUBLIC.scenarios.items() if item.map.width * item.map.height < 1500]
SEED = 0xDEC0DE15BADC0FFE
KEYS = {
    "$": {*("allowed_actions", "burning", "map", "observation_version", "people", "rules", "step")},
    "$.map": {"exits", "height", "obstacles", "width"},
    "$.map.exits": {"id", "position"},
    "$.people": {"id", "position", "status"},
    "$.rules": {
        *("conflict_resolution", "enter_fire", "exits_flammable", "fire_model", "max_steps"),
        *("spread_interval", "spread_probability"),
    },
}
PRIVATE_WORDS = (
    *("seed", "rng", "hash", "trapped", "scenario"),
    *("description", "manifest", "episode", "index"),
)


def played(scenario, seed, simulator=Simulator, policy=plain_policies.greedy):
    """Play an episode; yield each observation with the state that it was made from."""
    world = simulator(scenario, seed)
    while not world.state.terminated:
        seen = world.observe()
        yield seen, world.state
        world.step(policy(seen))


def texts(document, seed, simulator=Simulator):
    """Return the serialized observations of an episode."""
    scenario = parse_scenario(document)
    return [serialize_observation(seen) for seen, _ in played(scenario, seed, simulator)]


def keys_of(value, place="$"):
    """Yield (place, keys) of every object inside a value; a list is no place of its own."""
    if isinstance(value, dict):
        yield place, set(value)
        for key, member in value.items():
            yield from keys_of(member, f"{place}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from keys_of(item, place)


@pytest.mark.parametrize("name", SMALL)
def test_observations_of_public_scenarios(name):
    """Under greedy each one round-trips, has exactly the declared keys, and no private word."""
    for seen, _ in played(PUBLIC.scenarios[name], SEEDS[name]):
        text = serialize_observation(seen)
        parsed = json.loads(text)
        assert parse_observation(text) == load_observation(parsed) == seen
        assert text == json.dumps(parsed, sort_keys=True, separators=(",", ":"))
        assert text.isascii()
        found = list(keys_of(parsed))
        assert dict(found) == KEYS
        assert all(keys == KEYS[place] for place, keys in found)
        assert [word for word in PRIVATE_WORDS if word in text.lower()] == []


def test_a_stochastic_scenario_leaks_nothing():
    """Neither seeds, stream positions, hash, id nor description of a scenario are in the text."""
    secret = hall("qzx-name") | {"description": "Qzx description.", "development_seed": SEED ^ 9}
    scenario = parse_scenario(secret)
    stream = int.from_bytes(hashlib.sha256(f"emberbench/v1/{SEED}/fire".encode()).digest()[:8])
    positions = set()
    for seen, state in played(scenario, SEED):
        text = serialize_observation(seen)
        positions.add(state.rng_state.fire)
        for number in (SEED, SEED ^ 9, stream, *positions):
            assert str(number) not in text
            assert f"{number:x}" not in text.lower()
        for word in (scenario.scenario_hash, "qzx", "Qzx"):
            assert word not in text
    assert stream in positions
    assert len(positions) > 1


ANONYMOUS = [("scenario_id", "other"), ("description", "Other."), ("development_seed", 99)]


@pytest.mark.parametrize(("place", "value"), ANONYMOUS)
def test_what_names_a_scenario_does_not_show(place, value):
    """Episodes that differ only in id, description or development seed look the same throughout."""
    world = hall("one")
    assert texts(edited(world, place, value), SEED) == texts(world, SEED)


def test_the_seed_does_not_show():
    """Two seeds look the same at step 0, and throughout where the fire is deterministic."""
    world = hall("one", people=6)
    first, second = texts(world, SEED), texts(world, SEED + 1)
    assert first[0] == second[0]
    assert first != second
    certain = edited(edited(world, "fire.model", "deterministic"), "fire.spread_probability", None)
    assert texts(certain, SEED) == texts(certain, SEED + 1)
    assert len(texts(certain, SEED)) > 1


class Blind(Simulator):
    """A simulator that takes nobody for trapped."""

    def _trapped(self):
        return ()


def test_whether_a_person_is_trapped_does_not_show():
    """The text is the same whether the diagnostic is computed or not, with people trapped."""
    world = document("a . # . E\n. . * . b", interval=2, max_steps=6)
    states = [state for _, state in played(parse_scenario(world), 1)]
    assert [len(state.trapped) for state in states][:3] == [1, 1, 1]
    assert texts(world, 1) == texts(world, 1, Blind)
