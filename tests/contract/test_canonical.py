"""Canonical JSON and the strict parser."""

from __future__ import annotations

import hashlib
import json
import re

import pytest
from builders import case_id, json_values
from hypothesis import given
from hypothesis import strategies as st

from emberbench_dist.contract.canonical import canonical_json, parse_json, sha256_hex


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [1, 2], "B": {}}, '{"B":{},"a":[1,2],"b":1}'),
        ({"P2": 0, "P10": 0}, '{"P10":0,"P2":0}'),
        ({"\U0001f600": 0, "\uffff": 0}, '{"\\uffff":0,"\\ud83d\\ude00":0}'),
        ("é\n\x7f/", '"\\u00e9\\n\\u007f/"'),
        ("\ud800", '"\\ud800"'),
        ([None, True, False], "[null,true,false]"),
        ([1.0, 0.1, 1e22, 5e-324, -0.0], "[1.0,0.1,1e+22,5e-324,-0.0]"),
        (2**64 - 1, "18446744073709551615"),
        ((0, 4), "[0,4]"),
    ],
)
def test_text_of_a_value(value, text):
    """Keys go by code point, at every depth; there is no white space and only ASCII."""
    assert canonical_json(value) == text


@given(json_values)
def test_it_is_the_json_dumps_of_the_contract(value):
    """The text is what `json.dumps` gives with the contract's arguments."""
    assert canonical_json(value) == json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


@given(json_values)
def test_parsing_is_the_way_back(value):
    """A canonical text parses to the value, whether it comes as text or as bytes."""
    text = canonical_json(value)
    assert parse_json(text) == value
    assert parse_json(text.encode()) == value


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_lacks_are_refused(number):
    """NaN and the infinities have no text, however deep they sit."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"a": [number]})


def test_hash_is_lower_case_hex_sha256():
    """A hash is the lower-case hex SHA-256 of the bytes, text being UTF-8."""
    empty_object = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert sha256_hex("{}") == sha256_hex(b"{}") == empty_object
    assert sha256_hex("é") == hashlib.sha256(b"\xc3\xa9").hexdigest()


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "is not JSON: Expecting value (line 1, column 1)"),
        (b"", "is not JSON: Expecting value (line 1, column 1)"),
        ('{"a":1,\n "b":}', "is not JSON: Expecting value (line 2, column 6)"),
        ("{} {}", "is not JSON: Extra data (line 1, column 4)"),
        ("{'a':1}", "is not JSON: "),
        ('{"a":1,}', "is not JSON: "),
        ("// note\n{}", "is not JSON: "),
        ("01", "is not JSON: "),
        ('"a\nb"', "is not JSON: Invalid control character"),
        ('{"a":1,"a":1}', "has the key 'a' twice in one object"),
        ('{"b":[{"a":1,"c":2,"\\u0061":3}]}', "has the key 'a' twice in one object"),
        ("NaN", "holds NaN, which is not JSON"),
        ('{"a":[Infinity]}', "holds Infinity, which is not JSON"),
        ("-Infinity", "holds -Infinity, which is not JSON"),
        ("\ufeff{}", "starts with a byte order mark"),
        (b"\xef\xbb\xbf{}", "starts with a byte order mark"),
        (b'{"a":"\xe9"}', "is not UTF-8 (byte 6)"),
        (b'"\xed\xa0\x80"', "is not UTF-8 (byte 1)"),
        ("{}".encode("utf-16"), "is not UTF-8 (byte 0)"),
        ("{}".encode("utf-16-le"), "is not JSON: "),
        ("[" * 100_000, "is nested too deeply"),
        ("[" * 100_000 + "]" * 100_000, "is nested too deeply"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "is nested too deeply"),
    ],
    ids=case_id,
)
def test_texts_that_are_refused(text, rule):
    """A text that is not strict JSON is a ValueError that states the rule."""
    with pytest.raises(ValueError, match="^" + re.escape(rule)):
        parse_json(text)


def test_integers_of_thousands_of_digits_are_refused():
    """An integer too long to convert is a ValueError like any other bad text."""
    with pytest.raises(ValueError, match="4300 digits"):
        parse_json("1" * 5000)


def test_one_key_in_different_objects_is_fine():
    """Only keys of the same object must differ."""
    assert parse_json('{"a":{"a":1},"b":[{"a":2},{"a":3}]}') == {
        "a": {"a": 1},
        "b": [{"a": 2}, {"a": 3}],
    }


@given(st.text() | st.binary())
def test_any_text_parses_or_is_a_value_error(text):
    """No text makes the parser fail in another way, and what parses has a canonical text."""
    try:
        value = parse_json(text)
    except ValueError:
        return
    assert parse_json(canonical_json(value)) == value
