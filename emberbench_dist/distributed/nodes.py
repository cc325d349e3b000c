"""Ask each node of a cluster, before it plays, whether it can: its versions, and the agent."""

from __future__ import annotations

import pickle
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import ray
from ray import exceptions

from emberbench_dist import __version__
from emberbench_dist.distributed.worker import Setup
from emberbench_dist.errors import AgentSpecError, ClusterError

_RAY: Any = ray  # where it has no types
_POLL_SECONDS = 0.5
# Lost with its node, not by its own doing: nothing is charged to an episode.
_NODE_LOSS = ("its node has died", "node was terminated", "preempted", "raylet died")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is wrong with a node, in one line (empty: nothing), and whether the agent is."""

    problem: str
    of_agent: bool = False


class Nodes:
    """What is known of each node: nothing, that it was asked, or what it answered."""

    def __init__(self, setup: Setup) -> None:
        """Ask with the setup of the workers, all of it but the scenarios."""
        self._question = pickle.dumps(setup._replace(scenarios={}))
        self._asked: dict[str, tuple[Any, Any]] = {}
        self._verdicts: dict[str, Verdict] = {}
        self._names: dict[str, str] = {}

    def require_fit(self, nodes: Iterable[dict[str, Any]]) -> None:
        """Ask nodes (as `ray.nodes()` tells of them) and wait until each has answered.

        `AgentSpecError` where the agent cannot be imported on one, `ClusterError` where a node
        has other versions, or cannot be asked.
        """
        named = [node["NodeID"] for node in nodes if self.verdict(node) is None]
        while self._asked:
            self._collect(_POLL_SECONDS)
        for node in named:
            verdict = self._verdicts.get(node, Verdict(""))
            if verdict.problem:
                raise (AgentSpecError if verdict.of_agent else ClusterError)(verdict.problem)

    def verdict(self, node: dict[str, Any]) -> Verdict | None:
        """Return what a node has answered; None until it has. It is asked once, without waiting."""
        self._collect(0)
        name = node["NodeID"]
        if name not in self._verdicts and name not in self._asked:
            self._names[name] = f"node {node['NodeManagerAddress']}"
            self._asked[name] = self._ask(name)
        return self._verdicts.get(name)

    def _ask(self, node: str) -> tuple[Any, Any]:
        """Start a process on the node that takes nothing of it; return it and its answer to be."""
        here = _RAY.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=False)
        asked = _RAY.remote(_probe_class()).options(num_cpus=0, scheduling_strategy=here).remote()
        return asked, asked.answer.remote(self._question, versions())

    def _collect(self, timeout: float) -> None:
        calls = {answer: node for node, (_, answer) in self._asked.items()}
        if not calls:
            return
        ready, _ = ray.wait(list(calls), num_returns=1, timeout=timeout)
        for call in ready:
            node = calls[call]
            self._verdicts[node] = self._judge(self._names[node], call)
            ray.kill(self._asked.pop(node)[0])

    def _judge(self, name: str, call: Any) -> Verdict:
        try:
            found, problem = ray.get(call)
        except exceptions.RayError as error:
            if is_node_loss(error):
                return Verdict("")  # whoever is gone needs no verdict
            return Verdict(f"{name} cannot start a worker: {_cause(error)}")
        if "emberbench_dist" not in found:
            return Verdict(
                f"{name} has no emberbench_dist ({problem}); install emberbench-dist "
                f"{__version__} in the Python of its Ray"
            )
        for library, here in versions().items():
            if found[library] != here:
                return Verdict(
                    f"{name} has {library} {found[library]}, the driver {here}: install the same "
                    "on both"
                )
        return Verdict(problem and f"{name}: {problem}", of_agent=True)


def with_place(setup: Setup) -> list[dict[str, Any]]:
    """Return the nodes that could have a worker, were they empty."""
    needs = {"CPU": setup.cpus, "GPU": setup.gpus}
    return [
        node
        for node in _RAY.nodes()
        if node["Alive"]
        and all(node["Resources"].get(name, 0) >= need for name, need in needs.items())
    ]


def versions() -> dict[str, str]:
    """Return what must be the same on every node; of Python, the first two numbers."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"Python": python, "Ray": ray.__version__, "emberbench_dist": __version__}


def is_node_loss(error: Exception) -> bool:
    """Say whether a worker was lost with its node."""
    lost = (
        exceptions.NodeDiedError,
        exceptions.ObjectLostError,
        exceptions.LocalRayletDiedError,
        exceptions.ActorUnschedulableError,
    )
    return isinstance(error, lost) or any(mark in str(error) for mark in _NODE_LOSS)


def _probe_class() -> type:
    """Return the class of the process that is asked.

    Made in a function, so that it is sent whole: the node may not have this package.
    """

    class Probe:
        """Looks around where it is."""

        def answer(self, question: bytes, wanted: dict[str, str]) -> tuple[dict[str, str], str]:
            """Return versions, and what is wrong with package or agent."""
            import platform  # noqa: PLC0415 - names of the module would be sent along
            from pickle import loads  # noqa: PLC0415

            import ray  # noqa: PLC0415

            python = ".".join(platform.python_version_tuple()[:2])
            found = {"Python": python, "Ray": ray.__version__}
            try:
                from emberbench_dist import __version__ as version  # noqa: PLC0415
            except ImportError as error:
                return found, str(error)
            found["emberbench_dist"] = version
            if found != wanted:
                return found, ""
            from emberbench_dist.distributed.worker import problem_of  # noqa: PLC0415

            return found, problem_of(loads(question))  # noqa: S301 - from our own driver

    return Probe


def _cause(error: Exception) -> str:
    """Return the line of Ray's report that says most: pip's own, or else the last."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if line.startswith("ERROR: ")]
    return (told or lines or [type(error).__name__])[-1].removeprefix("ERROR: ")
