"""The run record and the replay check (contract: Replay)."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from strategies import action_values, scenario_documents, seeds
from worlds import actions, scenario

from emberbench_dist.contract.canonical import canonical_json
from emberbench_dist.contract.scenario import parse_scenario
from emberbench_dist.errors import ReplayError
from emberbench_dist.simulator.record import check_replay, load_record, record_episode

DRAWING = """
    P1 . E1 .
    P2 # . .
    . P3 . *
"""
SCENARIO = scenario(DRAWING, probability=0.5, max_steps=5)
SCRIPT = ("P1> P2^ P3.", "P1> P2> P3.", "P2> P3^", "P2> P3>", "P2. P3<")
SEED = 4


def record_of_script():
    """Return the run record document of the script: three people, all kinds of events."""

    def policy(observation):
        return {
            person: action
            for person, action in actions(SCRIPT[observation.step]).items()
            if person in observation.active
        }

    return json.loads(canonical_json(record_episode(SCENARIO, SEED, policy).to_dict()))


RECORD = record_of_script()


def changed(path, value):
    """Return the record with one value replaced."""
    record = copy.deepcopy(RECORD)
    place = record
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return record


def paths(value, path=()):
    """Yield the path of every value inside a document."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in entries:
        yield (*path, key)
        if isinstance(part, dict | list):
            yield from paths(part, (*path, key))


def at(path):
    """Return what stands at a path of the record."""
    value = RECORD
    for key in path:
        value = value[key]
    return value


ALL_PATHS = list(paths(RECORD))


# The form


def test_record_form():
    """A run record is its version, the header, the initial state and every step."""
    assert list(RECORD) == ["header", "initial_state", "record_version", "steps"]
    assert RECORD["record_version"] == "1.0"
    assert RECORD["header"] == {
        "observation_version": "1.0",
        "scenario_hash": SCENARIO.scenario_hash,
        "scenario_id": "drawn",
        "schema_version": "1.0",
        "seed": SEED,
        "simulator_version": "0.2.0",
    }
    assert [step["step"] for step in RECORD["steps"]] == list(range(1, len(RECORD["steps"]) + 1))
    assert set(RECORD["steps"][0]) == {
        *("step", "actions", "movements", "ignitions", "evacuations", "casualties", "state"),
    }


def test_the_script_shows_every_kind_of_event():
    """The record that these tests tamper with has ignitions, evacuations and casualties."""
    for event in ("ignitions", "evacuations", "casualties"):
        assert any(step[event] for step in RECORD["steps"])


def test_record_ends_with_the_episode():
    """An episode is recorded until it terminates, and no longer."""
    ended = [step["state"]["terminated"] for step in RECORD["steps"]]
    assert ended == [False] * (len(ended) - 1) + [True]


@settings(max_examples=60, deadline=None)
@given(document=scenario_documents(), seed=seeds, data=st.data())
def test_every_record_replays(document, seed, data):
    """Whatever is recorded replays, also after a round trip through its canonical text."""
    world = parse_scenario(document)
    record = record_episode(
        world,
        seed,
        lambda observation: {name: data.draw(action_values) for name in observation.active},
    )
    assert check_replay(record.to_dict(), world) == len(record.steps)
    assert check_replay(json.loads(canonical_json(record.to_dict())), world) == len(record.steps)


# Header


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("record_version",), "2.0"),
        (("record_version",), 1.0),
        (("header", "simulator_version"), "0.1.0"),
        (("header", "observation_version"), "2.0"),
        (("header", "schema_version"), "2.0"),
        (("header", "scenario_id"), "another"),
        (("header", "scenario_hash"), "0" * 64),
        (("header", "seed"), -1),
        (("header", "seed"), 2**64),
        (("header", "seed"), float(SEED)),
        (("header", "seed"), True),
        (("header", "seed"), None),
    ],
)
def test_header_is_checked(path, value):
    """Versions, scenario and a legal seed come first: the error names the place, and no step."""
    with pytest.raises(ReplayError, match=path[-1]) as caught:
        check_replay(changed(path, value), SCENARIO)
    assert caught.value.step is None


def test_scenario_is_checked():
    """A record does not replay on another scenario, even one that differs in a description."""
    other = parse_scenario({**SCENARIO.to_dict(), "description": "another"})
    with pytest.raises(ReplayError, match="scenario_hash") as caught:
        check_replay(RECORD, other)
    assert caught.value.step is None


def test_another_seed_diverges_in_the_initial_state():
    """A legal but wrong seed has another stream, so the initial state differs."""
    with pytest.raises(ReplayError, match="rng_state"):
        check_replay(changed(("header", "seed"), SEED + 1), SCENARIO)


def test_source_is_named():
    """Every error begins with the file that the caller says the record came from."""
    for path in (("header", "seed"), ("initial_state", "step"), ("steps", 1, "state", "step")):
        with pytest.raises(ReplayError, match=rf"^results/r\.json: .*{path[0]}"):
            check_replay(changed(path, "x"), SCENARIO, source="results/r.json")


# Steps


def other_than(value):
    """Return another value of the same kind."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case str():
            return f"{value}x"
        case list():
            return [*value, [0, 0]]
        case dict():
            return {**value, "x": 1}
        case _:
            return "x"


def equal_but_written_otherwise(value):
    """Return a value that Python takes for equal where there is one; its JSON text differs."""
    match value:
        case bool():
            return int(value)
        case int():
            return float(value)
        case _:
            return [value]


@pytest.mark.parametrize(
    "tamper",
    [other_than, equal_but_written_otherwise, lambda _: None, lambda _: {}, lambda _: [[]]],
    ids=["other", "equal-but-written-otherwise", "null", "object", "list"],
)
def test_replaced_value(tamper):
    """Any value that is replaced by a different text is found, in the step where it stands."""
    for path in ALL_PATHS:
        value = tamper(at(path))
        if canonical_json(value) == canonical_json(at(path)):
            continue
        with pytest.raises(ReplayError) as caught:
            check_replay(changed(path, value), SCENARIO)
        assert_names_step(caught.value, path)


def test_removed_value():
    """Any entry that is removed is found: but for the last step, whose absence leaves no trace."""
    for path in ALL_PATHS:
        if path == ("steps", len(RECORD["steps"]) - 1):
            continue
        with pytest.raises(ReplayError) as caught:
            check_replay(without(path), SCENARIO)
        assert_names_step(caught.value, path)


def assert_names_step(error, path):
    """Check the step that an error names against the place that was tampered with."""
    if path[0] == "steps" and len(path) > 1:
        assert error.step == path[1] + 1
        assert f"step {path[1] + 1}" in str(error) or f"steps[{path[1]}]" in str(error)
    elif path != ("steps",):
        assert error.step in (None, 0)


def without(path):
    """Return the record with one entry removed."""
    record = copy.deepcopy(RECORD)
    place = record
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return record


def test_divergence_names_the_parts_that_differ():
    """The error says which parts of the step differ from the replay."""
    record = changed(("steps", 1, "ignitions"), [[0, 0]])
    record["steps"][1]["state"]["burning"] = []
    record["steps"][3]["state"]["burning"] = []
    with pytest.raises(ReplayError, match=r"step 2 diverges.* in ignitions, state$"):
        check_replay(record, SCENARIO)


def test_changed_actions_diverge_where_their_effect_shows():
    """Actions that were not played are legal, so their movements give them away."""
    with pytest.raises(ReplayError, match=r"step 3 diverges.* in evacuations, movements, state$"):
        check_replay(changed(("steps", 2, "actions", "P2"), "stay"), SCENARIO)


def test_swapped_steps():
    """Two steps in the wrong order diverge at the first of them."""
    record = copy.deepcopy(RECORD)
    record["steps"][0], record["steps"][1] = record["steps"][1], record["steps"][0]
    with pytest.raises(ReplayError) as caught:
        check_replay(record, SCENARIO)
    assert caught.value.step == 1


def test_step_after_the_end():
    """A step beyond the end of the episode diverges there."""
    record = copy.deepcopy(RECORD)
    record["steps"].append(copy.deepcopy(record["steps"][-1]))
    with pytest.raises(ReplayError, match="over") as caught:
        check_replay(record, SCENARIO)
    assert caught.value.step == len(RECORD["steps"]) + 1


@pytest.mark.parametrize("count", range(len(RECORD["steps"])))
def test_record_of_the_first_steps(count):
    """A record cut between two steps is the record of what was played: the count says how far."""
    assert check_replay({**RECORD, "steps": RECORD["steps"][:count]}, SCENARIO) == count


# Malformed records


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(path=st.sampled_from(ALL_PATHS), value=json_values)
@example(path=("initial_state",), value={"\ud800\n": 1})
def test_malformed_parts(path, value):
    """Any JSON value anywhere in a record is a `ReplayError`, in one printable line."""
    record = changed(path, value)
    # Neither the same text nor the record of no step is malformed.
    assume(canonical_json(value) != canonical_json(at(path)))
    assume(record["steps"] != [])
    with pytest.raises(ReplayError) as caught:
        check_replay(record, SCENARIO)
    assert str(caught.value).isprintable()


@given(value=json_values)
def test_malformed_records(value):
    """Any other JSON value in a record's place is a `ReplayError`."""
    with pytest.raises(ReplayError):
        check_replay(value, SCENARIO)


def deeply_nested():
    """Return a list in a list in a list, deeper than any recursion goes."""
    value = []
    for _ in range(100_000):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param(path, value, id=f"{name}-in-{path[-1]}")
        for path in [
            ("header", "scenario_id"),
            ("header", "seed"),
            ("initial_state",),
            ("steps", 0),
            ("steps", 0, "state"),
            ("steps", 0, "actions"),
        ]
        for name, value in [
            ("number-of-5000-digits", 10**5000),
            ("nan", float("nan")),
            ("deep-nesting", deeply_nested()),
            ("keys-that-are-no-text", {"actions": {"P1": "stay"}, 1: 2, None: 3}),
            ("object-of-python", object()),
        ]
    ],
)
def test_values_beyond_json(path, value):
    """What no JSON file holds, but a caller may pass, is a short `ReplayError` too."""
    with pytest.raises(ReplayError) as caught:
        check_replay(changed(path, value), SCENARIO)
    assert len(str(caught.value)) < 400


# Files


def test_record_file(tmp_path):
    """A record file replays."""
    path = tmp_path / "record.json"
    path.write_text(canonical_json(RECORD), encoding="utf-8")
    assert check_replay(load_record(path), SCENARIO) == len(RECORD["steps"])


def test_truncated_record_file(tmp_path):
    """A record file cut at any byte is a `ReplayError` that names the file."""
    path = tmp_path / "record.json"
    data = canonical_json(RECORD).encode()
    for size in range(0, len(data), 7):
        path.write_bytes(data[:size])
        with pytest.raises(ReplayError, match=r"record\.json: "):
            load_record(path)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\xff\xfe", id="no-utf8"),
        pytest.param(b"\xef\xbb\xbf{}", id="byte-order-mark"),
        pytest.param(b'{"a":1,"a":2}', id="duplicate-key"),
        pytest.param(b'{"a":NaN}', id="nan"),
        pytest.param(b"[" * 100_000, id="deep-nesting"),
        pytest.param(b'{"a":' + b"1" * 5000 + b"}", id="number-of-5000-digits"),
    ],
)
def test_record_file_that_is_not_json(tmp_path, data):
    """A file that is not strict JSON is a `ReplayError` that names the file."""
    path = tmp_path / "record.json"
    path.write_bytes(data)
    with pytest.raises(ReplayError, match=r"record\.json: "):
        load_record(path)


def test_record_file_that_cannot_be_read(tmp_path):
    """A missing file, or a folder, is a `ReplayError` that names it."""
    for path in (tmp_path, tmp_path / "missing.json"):
        with pytest.raises(ReplayError, match="cannot be read"):
            load_record(path)
