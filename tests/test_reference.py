"""The reference results and the pages made from them: whole, reproduced, up to date."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from emberbench_dist.agents.baselines import Flow
from emberbench_dist.evaluation.manifest import load_manifest
from emberbench_dist.runner.evaluate import evaluate

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "scripts" / "reference"
RESULTS, DOCS = ROOT / "results", ROOT / "docs"
REFERENCE = RESULTS / "reference"
SAID = {"agent": "Flow | again", "by": "Us", "cost": "Little", "trained_on": "Nothing"}


@pytest.fixture(autouse=True)
def _find_the_scripts(monkeypatch):
    """Let tests import what the script imports."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))


def reference(*arguments):
    """Run the script to its end."""
    return subprocess.run(
        [sys.executable, SCRIPT, *map(str, arguments)], capture_output=True, text=True, check=False
    )


def test_the_reference_results_are_reproduced():
    """All is whole and consistent, a sample is played to the same bytes, the pages are current."""
    done = reference("--check")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_every_built_in_agent_has_reference_results_and_nothing_else_is_there():
    """A folder for each, with the files that the page names, and no run of anybody's machine."""
    from references import BASELINES

    from emberbench_dist.agents.registry import known_agents

    assert sorted(BASELINES) == sorted(known_agents())
    files = {"artifact.jsonl", "run.json", "summary.json"}
    expected = {Path(name, file) for name in BASELINES for file in files}
    folder = REFERENCE / "public-v1"
    found = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
    ignored = {path for path in found if path.suffix == ".parquet" or path.name == "run.lock"}
    assert found - ignored == expected | {Path("fire-known.json")}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Make a manifest of two episodes, its reference results and pages, in folders of their own."""
    folder = tmp_path_factory.mktemp("reference")
    document = json.loads((ROOT / "manifests" / "smoke-v1.json").read_text())
    document |= {
        "manifest_id": "tiny",
        "scenarios": document["scenarios"][:1],
        "blocks": [{"scenario_id": "corridor-5x1", "seeds": [1, 2]}],
    }
    shutil.copytree(ROOT / "manifests" / "scenarios", folder / "scenarios")
    (folder / "tiny.json").write_text(json.dumps(document))
    (folder / "docs").mkdir()
    for page in ("leaderboard.md", "baselines.md"):
        shutil.copy(DOCS / page, folder / "docs")
    return folder


@pytest.fixture
def tiny(world, monkeypatch):
    """Return a function that calls the script's `main` on the tiny manifest."""
    import references

    def play(manifest, name, out, **_):
        return evaluate(manifest, references.load_agent(name), out, resume=True, agent_spec=name)

    # Ray takes seconds to start, and is tested elsewhere.
    monkeypatch.setattr(references, "evaluate_distributed", play)

    def main(*options):
        places = ["--results", str(world / "results"), "--docs", str(world / "docs")]
        arguments = ["reference", str(world / "tiny.json"), *places, *options]
        monkeypatch.setattr(sys, "argv", arguments)
        return references.main()

    assert main() == 0
    return main


def test_what_was_made_is_checked_and_not_made_again(tiny, world):
    """After the script, `--check --all` finds nothing; another call changes no byte."""
    assert tiny("--check", "--all") == 0
    files = [path for path in world.rglob("*") if path.is_file() and "playing" not in path.parts]
    before = {path: path.read_bytes() for path in files}
    assert tiny() == 0
    assert {path: path.read_bytes() for path in files} == before


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        ("greedy/artifact.jsonl", '"evacuated":1', '"evacuated":2', "is not what its lines give"),
        ("greedy/summary.json", '"people": 4', '"people": 5', "is not what the artifact gives"),
        ("stay/run.json", '"stay"', '"stand"', "is not what the artifact gives"),
    ],
)
def test_a_changed_file_is_found_out(file, old, new, told, tiny, world, capsys):
    """Whatever is not what the artifact gives is named, and the exit code is 1."""
    path = world / "results" / "reference" / "tiny" / file
    text = path.read_text()
    path.write_text(text.replace(old, new, 1))
    assert path.read_text() != text
    assert tiny("--check") == 1
    assert capsys.readouterr().err == f"{path}: {told}{' under the manifest' * ('lines' in told)}\n"
    path.write_text(text)


def test_a_result_of_another_agent_is_found_out(tiny, world, capsys):
    """An artifact that is sound, but not what the baseline plays, is named with its episode."""
    folder = world / "results" / "reference" / "tiny"
    kept = shutil.copytree(folder / "stay", world / "kept")
    for name in ("artifact.jsonl", "summary.json"):
        shutil.copy(folder / "greedy" / name, folder / "stay" / name)
    assert tiny("--check") == 1
    said = capsys.readouterr().err.splitlines()
    assert said[0].endswith("stay/artifact.jsonl: line 2 (episode 0) is not what is played")
    shutil.rmtree(folder / "stay")
    kept.rename(folder / "stay")


def test_a_page_that_was_edited_is_found_out(tiny, world, capsys):
    """Tables are what the results give."""
    page = world / "docs" / "leaderboard.md"
    text = page.read_text()
    page.write_text(text.replace("| 0/0/2 |", "| 2/0/0 |", 1))
    assert tiny("--check") == 1
    assert capsys.readouterr().err == f"{page}: is not what the results give\n"
    page.write_text(text)


def test_a_submission_is_verified_and_listed(tiny, world):
    """One that is what its traces give is on the page; one that is not ends the script."""
    from emberbench_dist.errors import ArtifactError

    folder = world / "results" / "submissions" / "tiny" / "mine"
    evaluate(load_manifest(world / "tiny.json"), Flow, folder)
    (folder / "submission.json").write_text(json.dumps(SAID))
    assert tiny() == 0
    page = (world / "docs" / "leaderboard.md").read_text()
    assert "| **mine** | Flow \\| again | Us | Little | Nothing |" in page
    assert page.count("| **mine** |") == 3
    (folder / "submission.json").write_text(json.dumps(SAID | {"more": "said"}))
    with pytest.raises(SystemExit, match="must say in one line each: agent, by, cost, trained_on"):
        tiny("--check")
    (folder / "traces.jsonl").write_text('{"actions":[],"episode":0}\n' * 2)
    with pytest.raises(ArtifactError, match="the trace ends before the episode"):
        tiny("--check")
    shutil.rmtree(folder)


def test_costs_are_measured(tiny, world):
    """Only their table changes: a number for each agent and size of map."""
    assert tiny("--costs") == 0
    page = (world / "docs" / "baselines.md").read_text()
    table = page.partition("<!-- costs -->\n")[2].partition("<!-- end of costs -->")[0]
    head, _, *rows = table.splitlines()
    assert head == "| agent | to 32 x 32 |"
    assert len(rows) == 8
    assert all(float(row.split("|")[2]) > 0 for row in rows)


def test_no_agent_gets_out_more_than_is_possible():
    """Whoever knows the fire does as well as any baseline, by a flow; the looser bound is above."""
    from fire_known import most_out, most_out_of_exits

    manifest = load_manifest("smoke-v1")
    result = evaluate(manifest, Flow)
    for line in map(json.loads, result.artifact.splitlines()[1:-1]):
        scenario, seed = manifest.scenarios[line["scenario_id"]], line["seed"]
        bound = most_out(scenario, seed)
        assert line["metrics"]["evacuated"] <= bound <= most_out_of_exits(scenario, seed)
