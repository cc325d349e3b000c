"""The rules of the scenario document: each violation names file, place and rule."""

from __future__ import annotations

import json
import math

import pytest
from builders import (
    absences,
    case_id,
    corridor,
    crossroads,
    edited,
    json_values,
    places,
    violations,
)
from hypothesis import given
from hypothesis import strategies as st

from emberbench_dist.contract.scenario import broken_rules, load_scenario, parse_scenario
from emberbench_dist.errors import ScenarioError

NOT_TEXT = [None, True, 1, 1.0, [], {}]
NOT_INTEGERS = [None, True, False, 1.0, "1", [1], {}]
NOT_POSITIONS = [None, [], [0], [0, 0, 0], {}, "00", [0.0, 0], [0, True], ["0", 0], [[0], 0]]
OFF_GRID = [[-1, 0], [1, 0], [0, -1], [0, 5], [4, 0], [0, 2**64], [-(2**64), 0]]
NOT_PRINTABLE = ["", "x" * 65, "a\nb", "\x00", "\u00a0", "\u200b", "\ud800"]
NOT_SCENARIO_IDS = ["", "x" * 129, "a b", "a/b", "a\\b", "é", "a\n", "a:b", "\u0661"]
NOT_PROBABILITIES = [None, True, False, "0.5", [0.5], -0.1, -5e-324, 1.0000000000000002, -1, 2]

OBJECTS = ["", "map", "map.exits.0", "people.0", "fire", "movement", "termination"]
LISTS = ["map.obstacles", "map.exits", "people", "fire.ignitions"]
IDS = ["map.exits.0.id", "people.0.id"]
POSITIONS = ["map.exits.0.position", "people.0.position", "fire.ignitions.0"]
SIDES = ["map.width", "map.height"]
COUNTS = ["fire.spread_interval", "termination.max_steps"]

SHAPE_RULES = [
    *absences(corridor(), OBJECTS),
    *violations(OBJECTS, [None, [], "{}", 0, True], "must be an object"),
    *violations(LISTS, [None, {}, "[]", 0, False], "must be a list"),
    *violations(["map.exits", "people"], [[]], "must have at least 1 item"),
]
TEXT_RULES = [
    *violations(["schema_version"], ["1", "1.1", "2.0", 1.0, 1, None, ["1.0"]], "must be '1.0'"),
    *violations(["scenario_id"], NOT_TEXT, "must be text"),
    *violations(["scenario_id"], NOT_SCENARIO_IDS, "must match [A-Za-z0-9._-]{1,128}"),
    *violations(["description", *IDS], NOT_TEXT, "must be text"),
    *violations(IDS, NOT_PRINTABLE, "must be 1 to 64 printable characters"),
    *violations(
        ["fire.model"],
        [None, 1, True, "", "Stochastic", "random"],
        "must be 'deterministic' or 'stochastic'",
    ),
    *violations(
        ["movement.enter_fire"],
        [None, True, "", "Blocked", "die"],
        "must be 'blocked' or 'casualty'",
    ),
    *violations(
        ["movement.conflict_resolution"], [None, 0, "", "random"], "must be 'lowest_id_wins'"
    ),
]
NUMBER_RULES = [
    *violations(
        ["development_seed"],
        [-1, 2**64, *NOT_INTEGERS],
        "must be an integer from 0 to 18446744073709551615",
    ),
    *violations(SIDES, [0, -1, 2049, 10**30, *NOT_INTEGERS], "must be an integer from 1 to 2048"),
    *violations(COUNTS, [0, -1, *NOT_INTEGERS], "must be an integer >= 1"),
    *violations(["fire.exits_flammable"], [None, 0, 1, "true", []], "must be true or false"),
    *violations(
        ["fire.spread_probability"], NOT_PROBABILITIES, "must be a finite number in [0, 1]"
    ),
]
PLACE_RULES = [
    *violations(POSITIONS, NOT_POSITIONS, "must be [row, col], two integers"),
    *violations(POSITIONS, OFF_GRID, "is outside the grid of 1 rows and 5 columns"),
    ("map.obstacles", [[0, 9]], "$.map.obstacles[0]", "is outside the grid"),
    ("map.obstacles", [[0, 1], [0]], "$.map.obstacles[1]", "must be [row, col]"),
    ("map.obstacles", [[0, 1], [0, 2], [0, 1]], "$.map.obstacles[2]", "[0, 1] is here twice"),
    ("fire.ignitions", [[0, 3], [0, 3]], "$.fire.ignitions[1]", "[0, 3] is here twice"),
    (
        "map.exits",
        [{"id": "E1", "position": [0, 4]}, {"id": "E2", "position": [0, 4]}],
        "$.map.exits[1]",
        "position [0, 4] is here twice",
    ),
    (
        "map.exits",
        [{"id": "E1", "position": [0, 4]}, {"id": "E1", "position": [0, 1]}],
        "$.map.exits[1]",
        "id 'E1' is here twice",
    ),
    (
        "people",
        [{"id": "Pa", "position": [0, 0]}, {"id": "Pb", "position": [0, 0]}],
        "$.people[1]",
        "position [0, 0] is here twice",
    ),
    (
        "people",
        [{"id": "Pa", "position": [0, 0]}, {"id": "Pa", "position": [0, 1]}],
        "$.people[1]",
        "id 'Pa' is here twice",
    ),
    ("map.obstacles", [[0, 4]], "$.map.exits[0].position", "[0, 4] is on an obstacle"),
    ("map.obstacles", [[0, 0]], "$.people[0].position", "[0, 0] is on an obstacle"),
    ("map.obstacles", [[0, 3]], "$.fire.ignitions[0]", "[0, 3] is on an obstacle"),
    ("people.0.position", [0, 4], "$.people[0].position", "[0, 4] is on an exit"),
    ("people.0.position", [0, 3], "$.people[0].position", "[0, 3] is on an ignition cell"),
]


@pytest.mark.parametrize(
    ("place", "value", "path", "rule"),
    [*SHAPE_RULES, *TEXT_RULES, *NUMBER_RULES, *PLACE_RULES],
    ids=case_id,
)
def test_each_violation_names_file_place_and_rule(tmp_path, place, value, path, rule):
    """One wrong value in a right document is a ScenarioError, and the one rule that is broken."""
    file = tmp_path / "wrong.json"
    file.write_text(json.dumps(edited(corridor(), place, value)))
    with pytest.raises(ScenarioError) as caught:
        load_scenario(file)
    where = f"{file}: {path}: "
    assert str(caught.value).startswith(where)
    assert rule in str(caught.value).removeprefix(where)
    told = broken_rules(json.loads(file.read_text()))
    assert told == [str(caught.value).removeprefix(f"{file}: ")]


@pytest.mark.parametrize("value", [0.5, 0.0, 0, 1, False, "", "null", []])
def test_a_deterministic_fire_has_no_probability(value):
    """Only null stands for the probability of a deterministic fire."""
    document = edited(corridor(), "fire.model", "deterministic")
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(edited(document, "fire.spread_probability", value), source="a.json")
    assert str(caught.value) == (
        "a.json: $.fire.spread_probability: must be null for the deterministic model"
    )


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**5000], ids=case_id)
def test_a_probability_is_finite(value):
    """A number that JSON text cannot hold is refused in a parsed document as well."""
    with pytest.raises(
        ScenarioError, match=r"^scenario: \$\.fire\.spread_probability: must be a f"
    ):
        parse_scenario(edited(corridor(), "fire.spread_probability", value))


def test_fire_starts_on_an_exit_only_if_exits_burn():
    """An ignition on an exit is right where exits are flammable and wrong where they are not."""
    document = edited(corridor(), "fire.ignitions", [[0, 3], [0, 4]])
    assert parse_scenario(document).ignitions == ((0, 3), (0, 4))
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(edited(document, "fire.exits_flammable", False), source="a.json")
    assert str(caught.value) == (
        "a.json: $.fire.ignitions[1]: [0, 4] is on an exit, and exits_flammable is false"
    )


@pytest.mark.parametrize("place", POSITIONS)
@pytest.mark.parametrize("row", [10**5000, -(10**5000)], ids=["huge", "minus huge"])
def test_a_coordinate_too_long_to_print_is_outside_the_grid(place, row):
    """An integer of thousands of digits is refused by the rule, not by its own conversion."""
    position = [row, 0]
    with pytest.raises(ScenarioError, match="is outside the grid of 1 rows and 5 columns"):
        parse_scenario(edited(corridor(), place, position))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("scenario_id", "x" * 128),
        ("scenario_id", "AZaz09._-"),
        ("description", ""),
        ("description", "two\nlines, é and \ud800"),
        ("development_seed", 0),
        ("development_seed", 2**64 - 1),
        ("map.width", 2048),
        ("map.height", 2048),
        ("map.exits.0.id", "x" * 64),
        ("people.0.id", "Персона 1"),
        ("people.0.id", " "),
        ("people.0.id", "E1"),
        ("fire.ignitions", []),
        ("fire.spread_interval", 10**30),
        ("termination.max_steps", 1),
        ("termination.max_steps", 10**30),
        ("fire.spread_probability", 5e-324),
        ("fire.spread_probability", 1 - 2**-53),
        ("fire.spread_probability", 0.0),
        ("fire.spread_probability", 1.0),
        ("fire.exits_flammable", False),
        ("movement.enter_fire", "blocked"),
        ("map.obstacles", [[0, 2]]),
    ],
)
def test_the_limits_themselves_are_legal(place, value):
    """A value at the edge of its rule is accepted and kept."""
    document = edited(corridor(), place, value)
    assert parse_scenario(document).to_dict() == document


def test_what_follows_from_a_broken_value_is_not_told():
    """A rule that hangs on a value of no use is not held against the rest of the document."""
    document = edited(crossroads(), "map.height", None)
    document = edited(document, "fire.model", "wild")
    for probability in (None, 0.5):
        rules = broken_rules(edited(document, "fire.spread_probability", probability))
        assert [rule.partition(": ")[0] for rule in rules] == ["$.map.height", "$.fire.model"]
    assert broken_rules(edited(crossroads(), "map", None)) == ["$.map: must be an object, got null"]
    assert broken_rules([]) == ["$: must be an object, got []"]


def test_a_grid_of_one_row_of_people_and_exits_is_legal():
    """The smallest sensible grid, one person beside one exit, is a scenario."""
    document = edited(corridor(), "map.width", 2)
    document = edited(document, "map.exits.0.position", [0, 1])
    document = edited(document, "fire.ignitions", [])
    assert parse_scenario(document).map.exits[0].position == (0, 1)


def test_the_largest_grid_has_its_far_corner():
    """Rows and columns count from 0 to one below the size, up to 2048 of each."""
    document = edited(corridor(), "map.width", 2048)
    document = edited(document, "map.height", 2048)
    document = edited(document, "map.exits.0.position", [2047, 2047])
    assert parse_scenario(document).map.exits[0].position == (2047, 2047)


def test_the_source_of_a_parsed_document_is_named():
    """A document without a file is named `scenario` unless the caller says more."""
    with pytest.raises(ScenarioError, match=r"^scenario: \$\.map: missing key 'width'$"):
        parse_scenario({**corridor(), "map": {"height": 1, "obstacles": [], "exits": []}})
    with pytest.raises(ScenarioError, match=r"^a\.json: \$: missing key 'schema_version'$"):
        parse_scenario({}, source="a.json")


@given(st.sampled_from(list(places(corridor()))), json_values)
def test_any_document_parses_or_is_a_scenario_error(place, value):
    """Whatever stands in a document, it parses to a document that parses, or is refused."""
    document = edited(corridor(), place, value)
    told = broken_rules(document)
    try:
        scenario = parse_scenario(document, source="a.json")
    except ScenarioError as error:
        first = str(error)
    else:
        assert told == []
        assert parse_scenario(scenario.to_dict()) == scenario
        return
    assert first.removeprefix("a.json: ") in told


def test_all_broken_rules_are_told():
    """Every rule that a document breaks is told with its place, and none that it does not break."""
    document = corridor() | {
        "schema_version": "2",
        "development_seed": -1,
        "extra": 1,
        "map": {
            "width": 5,
            "height": "1",
            "obstacles": [[0, 9], [0, 1], [0, 1], [0, 3], 7],
            "exits": [],
        },
        "people": [{"id": "", "position": [0, 1]}, {"id": "Pa"}, None, {"id": "Pa", "at": 1}],
        "movement": [],
    }
    document["fire"] |= {
        "model": "wild",
        "spread_probability": 2,
        "ignitions": [[0, 3], [0], [0, 3]],
    }
    del document["description"]
    rules = broken_rules(document)
    assert [rule.partition(", got")[0].partition("; the keys")[0] for rule in rules] == [
        "$: unknown key 'extra'",
        "$: missing key 'description'",
        "$.schema_version: must be '1.0'",
        "$.map.height: must be an integer from 1 to 2048",
        "$.map.obstacles[0]: [0, 9] is outside the grid of 2048 rows and 5 columns",
        "$.map.obstacles[4]: must be [row, col], two integers",
        "$.map.obstacles[2]: position [0, 1] is here twice",
        "$.map.exits: must have at least 1 item",
        "$.movement: must be an object",
        "$.fire.model: must be 'deterministic' or 'stochastic'",
        "$.fire.spread_probability: must be a finite number in [0, 1]",
        "$.fire.ignitions[1]: must be [row, col], two integers",
        "$.fire.ignitions[2]: position [0, 3] is here twice",
        "$.fire.ignitions[0]: [0, 3] is on an obstacle",
        "$.fire.ignitions[2]: [0, 3] is on an obstacle",
        "$.development_seed: must be an integer from 0 to 18446744073709551615",
        "$.people[0].position: [0, 1] is on an obstacle",
        "$.people[0].id: must be 1 to 64 printable characters",
        "$.people[1]: missing key 'position'",
        "$.people[2]: must be an object",
        "$.people[3]: unknown key 'at'",
        "$.people[3]: missing key 'position'",
        "$.people[3]: id 'Pa' is here twice",
    ]
