"""`dist-eval verify` and `audit`: what they accept, what they name, and what they never change."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing

import pytest
from commands import dist_eval as command
from commands import played_room
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import contents

from emberbench_dist.artifacts.ledger import Ledger
from manifests import hall, write_manifest

COUNT = 12


@pytest.fixture(scope="module")
def room():
    """Play a run in a folder where nothing waits for a disk."""
    blocks = [(hall("one", people=2), {"first": 1, "count": 8}), (hall("two", 8), [1, 2, 3, 4])]
    with played_room(blocks) as room:
        yield room


@pytest.fixture
def manifest(room):
    """Return the manifest of the run."""
    return room / "input/manifest.json"


@pytest.fixture
def copy(room):
    """Return a copy of the run that may be changed."""
    shutil.rmtree(room / "copy", ignore_errors=True)
    return shutil.copytree(room / "run", room / "copy")


def verify(*arguments):
    """Call verify in this process."""
    return command("verify", *arguments, "--in-process")


def test_a_run_folder_is_verified(room):
    """A run folder needs nothing else, and verifying changes no byte of it."""
    before = contents(room / "run")
    done = verify(room / "run")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("12 of 12 episodes are what their traces give; artifact sha256 ")
    assert contents(room / "run") == before


def test_files_are_verified_with_the_manifest(room, manifest, tmp_path):
    """Artifact and traces are enough with the manifest, whatever their place and name."""
    artifact, traces = tmp_path / "a", tmp_path / "t"
    shutil.copy(room / "run/artifact.jsonl", artifact)
    shutil.copy(room / "run/traces.jsonl", traces)
    assert verify(artifact, traces, "--manifest", manifest).stdout == verify(room / "run").stdout


def test_an_incomplete_run_is_verified(tmp_path):
    """What an agent that failed left is a true prefix, and told as such."""
    manifest = write_manifest(tmp_path / "input", [(hall("one"), [3]), (hall("trap", 9), [4, 5])])
    run = "run", manifest, "--in-process", "--agent", "players:Raises", "--out", tmp_path / "run"
    assert command(*run).returncode == 1
    done = verify(tmp_path / "run")
    assert done.returncode == 0
    assert done.stdout.startswith("1 of 3 episodes are what their traces give; ")


def test_a_wrong_line_is_named(copy):
    """One changed metric: exit 2, one line that names file, line, episode and both values."""
    path = copy / "artifact.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"blocked_wall":0', b'"blocked_wall":1', 1))
    failed = verify(copy)
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr == (
        f"Error: {path}: line 2 (episode 0): metrics.blocked_wall is 1, but the replay gives 0\n"
    )


@given(st.data())
@settings(max_examples=30)
def test_any_changed_byte_is_one_line(room, data):
    """Any changed byte of artifact or traces: exit 2 and one line, whatever it breaks."""
    paths = []
    for name in ("artifact.jsonl", "traces.jsonl"):
        content = bytearray((room / "run" / name).read_bytes())
        paths.append((room / f"flipped-{name}", content))
    _, flipped = paths[data.draw(st.integers(0, 1))]
    flipped[data.draw(st.integers(0, len(flipped) - 1))] ^= data.draw(st.integers(1, 255))
    for path, content in paths:
        path.write_bytes(content)
    failed = verify(*(path for path, _ in paths), "--manifest", room / "input/manifest.json")
    assert failed.returncode == 2
    (line,) = failed.stderr.splitlines()
    assert line.startswith(f"Error: {room}/flipped-")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("UPDATE episodes SET steps = x'77' WHERE episode = 3", "the row of episode 3 is damaged"),
        ("DELETE FROM episodes WHERE episode = 3", "holds 11 episodes, but its sessions committed"),
        ("UPDATE documents SET body = x'7B'", "its copy of the manifest cannot be used"),
        ("UPDATE meta SET value = 'f' WHERE key = 'manifest_hash'", "is bound to is damaged"),
    ],
)
def test_the_ledger_of_a_folder_is_audited_too(copy, change, told):
    """A folder whose artifact is true but whose ledger is not is refused."""
    with closing(sqlite3.connect(copy / "ledger.sqlite", isolation_level=None)) as connection:
        connection.execute(change)
    failed = verify(copy)
    assert failed.returncode == 2
    assert f"Error: {copy}/ledger.sqlite: " in failed.stderr
    assert told in failed.stderr


def test_what_cannot_be_verified_is_one_line(room, manifest, copy, tmp_path):
    """Too few files, the wrong manifest, or a file that is not there: exit 2 and one line."""
    artifact, traces = room / "run/artifact.jsonl", room / "run/traces.jsonl"
    part = tmp_path / "part"
    sliced = "run", manifest, "--in-process", "--slice", "1/2", "--out", part
    assert command(*sliced).returncode == 0
    (copy / "traces.jsonl").unlink()
    cases = [
        ((artifact,), "an artifact is verified with its TRACES and --manifest"),
        ((artifact, traces), "an artifact is verified with its TRACES and --manifest"),
        ((artifact, "--manifest", manifest), "is verified with its TRACES and --manifest"),
        ((tmp_path / "nowhere",), "an artifact is verified with its TRACES and --manifest"),
        (
            (artifact, traces, "--manifest", "smoke-v1"),
            "line 1: is not the header of manifest smoke",
        ),
        ((room / "run", "--manifest", "smoke-v1"), "line 1: is not the header of manifest smoke"),
        ((artifact, traces, "--manifest", "nowhere"), "nowhere: there is no such file"),
        ((artifact, tmp_path / "t", "--manifest", manifest), "t: cannot be read: No such file"),
        ((traces, artifact, "--manifest", manifest), "line 1: is not the header"),
        ((room / "input",), "ledger.sqlite: there is no run here"),
        ((part,), "artifact.jsonl: cannot be read: No such file"),
        ((copy,), "traces.jsonl: cannot be read: No such file"),
        ((room / "run", "--workers", 2), "no --workers, no --address"),
    ]
    for arguments, told in cases:
        failed = verify(*arguments)
        assert (failed.returncode, failed.stdout) == (2, ""), arguments
        (line,) = [line for line in failed.stderr.splitlines() if line.startswith("Error")]
        assert told in line


def test_verify_on_workers(dist_eval, copy):
    """Worker processes find the same first place as this process does."""
    path = copy / "traces.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:7], lines[8], lines[7], *lines[9:]]))
    failed = dist_eval("verify", copy, "--workers", 2)
    assert failed.returncode == 2
    assert failed.stderr.splitlines()[-1] + "\n" == verify(copy).stderr
    assert "line 9 (episode 7): the trace cannot be read: it is of episode 8" in failed.stderr


def test_audit(dist_eval, tmp_path, manifest):
    """An audit accepts an agent that does the same again, and finds one that keeps state."""
    for agent, count, code in (("greedy", 2, 0), ("keepers:KeepsState", 3, 1)):
        folder = tmp_path / agent
        run = "run", manifest, "--in-process", "--agent", agent, "--out", folder
        assert dist_eval(*run).returncode == 0
        before = contents(folder)
        done = dist_eval("audit", folder, "--sample", count, "--workers", 2)
        assert done.returncode == code, done.stderr
        assert contents(folder) == before
        told = [line for line in done.stderr.splitlines() if line.startswith("Error")]
        assert all("other actions from step 0 on: '" in line for line in told)
        # The first episode of the one process that played them all had nothing to remember.
        assert len(told) in ({0} if code == 0 else {count - 1, count})
        same = f"{count - len(told)} of {count}"
        assert done.stdout == f"{same} episodes came out as they are committed (seed 0)\n"


def test_what_cannot_be_audited_is_one_line(copy, tmp_path):
    """Where no run is, or its agent is gone, nothing is started."""
    failed = command("audit", tmp_path)
    assert failed.returncode == 2
    assert failed.stderr == f"Error: {tmp_path}/ledger.sqlite: there is no run here\n"
    with closing(Ledger.open(copy / "ledger.sqlite")) as ledger:
        ledger.begin_session("gone:Agent")
    failed = command("audit", copy)
    assert failed.returncode == 2
    assert len(failed.stderr.splitlines()) == 1
    assert "gone:Agent" in failed.stderr
