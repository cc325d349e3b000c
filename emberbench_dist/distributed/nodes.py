"""Ask each node of a cluster, before it plays, whether it can: its versions, and the agent."""

from __future__ import annotations

import math
import pickle
import platform
import time
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
    """The nodes that could have a worker: each is asked once, and closed unless it can play."""

    def __init__(self, setup: Setup) -> None:
        """Ask with the setup of the workers, all of it but the scenarios."""
        self._needs = {"CPU": setup.cpus, "GPU": setup.gpus}
        self._question = pickle.dumps(setup._replace(scenarios={}))
        # The process that is asked, and its answer to be.
        self._asked: dict[str, tuple[Any, Any]] = {}
        self._verdicts: dict[str, Verdict] = {}
        self._names: dict[str, str] = {}

    def require_fit(self) -> None:
        """Ask the nodes that are there and wait until each has answered.

        `AgentSpecError` where the agent cannot be imported on one, `ClusterError` where a node
        has other versions, or cannot be asked.
        """
        self.look()
        self.hear()
        for verdict in self._verdicts.values():
            if verdict.problem:
                raise (AgentSpecError if verdict.of_agent else ClusterError)(verdict.problem)

    def look(self) -> None:
        """Ask nodes that have joined, and take in what the others have answered; never wait."""
        for node in _RAY.nodes():
            if node["NodeID"] not in self._names and node["Alive"] and self._has_place(node):
                self._names[node["NodeID"]] = f"node {node['NodeManagerAddress']}"
                self._asked[node["NodeID"]] = self._ask(node["NodeID"])
        self._collect(0)

    def are_asked(self) -> bool:
        """Say whether an answer is to come."""
        return bool(self._asked)

    def hear(self, seconds: float = math.inf) -> None:
        """Wait until every node that was asked has answered, so many seconds at most."""
        deadline = time.monotonic() + seconds
        while self._asked and time.monotonic() < deadline:
            self._collect(_POLL_SECONDS)

    def problem(self, node: str) -> str:
        """Return what is wrong with a node (its id) that was asked; empty where nothing is."""
        silent = Verdict(f"{self._names[node]} starts no process: look at its Ray logs")
        return self._verdicts.get(node, silent).problem

    def closed(self) -> frozenset[str]:
        """Return the nodes (their ids) that get no worker: they cannot play, or may not yet."""
        bad = (node for node, verdict in self._verdicts.items() if verdict.problem)
        return frozenset([*self._asked, *bad])

    def note(self) -> str:
        """Say what is wrong with nodes that joined; the others play without them."""
        problems = (verdict.problem for verdict in self._verdicts.values())
        return "; ".join(f"{problem} (it is not used)" for problem in problems if problem)

    def _has_place(self, node: dict[str, Any]) -> bool:
        """Say whether a worker would find room on the node, were it empty."""
        return all(node["Resources"].get(name, 0) >= need for name, need in self._needs.items())

    def _ask(self, node: str) -> tuple[Any, Any]:
        """Start a process on the node that takes nothing of it; return it and its answer to be."""
        here = _RAY.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=False)
        asked = _RAY.remote(_probe_class()).options(num_cpus=0, scheduling_strategy=here).remote()
        return asked, asked.answer.remote(self._question, versions())

    def _collect(self, timeout: float) -> None:
        calls = {answer: node for node, (_, answer) in self._asked.items()}
        ready, _ = ray.wait(list(calls), timeout=timeout) if calls else ([], [])
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
        return judge(name, found, problem)


def judge(name: str, found: dict[str, str], problem: str) -> Verdict:
    """Return the verdict on a node that has these versions, where there is this problem."""
    for library, here in versions().items():
        there = found.get(library)
        if there is None:
            return Verdict(
                f"{name} has no {library} ({problem}); install emberbench-dist {__version__} in "
                "the Python of its Ray"
            )
        if there != here:
            told = f"{name} has {library} {there}, the driver {here}: install the same on both"
            return Verdict(told)
    return Verdict(problem and f"{name}: {problem}", of_agent=True)


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
