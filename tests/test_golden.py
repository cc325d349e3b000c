"""The golden files: what the program gives today is what it gave when they were written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from golden.cases import CASES
from golden.rendering import golden_files
from oracle import Oracle, PlainSplitMix64, fire_stream
from worlds import actions

from emberbench_dist.contract.canonical import canonical_json
from emberbench_dist.contract.observation import parse_observation
from emberbench_dist.contract.scenario import parse_scenario
from emberbench_dist.simulator.record import check_replay

GOLDEN = Path(__file__).parent / "golden"
SCRIPT = Path(__file__).parent.parent / "scripts" / "regenerate_golden"
FILES = sorted(path for path in GOLDEN.rglob("*.json*"))
RUNS = [path for path in FILES if path.parent.name == "runs"]
PUBLISHED = {
    "0": [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC],
    "1234567": [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ],
}


def name_of(path):
    """Return a golden file's name for the test report."""
    return path.relative_to(GOLDEN).as_posix()


def read_run(path):
    """Return scenario, record document and pinned fire data of a golden run."""
    scenario, header, initial, *steps, fire = map(json.loads, path.read_text().splitlines())
    return scenario["scenario"], {**header, **initial, "steps": steps}, fire["fire"]


def regenerate(*arguments, **environment):
    """Run the script without any third-party package."""
    return subprocess.run(
        [sys.executable, "-S", SCRIPT, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )


# What the files hold


def test_the_folder_is_complete():
    """Every golden file that the cases make is there, at least eight runs, and no other."""
    assert len(RUNS) >= 8
    assert {name_of(path) for path in FILES} == set(golden_files())


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_bytes(path):
    """The program still gives the bytes of each golden file."""
    assert path.read_bytes().decode() == golden_files()[name_of(path)]


def test_splitmix64_is_the_published_one():
    """The pinned outputs begin with those that are published for SplitMix64."""
    outputs = json.loads((GOLDEN / "splitmix64.json").read_text())["outputs"]
    assert {seed: outputs[seed][: len(values)] for seed, values in PUBLISHED.items()} == PUBLISHED


def test_splitmix64_agrees_with_the_plain_generator():
    """Outputs, stream seeds and Bernoulli draws are those of one plain draw after another."""
    document = json.loads((GOLDEN / "splitmix64.json").read_text())
    for seed, outputs in document["outputs"].items():
        plain = PlainSplitMix64(int(seed))
        assert [plain.next_u64() for _ in outputs] == outputs
        assert document["stream_seeds"][f"{seed}/fire"] == fire_stream(int(seed)).state
    for p, draws in document["bernoulli"].items():
        plain = PlainSplitMix64(42)
        assert "".join(str(int(plain.bernoulli(float(p)))) for _ in draws) == draws


@pytest.mark.parametrize("path", RUNS, ids=name_of)
def test_run_replays(path):
    """A golden run passes the replay check on its own scenario."""
    document, record, _ = read_run(path)
    assert check_replay(record, parse_scenario(document)) == len(record["steps"])


@pytest.mark.parametrize("path", RUNS, ids=name_of)
def test_run_agrees_with_the_oracle(path):
    """The plain oracle, which shares no code with the program, gives the same run and fire data."""
    document, record, fire = read_run(path)
    seed = record["header"]["seed"]
    oracle, draws = Oracle(document, seed), []
    counted = oracle.rng.bernoulli
    oracle.rng.bernoulli = lambda p: draws.append(step["step"]) or counted(p)
    assert oracle.state.to_dict() == record["initial_state"]
    for step in record["steps"]:
        assert canonical_json(oracle.step(step["actions"]).to_dict()) == canonical_json(step)
    assert fire == {
        "scenario_hash": record["header"]["scenario_hash"],
        "seed": seed,
        "ignited": [step["ignitions"] for step in record["steps"]],
        "draws": [draws.count(step["step"]) for step in record["steps"]],
        "final_burning": [list(cell) for cell in sorted(oracle.burning)],
        "final_rng_state": oracle.rng.state,
    }


def test_observations_and_payloads():
    """Each pinned observation parses back, and the payload beside it answers it."""
    texts = (GOLDEN / "observations.jsonl").read_text().splitlines()
    payloads = (GOLDEN / "actions.jsonl").read_text().splitlines()
    expected = [
        {
            "action_schema_version": "1.0",
            "actions": actions(case.script[step]),
            "step": step,
        }
        for case in CASES
        for step in (0, len(case.script) - 1)
    ]
    assert [json.loads(payload) for payload in payloads] == expected
    for text, payload in zip(texts, payloads, strict=True):
        observation, answer = parse_observation(text), json.loads(payload)
        assert observation.step == answer["step"]
        assert observation.active == tuple(sorted(answer["actions"]))
    assert any("\\u" in text for text in texts)
    assert all(text.isascii() for text in texts + payloads)


def test_the_runs_cover_the_contract():
    """Among the runs is every model, policy, outcome, cause, ending and interval."""
    runs = [read_run(path) for path in RUNS]
    rules = {
        (document["fire"]["model"], document["movement"]["enter_fire"]) for document, _, _ in runs
    }
    assert len(rules) == 4
    assert {document["fire"]["exits_flammable"] for document, _, _ in runs} == {False, True}
    assert {0.0, 1.0} < {document["fire"]["spread_probability"] for document, _, _ in runs}
    assert {1, 2} < {document["fire"]["spread_interval"] for document, _, _ in runs}
    steps = [step for _, record, _ in runs for step in record["steps"]]
    assert {movement["outcome"] for step in steps for movement in step["movements"]} == {
        *("stayed", "moved", "blocked_boundary", "blocked_wall", "blocked_fire"),
        *("blocked_occupied", "blocked_conflict", "blocked_cycle"),
    }
    causes = {casualty["cause"] for step in steps for casualty in step["casualties"]}
    assert causes == {"entered_fire", "fire_spread"}
    endings = {record["steps"][-1]["state"]["termination_reason"] for _, record, _ in runs}
    assert endings == {"all_resolved", "max_steps"}
    assert any(step["evacuations"] for step in steps)
    assert any(step["state"]["trapped"] for step in steps)


# The script


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONHASHSEED": "0"},
        {"PYTHONHASHSEED": "1"},
        {"TZ": "Pacific/Kiritimati", "LC_ALL": "C"},
        {"TZ": "America/St_Johns", "LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONHASHSEED": "77"},
    ],
    ids=str,
)
def test_check_under_any_environment(environment):
    """On a bare interpreter the files agree, whatever hash seed, time zone and locale."""
    done = regenerate("--check", **environment)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture
def folder(tmp_path):
    """Return a copy of the golden files."""
    return shutil.copytree(GOLDEN, tmp_path / "golden", ignore=shutil.ignore_patterns("*.py*"))


def test_check_names_the_first_difference(folder):
    """A changed line is named by file and line, with exit code 1, and is not mended."""
    path = folder / "runs" / "cycles.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    lines[4] = lines[4].replace("blocked_cycle", "moved")
    lines[5] = lines[5].replace("moved", "stayed")
    path.write_text("".join(lines))
    done = regenerate("--check", "--folder", folder)
    assert done.returncode == 1
    assert done.stderr.startswith("runs/cycles.jsonl:5:\n  expected {")
    assert path.read_text() == "".join(lines)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: (folder / "actions.jsonl").unlink(), "actions.jsonl: missing"),
        (lambda folder: (folder / "runs" / "x.jsonl").touch(), "runs/x.jsonl: no case"),
        (shutil.rmtree, "actions.jsonl: missing"),
        (
            lambda folder: (folder / "actions.jsonl").write_bytes(
                (folder / "actions.jsonl").read_bytes().replace(b"\n", b"\r\n")
            ),
            "actions.jsonl: other line endings",
        ),
        (
            lambda folder: (folder / "actions.jsonl").write_bytes(b"\xff\n"),
            "actions.jsonl:1:",
        ),
    ],
    ids=["missing", "extra", "empty", "line-endings", "no-utf8"],
)
def test_check_finds_files_that_do_not_belong(folder, change, message):
    """A missing, additional or damaged file is named, with exit code 1."""
    change(folder)
    done = regenerate("--check", "--folder", folder)
    assert (done.returncode, done.stderr.startswith(message)) == (1, True)


def test_regeneration_restores_the_files(folder):
    """Writing gives the same bytes again and removes what no case has made."""
    (folder / "actions.jsonl").write_text("old\n")
    (folder / "runs" / "old.jsonl").touch()
    assert regenerate("--folder", folder).returncode == 0
    found = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.json*")}
    assert found == {path.relative_to(GOLDEN): path.read_bytes() for path in FILES}
