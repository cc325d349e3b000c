"""The rules of the manifest: each violation names file, place and rule."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from builders import absences, case_id, edited, json_values, places, violations
from hypothesis import given
from hypothesis import strategies as st

from emberbench_dist.errors import ManifestError, ScenarioError
from emberbench_dist.evaluation.manifest import Episode, load_manifest
from manifests import hall, write_manifest

LAST = 2**64 - 1
BLOCKS = [(hall("one"), [3, 1]), (hall("two", 8), {"first": 5, "count": 4})]
with tempfile.TemporaryDirectory() as folder:
    VALID = json.loads(write_manifest(Path(folder), BLOCKS).read_text())

NOT_TEXT = [None, True, 1, 1.0, [], {}]
NOT_INTEGERS = [None, True, False, 1.0, "1", [1], {}]
NOT_NAMES = ["", "x" * 129, "a b", "a/b", "é", "a\n"]
VERSIONS = {
    "manifest_version": "1.0",
    "simulator_version": "0.2.0",
    "observation_version": "1.0",
    "metrics_version": "1.0",
}
OBJECTS = ["", "scenarios.0", "blocks.0"]
RANGE = "blocks.1.seeds"
HASH = VALID["scenarios"][0]["scenario_hash"]

RULES = [
    *absences(VALID, [*OBJECTS, RANGE]),
    *violations(OBJECTS, [None, [], "{}", 0, True], "must be an object"),
    *violations(["scenarios", "blocks"], [None, {}, "[]", 0, False], "must be a list"),
    *violations(["blocks.0.seeds"], [None, "[]", 0, False], "must be a list"),
    *violations(["scenarios", "blocks", "blocks.0.seeds"], [[]], "must have at least 1 item"),
    *(
        violation
        for name, running in VERSIONS.items()
        for violation in (
            *violations([name], NOT_TEXT, "must be text"),
            *violations([name], ["0.9"], f"is '0.9', but this program runs {running!r}"),
            *violations([name], [""], f"is '', but this program runs {running!r}"),
            *violations(
                [name], [f"{running}.0"], f"is '{running}.0', but this program runs {running!r}"
            ),
        )
    ),
    *violations(
        [
            *("manifest_id", "description", "scenarios.0.scenario_id", "blocks.0.scenario_id"),
            *("scenarios.0.scenario_hash", "scenarios.0.path"),
        ],
        NOT_TEXT,
        "must be text",
    ),
    *violations(
        ["manifest_id", "scenarios.0.scenario_id"],
        NOT_NAMES,
        "must match [A-Za-z0-9._-]{1,128}, got ",
    ),
    *violations(
        ["scenarios.0.scenario_hash"],
        ["", HASH[1:], HASH + "0", HASH.upper(), "g" + HASH[1:], HASH + "\n"],
        "must match [0-9a-f]{64}, got ",
    ),
    *violations(
        ["scenarios.0.scenario_hash"],
        ["0" * 64],
        f"does not match scenarios/one.json, which has the hash {HASH}",
    ),
    *violations(["scenarios.1.scenario_id"], ["one"], "scenario 'one' is listed twice"),
    *violations(["scenarios.1.path"], ["scenarios/one.json"], "holds scenario 'one', not 'two'"),
    *violations(
        ["blocks.1.scenario_id"],
        ["three", "", "One", "two\n"],
        "scenario ",  # the rest is pinned below
    ),
    *violations(
        ["blocks.0.seeds.1", f"{RANGE}.first"],
        [-1, 2**64, *NOT_INTEGERS],
        f"must be an integer from 0 to {LAST}, got ",
    ),
    *violations(
        [f"{RANGE}.count"],
        [0, -1, 2**64, *NOT_INTEGERS],
        f"must be an integer from 1 to {LAST}, got ",
    ),
    *violations(
        [RANGE],
        [{"first": LAST, "count": 2}, {"first": 2, "count": LAST}, {"first": LAST, "count": LAST}],
        "goes past the largest seed, 2**64 - 1",
    ),
]


@pytest.fixture
def path(tmp_path):
    """Write the manifest that the tests change."""
    return write_manifest(tmp_path, BLOCKS)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Write it once for the properties, which change only the manifest file."""
    return write_manifest(tmp_path_factory.mktemp("manifest"), BLOCKS)


def load(path, document):
    """Write a document as a manifest and load it."""
    path.write_text(json.dumps(document))
    return load_manifest(path)


def refusal(path, document, error=ManifestError):
    """Return the message with which a document is refused."""
    with pytest.raises(error) as caught:
        load(path, document)
    assert type(caught.value) is error
    return str(caught.value)


@pytest.mark.parametrize(("place", "value", "where", "rule"), RULES, ids=case_id)
def test_a_violation_names_file_place_and_rule(shared, place, value, where, rule):
    """Each change that breaks a rule is a `ManifestError` with its own message in one line."""
    message = refusal(shared, edited(VALID, place, value))
    assert message.startswith(f"{shared}: {where}: {rule}")
    assert len(message.splitlines()) == 1


def test_a_block_of_an_unknown_scenario_is_refused(path):
    """A block names a scenario that is listed."""
    expected = f"{path}: $.blocks[1].scenario_id: scenario 'six' is not listed under scenarios"
    assert refusal(path, edited(VALID, "blocks.1.scenario_id", "six")) == expected


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("blocks.0.seeds", [0, LAST]),
        (RANGE, {"first": LAST, "count": 1}),
        (RANGE, {"first": LAST - 3, "count": 4}),
        (RANGE, {"count": 1, "first": 0}),
        ("manifest_id", "x" * 128),
        ("manifest_id", "-"),
        ("description", ""),
        ("description", "\ud800\n"),
    ],
    ids=case_id,
)
def test_the_edge_of_a_rule_is_accepted(path, place, value):
    """The largest and smallest values that a rule allows load."""
    assert len(load(path, edited(VALID, place, value))) >= 3


@given(place=st.sampled_from(list(places(VALID))), value=json_values)
def test_anything_anywhere_loads_or_is_refused(shared, place, value):
    """Whatever JSON stands anywhere, the manifest loads or an error names a file of it."""
    try:
        manifest = load(shared, edited(VALID, place, value))
    except (ManifestError, ScenarioError) as error:
        kept = str(error).startswith(f"{shared.parent}/")
    else:
        kept = manifest.episode(len(manifest) - 1).index == len(manifest) - 1
    assert kept


# Seeds that are planned twice

HUGE = 2**62
TWICE = {
    "in-a-list": ([[4, 2, 4]], 0, 4),
    "in-two-lists": ([[4, 2], [3, 2]], 1, 2),
    "last-seed": ([[LAST], [0, LAST]], 1, LAST),
    "list-in-a-range": ([{"first": 0, "count": 10}, [11, 9]], 1, 9),
    "list-before-the-range": ([[5], {"first": 5, "count": 10}], 1, 5),
    "list-in-a-huge-range": ([{"first": 1, "count": HUGE}, [0, HUGE]], 1, HUGE),
    "same-range": ([{"first": 7, "count": 3}] * 2, 1, 7),
    "range-in-a-range": ([{"first": 0, "count": HUGE}, {"first": 9, "count": 2}], 1, 9),
    "ranges-share-one-seed": (
        [{"first": 0, "count": HUGE}, {"first": HUGE - 1, "count": HUGE}],
        1,
        HUGE - 1,
    ),
    "ranges-share-the-last-seed": (
        [{"first": LAST - HUGE, "count": HUGE + 1}, {"first": LAST, "count": 1}],
        1,
        LAST,
    ),
    "third-block": ([[1], [2], [3, 1]], 2, 1),
}


@pytest.mark.parametrize("name", TWICE)
def test_a_seed_is_planned_once(path, name):
    """A pair of scenario and seed that occurs twice is refused, and its later block is named."""
    seeds, number, seed = TWICE[name]
    blocks = [{"scenario_id": "one", "seeds": part} for part in seeds]
    expected = f"{path}: $.blocks[{number}]: seed {seed} of scenario 'one' is planned twice"
    assert refusal(path, VALID | {"blocks": blocks}) == expected


def test_neighbouring_ranges_and_other_scenarios_share_no_seed(path):
    """Ranges that touch, and the same seeds of two scenarios, are different episodes."""
    plan = [
        ("one", {"first": 5, "count": 5}),
        ("two", {"first": 5, "count": 5}),
        ("one", {"first": 0, "count": 5}),
        ("one", [10, LAST]),
        ("one", {"first": 11, "count": HUGE}),
    ]
    blocks = [{"scenario_id": name, "seeds": seeds} for name, seeds in plan]
    manifest = load(path, VALID | {"blocks": blocks})
    assert len(manifest) == 5 + 5 + 5 + 2 + HUGE
    assert manifest.episode(17) == Episode(17, "one", 11)


# The text of the file


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"", "is not JSON: Expecting value (line 1, column 1)"),
        (b'{"blocks":[],}', "is not JSON: "),
        (b'{"a":1,"a":1}', "has the key 'a' twice in one object"),
        (b'{"blocks":[{"seeds":[1],"seeds":[2]}]}', "has the key 'seeds' twice in one object"),
        (b"\xef\xbb\xbf{}", "starts with a byte order mark; save it as UTF-8 without BOM"),
        (b'{"description":"\xff"}', "is not UTF-8 (byte 16)"),
        (b'{"seeds":NaN}', "holds NaN, which is not JSON"),
        (b'{"seeds":-Infinity}', "holds -Infinity, which is not JSON"),
        (b"[" * 200_000, "is nested too deeply"),
        (b"[" + b"9" * 5000 + b"]", "holds an integer of more than 4300 digits"),
        (b"[]", "$: must be an object, got []"),
        (b"null", "$: must be an object, got null"),
    ],
    ids=case_id,
)
def test_a_text_that_is_no_manifest_is_refused(path, content, rule):
    """Text that is not strict JSON of the right shape is named with its file."""
    path.write_bytes(content)
    with pytest.raises(ManifestError) as caught:
        load_manifest(path)
    assert str(caught.value).startswith(f"{path}: {rule}")


UNKNOWN = "there is no such file, and the built-in manifests are "


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("missing.json", UNKNOWN),
        ("manifest.json/x", UNKNOWN),
        ("a\0b", UNKNOWN),
        ("\ud800", UNKNOWN),
        ("x" * 300, UNKNOWN),
        ("scenarios", "cannot be read: Is a directory"),
    ],
    ids=case_id,
)
def test_a_file_that_cannot_be_read_is_named(path, name, rule):
    """A path that leads to no readable file is a `ManifestError`."""
    target = path.parent / name
    with pytest.raises(ManifestError) as caught:
        load_manifest(target)
    assert str(caught.value).startswith(f"{target}: {rule}")


# The paths of scenarios

OUTSIDE = ["..", "../one.json", "scenarios/../../one.json", "/etc/hostname", "//x", "", "a\0b"]


@pytest.mark.parametrize("value", OUTSIDE, ids=case_id)
def test_a_path_that_leaves_the_folder_is_refused(path, value):
    """Neither `..` nor an absolute path is followed, also where the file would be right."""
    (path.parent.parent / "one.json").write_text(json.dumps(hall("one")))
    message = refusal(path, edited(VALID, "scenarios.0.path", value))
    rule = "must be a path inside the manifest's folder, got "
    assert message.startswith(f"{path}: $.scenarios[0].path: {rule}")


def test_an_absolute_path_into_the_folder_is_refused(path):
    """A path is relative, so that a manifest can be moved."""
    inside = str(path.parent / "scenarios" / "one.json")
    assert "$.scenarios[0].path" in refusal(path, edited(VALID, "scenarios.0.path", inside))


@pytest.fixture
def elsewhere(tmp_path_factory):
    """Return a folder outside that holds the right scenario."""
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / "one.json").write_text(json.dumps(hall("one")))
    return folder


@pytest.mark.parametrize("value", ["link.json", "link/one.json"])
def test_a_link_out_of_the_folder_is_refused(path, elsewhere, value):
    """A link to a file or folder outside is not followed, however right the file is."""
    (path.parent / "link.json").symlink_to(elsewhere / "one.json")
    (path.parent / "link").symlink_to(elsewhere)
    message = refusal(path, edited(VALID, "scenarios.0.path", value))
    assert message == (
        f"{path}: $.scenarios[0].path: {value!r} leaves the manifest's folder through a link"
    )


@pytest.mark.parametrize("value", ["link.json", "link/one.json", "./scenarios//one.json"])
def test_a_link_inside_the_folder_is_fine(path, value):
    """A link that stays inside leads to the scenario."""
    (path.parent / "link.json").symlink_to("scenarios/one.json")
    (path.parent / "link").symlink_to(path.parent / "scenarios")
    assert load(path, edited(VALID, "scenarios.0.path", value)).scenarios["one"].map.width == 6


def test_a_folder_that_is_a_link_is_fine(path, tmp_path_factory):
    """The manifest's folder may itself be reached through a link."""
    link = tmp_path_factory.mktemp("links") / "link"
    link.symlink_to(path.parent)
    assert len(load_manifest(link / path.name)) == 6


def test_a_relative_manifest_path_is_fine(path, monkeypatch):
    """Scenarios are found beside the manifest, from whichever working directory."""
    monkeypatch.chdir(path.parent)
    assert len(load_manifest(path.name)) == 6
    monkeypatch.chdir(path.parent / "scenarios")
    assert len(load_manifest(f"../{path.name}")) == 6


def test_a_link_to_itself_is_refused(path):
    """A loop of links is an error of the manifest, not of the program."""
    (path.parent / "loop.json").symlink_to("loop.json")
    refused = edited(VALID, "scenarios.0.path", "loop.json")
    with pytest.raises((ManifestError, ScenarioError), match=r"loop\.json"):
        load(path, refused)


def test_a_path_that_no_file_system_takes_is_refused(path):
    """A lone surrogate in a path is an error of the manifest, not of the program."""
    refused = edited(VALID, "scenarios.0.path", "scenarios/\ud800.json")
    with pytest.raises((ManifestError, ScenarioError), match=r"\\ud800"):
        load(path, refused)


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        ("scenarios/none.json", "cannot be read: No such file or directory"),
        ("scenarios", "cannot be read: Is a directory"),
        (".", "cannot be read: Is a directory"),
        ("manifest.json", "$: unknown key"),
    ],
)
def test_a_path_to_no_scenario_is_the_scenarios_error(path, value, rule):
    """What is wrong with a scenario file is told of that file."""
    message = refusal(path, edited(VALID, "scenarios.0.path", value), ScenarioError)
    assert message.startswith(f"{path.parent / value}: {rule}")


def test_a_changed_scenario_file_is_refused(path):
    """A scenario that is not, to the bit, the one the manifest was made for is refused."""
    changed = hall("one") | {"description": "A hall!"}
    (path.parent / "scenarios" / "one.json").write_text(json.dumps(changed))
    rule = "$.scenarios[0].scenario_hash: does not match scenarios/one.json"
    assert refusal(path, VALID).startswith(f"{path}: {rule}")


def test_a_scenario_file_may_be_written_in_any_order(path):
    """The hash is that of the normalised scenario, not of the file's bytes."""
    turned = dict(reversed(hall("one").items()))
    (path.parent / "scenarios" / "one.json").write_text(json.dumps(turned, indent=3))
    assert load(path, VALID).scenarios["one"].scenario_hash == HASH
