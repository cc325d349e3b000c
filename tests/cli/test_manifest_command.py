"""`dist-eval manifest`: plans are built, checked and shown."""

from __future__ import annotations

import json

import pytest
from builders import corridor, crossroads
from commands import dist_eval

from emberbench_dist.authoring.plan import secret_seeds
from emberbench_dist.contract.canonical import canonical_json
from emberbench_dist.evaluation.manifest import load_manifest

SECRET = "correct horse battery staple"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Stand in a folder with two scenarios below it."""
    (tmp_path / "places").mkdir()
    for document in (corridor(), crossroads()):
        path = tmp_path / "places" / f"{document['scenario_id']}.json"
        path.write_text(canonical_json(document))
    monkeypatch.chdir(tmp_path)
    return tmp_path


FILES = ("places/corridor-5x1.json", "places/crossroads-5x5.json")


def build(*arguments):
    """Build a manifest of both scenarios."""
    return dist_eval("manifest", "build", *FILES, "--id", "mine", *arguments)


def episodes(path):
    """Return scenario and seed of each episode."""
    manifest = load_manifest(path)
    found = [manifest.episode(index) for index in range(len(manifest))]
    return [(episode.scenario_id, episode.seed) for episode in found]


def test_scenarios_are_planned_under_seeds(folder):
    """Each scenario gets each list and range; what is printed is what would be written."""
    options = "--seeds", "7,18446744073709551615", "--seeds", "1..2", "--description", "Both."
    assert build(*options, "--out", "mine.json") == (0, "", "")
    seeds = [7, 2**64 - 1, 1, 2]
    expected = [(name, seed) for name in ("corridor-5x1", "crossroads-5x5") for seed in seeds]
    assert episodes("mine.json") == expected
    assert load_manifest("mine.json").description == "Both."
    assert build(*options).stdout == (folder / "mine.json").read_text()


def test_paths_are_seen_from_the_manifest(folder):
    """A manifest beside its scenarios names them from there."""
    assert build("--seeds", "1", "--out", "places/mine.json").returncode == 0
    listed = json.loads((folder / "places/mine.json").read_text())["scenarios"]
    assert [entry["path"] for entry in listed] == ["corridor-5x1.json", "crossroads-5x5.json"]


@pytest.mark.parametrize("source", ["file", "environment"])
def test_seeds_are_drawn_from_a_secret(folder, monkeypatch, source):
    """Every scenario has its own seeds, and the secret is nowhere to be seen."""
    (folder / "secret").write_text(f"{SECRET}\n")
    monkeypatch.setenv("HELD_OUT", SECRET)
    given = ("--secret-file", "secret") if source == "file" else ("--secret-env", "HELD_OUT")
    done = build(*given, "--count", "3", "--out", "mine.json")
    assert done == (0, "", "")
    assert episodes("mine.json") == [
        (name, seed)
        for name in ("corridor-5x1", "crossroads-5x5")
        for seed in secret_seeds(SECRET.encode(), f"mine/{name}", 3)
    ]
    assert SECRET not in (folder / "mine.json").read_text()


@pytest.mark.usefixtures("folder")
def test_a_manifest_is_shown():
    """Scenarios, episodes and hash are told at once, also of ten million episodes."""
    build("--seeds", "1..10000000", "--seeds", "0", "--out", "mine.json")
    shown = dist_eval("manifest", "show", "mine.json")
    digest = load_manifest("mine.json").manifest_hash
    assert shown.returncode == 0
    cells = [line.strip("│ ").split("│") for line in shown.stdout.splitlines() if "│" in line]
    assert [[cell.strip() for cell in row] for row in cells] == [
        ["corridor-5x1", "5 x 1", "1", "1", "10,000,001"],
        ["crossroads-5x5", "5 x 5", "3", "3", "10,000,001"],
    ]
    assert shown.stdout.endswith(f"20,000,002 episodes, manifest_hash {digest}\n")
    printed = json.loads(dist_eval("manifest", "show", "mine.json", "--json").stdout)
    assert printed == {
        "manifest_id": "mine",
        "description": "",
        "manifest_hash": digest,
        "episodes": 20_000_002,
        "scenarios": {"corridor-5x1": 10_000_001, "crossroads-5x5": 10_000_001},
    }


def test_a_built_in_manifest_is_shown_by_name():
    """A manifest is named as `run` names it."""
    shown = dist_eval("manifest", "show", "smoke-v1")
    assert shown.stdout.startswith("smoke-v1: A few small places")
    assert "\n19 episodes, manifest_hash " in shown.stdout


def test_manifests_are_checked(folder):
    """A right one is told with its hash, a wrong one with its mistake, and the code is 2."""
    build("--seeds", "1..5", "--out", "mine.json")
    text = (folder / "mine.json").read_text()
    (folder / "wrong.json").write_text(text.replace('"count":5', '"count":0', 1))
    digest = load_manifest("mine.json").manifest_hash
    told = f"mine.json: mine, scenarios 2, episodes 10, {digest}\n"
    assert dist_eval("manifest", "check", "mine.json") == (0, told, "")
    done = dist_eval("manifest", "check", "wrong.json", "mine.json")
    assert (done.returncode, done.stdout) == (2, told)
    assert done.stderr.startswith("wrong.json: $.blocks[0].seeds.count: must be an integer from 1")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "give --seeds, or one of --secret-file and --secret-env with --count"),
        (["--seeds", "1", "--count", "3"], "give --seeds, or one of"),
        (["--secret-env", "HELD_OUT"], "give --seeds, or one of"),
        (["--seeds", "1", "--secret-env", "HELD_OUT", "--count", "3"], "give --seeds, or one of"),
        (["--secret-env", "NOT_SET", "--count", "3"], "no environment variable 'NOT_SET'"),
        (["--secret-env", "SHORT", "--count", "3"], "the secret has 4 bytes; with less than 16"),
        (["--secret-file", "nowhere", "--count", "3"], "'nowhere': No such file"),
        (["--seeds", "x"], "seeds 'x': 'x' is no seed"),
        (["--seeds", "1..3", "--seeds", "3"], "seed 3 of scenario 'corridor-5x1' is planned twice"),
        (["--seeds", "1", "--id", "a b"], "$.manifest_id: must match"),
        (["--seeds", "1", "--out", "none/mine.json"], "is not in the manifest's folder or below"),
        (["places/corridor-5x1.json", "--seeds", "1"], "is given twice"),
        (["nothing.json", "--seeds", "1"], "nothing.json: cannot be read"),
    ],
)
def test_bad_input_is_told(folder, monkeypatch, arguments, told):
    """Every mistake ends with code 2 and a line that says what to do, and nothing is written."""
    monkeypatch.setenv("HELD_OUT", SECRET)
    monkeypatch.setenv("SHORT", "pass")
    before = sorted(folder.rglob("*"))
    done = build(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert SECRET not in done.stderr
    assert sorted(folder.rglob("*")) == before
