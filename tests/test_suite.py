"""The built-in suite: what is committed, and that it is worth playing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from plain_policies import distances, stay
from suite import command, released
from suite.families import FAMILIES

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.contract.canonical import parse_json
from emberbench_dist.contract.observation import Status
from emberbench_dist.contract.scenario import MAX_SEED, Scenario, load_scenario
from emberbench_dist.evaluation.manifest import load_manifest
from emberbench_dist.simulator.simulator import Simulator
from emberbench_dist.simulator.state import SimulationState

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "manifests"
MANIFESTS = ("public-v1", "smoke-v1", "large-v1", "stress-v1")

DOCUMENTS = {name: parse_json((FOLDER / f"{name}.json").read_bytes()) for name in MANIFESTS}
PUBLIC, SMOKE = DOCUMENTS["public-v1"], DOCUMENTS["smoke-v1"]
SCENARIOS = {
    entry["scenario_id"]: load_scenario(FOLDER / entry["path"]) for entry in PUBLIC["scenarios"]
}
STOCHASTIC = [name for name, item in SCENARIOS.items() if item.rules.fire_model == "stochastic"]


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
    """Play the first seeds of each public scenario, by `stay` and by `greedy`."""
    return {
        name: [
            (play(SCENARIOS[name], seed, stay), play(SCENARIOS[name], seed, Greedy().act))
            for seed in seeds[: 4 if SCENARIOS[name].map.width <= 32 else 2]
        ]
        for name, seeds in planned(PUBLIC).items()
    }


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the path of every file below a folder, relative to it."""
    return (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def test_regenerating_gives_the_committed_bytes(tmp_path):
    """The generator writes, into an empty folder, exactly what is committed."""
    assert command.main(["--out", str(tmp_path)]) == 0
    written = sorted(files_below(tmp_path))
    assert written == sorted(files_below(FOLDER))
    for name in written:
        assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes(), name


def test_check_accepts_the_committed_suite(capsys):
    """`--check` is silent and exits 0 where nothing differs."""
    assert command.main(["--check"]) == 0
    assert capsys.readouterr() == ("", "")


def test_check_names_the_first_line_that_differs(tmp_path, capsys):
    """`--check` exits 1, names file and line, and repairs nothing."""
    copy = shutil.copytree(FOLDER, tmp_path / "copy")
    changed = copy / "scenarios" / "flat-14x10.json"
    text = changed.read_text().replace('"max_steps":60', '"max_steps":61')
    changed.write_text(text)
    assert command.main(["--check", "--out", str(copy)]) == 1
    line = next(i for i, x in enumerate(text.splitlines(), start=1) if '"max_steps":61' in x)
    told = f"{changed}: line {line} is not what the suite says\n"
    assert capsys.readouterr() == ("", told)
    assert changed.read_text() == text


def test_check_names_a_missing_file(tmp_path, capsys):
    """`--check` exits 1 and names a file that is not there."""
    copy = shutil.copytree(FOLDER, tmp_path / "copy")
    (copy / "smoke-v1.json").unlink()
    assert command.main(["--check", "--out", str(copy)]) == 1
    assert capsys.readouterr() == ("", f"{copy / 'smoke-v1.json'}: is missing\n")


def test_check_notices_a_byte_too_many(tmp_path):
    """`--check` sees what stands after the last line."""
    copy = shutil.copytree(FOLDER, tmp_path / "copy")
    with (copy / "smoke-v1.json").open("a") as file:
        file.write("\n")
    assert command.main(["--check", "--out", str(copy)]) == 1


@pytest.mark.parametrize("name", MANIFESTS)
def test_manifests_load(name):
    """The evaluator's own reader accepts every manifest and counts its episodes."""
    document, manifest = DOCUMENTS[name], load_manifest(FOLDER / f"{name}.json")
    assert document["manifest_id"] == name
    assert len(manifest) == sum(len(seeds) for seeds in planned(document).values())


@pytest.mark.parametrize("manifest", DOCUMENTS.values(), ids=DOCUMENTS)
def test_hashes_are_those_of_the_files(manifest):
    """Each scenario of a manifest is in the file named after it, normalised, with that hash."""
    assert {entry["scenario_id"] for entry in manifest["scenarios"]} == set(planned(manifest))
    for entry in manifest["scenarios"]:
        name = entry["scenario_id"]
        assert entry["path"] == f"scenarios/{name}.json"
        scenario = load_scenario(FOLDER / entry["path"])
        assert (scenario.scenario_id, scenario.scenario_hash) == (name, entry["scenario_hash"])
        assert scenario.to_dict() == parse_json((FOLDER / entry["path"]).read_bytes())


def test_the_page_has_the_table(capsys):
    """docs/suite.md shows what `--table` prints, and the hash of each manifest."""
    page = (ROOT / "docs" / "suite.md").read_text(encoding="utf-8")
    assert command.main(["--table"]) == 0
    assert f"<!-- table -->\n\n{capsys.readouterr().out}\n<!-- end of table -->" in page
    for name in MANIFESTS:
        manifest = load_manifest(FOLDER / f"{name}.json")
        assert f"| `{name}` | {len(manifest)} |" in page
        assert f"| `{name}` | `{manifest.manifest_hash}` |" in page


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
    """Sixteen designed and sixteen generated scenarios, each under twenty different seeds."""
    seeds = planned(PUBLIC)
    assert len(seeds) == 32
    assert {name: len(set(chosen)) for name, chosen in seeds.items()} == dict.fromkeys(seeds, 20)


@pytest.mark.parametrize("manifest", [PUBLIC, SMOKE], ids=["public-v1", "smoke-v1"])
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
    assert (min(probabilities), max(probabilities)) == (0.15, 0.8)
    assert len(probabilities) >= 6
    assert all(30 <= rule.max_steps <= 340 for rule in rules)


def test_families_are_covered():
    """Generated scenarios are of every family, and of every size from 16 to 256."""
    wishes = released.PUBLIC
    assert {wish.family for wish in wishes} == set(FAMILIES)
    assert {wish.size for wish in wishes} == {16, 32, 64, 128, 256}
    names = [f"{wish.family}-{wish.seed}-{wish.size}x{wish.size}" for wish in wishes]
    assert list(SCENARIOS)[16:] == names


def test_sizes_are_covered():
    """The smallest has five cells, the largest is 256x256; no map has more than 150 people."""
    sizes = {
        name: (item.map.width * item.map.height, len(item.people))
        for name, item in SCENARIOS.items()
    }
    assert min(sizes.values()) == sizes["corridor-5x1"] == (5, 2)
    assert max(sizes.values()) == sizes["office-1-256x256"] == (256 * 256, 60)
    assert max(people for _, people in sizes.values()) == 150


def test_large_is_large():
    """A thousand people on 256 x 256 cells, in places of several families."""
    manifest = load_manifest(FOLDER / "large-v1.json")
    found = {
        (item.map.width, item.map.height, len(item.people)) for item in manifest.scenarios.values()
    }
    assert found == {(256, 256, 1000)}
    assert len({name.partition("-")[0] for name in manifest.scenarios}) == 4
    assert {len(seeds) for seeds in planned(DOCUMENTS["large-v1"]).values()} == {5}


def test_stress_is_many_short_episodes():
    """A hundred thousand episodes, none of more than eight steps, and not all the same."""
    manifest = load_manifest(FOLDER / "stress-v1.json")
    assert len(manifest) == 100_000
    for scenario in manifest.scenarios.values():
        ends = [play(scenario, seed, Greedy().act) for seed in range(1, 40)]
        assert max(end.step for end in ends) <= 8
        if scenario.rules.fire_model == "stochastic":
            assert len({count(end, Status.EVACUATED) for end in ends}) > 1


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
    """Who stays is never saved and somebody is lost; greedy saves two fifths or more in all."""
    people = len(SCENARIOS[name].people) * len(played[name])
    still = [state for state, _ in played[name]]
    saved = sum(count(state, Status.EVACUATED) for _, state in played[name])
    assert sum(count(state, Status.EVACUATED) for state in still) == 0
    assert all(count(state, Status.CASUALTY) > 0 for state in still)
    assert saved >= people * 2 / 5


def test_greedy_leaves_room_above_it(played):
    """Greedy loses somebody in every scenario: a better agent can show it."""
    lost = {
        name: sum(count(state, Status.CASUALTY) for _, state in states)
        for name, states in played.items()
    }
    assert [name for name, casualties in lost.items() if casualties == 0] == []


@pytest.mark.parametrize("name", STOCHASTIC)
def test_seeds_matter(name, played):
    """Under a stochastic fire, the seeds end in at least two ways."""
    ends = {(count(state, Status.EVACUATED), state.step) for _, state in played[name]}
    assert len(ends) > 1


def test_smoke_is_a_small_part_of_public():
    """Smoke has 4 or 5 of the public scenarios, small ones, under 3 or 4 seeds each."""
    entries = SMOKE["scenarios"]
    assert 4 <= len(entries) <= 5
    assert all(entry in PUBLIC["scenarios"] for entry in entries)
    assert {len(seeds) for seeds in planned(SMOKE).values()} <= {3, 4}
    assert max(len(SCENARIOS[name].people) for name in planned(SMOKE)) <= 40
