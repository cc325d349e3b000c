"""One local Ray for all tests that need worker processes."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from clusters import cluster as several_nodes
from clusters import environment

from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.distributed.cluster import local_cluster
from emberbench_dist.distributed.evaluate import worker_setup
from emberbench_dist.evaluation.manifest import load_manifest
from emberbench_dist.runner.run import Plan, run

CPUS = 6
SCRIPT = Path(sys.executable).with_name("dist-eval")


@pytest.fixture(scope="session")
def cluster():
    """Keep a Ray of six CPUs for the session; return how many."""
    with local_cluster(CPUS):
        yield CPUS


@pytest.fixture
def play(cluster, tmp_path, monkeypatch):
    """Return a function that plays a manifest on the shared Ray into a run folder."""
    from emberbench_dist.distributed.ray_pool import RayPool

    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))

    def run_it(manifest, spec, out="run", *, workers=2, cpus=1.0, pool=RayPool, **options):
        assert workers * cpus <= cluster
        plan = Plan(load_manifest(manifest), spec, RunFolder(tmp_path / out), **options)

        @contextmanager
        def open_pool():
            setup = worker_setup(plan)._replace(cpus=cpus)
            with closing(pool(setup, workers)) as opened:
                yield opened

        return run(plan, open_pool)

    return run_it


@pytest.fixture(scope="module")
def host():
    """Keep a cluster of several nodes for the tests of a module."""
    with several_nodes() as host:
        yield host


@pytest.fixture
def start(tmp_path):
    """Return a function that starts `dist-eval` beside a cluster; all are killed at the end."""
    started = []

    def call(*arguments, cwd=tmp_path):
        process = subprocess.Popen(
            [SCRIPT, *map(str, arguments)],
            cwd=cwd,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield call
    for process in started:
        process.kill()
        process.communicate()
