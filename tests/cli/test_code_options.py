"""`--dry-run`, `--code-dir`, `--pip`, and a run whose agent's code has changed."""

from __future__ import annotations

import json
import os
import re
import sys

import pytest
from commands import dist_eval
from rich.console import Console

from emberbench_dist.agents import files
from manifests import hall, write_manifest

AGENT = "from emberbench_dist.agents.baselines import Greedy as Mine\n"
CHANGED = (
    "run: the agent's code is not that of the run (changed: mine.py; added: more.txt); if you "
    "mean to go on with it, add --agent-changed"
)


@pytest.fixture
def room(tmp_path, monkeypatch):
    """Give a test a working folder with an agent and a manifest of four episodes."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents/mine.py").write_text(AGENT)
    write_manifest(tmp_path / "input", [(hall("one"), {"first": 1, "count": 4})])
    return tmp_path


def run(*options, agent="agents/mine.py:Mine"):
    """Call `dist-eval` on the manifest with the agent, into the folder `run`."""
    return dist_eval("input/manifest.json", "--agent", agent, "--out", "run", *options)


def everything(folder):
    """Return every file below a folder with its bytes and time."""
    return {
        path: (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_a_dry_run_tells_all_and_does_nothing(room):
    """It names manifest, episodes, agent, files and digest, starts nothing and writes nothing."""
    before = everything(room)
    told = run("--dry-run", "--slice", "1/2")
    assert (told.returncode, told.stderr) == (0, "")
    lines = told.stdout.splitlines()
    assert lines[0].startswith("manifest: test (")
    assert lines[1:6] == [
        "episodes: 2 planned, slice 1/2, a new run",
        "results: run",
        "workers: as many as fit, on Ray",
        "agent: agents/mine.py:Mine",
        f"file: {len(AGENT)} mine.py",
    ]
    assert lines[6] == (
        f"code: agents, 1 file, {len(AGENT)} bytes; on this machine, nothing is sent"
    )
    assert lines[7].startswith("digest: ")
    assert everything(room) == before


@pytest.mark.usefixtures("room")
def test_a_dry_run_for_a_cluster(monkeypatch):
    """It says what would be sent and installed; on a terminal the files are a table."""
    monkeypatch.setattr(Console, "is_terminal", property(lambda _: True))
    told = run("--dry-run", "--address", "localhost:1", "--pip", "torch>=2", "--code-dir", ".")
    assert (told.returncode, told.stderr) == (0, "")
    assert "pip: torch>=2" in told.stdout
    assert "code: ., " in told.stdout
    assert "; sent to localhost:1" in told.stdout
    assert re.search(rf"mine\.py\W+{len(AGENT)}\W", told.stdout)
    assert "━" in told.stdout
    built_in = run("--dry-run", "--address", "localhost:1", agent="greedy")
    assert "code: package, emberbench-dist " in built_in.stdout
    assert "; nothing is sent\n" in built_in.stdout


def test_a_dry_run_of_a_run_that_is_there(room):
    """It counts what is committed, and refuses what the run would refuse, in the same words."""
    assert run("--in-process", "--slice", "1/2").returncode == 0
    before = everything(room)
    again = run("--dry-run", "--in-process", "--slice", "1/2", "--resume")
    assert "episodes: 2 planned, slice 1/2, 2 of them committed" in again.stdout
    assert "workers: this process" in again.stdout
    for options in (("--slice", "1/2"), ("--resume",), ("--resume", "--slice", "2/2")):
        dry, real = run("--dry-run", *options, "--in-process"), run(*options, "--in-process")
        assert (dry.returncode, dry.stderr) == (real.returncode, real.stderr)
        assert dry.returncode == 2
    assert everything(room) == before


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--agent", "agents/yours.py:Mine"], "there is no agent file 'agents/yours.py'"),
        (["--code-dir", "nowhere"], "nowhere: is no folder of code"),
        (["--code-dir", "input"], "mine.py is not in the code folder"),
        (["--agent", "greedy", "--code-dir", "."], "--code-dir is for module:factory and file.py"),
        (["--pip", "torch"], "on this machine, install it yourself: pip install torch"),
        (["--pip", "a b", "--in-process"], "install it yourself: pip install 'a b'"),
        (["--out", "file"], "file: cannot be written: File exists"),
        (["--out", "file/run"], "file/run: cannot be written: Not a directory"),
        (["--out", "used"], "used: is in use by process 1 on "),
        (["--address", "localhost:1"], "MiB; the largest are mine.py (0.0 MiB), a.bin (0.0 MiB)"),
    ],
)
def test_a_dry_run_has_the_errors_of_the_run(room, monkeypatch, options, told):
    """What a run would be refused for is told by one line and exit code 2."""
    (room / "file").write_text("mine")
    (room / "used").mkdir()
    owner = {"host": os.uname().nodename, "pid": 1, "since": "now"}
    (room / "used/run.owner.json").write_text(json.dumps(owner))
    (room / "agents/a.bin").write_bytes(b"large")
    if "--address" in options:
        monkeypatch.setattr(files, "MAX_BYTES", len(AGENT))
    before = everything(room)
    refused = run("--dry-run", *options)
    assert refused.returncode == 2
    assert told in refused.stderr
    assert "Traceback" not in refused.stderr
    assert everything(room) == before


def test_a_run_goes_on_with_changed_code_only_on_request(room):
    """Committed episodes are of one code: a change is told by file, and has to be meant."""
    assert run("--in-process").returncode == 0
    artifact = (room / "run/artifact.jsonl").read_bytes()
    (room / "agents/mine.py~").write_text("of an editor")
    (room / "agents/report.html").write_text("of a report")
    assert run("--in-process", "--resume").returncode == 0
    (room / "agents/mine.py").write_text(f"{AGENT}# better\n")
    (room / "agents/more.txt").write_text("more")
    for options in ((), ("--dry-run",)):
        refused = run("--in-process", "--resume", *options)
        assert refused.returncode == 2
        assert CHANGED in refused.stderr
    assert run("--in-process", "--resume", "--agent-changed").returncode == 0
    assert run("--in-process", "--resume").returncode == 0
    assert (room / "run/artifact.jsonl").read_bytes() == artifact
    sessions = json.loads((room / "run/run.json").read_text())["sessions"]
    digests = [session["agent_code"]["digest"] for session in sessions]
    assert digests[0] == digests[1] != digests[2] == digests[3]
    assert digests[2] == run("--dry-run", "--resume").stdout.splitlines()[-1].split()[1]
    assert digests[2].encode() not in artifact


def test_a_repaired_run_still_knows_its_code(room):
    """Repair keeps what the run is bound to, the agent's code too."""
    assert run("--in-process").returncode == 0
    assert dist_eval("repair", "run").returncode == 0
    (room / "agents/mine.py").write_text(f"{AGENT}# better\n")
    assert "(changed: mine.py)" in run("--in-process", "--resume").stderr


def test_before_the_first_episode_code_may_change(room):
    """An agent that has not played yet is mended without a word about it."""
    (room / "agents/mine.py").write_text("def Mine():\n    raise ValueError('no key')\n")
    assert run("--in-process").returncode == 1
    del sys.modules[f"mine@{room / 'agents'}"]
    (room / "agents/mine.py").write_text(f"{AGENT}# mended, of another size\n")
    assert run("--in-process", "--resume").returncode == 0


def test_an_audit_says_that_the_code_has_changed(room, monkeypatch):
    """Whoever plays with other code than the run is told so, before any comparison."""
    assert run("--in-process").returncode == 0
    (room / "agents/mine.py").write_text(f"{AGENT}# better\n")
    monkeypatch.setattr("emberbench_dist.cli.audit.audit", lambda *_: [])
    told = dist_eval("audit", "run")
    assert told.stderr == "The agent's code is not that of the run (changed: mine.py).\n"
