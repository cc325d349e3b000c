"""Scenario files that are no scenario documents at all."""

from __future__ import annotations

import json

import pytest
from builders import CORRIDOR_TEXT, case_id, corridor

from emberbench_dist.contract.scenario import load_scenario, parse_scenario
from emberbench_dist.errors import ScenarioError

DEEP = b"[" * 100_000 + b"]" * 100_000


def replaced(old, new):
    """Return the bytes of the corridor with a part replaced."""
    assert CORRIDOR_TEXT.count(old) == 1
    return CORRIDOR_TEXT.replace(old, new).encode()


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"", "is not JSON: Expecting value (line 1, column 1)"),
        (b"corridor", "is not JSON: Expecting value (line 1, column 1)"),
        (replaced('"width":5,', '"width":5'), "is not JSON: Expecting ',' delimiter (line 4, col"),
        (CORRIDOR_TEXT.encode() + b"{}", "is not JSON: Extra data (line 9, column 1)"),
        (replaced("0.5", "NaN"), "holds NaN, which is not JSON"),
        (replaced("0.5", "Infinity"), "holds Infinity, which is not JSON"),
        (replaced("0.5", "-Infinity"), "holds -Infinity, which is not JSON"),
        (replaced("0.5", "1e400"), "$.fire.spread_probability: must be a finite number in [0, 1]"),
        (replaced('"width":5', '"width":1e400'), "$.map.width: must be an integer from 1 to 2048"),
        (replaced('"width":5', '"width":5.0'), "$.map.width: must be an integer from 1 to 2048"),
        (replaced('"width":5', '"width":5,"width":5'), "has the key 'width' twice in one object"),
        (replaced('"width":5', '"width":6,"\\u0077idth":5'), "has the key 'width' twice"),
        (replaced(' "people":', ' "people":[], "people":'), "has the key 'people' twice"),
        (b"\xef\xbb\xbf" + CORRIDOR_TEXT.encode(), "starts with a byte order mark"),
        (CORRIDOR_TEXT.encode("utf-16"), "is not UTF-8 (byte 0)"),
        (replaced("One corridor", "Égress").decode().encode("latin-1"), "is not UTF-8 (byte "),
        (DEEP, "is nested too deeply"),
        (replaced('"obstacles":[]', '"obstacles":' + DEEP.decode()), "is nested too deeply"),
        (replaced('"development_seed":7', '"development_seed":' + "7" * 5000), ""),
        (b"[]", "$: must be an object, got []"),
        (b"null", "$: must be an object, got null"),
    ],
    ids=case_id,
)
def test_bad_files(tmp_path, content, rule):
    """A file that is not strict JSON of a scenario is refused in one line that names it."""
    file = tmp_path / "bad.json"
    file.write_bytes(content)
    with pytest.raises(ScenarioError) as caught:
        load_scenario(file)
    assert str(caught.value).startswith(f"{file}: {rule}")
    assert "\n" not in str(caught.value)


def test_a_missing_file(tmp_path):
    """A file that does not exist is a ScenarioError with the system's reason."""
    with pytest.raises(ScenarioError) as caught:
        load_scenario(tmp_path / "none.json")
    assert str(caught.value) == (
        f"{tmp_path / 'none.json'}: cannot be read: No such file or directory"
    )
    assert isinstance(caught.value.__cause__, FileNotFoundError)


def test_a_folder_is_no_file(tmp_path):
    """A folder is a ScenarioError with the system's reason."""
    with pytest.raises(ScenarioError) as caught:
        load_scenario(tmp_path)
    assert str(caught.value) == f"{tmp_path}: cannot be read: Is a directory"


@pytest.mark.parametrize("kind", [str, lambda path: path])
def test_a_good_file(tmp_path, kind):
    """A path may be text or a path object; white space and key order do not count."""
    file = tmp_path / "good.json"
    file.write_text(json.dumps(corridor(), indent=4, sort_keys=True), encoding="utf-8")
    assert load_scenario(kind(file)) == parse_scenario(corridor())


def test_a_file_is_utf8_whatever_the_locale(tmp_path):
    """Text beyond ASCII is read as UTF-8, escaped or not."""
    document = corridor() | {"description": "Égress 出口"}
    for ascii_only in (True, False):
        file = tmp_path / f"{ascii_only}.json"
        file.write_bytes(json.dumps(document, ensure_ascii=ascii_only).encode())
        assert load_scenario(file).description == "Égress 出口"
