"""Checks of Ray: what a node answers, and what keeps one from answering."""

from __future__ import annotations

import os
import signal
import socket
import time
from pathlib import Path

import pytest

from emberbench_dist.distributed.probe import Node, Start
from emberbench_dist.doctor import cluster
from emberbench_dist.doctor.finding import OK, PROBLEM, Asked
from emberbench_dist.errors import ClusterError

ALONE = Asked(Path("results"))


def answers(send, _address):
    """Answer as a Ray with one good node."""
    send(Start("9.9", 2.5))
    send(Node("here", 4.0, 1.0, ""))


def hangs(send, _address):
    """Start and say no more."""
    send(Start("9.9", 2.5))
    time.sleep(600)


def dies(_send, _address):
    """End as Ray ends a driver whose cluster is gone."""
    os.kill(os.getpid(), signal.SIGABRT)


def refuses(_send, _address):
    """Be refused."""
    raise ClusterError("Ray could not be started:\nno room")


def found_with(monkeypatch, probe, asked=ALONE):
    """Return level and text of each finding where a probe goes so."""
    monkeypatch.setattr(cluster, "probe", probe)
    monkeypatch.setattr(cluster, "START_SECONDS", 1 if probe is hangs else 60)
    return [(finding.level, finding.name, finding.text) for finding in cluster.ray(asked)]


def test_a_ray_that_answers_is_told_with_its_time(monkeypatch):
    """Version, seconds, and the node with what it has."""
    assert found_with(monkeypatch, answers) == [
        (OK, "Ray", "9.9, started in 2.5 s"),
        (OK, "node", "here answers: 4 CPUs, 1 GPUs, the same versions"),
    ]


@pytest.mark.parametrize(
    ("probe", "told"),
    [
        (dies, "a process ended with code -6"),
        (refuses, "Ray could not be started: no room"),
    ],
)
def test_a_ray_that_fails_is_a_problem(monkeypatch, probe, told):
    """However it fails, it is one line."""
    assert found_with(monkeypatch, probe) == [(PROBLEM, "Ray", told)]


def test_a_ray_that_hangs_is_given_up(monkeypatch):
    """What was found before is kept."""
    started, given_up = found_with(monkeypatch, hangs)
    assert started[0] == OK
    assert given_up == (PROBLEM, "Ray", "no Ray answers for 1 s")


def test_a_node_that_cannot_play_is_a_problem():
    """What is wrong with it is told as a run would tell it."""
    found = cluster._node(Node("far", 4.0, 0.0, "node far has Ray 1, the driver 2"))
    assert (found.level, found.text) == (PROBLEM, "node far has Ray 1, the driver 2")


def test_an_address_where_nothing_listens_is_told():
    """No Ray is started to find that out, and what is no address is told as well."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    for other, why in ((address, "Connection refused"), ("here", "the address of a cluster is")):
        (found,) = cluster.ray(Asked(Path("results"), other))
        assert found.level == PROBLEM
        assert other in found.text
        assert why in found.text
