"""Checks of Ray: one of one's own, or the cluster that is to be joined."""

from __future__ import annotations

from collections.abc import Iterator

from emberbench_dist.apart import apart
from emberbench_dist.distributed.probe import Node, Start, probe
from emberbench_dist.doctor.finding import OK, PROBLEM, Asked, Finding
from emberbench_dist.errors import ClusterError, EvaluationError

# A Ray of one's own may start slowly on a busy machine; one that is there answers.
START_SECONDS, JOIN_SECONDS = 60.0, 20.0


def ray(asked: Asked) -> Iterator[Finding]:
    """Start a Ray, or join one, and let each node answer."""
    patience = JOIN_SECONDS if asked.address else START_SECONDS
    try:
        for found in apart(probe, asked.address, patience=patience):
            yield from _told(found, asked)
    except TimeoutError:
        yield _silent(asked, patience)
    except (ClusterError, EvaluationError, ChildProcessError) as error:
        told = " ".join(str(error).split())
        yield Finding("Ray", PROBLEM, told, "" if "--in-process" in told else _advice(asked))


def _silent(asked: Asked, seconds: float) -> Finding:
    if not asked.address:
        return Finding("Ray", PROBLEM, f"no Ray answers for {seconds:.0f} s", _advice(asked))
    advice = "is it a Ray, and is RAY_AUTH_TOKEN the cluster's?"
    text = f"no Ray answers at {asked.address} for {seconds:.0f} s"
    return Finding("Ray", PROBLEM, text, advice)


def _advice(asked: Asked) -> str:
    return (
        "start the cluster, or correct --address"
        if asked.address
        else "--in-process plays without it"
    )


def _told(found: Start | Node, asked: Asked) -> Iterator[Finding]:
    if isinstance(found, Start):
        how = f"joined at {asked.address}" if asked.address else "started"
        yield Finding("Ray", OK, f"{found.version}, {how} in {found.seconds:.1f} s")
    else:
        yield _node(found)


def _node(node: Node) -> Finding:
    if node.problem:
        return Finding("node", PROBLEM, node.problem)
    told = f"{node.cpus:g} CPUs, {node.gpus:g} GPUs, the same versions"
    return Finding("node", OK, f"{node.address} answers: {told}")
