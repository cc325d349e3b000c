"""Try a Ray: start or join it, and let every node answer once."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

from emberbench_dist.apart import Send
from emberbench_dist.distributed.cluster import joined_cluster, local_cluster
from emberbench_dist.distributed.worker import Setup

_ANSWER_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Start:
    """A Ray that answered: its version, and the seconds until it did."""

    version: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Node:
    """A node: its address, its CPUs and GPUs in all, and what is wrong with it (empty: nothing)."""

    address: str
    cpus: float
    gpus: float
    problem: str


def probe(send: Send, address: str | None) -> None:
    """Start a Ray of one CPU, or join one; send its `Start`, then each `Node`.

    Made for a process of its own: what Ray prints is lost. `ClusterError` as in a run.
    """
    with open(os.devnull, "w") as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
    before = time.perf_counter()
    with joined_cluster(address) if address else local_cluster(1):
        # Loaded here: Ray reads its settings when it is imported.
        import ray  # noqa: PLC0415

        from emberbench_dist.distributed.nodes import Nodes  # noqa: PLC0415

        send(Start(ray.__version__, time.perf_counter() - before))
        nodes = Nodes(Setup(scenarios={}, agent_spec=None, cpus=0))
        untyped: Any = ray
        alive = [node for node in untyped.nodes() if node["Alive"]]
        nodes.look()
        nodes.hear(_ANSWER_SECONDS)
        for node in alive:
            resources = node["Resources"]
            cpus, gpus = (float(resources.get(name, 0)) for name in ("CPU", "GPU"))
            problem = nodes.problem(node["NodeID"])
            send(Node(node["NodeManagerAddress"], cpus, gpus, problem))
