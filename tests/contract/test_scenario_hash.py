"""Normalisation of a scenario, and the hash of the normalised document."""

from __future__ import annotations

import hashlib
import json
from copy import deepcopy
from dataclasses import FrozenInstanceError, fields

import pytest
from builders import corridor, crossroads, edited
from hypothesis import given
from hypothesis import strategies as st
from strategies import scenario_documents

from emberbench_dist.contract.scenario import parse_scenario

# printf '%s' '{"description":"One corridor, one exit.","development_seed":7,...}' | sha256sum
CORRIDOR_HASH = "088203c5befd459d73bc221797b6c2ca34e1471bdb5fc3647d438fe76f57d732"
CORRIDOR_NORMALISED = (
    '{"description":"One corridor, one exit.","development_seed":7,'
    '"fire":{"exits_flammable":true,"ignitions":[[0,3]],"model":"stochastic",'
    '"spread_interval":1,"spread_probability":0.5},'
    '"map":{"exits":[{"id":"E1","position":[0,4]}],"height":1,"obstacles":[],"width":5},'
    '"movement":{"conflict_resolution":"lowest_id_wins","enter_fire":"casualty"},'
    '"people":[{"id":"Pa","position":[0,0]}],"scenario_id":"corridor-5x1",'
    '"schema_version":"1.0","termination":{"max_steps":100}}'
)


def hash_by_hand(document):
    """Return the SHA-256 of the contract's canonical JSON, with nothing but the library."""
    text = json.dumps(
        document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def crossroads_in_order():
    """Return the crossroads with every list in canonical order, written out."""
    document = crossroads()
    document["map"]["obstacles"] = [[1, 1], [1, 3], [3, 1]]
    document["map"]["exits"] = [
        {"id": "E1", "position": [2, 4]},
        {"id": "E10", "position": [4, 2]},
        {"id": "E2", "position": [0, 2]},
    ]
    document["people"] = [
        {"id": "P10", "position": [3, 3]},
        {"id": "P2", "position": [2, 1]},
        {"id": "Pé", "position": [2, 3]},
    ]
    document["fire"]["ignitions"] = [[0, 0], [0, 4], [4, 0]]
    return document


def test_the_hash_of_the_corridor_is_pinned():
    """The hash is that of the normalised document's canonical bytes, never to change."""
    scenario = parse_scenario(corridor())
    assert hashlib.sha256(CORRIDOR_NORMALISED.encode()).hexdigest() == CORRIDOR_HASH
    assert hash_by_hand(corridor()) == CORRIDOR_HASH
    assert scenario.scenario_hash == CORRIDOR_HASH


def test_lists_are_put_in_canonical_order():
    """Positions come row-major; people and exits by code point, so `P10` before `P2`."""
    scenario = parse_scenario(crossroads())
    assert scenario.to_dict() == crossroads_in_order()
    assert scenario.scenario_hash == hash_by_hand(crossroads_in_order())
    assert [person.id for person in scenario.people] == ["P10", "P2", "Pé"]
    assert [exit.id for exit in scenario.map.exits] == ["E1", "E10", "E2"]
    assert scenario.map.obstacles == ((1, 1), (1, 3), (3, 1))
    assert scenario.ignitions == ((0, 0), (0, 4), (4, 0))


@given(st.data())
def test_lists_may_come_in_any_order(data):
    """The order of a list changes neither the scenario nor its hash."""
    document = crossroads()
    for place in ("map.obstacles", "map.exits", "people", "fire.ignitions"):
        above, _, key = place.rpartition(".")
        parent = document[above] if above else document
        parent[key] = data.draw(st.permutations(parent[key]))
    scenario = parse_scenario(document)
    assert scenario.to_dict() == crossroads_in_order()
    assert scenario.scenario_hash == hash_by_hand(crossroads_in_order())


@given(scenario_documents())
def test_every_valid_document_is_normalised_and_hashed(document):
    """Any valid document parses to itself in canonical order, whose canonical bytes are hashed."""
    normal = deepcopy(document)
    for positions in (normal["map"]["obstacles"], normal["fire"]["ignitions"]):
        positions.sort(key=lambda position: (position[0], position[1]))
    for placed in (normal["map"]["exits"], normal["people"]):
        placed.sort(key=lambda item: item["id"])
    if normal["fire"]["model"] == "stochastic":
        normal["fire"]["spread_probability"] = abs(float(normal["fire"]["spread_probability"]))
    scenario = parse_scenario(document)
    assert scenario.to_dict() == normal
    assert scenario.scenario_hash == hash_by_hand(normal)


@pytest.mark.parametrize(("written", "normal"), [(0, 0.0), (1, 1.0), (-0.0, 0.0), (0.25, 0.25)])
def test_a_probability_is_normalised_to_a_float(written, normal):
    """`1`, `1.0` and `-0.0` are hashed as the float they mean."""
    scenario = parse_scenario(edited(corridor(), "fire.spread_probability", written))
    found = scenario.to_dict()["fire"]["spread_probability"]
    assert (type(found), repr(found)) == (float, repr(normal))
    assert scenario.rules.spread_probability == normal
    assert scenario.scenario_hash == hash_by_hand(
        edited(corridor(), "fire.spread_probability", normal)
    )


def test_a_deterministic_fire_keeps_null():
    """The probability of a deterministic fire stays null, in the document and in the hash."""
    document = edited(corridor(), "fire.model", "deterministic")
    document = edited(document, "fire.spread_probability", None)
    scenario = parse_scenario(document)
    assert scenario.rules.spread_probability is None
    assert scenario.scenario_hash == hash_by_hand(document)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("scenario_id", "corridor-5x2"),
        ("description", "One corridor, one exit!"),
        ("development_seed", 8),
        ("map.width", 6),
        ("map.height", 2),
        ("map.obstacles", [[0, 1]]),
        ("map.exits.0.id", "E2"),
        ("map.exits.0.position", [0, 2]),
        ("people.0.id", "Pb"),
        ("people.0.position", [0, 1]),
        ("fire.ignitions", []),
        ("fire.spread_interval", 2),
        ("fire.spread_probability", 0.25),
        ("fire.exits_flammable", False),
        ("movement.enter_fire", "blocked"),
        ("termination.max_steps", 101),
    ],
)
def test_every_key_is_part_of_the_hash(place, value):
    """A change of any value is another scenario with another hash."""
    document = edited(corridor(), place, value)
    scenario = parse_scenario(document)
    assert scenario.scenario_hash == hash_by_hand(document) != CORRIDOR_HASH
    assert scenario != parse_scenario(corridor())


def test_text_beyond_ascii_is_hashed_escaped():
    """The hashed bytes are ASCII, whichever script a text is in."""
    document = corridor() | {"description": "Égress 出口 😀 \ud800"}
    assert parse_scenario(document).scenario_hash == hash_by_hand(document)


def test_a_normalised_document_stays_as_it_is():
    """Normalising twice is normalising once."""
    once = parse_scenario(crossroads())
    twice = parse_scenario(once.to_dict())
    assert twice.to_dict() == once.to_dict()
    assert (twice, hash(twice)) == (once, hash(once))


def test_parsing_leaves_the_document_alone():
    """The caller's document is neither changed nor kept."""
    document = crossroads()
    scenario = parse_scenario(document)
    assert document == crossroads()
    document["map"]["obstacles"].append([4, 4])
    document["people"].clear()
    assert scenario.to_dict() == crossroads_in_order()


def test_each_document_is_its_own():
    """A change of a returned document does not reach the scenario."""
    scenario = parse_scenario(crossroads())
    taken = scenario.to_dict()
    kept = deepcopy(taken)
    taken["map"]["exits"].clear()
    taken["fire"]["ignitions"][0][0] = 9
    assert scenario.to_dict() == kept


def test_a_scenario_is_frozen():
    """No part of a scenario can be changed, so its hash stays true."""
    scenario = parse_scenario(corridor())
    for part in (scenario, scenario.people[0], scenario.map, scenario.map.exits[0], scenario.rules):
        for field in fields(part):
            with pytest.raises(FrozenInstanceError):
                setattr(part, field.name, None)


def test_a_scenario_equals_only_scenarios():
    """A scenario is not equal to its document."""
    assert parse_scenario(corridor()) != corridor()
