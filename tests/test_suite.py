"""The built-in suite: what is committed, and that it is worth playing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from plain_policies import distances, greedy, stay

from emberbench_dist.contract.canonical import parse_json
from emberbench_dist.contract.observation import Status
from emberbench_dist.contract.scenario import MAX_SEED, Scenario, load_scenario
from emberbench_dist.evaluation.manifest import load_manifest
from emberbench_dist.simulator.simulator import Simulator
from emberbench_dist.simulator.state import SimulationState

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "manifests"
MANIFESTS = ("public-v1", "smoke-v1")

PUBLIC = parse_json((FOLDER / "public-v1.json").read_bytes())
SMOKE = parse_json((FOLDER / "smoke-v1.json").read_bytes())
SCENARIOS = {
    entry["scenario_id"]: load_scenario(FOLDER / entry["path"]) for entry in PUBLIC["scenarios"]
}
STOCHASTIC = [name for name, item in SCENARIOS.items() if item.rules.fire_model == "stochastic"]


def generate(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the generator as a developer does."""
    command = [sys.executable, ROOT / "scripts" / "generate_suite", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def seeds_of(block: dict[str, Any]) -> list[int]:
    """Return the seeds of a manifest block, expanded."""
    seeds = block["seeds"]
    if isinstance(seeds, list):
        return seeds
    return list(range(seeds["first"], seeds["first"] + seeds["count"]))


def planned(manifest: dict[str, Any]) -> dict[str, list[int]]:
    """Return the seeds of each scenario of a manifest that gives each one block."""
    seeds = {block["scenario_id"]: seeds_of(block) for block in manifest["blocks"]}
    assert len(seeds) == len(manifest["blocks"])
    return seeds


def play(scenario: Scenario, seed: int, policy: Any) -> SimulationState:
    """Play an episode; return its last state."""
    simulator = Simulator(scenario, seed)
    while not simulator.state.terminated:
        simulator.step(policy(simulator.observe()))
    return simulator.state


def count(state: SimulationState, status: Status) -> int:
    """Return how many people have `status`."""
    return sum(person.status is status for person in state.people)


@pytest.fixture(scope="module")
def played() -> dict[str, list[tuple[SimulationState, SimulationState]]]:
    """Play the first four seeds of each public scenario, by `stay` and by `greedy`."""
    return {
        name: [
            (play(SCENARIOS[name], seed, stay), play(SCENARIOS[name], seed, greedy))
            for seed in seeds[:4]
        ]
        for name, seeds in planned(PUBLIC).items()
    }


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the path of every file below a folder, relative to it."""
    return (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def test_regenerating_gives_the_committed_bytes(tmp_path):
    """The generator writes, into an empty folder, exactly what is committed."""
    assert generate("--out", tmp_path).returncode == 0
    written = sorted(files_below(tmp_path))
    assert len(written) == len(SCENARIOS) + len(MANIFESTS)
    for name in written:
        assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes(), name


def test_check_accepts_the_committed_suite():
    """`--check` is silent and exits 0 where nothing differs."""
    done = generate("--check")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_check_names_the_first_line_that_differs(tmp_path):
    """`--check` exits 1, names file and line, and repairs nothing."""
    copy = shutil.copytree(FOLDER, tmp_path / "copy")
    changed = copy / "scenarios" / "flat-14x10.json"
    text = changed.read_text().replace('"max_steps":60', '"max_steps":61')
    changed.write_text(text)
    done = generate("--check", "--out", copy)
    assert done.returncode == 1
    line = next(i for i, x in enumerate(text.splitlines(), start=1) if '"max_steps":61' in x)
    assert done.stderr == f"{changed}: line {line} is not what the suite says\n"
    assert changed.read_text() == text


def test_check_names_a_missing_file(tmp_path):
    """`--check` exits 1 and names a file that is not there."""
    copy = shutil.copytree(FOLDER, tmp_path / "copy")
    (copy / "smoke-v1.json").unlink()
    done = generate("--check", "--out", copy)
    assert (done.returncode, done.stderr) == (1, f"{copy / 'smoke-v1.json'}: is missing\n")


def test_check_notices_a_byte_too_many(tmp_path):
    """`--check` sees what stands after the last line."""
    copy = shutil.copytree(FOLDER, tmp_path / "copy")
    with (copy / "smoke-v1.json").open("a") as file:
        file.write("\n")
    assert generate("--check", "--out", copy).returncode == 1


@pytest.mark.parametrize("name", MANIFESTS)
def test_manifests_load(name):
    """The evaluator's own reader accepts both manifests and counts their episodes."""
    document = {"public-v1": PUBLIC, "smoke-v1": SMOKE}[name]
    manifest = load_manifest(FOLDER / f"{name}.json")
    assert document["manifest_id"] == name
    assert len(manifest) == sum(len(seeds) for seeds in planned(document).values())


@pytest.mark.parametrize("manifest", [PUBLIC, SMOKE], ids=MANIFESTS)
def test_hashes_are_those_of_the_files(manifest):
    """Each scenario of a manifest is in the file named after it, normalised, with that hash."""
    assert {entry["scenario_id"] for entry in manifest["scenarios"]} == set(planned(manifest))
    for entry in manifest["scenarios"]:
        name = entry["scenario_id"]
        assert entry["path"] == f"scenarios/{name}.json"
        scenario = load_scenario(FOLDER / entry["path"])
        assert (scenario.scenario_id, scenario.scenario_hash) == (name, entry["scenario_hash"])
        assert scenario.to_dict() == parse_json((FOLDER / entry["path"]).read_bytes())


def test_no_scenario_file_is_left_over():
    """Every scenario file is listed by some manifest of the folder."""
    listed = {
        entry["path"]
        for path in FOLDER.glob("*.json")
        for entry in parse_json(path.read_bytes())["scenarios"]
    }
    files = {f"scenarios/{path.name}" for path in (FOLDER / "scenarios").iterdir()}
    assert files - listed == set()


def test_public_suite_is_broad():
    """At least twelve scenarios, each under exactly twenty different seeds."""
    seeds = planned(PUBLIC)
    assert len(seeds) >= 12
    assert {name: len(set(chosen)) for name, chosen in seeds.items()} == dict.fromkeys(seeds, 20)


@pytest.mark.parametrize("manifest", [PUBLIC, SMOKE], ids=MANIFESTS)
def test_seeds_reach_the_last_one(manifest):
    """Each manifest has the largest seed, and ones that a float or an int64 would spoil."""
    seeds = {seed for chosen in planned(manifest).values() for seed in chosen}
    assert max(seeds) == MAX_SEED == 18446744073709551615
    assert 2**63 in seeds
    assert min(seeds) >= 0


def test_public_seeds_come_as_list_and_as_range():
    """The public manifest exercises both forms of a block, and a range up to the last seed."""
    forms = [block["seeds"] for block in PUBLIC["blocks"]]
    assert any(isinstance(form, list) and MAX_SEED in form for form in forms)
    assert {"first": MAX_SEED - 19, "count": 20} in forms


def test_rules_are_covered():
    """Both models, both policies, intervals 1 to 4, both kinds of exit, many probabilities."""
    rules = [scenario.rules for scenario in SCENARIOS.values()]
    assert {rule.fire_model for rule in rules} == {"deterministic", "stochastic"}
    assert {rule.enter_fire for rule in rules} == {"blocked", "casualty"}
    assert {rule.spread_interval for rule in rules} == {1, 2, 3, 4}
    assert {(rule.exits_flammable, rule.enter_fire) for rule in rules} == {
        (flammable, policy) for flammable in (True, False) for policy in ("blocked", "casualty")
    }
    probabilities = {rule.spread_probability for rule in rules} - {None}
    assert (min(probabilities), max(probabilities)) == (0.15, 0.6)
    assert len(probabilities) >= 6
    assert all(30 <= rule.max_steps <= 200 for rule in rules)


def test_sizes_are_covered():
    """The smallest has five cells, the largest is 64x64 with 150 people."""
    sizes = {
        name: (item.map.width * item.map.height, len(item.people))
        for name, item in SCENARIOS.items()
    }
    assert min(sizes.values()) == sizes["corridor-5x1"] == (5, 2)
    assert max(sizes.values()) == sizes["expo-64x64"] == (64 * 64, 150)


@pytest.mark.parametrize("name", SCENARIOS)
def test_id_says_the_size_and_description_is_a_sentence(name):
    """A scenario's id ends in its size; its description is one sentence."""
    scenario = SCENARIOS[name]
    assert name.endswith(f"-{scenario.map.width}x{scenario.map.height}")
    assert scenario.description.endswith(".")
    assert scenario.description.count(".") == 1


@pytest.mark.parametrize("name", SCENARIOS)
def test_everybody_has_a_path_at_first(name):
    """At step 0 every person can reach an exit around walls and fire."""
    observation = Simulator(SCENARIOS[name], 0).observe()
    reached = distances(observation)
    assert [person.id for person in observation.people if person.position not in reached] == []


def test_exits_burn(played):
    """Under some seed an exit burns, in most scenarios whose exits can; elsewhere none does."""
    burnt = set()
    for name, states in played.items():
        exits = {item.position for item in SCENARIOS[name].map.exits}
        if any(exits & set(still.burning) for still, _ in states):
            burnt.add(name)
    flammable = {name for name, item in SCENARIOS.items() if item.rules.exits_flammable}
    assert burnt <= flammable
    assert len(burnt) > len(flammable) / 2


@pytest.mark.parametrize("name", SCENARIOS)
def test_moving_beats_staying(name, played):
    """Who stays is never saved and somebody is lost; greedy saves half or more in all."""
    people = len(SCENARIOS[name].people) * len(played[name])
    still = [state for state, _ in played[name]]
    saved = sum(count(state, Status.EVACUATED) for _, state in played[name])
    assert sum(count(state, Status.EVACUATED) for state in still) == 0
    assert all(count(state, Status.CASUALTY) > 0 for state in still)
    assert saved >= people / 2


def test_greedy_leaves_room_above_it(played):
    """Greedy loses somebody in every scenario: a better agent can show it."""
    lost = {
        name: sum(count(state, Status.CASUALTY) for _, state in states)
        for name, states in played.items()
    }
    assert [name for name, casualties in lost.items() if casualties == 0] == []


@pytest.mark.parametrize("name", STOCHASTIC)
def test_seeds_matter(name, played):
    """Under a stochastic fire, the four seeds end in at least two ways."""
    ends = {(count(state, Status.EVACUATED), state.step) for _, state in played[name]}
    assert len(ends) > 1


def test_smoke_is_a_small_part_of_public():
    """Smoke has 4 or 5 of the public scenarios, small ones, under 3 or 4 seeds each."""
    entries = SMOKE["scenarios"]
    assert 4 <= len(entries) <= 5
    assert all(entry in PUBLIC["scenarios"] for entry in entries)
    assert {len(seeds) for seeds in planned(SMOKE).values()} <= {3, 4}
    assert max(len(SCENARIOS[name].people) for name in planned(SMOKE)) <= 40
