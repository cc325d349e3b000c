"""The observation: its canonical text, what it holds, and what it never holds."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, fields, is_dataclass

import pytest
from builders import OBSERVATION_TEXT, corridor, edited, observation, observation_document
from hypothesis import given
from hypothesis import strategies as st

from emberbench_dist.contract.actions import ALLOWED_ACTIONS, Action
from emberbench_dist.contract.observation import (
    Exit,
    GridMap,
    Observation,
    PersonView,
    Rules,
    Status,
    load_observation,
    parse_observation,
    serialize_observation,
)
from emberbench_dist.contract.scenario import parse_scenario
from emberbench_dist.simulator.simulator import Simulator

PRIVATE = [
    "seed",
    "rng",
    "hash",
    "trapped",
    "scenario",
    "description",
    "manifest",
    "episode",
    "index",
]

KEYS = {
    "": {
        "allowed_actions",
        "burning",
        "map",
        "observation_version",
        "people",
        "rules",
        "step",
    },
    "map": {"exits", "height", "obstacles", "width"},
    "map.exits": {"id", "position"},
    "people": {"id", "position", "status"},
    "rules": {
        "conflict_resolution",
        "enter_fire",
        "exits_flammable",
        "fire_model",
        "max_steps",
        "spread_interval",
        "spread_probability",
    },
}


def example():
    """Return the observation that the model interface shows, built value by value."""
    return Observation(
        step=0,
        map=GridMap(5, 1, (), (Exit("E1", (0, 4)),)),
        rules=Rules(
            fire_model="deterministic",
            spread_interval=1,
            spread_probability=None,
            exits_flammable=True,
            enter_fire="casualty",
            conflict_resolution="lowest_id_wins",
            max_steps=100,
        ),
        people=(PersonView("Pa", (0, 0), Status.ACTIVE),),
        burning=((0, 3),),
        allowed_actions=ALLOWED_ACTIONS,
    )


@st.composite
def observations(draw):
    """Draw any observation in canonical order."""
    height, width = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    cells = st.tuples(st.integers(0, height - 1), st.integers(0, width - 1))
    ids = st.text(min_size=1, max_size=64).filter(str.isprintable)
    some_cells = st.sets(cells, max_size=8).map(lambda found: tuple(sorted(found)))
    exit_cells = draw(st.lists(cells, min_size=1, max_size=3, unique=True))
    exit_ids = draw(st.lists(ids, min_size=len(exit_cells), max_size=len(exit_cells), unique=True))
    people = draw(st.dictionaries(ids, st.tuples(cells, st.sampled_from(Status)), min_size=1))
    probability = draw(st.none() | st.floats(min_value=0, max_value=1))
    return Observation(
        step=draw(st.integers(0, 2**70)),
        map=GridMap(
            width, height, draw(some_cells), tuple(map(Exit, sorted(exit_ids), exit_cells))
        ),
        rules=Rules(
            "deterministic" if probability is None else "stochastic",
            draw(st.integers(1, 9)),
            probability,
            draw(st.booleans()),
            draw(st.sampled_from(["blocked", "casualty"])),
            "lowest_id_wins",
            draw(st.integers(1, 2**70)),
        ),
        people=tuple(PersonView(name, *people[name]) for name in sorted(people)),
        burning=draw(some_cells),
        allowed_actions=tuple(
            sorted(draw(st.sets(st.sampled_from(Action), min_size=1)), key=ALLOWED_ACTIONS.index)
        ),
    )


def keys_of(value, place=""):
    """Return every (place, key) of a document, the items of a list sharing one place."""
    if isinstance(value, list):
        return {pair for item in value for pair in keys_of(item, place)}
    if not isinstance(value, dict):
        return set()
    return {(place, key) for key in value}.union(
        *(keys_of(member, f"{place}.{key}".lstrip(".")) for key, member in value.items())
    )


def test_the_text_of_the_contracts_example():
    """The example of the model interface has exactly the text that is printed there."""
    assert serialize_observation(example()) == OBSERVATION_TEXT


@pytest.mark.parametrize("text", [OBSERVATION_TEXT, OBSERVATION_TEXT.encode()])
def test_the_contracts_example_parses(text):
    """The printed text parses to the observation, from text and from bytes."""
    assert parse_observation(text) == example()


def test_the_contracts_example_loads():
    """The parsed object loads to the same observation, and is left alone."""
    document = observation_document()
    assert load_observation(document) == example()
    assert document == observation_document()


@given(observations())
def test_every_observation_makes_the_round_trip(seen):
    """Text and object lead back to an equal observation, whose text is the same."""
    text = serialize_observation(seen)
    assert parse_observation(text) == seen
    assert parse_observation(text.encode("ascii")) == seen
    assert load_observation(json.loads(text)) == seen
    assert serialize_observation(parse_observation(text)) == text


@given(observations())
def test_the_text_is_the_json_dumps_of_the_dictionary(seen):
    """The text is canonical JSON of the dictionary form: sorted, compact, ASCII."""
    text = serialize_observation(seen)
    assert text.isascii()
    assert text == json.dumps(
        seen.to_dict(), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


@given(observations())
def test_the_keys_are_exactly_the_declared_ones(seen):
    """No observation has a key more or less, at any level."""
    declared = {(place, key) for place, keys in KEYS.items() for key in keys}
    assert keys_of(json.loads(serialize_observation(seen))) == declared


def test_the_declared_values():
    """The dictionary form holds the version, plain lists for positions and plain text."""
    assert observation_document() == example().to_dict()
    assert example().to_dict()["observation_version"] == "1.0"


def test_loading_gives_the_values_by_type():
    """A loaded observation has tuples, enums and a float, as one from the simulator has."""
    document = edited(observation_document(), "rules.fire_model", "stochastic")
    seen = load_observation(edited(document, "rules.spread_probability", 1.0))
    assert (seen.step, seen.map.width, seen.map.height) == (0, 5, 1)
    assert seen.burning == ((0, 3),)
    assert seen.map.exits == (Exit("E1", (0, 4)),)
    assert seen.people[0].status is Status.ACTIVE
    assert all(type(action) is Action for action in seen.allowed_actions)
    assert type(seen.rules.spread_probability) is float


def test_minus_zero_gives_the_bytes_of_zero():
    """Equal observations give equal bytes, also where a probability was written as -0.0."""
    document = edited(observation_document(), "rules.fire_model", "stochastic")
    minus = load_observation(edited(document, "rules.spread_probability", -0.0))
    plus = load_observation(edited(document, "rules.spread_probability", 0.0))
    assert minus == plus
    assert serialize_observation(minus) == serialize_observation(plus)


def test_active_people_in_order():
    """Only active people need an action; ids go by code point, so `P10` before `P2`."""
    seen = observation("P2", "Pé", "P10", evacuated=("P1",), casualties=("P3",))
    assert seen.active == ("P10", "P2", "Pé")
    assert observation(evacuated=("P1",)).active == ()


def test_an_observation_is_frozen():
    """No part of an observation can be changed by the model that sees it."""
    seen = example()
    for part in (seen, seen.map, seen.map.exits[0], seen.rules, seen.people[0]):
        for field in fields(part):
            with pytest.raises(FrozenInstanceError):
                setattr(part, field.name, None)
    for items in (seen.map.obstacles, seen.map.exits, seen.people, seen.burning, seen.active):
        assert type(items) is tuple


def private_corridor():
    """Return a scenario whose private values are easy to find in a text."""
    document = edited(corridor(), "description", "zebra crossing")
    document = edited(document, "scenario_id", "quagga-77")
    document = edited(document, "development_seed", 8123456789)
    return parse_scenario(document)


def test_the_text_holds_no_private_name_or_value():
    """Neither names nor values of seed, stream, scenario or diagnostics are in the text."""
    scenario, seed = private_corridor(), 0xDEADBEEFCAFEF00D
    simulator = Simulator(scenario, seed)
    while not simulator.state.terminated:
        seen, state = simulator.observe(), simulator.state
        text = serialize_observation(seen).lower()
        values = [seed, f"{seed:x}", state.rng_state.fire, scenario.scenario_hash, 8123456789]
        private = [*PRIVATE, "zebra", "quagga", *map(str, values)]
        assert [name for name in private if name in text] == []
        simulator.step(dict.fromkeys(seen.active, "stay"))


def test_no_object_in_an_observation_has_a_private_attribute():
    """An observation is made of its own five types, none with an evaluator's attribute."""
    seen = Simulator(private_corridor(), 7).observe()
    found, queue = set(), [seen]
    while queue:
        part = queue.pop()
        if isinstance(part, tuple):
            queue += part
        elif is_dataclass(part):
            found.add(type(part))
            queue += [getattr(part, field.name) for field in fields(part)]
            names = [name for name in dir(part) if not name.startswith("__")]
            assert [name for name in names if any(word in name for word in PRIVATE)] == []
        else:
            assert isinstance(part, str | int | float | None)
    assert found == {Observation, GridMap, Exit, Rules, PersonView}


def test_episodes_that_differ_in_private_data_look_the_same():
    """Seed, scenario id, description and development seed do not show."""
    one = Simulator(private_corridor(), 1).observe()
    other = Simulator(parse_scenario(corridor()), 2**64 - 1).observe()
    assert serialize_observation(one) == serialize_observation(other)


def test_a_trapped_person_looks_like_any_other():
    """Being trapped is a diagnostic of the evaluator: it changes no key and no status."""
    document = edited(corridor(), "fire.ignitions", [])
    free = Simulator(parse_scenario(document), 1)
    trapped = Simulator(parse_scenario(edited(document, "map.obstacles", [[0, 2]])), 1)
    assert (free.state.trapped, trapped.state.trapped) == ((), ("Pa",))
    walled_in = edited(trapped.observe().to_dict(), "map.obstacles", [])
    assert walled_in == free.observe().to_dict()
