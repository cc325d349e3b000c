"""What the cluster has room for, in all and now."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import ray
from ray import exceptions
from ray.autoscaler.v2.sdk import get_cluster_status
from ray.util.client import ray as client

_CLIENT: Any = client
_RAY: Any = ray  # where it has no types
_TOLERANCE = 1e-9


class Places:
    """Places for workers that need so much of each resource."""

    def __init__(self, needs: dict[str, float]) -> None:
        """Look for places that have these amounts."""
        self._needs = needs

    def in_all(self, closed: Collection[str] = ()) -> int:
        """Return how many workers the nodes would hold if they were empty, but for closed ones."""
        return sum(map(self._held_by, _nodes(closed)))

    def free(self) -> int:
        """Return how many workers what is free might hold; it may lie on several nodes."""
        return self._held_by(_RAY.available_resources())

    def are_asked_for(self) -> bool:
        """Say whether anybody on the cluster waits for what a place would give."""
        return any(
            all(need <= self._needs.get(name, 0) for name, need in demand.items())
            for demand in _demands()
        )

    def lacks(self) -> str:
        """Say what a worker needs and what there is of it."""
        each = "; ".join(self._lack(name, need) for name, need in self._needs.items())
        return f"each needs {each}"

    def _held_by(self, resources: dict[str, float]) -> int:
        least = min(resources.get(name, 0) / need for name, need in self._needs.items())
        return int(least + _TOLERANCE)

    def _lack(self, name: str, need: float) -> str:
        nodes = [node.get(name, 0) for node in _nodes()]
        most, total = max(nodes, default=0), sum(nodes)
        free = _RAY.available_resources().get(name, 0)
        scattered = f", at most {most:g} on a node" if most < need <= total else ""
        return f"{need:g} {name}, the cluster has {total:g} and {free:g} free{scattered}"


def _nodes(closed: Collection[str] = ()) -> list[dict[str, float]]:
    """Return the resources of each node that is alive and not closed."""
    return [
        node["Resources"] for node in _RAY.nodes() if node["Alive"] and node["NodeID"] not in closed
    ]


def _demands() -> list[dict[str, float]]:
    """Return what is waited for on the cluster, as its autoscaler would be told."""
    if _CLIENT.is_connected():
        return []  # only a node of the cluster can ask
    try:
        status = get_cluster_status(ray.get_runtime_context().gcs_address)
    except exceptions.RayError:
        return []
    demands = status.resource_demands.ray_task_actor_demand
    return [entry.bundle for demand in demands for entry in demand.bundles_by_count]
