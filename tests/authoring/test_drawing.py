"""Drawings: what they mean, the way back, and what is refused where."""

from __future__ import annotations

import random

import pytest
from worlds import random_document

from emberbench_dist.authoring.drawing import document, draw, read_drawing
from emberbench_dist.authoring.page import page
from emberbench_dist.contract.canonical import parse_json
from emberbench_dist.contract.observation import Rules
from emberbench_dist.contract.scenario import parse_scenario
from emberbench_dist.errors import MapError

RULES = Rules("stochastic", 2, 0.3, True, "blocked", "lowest_id_wins", 60)
TEXT = "\n\n#E.P\r\nP*.X  \n\n"


def made(rows, rules=RULES):
    """Return the document of some rows."""
    return document(rows, rules, scenario_id="drawn", description="A room.", seed=7)


def test_a_drawing_becomes_a_document():
    """Every symbol is what it says, ids count in reading order, and the rules are kept."""
    rows = read_drawing(TEXT, "rows.txt")
    assert rows == ["#E.P", "P*.X"]
    assert made(rows) == {
        "schema_version": "1.0",
        "scenario_id": "drawn",
        "description": "A room.",
        "development_seed": 7,
        "map": {
            "width": 4,
            "height": 2,
            "obstacles": [[0, 0]],
            "exits": [{"id": "E1", "position": [0, 1]}, {"id": "E2", "position": [1, 3]}],
        },
        "people": [{"id": "P1", "position": [0, 3]}, {"id": "P2", "position": [1, 0]}],
        "fire": {
            "model": "stochastic",
            "ignitions": [[1, 1], [1, 3]],
            "spread_interval": 2,
            "spread_probability": 0.3,
            "exits_flammable": True,
        },
        "movement": {"enter_fire": "blocked", "conflict_resolution": "lowest_id_wins"},
        "termination": {"max_steps": 60},
    }


def test_a_drawing_comes_back():
    """A scenario is drawn as it was, also fire on an exit, which no other symbol could show."""
    rows = read_drawing(TEXT, "rows.txt")
    assert draw(parse_scenario(made(rows))) == rows


@pytest.mark.parametrize("seed", range(20))
def test_any_scenario_is_its_drawing_apart_from_names(seed):
    """Drawn and read again with its rules, any scenario is the same but for ids and their order."""
    world = random_document(random.Random(seed), 9, 12)
    if seed % 2:
        world["fire"]["ignitions"].append(world["map"]["exits"][0]["position"])
    scenario = parse_scenario(world)
    again = parse_scenario(made(draw(scenario), scenario.rules))
    assert again.rules == scenario.rules
    assert again.ignitions == scenario.ignitions
    assert again.map.obstacles == scenario.map.obstacles
    assert {it.position for it in again.people} == {it.position for it in scenario.people}
    assert {it.position for it in again.map.exits} == {it.position for it in scenario.map.exits}
    assert draw(again) == draw(scenario)


def test_a_page_is_the_document():
    """A document as a file has a key a line, and reads as it was."""
    text = page(made(["EP"]), spread=["people"])
    assert parse_json(text) == made(["EP"])
    assert ' "people":[\n  {"id":"P1","position":[0,1]}\n ],\n "scenario_id' in text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "rows.txt: there is no drawing in it"),
        (" \n\n", "rows.txt: there is no drawing in it"),
        (
            "\nE.P\n.e.\n",
            "rows.txt: line 3, column 2: 'e' means nothing; there are # wall, . floor",
        ),
        ("E P\n", "rows.txt: line 1, column 2: ' ' means nothing"),
        ("E.P\n..\n", "rows.txt: line 2, column 3: the row has 2 cells, but the first has 3"),
        ("E.P\n....\n", "rows.txt: line 2, column 4: the row has 4 cells, but the first has 3"),
        ("E.P\r\n..\x0b\r\n", "rows.txt: line 2, column 3: '\\x0b' means nothing"),
        ("E.P\n\n...\n", "rows.txt: line 2, column 1: the row has 0 cells"),
    ],
)
def test_what_is_no_drawing_is_refused_where_it_is_none(text, told):
    """An error names file, line and column of the first thing that is wrong."""
    with pytest.raises(MapError) as caught:
        read_drawing(text, "rows.txt")
    assert str(caught.value).startswith(told)
