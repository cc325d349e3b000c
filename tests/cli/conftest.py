"""The console script as a user starts it: a process of its own in a folder of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import folder_in_memory

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.runner.evaluate import evaluate
from manifests import hall, write_manifest

SCRIPT = Path(sys.executable).with_name("dist-eval")


@pytest.fixture
def environment():
    """Return the environment for a process that can import the tests' agents."""
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


@pytest.fixture
def dist_eval(tmp_path, environment):
    """Return a function that runs `dist-eval` with arguments to its end."""

    def call(*arguments, **options):
        return subprocess.run(
            [SCRIPT, *map(str, arguments)],
            cwd=options.pop("cwd", tmp_path),
            env=environment | options.pop("env", {}),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            **options,
        )

    return call


@pytest.fixture
def start(tmp_path, environment):
    """Return a function that starts `dist-eval` and does not wait; all are killed at the end."""
    started = []

    def call(*arguments, **options):
        process = subprocess.Popen(
            [SCRIPT, *map(str, arguments)],
            cwd=tmp_path,
            env=environment | options.pop("env", {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            **options,
        )
        started.append(process)
        return process

    yield call
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def manifest(tmp_path):
    """Write a manifest of 40 short episodes in two halls."""
    return write_manifest(
        tmp_path / "input",
        [(hall("one"), {"first": 1, "count": 20}), (hall("two", 8), {"first": 9, "count": 20})],
    )


@pytest.fixture(scope="module")
def room():
    """Play a run in a folder where nothing waits for a disk."""
    with folder_in_memory() as room:
        path = write_manifest(room / "input", [(hall("one"), {"first": 1, "count": 5})])
        evaluate(path, Greedy, room / "run")
        yield room


@pytest.fixture
def run(room, tmp_path):
    """Return a copy of it."""
    shutil.copytree(room / "run", tmp_path / "run")
    return tmp_path / "run"
