"""What a cluster has room for, counted node by node."""

from __future__ import annotations

import pytest

from emberbench_dist.distributed import places
from emberbench_dist.distributed.places import Places


class Cluster:
    """A cluster as Ray describes it."""

    def __init__(self, *nodes, free, dead=()):
        """Have nodes with resources, and some of them free."""
        self.all = [
            {"NodeID": str(number), "Alive": node not in dead, "Resources": node}
            for number, node in enumerate(nodes)
        ]
        self.free = free

    def nodes(self):
        """Return the nodes."""
        return self.all

    def available_resources(self):
        """Return what is free."""
        return self.free


@pytest.mark.parametrize(
    ("needs", "in_all", "free"),
    [
        ({"CPU": 1}, 7, 5),
        ({"CPU": 2}, 3, 2),
        ({"CPU": 4}, 1, 1),
        ({"CPU": 0.1}, 70, 50),
        ({"CPU": 1, "GPU": 0.5}, 2, 0),
        ({"CPU": 1, "TPU": 1}, 0, 0),
    ],
)
def test_room(monkeypatch, needs, in_all, free):
    """A worker needs all its resources on one node; nodes that are dead have none."""
    dead = {"CPU": 99}
    nodes = ({"CPU": 4.0}, {"CPU": 3.0, "GPU": 1.0}, dead)
    monkeypatch.setattr(places, "_RAY", Cluster(*nodes, free={"CPU": 5.0}, dead=[dead]))
    found = Places(needs)
    assert (found.in_all(), found.free()) == (in_all, free)


def test_closed_nodes_have_no_room(monkeypatch):
    """A node that cannot play is not counted."""
    nodes = ({"CPU": 4.0}, {"CPU": 3.0})
    monkeypatch.setattr(places, "_RAY", Cluster(*nodes, free={"CPU": 7.0}))
    assert [Places({"CPU": 1}).in_all(closed) for closed in ((), ("0",), ("0", "1"))] == [7, 3, 0]


def test_what_is_lacking(monkeypatch):
    """Where there is enough in all and no node has it, the most of a node is told."""
    nodes = ({"CPU": 2.0}, {"CPU": 2.0})
    monkeypatch.setattr(places, "_RAY", Cluster(*nodes, free={"CPU": 3.0}))
    assert Places({"CPU": 4, "GPU": 1}).lacks() == (
        "each needs 4 CPU, the cluster has 4 and 3 free, at most 2 on a node; "
        "1 GPU, the cluster has 0 and 0 free"
    )


@pytest.mark.parametrize(
    ("demands", "asked"),
    [([], False), ([{"CPU": 1.0}], True), ([{"CPU": 4.0}, {"CPU": 1.0, "GPU": 1.0}], False)],
)
def test_others_that_wait(monkeypatch, demands, asked):
    """Only who would be content with a place asks for it."""
    monkeypatch.setattr(places, "_demands", lambda: demands)
    assert Places({"CPU": 2.0}).are_asked_for() == asked
