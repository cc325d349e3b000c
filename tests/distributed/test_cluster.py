"""A real cluster of several nodes: nodes die and join, and the bytes stay the same."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest
from clusters import cluster, environment

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.errors import LedgerError
from emberbench_dist.runner.evaluate import evaluate
from manifests import hall, write_manifest

EPISODES = 150  # more than are played before the tests say that it may hurry


@pytest.fixture
def manifest(tmp_path):
    """Write a manifest of many short episodes."""
    return write_manifest(tmp_path / "input", [(hall("one"), {"first": 1, "count": EPISODES})])


@pytest.fixture
def join(host, start, manifest, tmp_path):
    """Return a function that starts a run on the cluster."""

    def call(*arguments, out="run", address=host.address):
        command = [manifest, "--agent", "misbehaving:Dawdles", "--out", out, *arguments]
        return Run(start(*command, "--address", address), tmp_path / out, manifest)

    return call


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

    def told(self, line):
        """Read what it tells until this line."""
        while (found := self.process.stderr.readline().strip()) != line:
            assert found, "the run has ended"

    def goes_on(self):
        """Wait until one more episode is committed."""
        before = self.committed()
        self.wait_for(lambda: self.committed() > before)

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


def test_nodes_come_and_go(host, join):
    """The pool uses nodes that join, and loses no episode with one that is killed or drained."""
    run = join()
    run.wait_for(lambda: run.committed() >= 1)
    assert run.playing() == ["0"]
    assert host("add") == 2
    run.wait_for(lambda: run.playing() == ["0", "1"])
    assert host("add") == 3
    run.wait_for(lambda: run.playing() == ["0", "1", "2"])
    assert host("kill") == 2
    run.wait_for(lambda: run.playing() == ["0", "1"])
    assert host("drain") == 1
    run.wait_for(lambda: run.playing() == ["0"])
    run.goes_on()
    run.finish()


def test_workers_without_a_place(host, join):
    """Workers that do not fit are told of, the others play, and a node that joins is used."""
    run = join("--workers", 3)
    run.told("1 of 3 workers placed: each needs 1 CPU, the cluster has 1 and 0 free")
    run.goes_on()
    assert host("add") == 2
    run.told("2 of 3 workers placed: each needs 1 CPU, the cluster has 2 and 0 free")
    run.finish()
    assert host("kill") == 1


def test_no_worker_has_a_place(join):
    """A run for which no node is large enough says so, and waits until it is interrupted."""
    run = join("--workers", 2, "--cpus-per-worker", 2)
    run.told("0 of 2 workers placed: each needs 2 CPU, the cluster has 1 and 1 free")
    run.process.send_signal(signal.SIGINT)
    assert run.process.wait(60) == 130


def test_two_runs_share_a_cluster(host, join):
    """A run that came first leaves a place to a second one, and both give their bytes."""
    assert host("add") == 2
    first = join()
    first.wait_for(lambda: first.playing() == ["0", "1"])
    second = join(out="second")
    second.wait_for(lambda: second.committed() >= 1)
    first.goes_on()
    first.finish()
    second.finish()
    assert host("kill") == 1


def test_a_driver_outside_the_cluster(host, join):
    """A run through ray:// is slower, says so, and gives the same bytes."""
    run = join(address=f"ray://{host('client')}")
    run.told("ray:// takes each call through the head: a run on a node of the cluster is faster.")
    run.finish()


PROBE = """
import json, os, sys, tempfile
from pathlib import Path
import ray
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

    So another one can follow it in the same process, which may have imported Ray before.
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


def test_the_head_is_lost(host, join):
    """A run whose cluster has lost its head ends unfinished, and goes on with another cluster."""
    run = join()
    run.goes_on()
    host("behead")
    with cluster() as other:
        told = run.process.communicate(timeout=60)[1]
        assert run.process.returncode == 3
        assert f"Ray has died: its head {host.address} is gone\n" in told
        join("--resume", address=other.address).finish()
