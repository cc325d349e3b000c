"""Try a Ray: start or join it, and let every node answer once."""

from __future__ import annotations

import os
import platform
import time
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from emberbench_dist import __version__
from emberbench_dist.apart import Send
from emberbench_dist.distributed.cluster import joined_cluster, local_cluster

_ANSWER_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Start:
    """A Ray that answered: its version, and the seconds until it did."""

    version: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Node:
    """A node: its address, its CPUs and GPUs in all, and the versions there (None: no answer)."""

    address: str
    cpus: float
    gpus: float
    versions: dict[str, str] | None


def versions() -> dict[str, str]:
    """Return what must be the same on driver and nodes; of Python, the first two numbers.

    Ray is not imported for it: it would read its settings, and keep them.
    """
    python = ".".join(platform.python_version_tuple()[:2])
    return {"Python": python, "Ray": version("ray"), "emberbench_dist": __version__}


def probe(send: Send, address: str | None) -> None:
    """Start a Ray of one CPU, or join one; send its `Start`, then each `Node`.

    Made for a process of its own: what Ray prints is lost. `ClusterError` as in a run.
    """
    with open(os.devnull, "w") as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
    before = time.perf_counter()
    with joined_cluster(address) if address else local_cluster(1):
        ray = _ray()
        send(Start(ray.__version__, time.perf_counter() - before))
        nodes = [node for node in ray.nodes() if node["Alive"]]
        answers = [_asked(ray, node["NodeID"]) for node in nodes]
        ready, _ = ray.wait(answers, num_returns=len(answers), timeout=_ANSWER_SECONDS)
        for node, answer in zip(nodes, answers, strict=True):
            resources = node["Resources"]
            cpus, gpus = (float(resources.get(name, 0)) for name in ("CPU", "GPU"))
            known = _answer(ray, answer) if answer in ready else None
            send(Node(node["NodeManagerAddress"], cpus, gpus, known))


def _ray() -> Any:
    """Return Ray, without types; it reads its settings when it is imported."""
    import ray  # noqa: PLC0415

    return ray


def _asked(ray: Any, node: str) -> Any:
    """Ask a node for its versions, by a task that takes nothing of it."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: PLC0415

    here = NodeAffinitySchedulingStrategy(node, soft=False)
    look = ray.remote(_look()).options(num_cpus=0, max_retries=0, scheduling_strategy=here)
    return look.remote()


def _answer(ray: Any, answer: Any) -> dict[str, str] | None:
    try:
        return dict(ray.get(answer))
    except ray.exceptions.RayError:  # the node is gone, or starts nothing
        return None


def _look() -> Any:
    """Return what nodes call: made here, so that it is sent whole to who lacks the package."""

    def look() -> dict[str, str]:
        import platform  # noqa: PLC0415 - names of the module would be sent along

        import ray  # noqa: PLC0415

        try:
            from emberbench_dist import __version__ as package  # noqa: PLC0415
        except ImportError:
            package = "missing"
        python = ".".join(platform.python_version_tuple()[:2])
        return {"Python": python, "Ray": ray.__version__, "emberbench_dist": package}

    return look
