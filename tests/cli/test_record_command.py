"""`dist-eval record` and `replay`: the round trip, and every way in which a record is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from builders import REMOVED, edited
from commands import dist_eval as command
from commands import folder_in_memory
from rows import contents

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.contract.canonical import canonical_json
from emberbench_dist.contract.scenario import load_scenario
from emberbench_dist.simulator.record import record_episode
from manifests import hall, write_manifest

SEED = 2**64 - 1


@pytest.fixture(scope="module")
def room():
    """Play a run of three episodes, the last of them on another map."""
    with folder_in_memory() as room:
        manifest = write_manifest(room / "input", [(hall("one"), [SEED, 7]), (hall("two", 8), [1])])
        assert command("run", manifest, "--in-process", "--out", room / "run").returncode == 0
        yield room


@pytest.fixture(scope="module")
def scenario(room):
    """Return the scenario file of the first episodes."""
    return room / "input/scenarios/one.json"


@pytest.fixture(scope="module")
def true(room):
    """Return the record of the first episode as a document."""
    return json.loads(command("record", room / "run", "--episode", 0).stdout)


def test_a_record_is_what_playing_gives(room, scenario, tmp_path):
    """A record rebuilt from the trace is, byte for byte, the one of an episode that is played."""
    agent = Greedy()
    played = record_episode(load_scenario(scenario), SEED, agent.act)
    before = contents(room / "run")
    printed = command("record", room / "run", "--episode", 0)
    written = command("record", room / "run", "--episode", 0, "--out", tmp_path / "record.json")
    assert printed == (0, canonical_json(played.to_dict()) + "\n", "")
    assert written == (0, "", "")
    assert (tmp_path / "record.json").read_text() == printed.stdout
    assert contents(tmp_path).keys() == {"record.json"}
    assert contents(room / "run") == before


@pytest.mark.parametrize(("episode", "name"), [(0, "one"), (1, "one"), (2, "two")])
def test_a_record_is_replayed(room, tmp_path, episode, name):
    """Every record that is written is reproduced by replay, with its scenario given."""
    path = tmp_path / "record.json"
    assert command("record", room / "run", "--episode", episode, "--out", path).returncode == 0
    steps = len(json.loads(path.read_bytes())["steps"])
    done = command("replay", path, "--scenario", room / f"input/scenarios/{name}.json")
    assert done == (0, f"{path}: {steps} steps are reproduced byte for byte\n", "")


def test_a_built_in_scenario_is_found(tmp_path):
    """A record on a scenario of a built-in manifest is replayed without naming it."""
    run = "run", "smoke-v1", "--in-process", "--out", tmp_path / "run"
    assert command(*run).returncode == 0
    path = tmp_path / "record.json"
    assert command("record", tmp_path / "run", "--episode", 18, "--out", path).returncode == 0
    assert command("replay", path).returncode == 0


CHANGES = {
    "record version": ("record_version", "1.1", r"record_version"),
    "simulator version": ("header.simulator_version", "0.1.0", r"header\.simulator_version: is "),
    "observation version": ("header.observation_version", "2", r"header\.observation_version: is"),
    "schema version": ("header.schema_version", 1, r"header\.schema_version: is 1; "),
    "scenario id": ("header.scenario_id", "two", r"header\.scenario_id: is 'two'; "),
    "scenario hash": ("header.scenario_hash", "0" * 64, r"header\.scenario_hash: is '000"),
    "another seed": ("header.seed", 5, "diverges from the replay in"),
    "no seed": ("header.seed", -1, r"header\.seed"),
    "seed as text": ("header.seed", "7", r"header\.seed"),
    "key missing": ("initial_state", REMOVED, "missing key 'initial_state'"),
    "key too many": ("extra", 1, "unknown key 'extra'"),
    "header key missing": ("header.seed", REMOVED, "missing key 'seed'"),
    "initial state": ("initial_state.burning", [], "step 0 diverges from the replay in burning"),
    "random state": (
        "initial_state.rng_state.fire",
        1,
        "step 0 diverges from the replay in rng_state",
    ),
    "step number": ("steps.1.step", 7, "step 2 diverges from the replay in step"),
    "another action": ("steps.0.actions.P0", "stay", "step 1 diverges from the replay in"),
    "no action": ("steps.0.actions.P0", "up", "step 1: "),
    "nobody's action": ("steps.0.actions.P0", REMOVED, "step 1: "),
    "no actions": ("steps.0.actions", REMOVED, r"steps\[0\]: has no actions"),
    "movement": ("steps.1.movements.0.outcome", "stayed", "step 2 diverges .* in movements"),
    "ignitions": ("steps.1.ignitions", [[0, 0]], "step 2 diverges .* in ignitions"),
    "state": ("steps.2.state.step", 9, "step 3 diverges from the replay in state"),
    "step key": ("steps.2.extra", 1, "step 3 diverges from the replay in 'extra'"),
    "float": ("steps.1.step", 2.0, "step 2 diverges from the replay in step"),
    "steps": ("steps", {}, r"steps: must be an? "),
    "one step": ("steps.1", 7, r"steps\[1\]: has no actions"),
    "everything": ("", [], "must be an object"),
}


@pytest.mark.parametrize(("place", "value", "told"), CHANGES.values(), ids=CHANGES)
def test_a_changed_record_is_refused(true, scenario, tmp_path, place, value, told):
    """Whatever is changed, the first place that replay does not reproduce is named, exit 2."""
    path = tmp_path / "record.json"
    path.write_text(canonical_json(edited(true, place, value)))
    failed = command("replay", path, "--scenario", scenario)
    assert (failed.returncode, failed.stdout) == (2, "")
    (line,) = failed.stderr.splitlines()
    assert line.startswith(f"Error: {path}: ")
    assert re.search(told, line), line


def test_a_step_after_the_end_is_refused(true, scenario, tmp_path):
    """An episode that is over has no further step."""
    path = tmp_path / "record.json"
    path.write_text(canonical_json({**true, "steps": [*true["steps"], true["steps"][-1]]}))
    failed = command("replay", path, "--scenario", scenario)
    assert failed.returncode == 2
    assert f"Error: {path}: step {len(true['steps']) + 1}: " in failed.stderr


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"", "is not JSON: "),
        (b"\xff", "is not UTF-8 (byte 0)"),
        (b"\xef\xbb\xbf{}", "starts with a byte order mark"),
        (b'{"a":1,"a":2}', "has the key 'a' twice in one object"),
        (b"[NaN]", "holds NaN, which is not JSON"),
        (b"[" * 100_000, "is nested too deeply"),
        (b"[]", "its scenario is not a built-in one; give it with --scenario FILE"),
        (b'{"header":{"scenario_hash":[]}}', "its scenario is not a built-in one"),
    ],
)
def test_what_is_no_record_is_refused(tmp_path, content, told):
    """A file that is missing or no record is one line that names it, exit 2."""
    path = tmp_path / "record.json"
    if content is not None:
        path.write_bytes(content)
    failed = command("replay", path)
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr.startswith(f"Error: {path}: ")
    assert told in failed.stderr
    assert len(failed.stderr.splitlines()) == 1


def test_the_scenario_must_be_the_right_one(true, room, tmp_path):
    """A record is replayed only on its own scenario; what is no scenario is refused by name."""
    path = tmp_path / "record.json"
    path.write_text(canonical_json(true))
    for given, told in (
        (room / "input/scenarios/two.json", "header.scenario_id: is 'one'; "),
        (tmp_path / "gone.json", "gone.json: cannot be read"),
        (path, "record.json: $: "),
    ):
        failed = command("replay", path, "--scenario", given)
        assert failed.returncode == 2
        assert told in failed.stderr
    failed = command("replay", path)
    assert "its scenario is not a built-in one" in failed.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--episode", "3"), "manifest test: there is no episode 3; they are 0 to 2"),
        (("--episode", str(2**70)), "there is no episode"),
        (("--episode", "-1"), "-1 is not in the range x>=0"),
        (("--episode", "one"), "'one' is not a valid integer"),
        ((), "Missing option '--episode'"),
        (("--episode", "0", "--out", "."), "is a directory"),
        (
            ("--episode", "0", "--out", "gone/record.json"),
            "gone/record.json: cannot be written: No",
        ),
    ],
)
def test_what_cannot_be_recorded_is_refused(room, tmp_path, monkeypatch, arguments, told):
    """An episode that there is not, or a place where nothing can be written: exit 2, no file."""
    monkeypatch.chdir(tmp_path)
    failed = command("record", room / "run", *arguments)
    assert (failed.returncode, failed.stdout) == (2, "")
    (line,) = [line for line in failed.stderr.splitlines() if line.startswith("Error")]
    assert told in line
    assert list(Path().iterdir()) == []


def test_only_committed_episodes_are_recorded(tmp_path):
    """An episode that failed has no record, and a folder without a run none at all."""
    manifest = write_manifest(tmp_path / "input", [(hall("one"), [3]), (hall("trap", 9), [4])])
    run = "run", manifest, "--in-process", "--agent", "players:Raises", "--out", tmp_path / "run"
    assert command(*run).returncode == 1
    failed = command("record", tmp_path / "run", "--episode", 1)
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr == f"Error: {tmp_path}/run: episode 1 is not committed\n"
    nowhere = command("record", tmp_path, "--episode", 0)
    assert nowhere.stderr == f"Error: {tmp_path}/ledger.sqlite: there is no run here\n"
