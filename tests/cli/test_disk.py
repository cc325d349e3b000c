"""Disks that are full or closed, drivers that are stopped, and two of them at once."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import time
from contextlib import closing
from itertools import count
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from commands import dist_eval as command
from rows import contents

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.errors import LedgerError
from emberbench_dist.runner.evaluate import evaluate
from manifests import hall, write_manifest

PAGE = 4096
TABLES = {f"{name}.parquet" for name in ("episodes", "people", "steps", "execution")}
PAGES = 256


@pytest.fixture
def manifest(tmp_path):
    """Write a manifest of some short episodes; their artifact is longer than any journal."""
    return write_manifest(tmp_path / "input", [(hall("one"), {"first": 1, "count": 40})])


@pytest.fixture
def slow(tmp_path):
    """Write a manifest that takes the slow agent about a second."""
    return write_manifest(tmp_path / "slow", [(hall("one", people=1), {"first": 1, "count": 8})])


@pytest.fixture
def undisturbed(manifest):
    """Return the result of an undisturbed run."""
    return evaluate(manifest, Greedy)


@pytest.fixture
def disk(tmp_path):
    """Mount a small disk of its own; return its folder."""
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={PAGES * PAGE}", "tmpfs", folder], check=True
    )
    yield folder
    subprocess.run(["umount", folder], check=True)


def remount(disk, options):
    """Change a mounted disk."""
    subprocess.run(["mount", "-o", f"remount,{options}", disk], check=True)


def assert_whole(folder, undisturbed):
    """Require the undisturbed bytes and a sound ledger."""
    assert (folder / "artifact.jsonl").read_bytes() == undisturbed.artifact
    assert (folder / "traces.jsonl").read_bytes() == undisturbed.traces
    with Ledger.reading(folder / "ledger.sqlite") as ledger:
        ledger.check()


def assert_nothing_is_half(folder, undisturbed):
    """Require that whatever has its final name is whole."""
    for path in folder.iterdir():
        match path.name:
            case "artifact.jsonl":
                assert path.read_bytes() == undisturbed.artifact
            case "traces.jsonl":
                assert path.read_bytes() == undisturbed.traces
            case "ledger.sqlite":
                with Ledger.reading(path) as ledger:
                    ledger.check()
                    assert ledger.meta()["manifest_id"] == "test"
            case "run.json":
                assert json.loads(path.read_bytes())["manifest_id"] == "test"
            case name if name in TABLES:
                assert pq.read_table(path).num_rows > 0
            case name:
                assert name == "run.lock"


def steps(disk, folder, first=0):
    """Yield how to make room, each time with one more page free for a new folder."""
    filler = disk / "filler"
    for pages in count(first):
        filler.write_bytes(bytes((PAGES - pages) * PAGE))
        yield filler.unlink
        shutil.rmtree(folder)


def told_full(done):
    """Require that a command told of a full disk in one line; return the path that it names."""
    assert done.returncode == 3, done.stderr
    (line,) = done.stderr.splitlines()
    found = re.fullmatch(r"Error: (.+): the disk is full; make room and go on with --resume", line)
    return Path(found[1])


def test_a_disk_that_is_full_at_any_write(disk, manifest, undisturbed):
    """Whatever write finds the disk full: exit 3, one line, nothing half, and resume completes."""
    folder, hit = disk / "run", set()
    run = "run", manifest, "--in-process", "--out", folder
    for make_room in steps(disk, folder):
        full = command(*run)
        if full.returncode == 0:
            break
        hit.add(told_full(full).relative_to(folder).name)
        assert_nothing_is_half(folder, undisturbed)
        make_room()
        again = command(*run, "--resume")
        assert again.returncode == 0, again.stderr
        assert_whole(folder, undisturbed)
    # Beside a transaction's journal run.json is small, and of the tables one is named.
    assert hit > {
        *("run.owner.json", ".ledger.sqlite.partial", "ledger.sqlite"),
        *("artifact.jsonl", "traces.jsonl"),
    }
    assert hit & TABLES


def test_a_disk_that_takes_no_more_files(disk, manifest, undisturbed):
    """Whatever file is one too many: one line that names the folder, and resume completes."""
    folder = disk / "run"
    run = "run", manifest, "--in-process", "--out", folder
    for files in count(3):
        remount(disk, f"nr_inodes={files}")
        full = command(*run)
        if full.returncode == 0:
            break
        assert full.returncode in (2, 3)
        (line,) = full.stderr.splitlines()
        assert line.startswith(f"Error: {folder}")
        assert_nothing_is_half(folder, undisturbed)
        remount(disk, "nr_inodes=100")
        again = command(*run, "--resume")
        assert again.returncode == 0, again.stderr
        assert_whole(folder, undisturbed)
        shutil.rmtree(folder)


def test_a_merge_on_a_full_disk(disk, manifest, undisturbed, tmp_path):
    """A merge that finds the disk full is done again; once its ledger is there it is resumed."""
    parts = [tmp_path / "1", tmp_path / "2"]
    for part in parts:
        run = "run", manifest, "--in-process", "--out", part, "--slice", f"{part.name}/2"
        assert command(*run).returncode == 0
    folder, merge, had_ledger = disk / "run", ("merge", disk / "run", *parts), set()
    for make_room in steps(disk, folder):
        full = command(*merge)
        if full.returncode == 0:
            break
        assert told_full(full).is_relative_to(folder)
        assert_nothing_is_half(folder, undisturbed)
        make_room()
        had_ledger.add((folder / "ledger.sqlite").exists())
        resume = "run", manifest, "--in-process", "--out", folder, "--resume"
        again = command(*resume if (folder / "ledger.sqlite").exists() else merge)
        assert again.returncode == 0, again.stderr
        assert_whole(folder, undisturbed)
    assert had_ledger == {False, True}


def test_a_repair_on_a_full_disk(disk, manifest, undisturbed, tmp_path):
    """A repair that finds the disk full leaves the damaged ledger alone, and is done again."""
    damaged, folder = tmp_path / "damaged", disk / "run"
    assert command("run", manifest, "--in-process", "--out", damaged).returncode == 0
    with closing(Ledger.open(damaged / "ledger.sqlite")) as ledger:
        ledger._connection.execute("UPDATE episodes SET steps = x'77' WHERE episode = 5")
    before, full = contents(damaged), 0
    for _ in steps(disk, folder, first=pages_of(before)):
        folder.mkdir()
        for name, content in before.items():
            (folder / name).write_bytes(content)
        done = command("repair", folder)
        if done.returncode == 0:
            break
        full += 1
        assert told_full(done).is_relative_to(folder)
        assert contents(folder) == before
    assert full > pages_of({"ledger": before["ledger.sqlite"]})
    assert "episodes 5 are to be played again" in done.stdout
    (disk / "filler").unlink()
    again = command("run", manifest, "--in-process", "--out", folder, "--resume")
    assert again.returncode == 0
    assert_whole(folder, undisturbed)


def pages_of(files):
    """Return how many pages of a disk files take."""
    return sum(-(-len(content) // PAGE) for content in files.values())


def test_a_disk_that_may_only_be_read(disk, manifest, undisturbed):
    """Where nothing may be written: what writes ends with exit 2 and one line, the rest works."""
    folder = disk / "run"
    run = "run", manifest, "--in-process", "--out"
    assert command(*run, folder).returncode == 0
    remount(disk, "ro")
    before = contents(folder)
    for arguments in (
        (*run, disk / "other"),
        (*run, folder),
        (*run, folder, "--resume"),
        ("repair", folder),
        ("merge", disk / "other", folder),
        ("record", folder, "--episode", 1, "--out", disk / "record.json"),
    ):
        refused = command(*arguments)
        assert refused.returncode == 2
        (line,) = refused.stderr.splitlines()
        assert line.startswith(f"Error: {disk}/")
        assert line.endswith(": cannot be written: Read-only file system")
    assert "complete" in command("status", folder).stdout
    assert command("verify", folder, "--in-process").returncode == 0
    assert command("record", folder, "--episode", 1).returncode == 0
    assert contents(folder) == before
    assert_whole(folder, undisturbed)


def test_a_driver_that_is_stopped_for_a_while(start, tmp_path, slow):
    """A driver that the system stops, and continues after two seconds, gives the same bytes."""
    folder = tmp_path / "run"
    process = start(slow, "--in-process", "--agent", "players:Slow", "--out", folder)
    wait_for(lambda: committed(folder) > 0, process)
    process.send_signal(signal.SIGSTOP)
    before = committed(folder)
    time.sleep(2)
    assert committed(folder) == before < 8
    process.send_signal(signal.SIGCONT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 0, told
    assert_whole(folder, evaluate(slow, Greedy))


def committed(folder):
    """Return how many episodes a run has committed, 0 where it has not begun."""
    try:
        with Ledger.reading(folder / "ledger.sqlite") as ledger:
            return sum(map(len, ledger.committed()))
    except LedgerError:
        return 0


def wait_for(condition, process):
    """Wait until a condition holds while a process lives."""
    while not condition():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


def test_two_drivers_at_the_same_instant(start, tmp_path, slow):
    """Of two drivers that start together one runs; the other ends with exit 2 and is told why."""
    folder = tmp_path / "run"
    run = slow, "--in-process", "--agent", "players:Slow", "--out", folder, "--resume"
    drivers = [start(*run), start(*run)]
    told = {driver.pid: driver.communicate(timeout=60)[1] for driver in drivers}
    winner, loser = sorted(drivers, key=lambda driver: driver.returncode)
    assert (winner.returncode, loser.returncode) == (0, 2), told
    # The winner has the lock for a moment before it has written its name.
    named = rf"(process {winner.pid} on .+ since .+|another driver)"
    assert re.fullmatch(rf"Error: {folder}: is in use by {named}\n", told[loser.pid])
    assert_whole(folder, evaluate(slow, Greedy))


def test_the_lock_of_a_killed_driver_is_taken_over(start, tmp_path, slow):
    """A killed driver keeps nobody out, although its name is still in the folder."""
    folder = tmp_path / "run"
    process = start(slow, "--in-process", "--agent", "players:Slow", "--out", folder)
    wait_for(lambda: committed(folder) > 0, process)
    process.kill()
    process.wait()
    owner = json.loads((folder / "run.owner.json").read_bytes())
    assert owner["pid"] == process.pid
    assert "test with players:Slow: killed\n" in command("status", folder).stdout
    again = command(
        "run", slow, "--in-process", "--agent", "players:Slow", "--out", folder, "--resume"
    )
    assert again.returncode == 0
    assert not (folder / "run.owner.json").exists()
    assert_whole(folder, evaluate(slow, Greedy))


@pytest.mark.parametrize("arguments", [("run", "--resume"), ("run",), ("repair",), ("merge",)])
def test_a_driver_on_another_host_is_believed(tmp_path, manifest, arguments):
    """A folder that a driver on another host has is refused; the mark to remove is named."""
    folder, other = tmp_path / "run", tmp_path / "other"
    run = "run", manifest, "--in-process", "--out"
    for place in (folder, other):
        assert command(*run, place, "--slice", "1/1").returncode == 0
    mark = folder / "run.owner.json"
    mark.write_text('{"host": "elsewhere", "pid": 7, "since": "2026-01-01T00:00:00+00:00"}')
    before = contents(folder)
    call = {"run": (*run, folder), "repair": ("repair", folder), "merge": ("merge", folder, other)}
    refused = command(*call[arguments[0]], *arguments[1:])
    assert refused.returncode == 2
    assert refused.stderr == (
        f"Error: {folder}: is in use by process 7 on elsewhere since 2026-01-01T00:00:00+00:00; "
        f"if that driver is gone, remove {mark}\n"
    )
    assert contents(folder) == before
    mark.unlink()
    assert command(*run, folder, "--resume").returncode == 0
