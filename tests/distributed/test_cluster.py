"""A real cluster of several nodes: nodes die and join, and the bytes stay the same."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.errors import LedgerError
from emberbench_dist.runner.evaluate import evaluate
from manifests import hall, write_manifest

TESTS = Path(__file__).parents[1]
SCRIPT = Path(sys.executable).with_name("dist-eval")
EPISODES = 60
SETTINGS = {
    # Every process of the cluster, and who joins it, must know this.
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": "5" * 64,
    "RAY_USAGE_STATS_ENABLED": "0",
    # A dead node is noticed within seconds.
    "RAY_health_check_initial_delay_ms": "500",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "500",
    "RAY_health_check_failure_threshold": "3",
}


def environment():
    """Return the environment for the cluster and for what joins it."""
    paths = [str(TESTS), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, **SETTINGS, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


class Host:
    """A cluster with one node at first."""

    def __init__(self, folder):
        """Start it, with its files in a folder."""
        self.process = subprocess.Popen(
            [sys.executable, TESTS / "cluster_host.py"],
            env=environment() | {"TMPDIR": folder},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.address = self._answer()

    def __call__(self, word):
        """Add a node, or kill the last one; return how many there are."""
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()
        return int(self._answer())

    def _answer(self):
        """Return the next line that is an answer: Ray prints there too."""
        for line in self.process.stdout:
            if re.fullmatch(r"\d+|[\d.]+:\d+", line.strip()):
                return line.strip()
        self.process.wait()
        raise AssertionError("the cluster has died")

    def close(self):
        """Let it shut down."""
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def host():
    """Keep a cluster for these tests."""
    # Ray's sockets need a short path.
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as folder:
        host = Host(folder)
        yield host
        host.close()


@pytest.fixture
def manifest(tmp_path):
    """Write a manifest of many short episodes."""
    return write_manifest(tmp_path / "input", [(hall("one"), {"first": 1, "count": EPISODES})])


@pytest.fixture
def join(host, manifest, tmp_path):
    """Return a function that starts a run on the cluster, in the folder `run`."""
    started = []

    def call(*arguments):
        command = [SCRIPT, manifest, "--agent", "misbehaving:Dawdles", "--out", "run", *arguments]
        process = subprocess.Popen(
            [*map(str, command), "--address", host.address],
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return Run(process, tmp_path / "run", manifest)

    yield call
    for process in started:
        process.kill()
        process.communicate()


class Run:
    """A run that takes its time until it is told to hurry."""

    def __init__(self, process, folder, manifest):
        """Watch a process that writes into a folder."""
        self.process, self.folder, self.manifest = process, folder, manifest

    def committed(self):
        """Return how many episodes are committed."""
        try:
            with Ledger.reading(self.folder / "ledger.sqlite") as ledger:
                return sum(map(len, ledger.committed()))
        except LedgerError:
            return 0

    def playing(self):
        """Return which workers play."""
        try:
            return sorted(path.name for path in (self.folder / "playing").iterdir())
        except FileNotFoundError:
            return []

    def wait_for(self, condition):
        """Wait until a condition holds while the run goes on."""
        deadline = time.monotonic() + 120
        while not condition():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline, "it took too long"
            time.sleep(0.05)

    def finish(self):
        """Let it end; compare its bytes, and see that no episode was charged."""
        (self.folder.parent / "hurry").touch()
        told = self.process.communicate(timeout=120)[1]
        assert self.process.returncode == 0, told
        expected = evaluate(self.manifest, Greedy)
        assert (self.folder / "artifact.jsonl").read_bytes() == expected.artifact
        assert (self.folder / "traces.jsonl").read_bytes() == expected.traces
        with Ledger.reading(self.folder / "ledger.sqlite") as ledger:
            ledger.check()
            assert (ledger.failures(), ledger.crashes()) == ([], {})


def test_a_node_is_killed(host, join):
    """A node that dies with its worker costs no episode and changes no byte."""
    assert host("add") == 2
    run = join()
    run.wait_for(lambda: run.playing() == ["0", "1"] and run.committed() >= 4)
    assert host("kill") == 1
    run.wait_for(lambda: len(run.playing()) == 1)
    before = run.committed()
    run.wait_for(lambda: run.committed() > before)
    run.finish()


def test_a_node_joins(host, join):
    """The pool grows onto a node that joins during the run, when no number was asked for."""
    run = join()
    run.wait_for(lambda: run.committed() >= 1)
    assert run.playing() == ["0"]
    assert host("add") == 2
    run.wait_for(lambda: run.playing() == ["0", "1"])
    run.finish()
    assert host("kill") == 1


def test_workers_without_a_place(host, join):
    """Workers that do not fit are told of, and the run goes on with those that do."""
    run = join("--workers", 3)
    assert run.process.stderr.readline() == f"Joining Ray at {host.address} …\n"
    note = "1 of 3 workers placed: each needs 1 CPU, the cluster has 1 and 0 free\n"
    while (line := run.process.stderr.readline()) != note:
        assert line, "the run has ended"
    before = run.committed()
    run.wait_for(lambda: run.committed() > before)
    run.finish()


PROBE = """
import json, os, sys, tempfile
from pathlib import Path
from emberbench_dist import evaluate_distributed

def traces():
    mine = [path.name for path in Path("/tmp").glob(f"*{os.getpid()}*")]
    return dict(os.environ), sorted(os.listdir(tempfile.gettempdir())), mine

before = traces()
evaluate_distributed(sys.argv[1], "stay", "first", workers=1)
result = evaluate_distributed(sys.argv[1], "greedy", "second", workers=1)
print(json.dumps([result.outcome, result.committed, traces() == before]))
"""


def test_a_local_run_is_alone_and_leaves_no_trace(host, manifest, tmp_path):
    """A run without address ignores RAY_ADDRESS; environment and temporary folders stay clean.

    So another one can follow it in the same process.
    """
    short = tmp_path / "t"
    short.mkdir()
    asked = subprocess.run(
        [sys.executable, "-c", PROBE, manifest],
        cwd=tmp_path,
        env=environment() | {"RAY_ADDRESS": host.address, "TMPDIR": str(short)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert asked.returncode == 0, asked.stderr
    assert json.loads(asked.stdout.splitlines()[-1]) == ["complete", EPISODES, True]
    assert host("add") == 2
    assert host("kill") == 1
