"""The external action payload: its bytes, and each rule of its parser."""

from __future__ import annotations

import json

import pytest
from builders import case_id, edited, json_values, observation, places
from hypothesis import given
from hypothesis import strategies as st

from emberbench_dist.contract.actions import (
    Action,
    check_actions,
    parse_actions,
    serialize_actions,
)
from emberbench_dist.errors import InvalidActionError, ModelOutputError

PAYLOAD = '{"action_schema_version":"1.0","actions":{"Pa":"east","Pb":"stay"},"step":3}'
EXPECTED = {"Pa": Action.EAST, "Pb": Action.STAY}
NOT_CANONICAL = "step 3: action payload is not in canonical form"


def seen(**changes):
    """Return the observation that the payload answers: Pc is out and Pd is lost."""
    return observation("Pa", "Pb", evacuated=("Pc",), casualties=("Pd",), **changes)


def replaced(old, new):
    """Return the payload with a part replaced."""
    assert PAYLOAD.count(old) == 1
    return PAYLOAD.replace(old, new)


def payload(**changes):
    """Return the canonical text of the payload with other members."""
    members = {**json.loads(PAYLOAD), **changes}
    return json.dumps(members, sort_keys=True, separators=(",", ":"))


def test_the_payload_of_the_contracts_example():
    """The example of the model interface has exactly the bytes that are printed there."""
    assert serialize_actions(seen(), {"Pb": "stay", "Pa": Action.EAST}) == PAYLOAD


@pytest.mark.parametrize("text", [PAYLOAD, PAYLOAD.encode()])
def test_the_contracts_example_parses(text):
    """The printed payload parses to a plain dict of members, in id order."""
    parsed = parse_actions(seen(), text)
    assert type(parsed) is dict
    assert list(parsed.items()) == list(EXPECTED.items())
    assert {type(action) for action in parsed.values()} == {Action}


def test_ids_are_sorted_by_code_point_and_escaped():
    """Ids of any script go by code point and are written in ASCII."""
    people = observation("P2", "P10", "Pé", "P😀", step=0)
    text = serialize_actions(people, {"P😀": "west", "Pé": "stay", "P2": "north", "P10": "east"})
    assert text == (
        '{"action_schema_version":"1.0","actions":'
        '{"P10":"east","P2":"north","P\\u00e9":"stay","P\\ud83d\\ude00":"west"},"step":0}'
    )
    assert list(parse_actions(people, text)) == ["P10", "P2", "Pé", "P😀"]


def test_a_payload_without_active_people():
    """Where nobody is active the payload holds no action."""
    nobody = observation(evacuated=("Pa",), step=7)
    text = '{"action_schema_version":"1.0","actions":{},"step":7}'
    assert serialize_actions(nobody, {}) == text
    assert parse_actions(nobody, text) == {}


@pytest.mark.parametrize(
    "output",
    [None, {}, {"Pa": "east"}, {"Pa": "up", "Pb": "stay"}, {**EXPECTED, "Pc": "stay"}],
    ids=case_id,
)
def test_output_is_checked_before_it_is_written(output):
    """Output that the check refuses is refused here in the same words."""
    with pytest.raises(ModelOutputError) as checked:
        check_actions(seen(), output)
    with pytest.raises(ModelOutputError) as caught:
        serialize_actions(seen(), output)
    assert str(caught.value) == str(checked.value)
    assert type(caught.value.__cause__) is InvalidActionError


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=8).filter(str.isprintable), st.sampled_from(Action), max_size=6
    ),
    st.integers(0, 2**70),
)
def test_every_payload_makes_the_round_trip(actions, step):
    """What is written parses back to the same actions, and to nothing at another step."""
    people = observation(*actions, step=step)
    text = serialize_actions(people, actions)
    assert text.isascii()
    assert parse_actions(people, text) == actions
    assert parse_actions(people, text.encode("ascii")) == actions
    with pytest.raises(ModelOutputError, match=rf"^step {step + 1}: "):
        parse_actions(observation(*actions, step=step + 1), text)


def test_a_payload_holds_its_three_keys_and_no_more():
    """There is no seed, stream position, scenario data or accounting in a payload."""
    assert set(json.loads(serialize_actions(seen(), EXPECTED))) == {
        "action_schema_version",
        "actions",
        "step",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "step 3: action payload is not JSON: Expecting value (line 1, column 1)"),
        (b"", "step 3: action payload is not JSON: Expecting value (line 1, column 1)"),
        ("east", "step 3: action payload is not JSON: "),
        (PAYLOAD[:-1], "step 3: action payload is not JSON: "),
        (PAYLOAD + PAYLOAD, "step 3: action payload is not JSON: Extra data"),
        (f"```json\n{PAYLOAD}\n```", "step 3: action payload is not JSON: "),
        (replaced(":3}", ":3,}"), "step 3: action payload is not JSON: "),
        (replaced(":3}", ":NaN}"), "step 3: action payload holds NaN, which is not JSON"),
        (replaced(":3}", ":-Infinity}"), "step 3: action payload holds -Infinity"),
        ("\ufeff" + PAYLOAD, "step 3: action payload starts with a byte order mark"),
        (b"\xef\xbb\xbf" + PAYLOAD.encode(), "step 3: action payload starts with a byte order"),
        (PAYLOAD.encode("utf-16"), "step 3: action payload is not UTF-8 (byte 0)"),
        (replaced("Pa", "Pé").encode("latin-1"), "step 3: action payload is not UTF-8 (byte "),
        ("[" * 100_000, "step 3: action payload is nested too deeply"),
        (replaced(":3}", f":{'3' * 5000}}}"), "step 3: action payload "),
    ],
    ids=case_id,
)
def test_a_payload_is_valid_json(text, message):
    """A reply that is no JSON text is a ModelOutputError of this step."""
    with pytest.raises(ModelOutputError) as caught:
        parse_actions(seen(), text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("null", "$: must be an object"),
        ("[]", "$: must be an object"),
        (json.dumps(PAYLOAD), "$: must be an object"),
        ("3", "$: must be an object"),
        ("{}", "$: missing key 'action_schema_version'"),
        ('{"actions":{"Pa":"east","Pb":"stay"},"step":3}', "$: missing key 'action_schema_v"),
        ('{"action_schema_version":"1.0","step":3}', "$: missing key 'actions'"),
        ('{"action_schema_version":"1.0","actions":{}}', "$: missing key 'step'"),
        ('{"Pa":"east","Pb":"stay"}', "$: unknown key 'Pa'"),
        (payload(seed=1), "$: unknown key 'seed'"),
        (payload(reasoning="fire is east"), "$: unknown key 'reasoning'"),
        (payload(action_schema_version="1.1"), "$.action_schema_version: must be '1.0'"),
        (payload(action_schema_version="1"), "$.action_schema_version: must be '1.0'"),
        (payload(action_schema_version=""), "$.action_schema_version: must be '1.0'"),
        (payload(action_schema_version=1.0), "$.action_schema_version: must be '1.0'"),
        (payload(action_schema_version=1), "$.action_schema_version: must be '1.0'"),
        (payload(action_schema_version=None), "$.action_schema_version: must be '1.0'"),
        (payload(action_schema_version=["1.0"]), "$.action_schema_version: must be '1.0'"),
        (payload(step=2), "$.step: must be 3, got 2"),
        (payload(step=4), "$.step: must be 3, got 4"),
        (payload(step=-3), "$.step: must be 3, got -3"),
        (payload(step=3.0), "$.step: must be 3, got 3.0"),
        (payload(step="3"), "$.step: must be 3, got '3'"),
        (payload(step=None), "$.step: must be 3, got null"),
        (payload(step=True), "$.step: must be 3, got true"),
        (payload(step=[3]), "$.step: must be 3, got [3]"),
        (payload(actions=None), "$.actions: must be an object"),
        (payload(actions="stay"), "$.actions: must be an object"),
        (payload(actions=["east", "stay"]), "$.actions: must be an object"),
        (payload(actions=[["Pa", "east"], ["Pb", "stay"]]), "$.actions: must be an object"),
        (payload(actions={"Pa": None, "Pb": "stay"}), "$.actions.Pa: must be text, got null"),
        (payload(actions={"Pa": 1, "Pb": "stay"}), "$.actions.Pa: must be text, got 1"),
        (payload(actions={"Pa": ["east"], "Pb": "stay"}), "$.actions.Pa: must be text"),
        (payload(actions={"Pa": "east", "P b": 1}), "$.actions['P b']: must be text, got 1"),
    ],
    ids=case_id,
)
def test_a_payload_has_its_shape(text, place):
    """A wrong key, version, step or type is a ModelOutputError that names its place."""
    with pytest.raises(ModelOutputError) as caught:
        parse_actions(seen(), text)
    assert str(caught.value).startswith(f"step 3: action payload: {place}")


@pytest.mark.parametrize("step", [0, 1])
def test_a_truth_value_is_no_step(step):
    """`false` is not step 0 and `true` is not step 1."""
    text = payload(step=bool(step))
    with pytest.raises(ModelOutputError, match=rf"\$\.step: must be {step}, got (true|false)"):
        parse_actions(seen(step=step), text)


@pytest.mark.parametrize(
    "actions",
    [
        {},
        {"Pa": "east"},
        {"Pa": "east", "Pb": "stay", "Pc": "stay"},
        {"Pa": "east", "Pb": "stay", "Pd": "stay"},
        {"Pa": "east", "Pb": "stay", "Zz": "stay"},
        {"Pa": "east", "Pc": "stay"},
        {"Pa": "east", "pb": "stay"},
        {"Pa": "up", "Pb": "stay"},
        {"Pa": "EAST", "Pb": "stay"},
        {"Pa": "east ", "Pb": "stay"},
        {"Pa": "", "Pb": "stay"},
        {"Pa": "\ud800", "Pb": "stay"},
    ],
)
def test_the_actions_of_a_payload_are_held_to_the_check(actions):
    """Ids and action texts are refused in the words of the check of model output."""
    with pytest.raises(ModelOutputError) as checked:
        check_actions(seen(), actions)
    with pytest.raises(ModelOutputError) as caught:
        parse_actions(seen(), payload(actions=actions))
    assert str(caught.value) == str(checked.value)
    assert str(caught.value).startswith("step 3: ")


def test_a_payload_holds_only_allowed_actions():
    """An action that the observation does not allow is refused in a payload as well."""
    narrow = seen(allowed_actions=(Action.STAY, Action.NORTH))
    with pytest.raises(ModelOutputError, match=r"^step 3: 'east' is not allowed here \('Pa'\)$"):
        parse_actions(narrow, PAYLOAD)
    assert parse_actions(narrow, replaced("east", "north"))["Pa"] is Action.NORTH


@pytest.mark.parametrize(
    "text",
    [
        PAYLOAD + "\n",
        "\n" + PAYLOAD,
        PAYLOAD + " ",
        "\t" + PAYLOAD,
        PAYLOAD.encode() + b"\r\n",
        replaced('"step":3', '"step": 3'),
        replaced('"Pa":"east"', '"Pa" :"east"'),
        replaced('"Pa":"east","Pb":"stay"', '"Pb":"stay","Pa":"east"'),
        replaced('"Pa"', '"\\u0050a"'),
        replaced('"east"', '"\\u0065ast"'),
        replaced('"actions"', '"a\\u0063tions"'),
        '{"step":3,"actions":{"Pa":"east","Pb":"stay"},"action_schema_version":"1.0"}',
        '{"actions":{"Pa":"east","Pb":"stay"},"action_schema_version":"1.0","step":3}',
        json.dumps(json.loads(PAYLOAD)),
        json.dumps(json.loads(PAYLOAD), indent=2),
    ],
    ids=case_id,
)
def test_a_payload_that_is_not_canonical_is_refused(text):
    """Right actions in other bytes than the canonical ones are refused."""
    assert json.loads(text) == json.loads(PAYLOAD)
    with pytest.raises(ModelOutputError) as caught:
        parse_actions(seen(), text)
    assert str(caught.value).startswith(NOT_CANONICAL)


def test_minus_zero_is_not_the_text_of_step_zero():
    """`-0` is the integer 0, but not in canonical form."""
    text = replaced('"step":3', '"step":-0')
    with pytest.raises(ModelOutputError, match=r"^step 0: action payload is not in canonical form"):
        parse_actions(seen(step=0), text)


@pytest.mark.parametrize("person", ['"Pé"', '"P\\u00E9"'])
def test_ids_beyond_ascii_have_one_spelling(person):
    """An id is escaped, with lower-case digits."""
    people = observation("Pé")
    text = '{"action_schema_version":"1.0","actions":{"P\\u00e9":"stay"},"step":3}'
    assert parse_actions(people, text) == {"Pé": Action.STAY}
    other = text.replace('"P\\u00e9"', person)
    for spelling in (other, other.encode()):
        with pytest.raises(ModelOutputError) as caught:
            parse_actions(people, spelling)
        assert str(caught.value).startswith(NOT_CANONICAL)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (replaced('"step":3', '"step":3,"step":3'), "step"),
        (replaced('"step":3', '"step":2,"step":3'), "step"),
        (replaced('"Pa":"east"', '"Pa":"east","Pa":"east"'), "Pa"),
        (replaced('"Pa":"east"', '"Pa":"west","\\u0050a":"east"'), "Pa"),
    ],
)
def test_a_key_twice_is_refused(text, key):
    """A key that stands twice is refused, also where both say the same."""
    with pytest.raises(ModelOutputError) as caught:
        parse_actions(seen(), text)
    assert str(caught.value) == f"step 3: action payload has the key {key!r} twice in one object"


@given(
    st.integers(0, len(PAYLOAD)),
    st.integers(0, 1),
    st.text(max_size=1) | st.sampled_from(' \n0123456789-.,:"{}eswn'),
)
def test_a_payload_changed_by_one_character_is_refused(start, cut, new):
    """One character more, less or other makes it another payload, and no right one."""
    text = PAYLOAD[:start] + new + PAYLOAD[start + cut :]
    if text == PAYLOAD:
        assert parse_actions(seen(), text) == EXPECTED
        return
    with pytest.raises(ModelOutputError, match=r"^step 3: "):
        parse_actions(seen(), text)


@given(st.sampled_from(list(places(json.loads(PAYLOAD)))), json_values)
def test_any_payload_parses_to_what_it_says_or_is_refused(place, value):
    """Whatever stands in a payload, its actions are those it names, or it is refused."""
    members = edited(json.loads(PAYLOAD), place, value)
    text = json.dumps(members, sort_keys=True, separators=(",", ":"))
    try:
        parsed = parse_actions(seen(), text)
    except ModelOutputError:
        return
    assert {person: action.value for person, action in parsed.items()} == members["actions"]
    assert (members["step"], members["action_schema_version"]) == (3, "1.0")


@given(st.text() | st.binary())
def test_any_other_text_is_a_model_output_error(text):
    """No reply makes the parser fail in another way."""
    with pytest.raises(ModelOutputError, match=r"^step 3: "):
        parse_actions(seen(), text)
