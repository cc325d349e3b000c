"""A Ray of our own that dies is noticed."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from emberbench_dist.distributed.watch import watch_children
from emberbench_dist.distributed.worker import Setup
from emberbench_dist.errors import ClusterError


@pytest.fixture
def start(tmp_path):
    """Return a function that starts a child process of a given name."""
    started = []

    def call(name):
        program = shutil.copy(shutil.which("sleep"), tmp_path / name)
        child = subprocess.Popen([program, "600"])
        started.append(child)
        return child

    yield call
    for child in started:
        child.kill()
        child.wait()


def test_children_that_ray_needs_are_watched(start):
    """A child that is dead is told of, also before and after somebody has waited for it."""
    raylet, server, other = start("raylet"), start("gcs_server"), start("a (b) c")
    gone = watch_children()
    other.kill()
    assert gone() == ""
    raylet.kill()
    while not gone():
        pass
    assert gone() == "raylet"
    raylet.wait()
    assert gone() == "raylet"
    server.kill()
    server.wait()
    assert gone() == "gcs_server and raylet"


def test_processes_of_others_are_not_watched(start):
    """Where no child is part of a Ray, nothing is ever gone."""
    gone = watch_children()
    start("raylet").kill()
    assert gone() == ""


@pytest.mark.usefixtures("cluster")
def test_a_pool_without_its_ray_is_an_error():
    """The pool says what has died instead of waiting for what cannot come."""
    from emberbench_dist.distributed.ray_pool import RayPool

    with pytest.raises(ClusterError, match=r"^Ray has died: raylet is gone$"):
        RayPool(Setup({}, "greedy"), 1, gone=lambda: "raylet")
