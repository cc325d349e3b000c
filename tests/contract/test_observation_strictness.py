"""The observation text and object that is refused: each rule, at each place."""

from __future__ import annotations

import json
import math

import pytest
from builders import (
    OBSERVATION_TEXT,
    absences,
    case_id,
    edited,
    json_values,
    observation_document,
    places,
    violations,
)
from hypothesis import given
from hypothesis import strategies as st

from emberbench_dist.contract.canonical import canonical_json
from emberbench_dist.contract.observation import (
    load_observation,
    parse_observation,
    serialize_observation,
)
from emberbench_dist.errors import ObservationFormatError

NOT_TEXT = [None, True, 1, 1.0, [], {}]
NOT_INTEGERS = [None, True, False, 1.0, "1", [1], {}]
NOT_POSITIONS = [None, [], [0], [0, 0, 0], {}, "00", [0.0, 0], [0, True], ["0", 0]]
OFF_GRID = [[-1, 0], [1, 0], [0, -1], [0, 5], [4, 0], [0, 2**64]]
NOT_PRINTABLE = ["", "x" * 65, "a\nb", "\x00", "\u00a0", "\u200b", "\ud800"]
NOT_PROBABILITIES = [None, True, "0.5", [0.5], -0.1, 1.0000000000000002, 0, 1, -1, 2]

OBJECTS = ["", "map", "map.exits.0", "people.0", "rules"]
LISTS = ["allowed_actions", "burning", "map.exits", "map.obstacles", "people"]
IDS = ["map.exits.0.id", "people.0.id"]
POSITIONS = ["map.exits.0.position", "people.0.position", "burning.0"]
OUT_OF_ORDER = "is out of canonical order, or here twice"


def stochastic_document():
    """Return the example with a stochastic fire."""
    document = edited(observation_document(), "rules.fire_model", "stochastic")
    return edited(document, "rules.spread_probability", 0.5)


def exits(*pairs):
    """Return an exit list."""
    return [{"id": name, "position": position} for name, position in pairs]


def people(*names):
    """Return a list of active people, all in one cell."""
    return [{"id": name, "position": [0, 0], "status": "active"} for name in names]


SHAPE_RULES = [
    *absences(observation_document(), OBJECTS),
    *violations(OBJECTS, [None, [], "{}", 0, True], "must be an object"),
    *violations(LISTS, [None, {}, "[]", 0, False], "must be a list"),
    *violations(["map.exits", "people"], [[]], "must have at least 1 item"),
]
VALUE_RULES = [
    *violations(["observation_version"], ["1", "1.1", "0.9", "", 1.0, 1, None], "must be '1.0'"),
    *violations(["step"], [-1, *NOT_INTEGERS], "must be an integer >= 0"),
    *violations(
        ["map.width", "map.height"],
        [0, -1, 2049, *NOT_INTEGERS],
        "must be an integer from 1 to 2048",
    ),
    *violations(
        ["rules.spread_interval", "rules.max_steps"],
        [0, -1, *NOT_INTEGERS],
        "must be an integer >= 1",
    ),
    *violations(["rules.exits_flammable"], [None, 0, 1, "true", []], "must be true or false"),
    *violations(
        ["rules.fire_model"],
        [None, 1, "", "Stochastic", "random"],
        "must be 'deterministic' or 'stochastic'",
    ),
    *violations(["rules.spread_probability"], NOT_PROBABILITIES, "must be "),
    *violations(["rules.enter_fire"], [None, True, "", "die"], "must be 'blocked' or 'casualty'"),
    *violations(["rules.conflict_resolution"], [None, 0, "", "random"], "must be 'lowest_id_wins'"),
    *violations(IDS, NOT_TEXT, "must be text"),
    *violations(IDS, NOT_PRINTABLE, "must be 1 to 64 printable characters"),
    *violations(
        ["people.0.status"],
        [None, True, "", "ACTIVE", "dead", "trapped"],
        "must be 'active' or 'evacuated' or 'casualty'",
    ),
    *violations(
        ["allowed_actions.0"],
        [None, True, "", "STAY", "up"],
        "must be 'stay' or 'north' or 'south' or 'east' or 'west'",
    ),
    *violations(POSITIONS, NOT_POSITIONS, "must be [row, col], two integers"),
    *violations(POSITIONS, OFF_GRID, "is outside the grid of 1 rows and 5 columns"),
    ("map.obstacles", [[0, 9]], "$.map.obstacles[0]", "is outside the grid"),
    ("map.obstacles", [[0, 1], [0]], "$.map.obstacles[1]", "must be [row, col]"),
]
ORDER_RULES = [
    ("burning", [[0, 3], [0, 2]], "$.burning[1]", OUT_OF_ORDER),
    ("burning", [[0, 3], [0, 3]], "$.burning[1]", OUT_OF_ORDER),
    ("burning", [[0, 1], [0, 3], [0, 2]], "$.burning[2]", OUT_OF_ORDER),
    ("map.obstacles", [[0, 2], [0, 1]], "$.map.obstacles[1]", OUT_OF_ORDER),
    ("map.obstacles", [[0, 1], [0, 1]], "$.map.obstacles[1]", OUT_OF_ORDER),
    ("map.exits", exits(("E2", [0, 3]), ("E10", [0, 4])), "$.map.exits[1]", OUT_OF_ORDER),
    ("map.exits", exits(("E1", [0, 3]), ("E1", [0, 4])), "$.map.exits[1]", OUT_OF_ORDER),
    ("map.exits", exits(("E1", [0, 4]), ("E2", [0, 4])), "$.map.exits[1]", "is here twice"),
    ("people", people("P2", "P10"), "$.people[1]", OUT_OF_ORDER),
    ("people", people("Pa", "Pa"), "$.people[1]", OUT_OF_ORDER),
    ("people", people("Pé", "Pz"), "$.people[1]", OUT_OF_ORDER),
    ("allowed_actions", ["north", "stay"], "$.allowed_actions[1]", OUT_OF_ORDER),
    ("allowed_actions", ["stay", "south", "north"], "$.allowed_actions[2]", OUT_OF_ORDER),
    ("allowed_actions", ["stay", "stay"], "$.allowed_actions[1]", OUT_OF_ORDER),
]


@pytest.mark.parametrize(
    ("place", "value", "path", "rule"),
    [*SHAPE_RULES, *VALUE_RULES, *ORDER_RULES],
    ids=case_id,
)
def test_text_and_object_are_held_to_the_same_rules(place, value, path, rule):
    """One wrong value is refused in text and in object, with its place and the rule."""
    document = edited(stochastic_document(), place, value)
    for read in (
        lambda: load_observation(document),
        lambda: parse_observation(json.dumps(document)),
    ):
        with pytest.raises(ObservationFormatError) as caught:
            read()
        where = f"observation: {path}: "
        assert str(caught.value).startswith(where)
        assert rule in str(caught.value).removeprefix(where)


@pytest.mark.parametrize("value", [0.5, 0.0, 0, 1, False, "", []])
def test_a_deterministic_fire_has_no_probability(value):
    """Only null stands for the probability of a deterministic fire."""
    document = edited(observation_document(), "rules.spread_probability", value)
    for read in (
        lambda: load_observation(document),
        lambda: parse_observation(canonical_json(document)),
    ):
        with pytest.raises(ObservationFormatError) as caught:
            read()
        assert str(caught.value) == (
            "observation: $.rules.spread_probability: must be null for the deterministic model"
        )


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**5000], ids=case_id)
def test_a_loaded_probability_is_finite(value):
    """A number that JSON text cannot hold is refused in an object as well."""
    document = edited(stochastic_document(), "rules.spread_probability", value)
    with pytest.raises(ObservationFormatError, match=r"\$\.rules\.spread_probability: must be "):
        load_observation(document)


@pytest.mark.parametrize("place", POSITIONS)
def test_a_coordinate_too_long_to_print_is_outside_the_grid(place):
    """An integer of thousands of digits is refused by the rule, not by its own conversion."""
    document = edited(observation_document(), place, [0, 10**5000])
    with pytest.raises(ObservationFormatError, match="is outside the grid"):
        load_observation(document)


@pytest.mark.parametrize("value", [(), [(0, 3)], ((0, 3),)])
def test_a_loaded_object_holds_lists(value):
    """A parsed JSON object has lists, so a tuple is another shape."""
    with pytest.raises(ObservationFormatError, match=r"^observation: \$\.burning"):
        load_observation(edited(observation_document(), "burning", value))


def test_people_may_share_a_cell():
    """Resolved people keep their last position, so positions of people may be equal."""
    document = edited(observation_document(), "people", people("P10", "P2", "Pz", "Pé"))
    assert len(load_observation(document).people) == 4


def with_ids(text):
    """Return the stochastic example's text with another person id, written as given."""
    return canonical_json(stochastic_document()).replace('"Pa"', f'"{text}"')


def replaced(old, new):
    """Return the stochastic example's text with a part replaced."""
    text = canonical_json(stochastic_document())
    assert text.count(old) == 1
    return text.replace(old, new)


NOT_CANONICAL = "observation: not in canonical form"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (OBSERVATION_TEXT + "\n", NOT_CANONICAL),
        ("\n" + OBSERVATION_TEXT, NOT_CANONICAL),
        (OBSERVATION_TEXT + " ", NOT_CANONICAL),
        (" " + OBSERVATION_TEXT, NOT_CANONICAL),
        (OBSERVATION_TEXT.encode() + b"\n", NOT_CANONICAL),
        (replaced('"step":0', '"step": 0'), NOT_CANONICAL),
        (replaced("[0,3]", "[0, 3]"), NOT_CANONICAL),
        (replaced("[0,3]", "[0,\t3]"), NOT_CANONICAL),
        (replaced('"height":1,"obstacles":[]', '"obstacles":[],"height":1'), NOT_CANONICAL),
        (json.dumps(observation_document(), sort_keys=True), NOT_CANONICAL),
        (json.dumps(stochastic_document(), indent=1, sort_keys=True), NOT_CANONICAL),
        (replaced('"step":0', '"step":-0'), NOT_CANONICAL),
        (replaced("0.5", "0.50"), NOT_CANONICAL),
        (replaced("0.5", "5e-1"), NOT_CANONICAL),
        (replaced("0.5", "-0.0"), NOT_CANONICAL),
        (replaced("0.5", "0.50000000000000001"), NOT_CANONICAL),
        (with_ids("é"), NOT_CANONICAL),
        (with_ids("é").encode(), NOT_CANONICAL),
        (with_ids("\\u00E9"), NOT_CANONICAL),
        (with_ids("\\u0050a"), NOT_CANONICAL),
        (with_ids("P\\/"), NOT_CANONICAL),
        (replaced('"step":0', '"step":0,"step":0'), "observation: has the key 'step' twice"),
        (replaced('"width":5', '"width":4,"width":5'), "observation: has the key 'width' twice"),
        (replaced("0.5", "NaN"), "observation: holds NaN, which is not JSON"),
        (replaced("0.5", "Infinity"), "observation: holds Infinity, which is not JSON"),
        (replaced("0.5", "1e400"), "observation: $.rules.spread_probability: must be "),
        (replaced("0.5", "1"), "observation: $.rules.spread_probability: must be "),
        (replaced('"step":0', '"step":0.0'), "observation: $.step: must be an integer >= 0"),
        (replaced('"step":0', '"step":' + "1" * 5000), "observation: "),
        ("\ufeff" + OBSERVATION_TEXT, "observation: starts with a byte order mark"),
        (b"\xef\xbb\xbf" + OBSERVATION_TEXT.encode(), "observation: starts with a byte order"),
        (OBSERVATION_TEXT.encode("utf-16"), "observation: is not UTF-8 (byte 0)"),
        (with_ids("é").encode("latin-1"), "observation: is not UTF-8 (byte "),
        (OBSERVATION_TEXT + OBSERVATION_TEXT, "observation: is not JSON: Extra data"),
        (OBSERVATION_TEXT[:-1], "observation: is not JSON: "),
        (OBSERVATION_TEXT[:-1] + ",}", "observation: is not JSON: "),
        ("", "observation: is not JSON: Expecting value (line 1, column 1)"),
        (b"", "observation: is not JSON: Expecting value (line 1, column 1)"),
        ("[" * 100_000, "observation: is nested too deeply"),
        ("null", "observation: $: must be an object, got null"),
        ("[]", "observation: $: must be an object, got []"),
    ],
    ids=case_id,
)
def test_text_that_is_not_canonical_is_refused(text, rule):
    """A text parses only if it is, byte for byte, the text of what it says."""
    with pytest.raises(ObservationFormatError) as caught:
        parse_observation(text)
    assert str(caught.value).startswith(rule)


@given(st.sampled_from(list(places(stochastic_document()))), json_values)
def test_any_object_loads_or_is_a_format_error(place, value):
    """Whatever stands in an object, it loads to an observation that parses, or is refused."""
    try:
        seen = load_observation(edited(stochastic_document(), place, value))
    except ObservationFormatError:
        return
    assert parse_observation(serialize_observation(seen)) == seen


@given(
    st.integers(0, len(OBSERVATION_TEXT)),
    st.integers(0, 1),
    st.text(max_size=1) | st.sampled_from(' \n0123456789-.,:"[]{}abE'),
)
def test_a_text_changed_anywhere_is_another_canonical_text_or_refused(start, cut, new):
    """No two texts parse to the same observation."""
    text = OBSERVATION_TEXT[:start] + new + OBSERVATION_TEXT[start + cut :]
    try:
        seen = parse_observation(text)
    except ObservationFormatError:
        return
    assert serialize_observation(seen) == text


@given(st.text() | st.binary())
def test_any_other_text_is_a_format_error(text):
    """No text makes the parser fail in another way."""
    with pytest.raises(ObservationFormatError):
        parse_observation(text)
