"""`dist-eval run`: what it prints, where results go, and one line for each bad input."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.runner.evaluate import evaluate
from manifests import hall, write_manifest

SCRIPT = Path(sys.executable).with_name("dist-eval")


def test_default_run_then_resume(dist_eval, tmp_path):
    """No options: greedy on Ray into a folder of its own; resumed, nothing is left to play.

    README.md runs the default manifest.
    """
    first = dist_eval("smoke-v1")
    assert first.returncode == 0, first.stderr
    folder = tmp_path / "results/smoke-v1/greedy"
    assert "19 of 19 episodes" in first.stdout
    assert "results: results/smoke-v1/greedy" in first.stdout
    header, footer = read_ends(folder / "artifact.jsonl")
    assert (header["manifest_id"], header["episodes"], footer["complete"]) == (
        "smoke-v1",
        19,
        True,
    )
    before = (folder / "artifact.jsonl").read_bytes()
    again = dist_eval("smoke-v1", "--resume")
    assert again.returncode == 0
    assert "All 19 episodes are committed; nothing to play." in again.stderr
    assert (folder / "artifact.jsonl").read_bytes() == before
    assert (tmp_path / "results/smoke-v1/greedy/run.log").exists()
    assert not [path for path in folder.iterdir() if path.suffix in (".partial", ".sqlite-journal")]


def read_ends(path):
    """Return the first and the last line of an artifact."""
    lines = path.read_text().splitlines()
    return json.loads(lines[0]), json.loads(lines[-1])


def test_in_process_prints_the_summary(dist_eval, tmp_path, manifest):
    """The summary shows people, outcomes and rates of the artifact, and where the results are."""
    done = dist_eval(manifest, "--in-process", "--out", "here")
    totals = evaluate(manifest, Greedy).summary.totals
    assert done.returncode == 0
    for name in ("people", "evacuated", "casualties", "unresolved"):
        assert [name, str(totals[name])] in [
            row.split("│")[1:3] and [cell.strip() for cell in row.split("│")[1:3]]
            for row in done.stdout.splitlines()
        ]
    assert f"{totals['evacuation_rate']:.1%}" in done.stdout
    assert "results: here" in done.stdout
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == [
        "artifact.jsonl",
        "episodes.parquet",
        "execution.parquet",
        "ledger.sqlite",
        "people.parquet",
        "run.json",
        "run.lock",
        "steps.parquet",
        "traces.jsonl",
    ]


def test_no_steps(dist_eval, tmp_path, manifest):
    """--no-steps leaves out the one table that has to be replayed."""
    dist_eval(manifest, "--in-process", "--out", "here", "--no-steps")
    assert not (tmp_path / "here/steps.parquet").exists()
    assert (tmp_path / "here/people.parquet").exists()


def test_many_at_once_in_any_way(dist_eval, tmp_path, manifest):
    """Threads here, or of workers that share CPUs, give the same bytes as one at a time."""
    ways = {
        "one": ("--in-process",),
        "here": ("--in-process", "--concurrency", 8, "--max-in-flight", 5),
        "ray": ("--workers", 3, "--concurrency", 4, "--cpus-per-worker", 0.1, "--max-in-flight", 7),
    }
    for out, options in ways.items():
        told = dist_eval(manifest, "--agent", "counting", "--out", out, *options)
        assert told.returncode == 0, told.stderr
        assert "workers share" not in told.stderr
    artifacts = {(tmp_path / out / "artifact.jsonl").read_bytes() for out in ways}
    assert len(artifacts) == 1


def test_agent_failure(dist_eval, tmp_path):
    """An agent that raises ends the run with exit 1, its traceback and the episode in one line."""
    manifest = write_manifest(tmp_path, [(hall("one"), [3]), (hall("trap", 9), [4])])
    failed = dist_eval(manifest, "--in-process", "--agent", "players:Raises", "--out", "here")
    assert failed.returncode == 1
    assert 'raise ValueError(f"no plan for step {observation.step}")' in failed.stderr
    assert (
        "Error: episode 1 (scenario trap, seed 4, step 1): ValueError: no plan for step 1"
        in failed.stderr
    )
    assert "--resume" in failed.stderr.splitlines()[-1]
    assert read_ends(tmp_path / "here/artifact.jsonl")[1]["committed"] == 1
    other = dist_eval(manifest, "--in-process", "--out", "here", "--resume")
    assert other.returncode == 2
    assert "--agent-changed" in other.stderr
    fixed = dist_eval(manifest, "--in-process", "--out", "here", "--resume", "--agent-changed")
    assert fixed.returncode == 0
    assert (tmp_path / "here/artifact.jsonl").read_bytes() == evaluate(manifest, Greedy).artifact


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere.json"], "nowhere.json: there is no such file, and the built-in manifests are"),
        (["text.json"], "text.json: is not JSON: Expecting value (line 1, column 1)"),
        (["twice.json"], "twice.json: has the key 'a' twice in one object"),
        (["nan.json"], "nan.json: holds NaN, which is not JSON"),
        (["bom.json"], "bom.json: starts with a byte order mark"),
        (["list.json"], "list.json: $: must be an object, got [1]"),
        (["."], ".: cannot be read: Is a directory"),
        (
            ["{m}", "--agent", "gredy"],
            "there is no agent named 'gredy'; known are counting, fire-aware",
        ),
        (["{m}", "--agent", "no_such_module:A"], "ModuleNotFoundError"),
        (["{m}", "--agent", "players:Nobody"], "players has no 'Nobody'"),
        (["{m}", "--agent", "nowhere.py:A"], "there is no agent file 'nowhere.py'"),
        (["{m}", "--agent", "broken.py:A"], "SyntaxError"),
        (["{m}", "--agent", "players:NOT_CALLABLE"], "'NOT_CALLABLE' is int, not a factory"),
        (["{m}", "--agent", "players:takes_an_argument"], "missing a required argument: 'name'"),
        (["{m}", "--workers", "0"], "0 is not in the range x>=1"),
        (["{m}", "--workers", "two"], "'two' is not a valid integer"),
        (["{m}", "--in-process", "--workers", "2"], "no --workers, no --address"),
        (["{m}", "--in-process", "--cpus-per-worker", "0.5"], "no --cpus-per-worker, no --gpus-"),
        (["{m}", "--in-process", "--gpus-per-worker", "1"], "no --cpus-per-worker, no --gpus-"),
        (
            ["{m}", "--workers", "1", "--cpus-per-worker", "1.5"],
            "CPUs of a worker are a whole number or, below 1,",
        ),
        (["{m}", "--concurrency", "0"], "0 is not in the range x>=1"),
        (["{m}", "--max-in-flight", "0"], "0 is not in the range x>=1"),
        (["{m}", "--out", "file.txt"], "file.txt: cannot be written: File exists"),
        (["{m}", "--out", "file.txt/run"], "file.txt/run: cannot be written: Not a directory"),
        (["{m}", "--out", "foreign"], "holds an artifact but no ledger"),
        (["{m}", "--out", "corrupt", "--resume"], "is damaged or no ledger"),
        (["{m}", "--out", "strange", "--resume"], "is not a ledger of dist-eval"),
        (["{m}", "--nonsense"], "No such option"),
        (["status", "nowhere"], "there is no run here"),
    ],
)
def test_bad_input(dist_eval, tmp_path, manifest, arguments, told):
    """Each bad input is one line that says what is wrong, exit 2, and nothing else happens."""
    (tmp_path / "text.json").write_text("hello")
    (tmp_path / "twice.json").write_text('{"a":1,"a":2}')
    (tmp_path / "nan.json").write_text('{"a":NaN}')
    (tmp_path / "bom.json").write_text("\ufeff{}")
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "broken.py").write_text("class A(:")
    (tmp_path / "file.txt").write_text("mine")
    for name, file, content in (
        ("foreign", "artifact.jsonl", b""),
        ("corrupt", "ledger.sqlite", b"no database" * 100),
        ("strange", "ledger.sqlite", b""),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_bytes(content)
    filled = [argument.replace("{m}", str(manifest)) for argument in arguments]
    if filled[0] != "status" and "--workers" not in filled and "--nonsense" not in filled:
        filled.append("--in-process")
    failed = dist_eval(*filled)
    assert failed.returncode == 2
    assert told in failed.stderr
    assert "Traceback" not in failed.stderr
    assert not failed.stdout
    assert len([line for line in failed.stderr.splitlines() if line.startswith("Error")]) == 1
    assert not (tmp_path / "results").exists()
    assert (tmp_path / "file.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("players:raises_at_once", "RuntimeError: no key"),
        ("players:returns_nothing", "EvaluationError: the agent factory returned NoneType"),
    ],
)
def test_factory_that_fails(dist_eval, manifest, spec, told):
    """A factory that raises or returns no agent fails the first episode: exit 1."""
    failed = dist_eval(manifest, "--in-process", "--agent", spec, "--out", "here")
    assert failed.returncode == 1
    assert f"Error: episode 0 (scenario one, seed 1): {told}" in failed.stderr


def test_more_workers_than_cpus(dist_eval, manifest):
    """More workers than CPUs are said to bring nothing, and the run goes on."""
    done = dist_eval(manifest, "--workers", 5, "--out", "here")
    assert done.returncode == 0
    assert "5 workers share" in done.stderr


def test_folder_with_a_run_is_left_alone(dist_eval, tmp_path, manifest):
    """Without --resume, a folder that holds a run is refused and not touched."""
    dist_eval(manifest, "--in-process", "--out", "here")
    before = {path.name: path.read_bytes() for path in (tmp_path / "here").iterdir()}
    refused = dist_eval(manifest, "--in-process", "--out", "here")
    assert refused.returncode == 2
    assert "already holds a run; resume it (--resume, " in refused.stderr
    assert {path.name: path.read_bytes() for path in (tmp_path / "here").iterdir()} == before


def test_resume_of_another_manifest(dist_eval, manifest):
    """A run of one manifest is not resumed with another."""
    dist_eval(manifest, "--in-process", "--out", "here")
    refused = dist_eval("smoke-v1", "--in-process", "--out", "here", "--resume")
    assert refused.returncode == 2
    assert "is a run of manifest test (" in refused.stderr
    assert ", not of smoke-v1 (" in refused.stderr


def test_full_disk(dist_eval, manifest, tmp_path):
    """On a full disk the run ends with exit 3 and one line; with room again it resumes."""
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=60k", "tmpfs", small], check=True)
    try:
        full = dist_eval(manifest, "--in-process", "--out", small / "run")
        assert full.returncode == 3
        assert "the disk is full; make room and go on with --resume" in full.stderr
        assert "Traceback" not in full.stderr
        subprocess.run(["mount", "-o", "remount,size=4m", small], check=True)
        assert (
            dist_eval(manifest, "--in-process", "--out", small / "run", "--resume").returncode == 0
        )
        artifact = (small / "run/artifact.jsonl").read_bytes()
    finally:
        subprocess.run(["umount", small], check=True)
    assert artifact == evaluate(manifest, Greedy).artifact


def test_progress_on_a_terminal(manifest, tmp_path, environment):
    """On a terminal a bar shows episodes, rate and time left; the results stay on stdout."""
    controller, terminal = pty.openpty()
    with subprocess.Popen(
        [SCRIPT, manifest, "--in-process", "--agent", "players:Slow", "--out", "here"],
        cwd=tmp_path,
        env=environment | {"TERM": "xterm-256color", "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=terminal,
    ) as process:
        os.close(terminal)
        shown = b""
        while True:
            try:
                chunk = os.read(controller, 4096)
            except OSError:
                break
            if not chunk:
                break
            shown += chunk
        printed = process.stdout.read().decode()
    assert process.returncode == 0
    assert "/40" in shown.decode()
    assert "/s" in shown.decode()
    assert "40 of 40 episodes" in printed
