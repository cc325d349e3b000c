"""Kills and interruptions of real processes: the bytes afterwards are the undisturbed ones."""

from __future__ import annotations

import os
import random
import signal
import time
import uuid
from pathlib import Path

import pytest

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.playing import read_notes
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.errors import LedgerError
from emberbench_dist.runner.evaluate import evaluate


def committed(folder):
    """Return how many episodes a run has committed, 0 where it has not begun."""
    try:
        with Ledger.reading(folder / "ledger.sqlite") as ledger:
            return sum(len(span) for span in ledger.committed())
    except LedgerError:
        return 0


def wait_for(condition, process, seconds=60):
    """Wait until a condition holds while a process lives."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.02)


def processes_of(mark):
    """Return the command lines of all processes that have a mark in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_bytes().decode(errors="replace"))
        except OSError:
            continue
    return found


@pytest.fixture
def undisturbed(manifest):
    """Return the result of an undisturbed run in this process."""
    return evaluate(manifest, Greedy)


def assert_same(folder, undisturbed):
    """Compare artifact and traces with the undisturbed ones, and audit the ledger."""
    assert (folder / "artifact.jsonl").read_bytes() == undisturbed.artifact
    assert (folder / "traces.jsonl").read_bytes() == undisturbed.traces
    with Ledger.reading(folder / "ledger.sqlite") as ledger:
        ledger.check()


def test_driver_killed_in_process(start, dist_eval, manifest, tmp_path, undisturbed):
    """After kill -9 of the driver at random moments and resumes, the bytes are the same."""
    chance, folder = random.Random(20), tmp_path / "run"
    arguments = (manifest, "--agent", "players:Slow", "--out", folder, "--in-process")
    counts = [0]
    for _ in range(6):
        process = start(*arguments, "--resume")
        time.sleep(chance.uniform(0.2, 1.6))
        process.kill()
        process.wait()
        counts.append(committed(folder))
    assert counts == sorted(counts)
    assert counts[-1] > 0
    assert dist_eval(*arguments, "--resume").returncode == 0
    assert_same(folder, undisturbed)


def test_driver_killed_on_ray(start, dist_eval, manifest, tmp_path, undisturbed):
    """Kill -9 of a driver on Ray leaves no worker, and resume with others gives the same bytes."""
    folder, mark = tmp_path / "run", uuid.uuid4().hex
    arguments = (manifest, "--agent", "players:Slow", "--out", folder)
    for target, workers in ((1, 2), (12, 3)):
        process = start(*arguments, "--resume", "--workers", workers, env={"TEST_MARK": mark})
        wait_for(lambda target=target: committed(folder) >= target, process)
        process.kill()
        process.wait()
    time.sleep(5)
    # Ray's own agents notice after a minute; nothing that plays is left.
    workers = ("ray::Worker", "raylet/raylet")
    assert not [line for line in processes_of(mark) if any(name in line for name in workers)]
    assert dist_eval(*arguments, "--resume", "--workers", 1).returncode == 0
    assert_same(folder, undisturbed)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_once(start, dist_eval, manifest, tmp_path, undisturbed, number):
    """A first Ctrl-C stops in good order: exit 130, results kept, and the way on is told."""
    folder, mark = tmp_path / "run", uuid.uuid4().hex
    arguments = (manifest, "--agent", "players:Slow", "--out", folder)
    process = start(*arguments, env={"TEST_MARK": mark})
    wait_for(lambda: committed(folder) > 0, process)
    process.send_signal(number)
    _, told = process.communicate(timeout=30)
    assert process.returncode == 130
    left = 40 - committed(folder)
    assert 0 < left < 40
    assert f"{left} episodes are left. Go on with: dist-eval {manifest} --agent" in told
    assert "Traceback" not in told
    assert not processes_of(mark)
    assert dist_eval(*arguments, "--resume", "--in-process").returncode == 0
    assert_same(folder, undisturbed)


@pytest.mark.parametrize("mode", [("--in-process",), ("--workers", "2")])
def test_interrupt_twice(start, manifest, tmp_path, mode):
    """A second Ctrl-C stops at once, although an episode is being played."""
    folder = tmp_path / "run"
    process = start(manifest, "--agent", "players:Sleeps", "--out", folder, *mode)
    wait_for(lambda: read_notes(RunFolder(folder).playing), process)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)  # a tenth of what the agent sleeps
    assert process.returncode == 130
    assert "Traceback" not in told


def test_second_driver_is_refused(start, dist_eval, manifest, tmp_path):
    """A second driver on the folder is refused and told who has it."""
    folder = tmp_path / "run"
    first = start(manifest, "--agent", "players:Slow", "--out", folder, "--in-process")
    wait_for(lambda: committed(folder) > 0, first)
    second = dist_eval(manifest, "--agent", "players:Slow", "--out", folder, "--resume")
    assert second.returncode == 2
    assert f"is in use by process {first.pid} on " in second.stderr
    assert len(second.stderr.strip().splitlines()) == 1


def test_worker_killed(start, manifest, tmp_path, undisturbed):
    """Kill -9 of each worker in turn costs no episode and changes no byte."""
    folder, mark = tmp_path / "run", uuid.uuid4().hex
    arguments = (manifest, "--agent", "players:Slow", "--out", folder, "--workers", 2)
    process = start(*arguments, env={"TEST_MARK": mark})
    for target in (1, 10, 20):
        wait_for(lambda target=target: committed(folder) >= target, process)
        kill_one("ray::Worker", mark)
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert_same(folder, undisturbed)


def kill_one(title, mark):
    """Kill one process by its title and mark."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            marked = mark.encode() in (folder / "environ").read_bytes()
            if marked and (folder / "cmdline").read_bytes().startswith(title.encode()):
                os.kill(int(folder.name), signal.SIGKILL)
                return
        except OSError:
            continue
    raise AssertionError(f"there is no {title}")
