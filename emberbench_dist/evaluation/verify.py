"""Verify results without their agent: replay each trace and compare bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from time import perf_counter
from typing import NamedTuple

from emberbench_dist.contract.document import shown
from emberbench_dist.contract.scenario import Scenario
from emberbench_dist.errors import InvalidActionError, SimulationError
from emberbench_dist.evaluation.episode import rebuild
from emberbench_dist.evaluation.manifest import Episode


class Claim(NamedTuple):
    """What a result says of an episode: its artifact line and trace line, without newlines."""

    episode: Episode
    line: bytes
    trace: bytes


class Verdict(NamedTuple):
    """What replay says of a claim: nothing, or where it is wrong; and its metrics, packed."""

    episode: int
    wrong: str
    metrics: bytes = b""


class Verifier:
    """Replays claims through the simulator."""

    def __init__(self, scenarios: Mapping[str, Scenario]) -> None:
        """Know the scenarios of the manifest."""
        self._scenarios = scenarios

    def verify(self, claims: list[Claim], budget: float) -> list[Verdict]:
        """Verify claims in order for `budget` seconds at the most."""
        started, verdicts = perf_counter(), list[Verdict]()
        for claim in claims:
            verdicts.append(self._verify(claim))
            if perf_counter() - started >= budget:
                break
        return verdicts

    def _verify(self, claim: Claim) -> Verdict:
        episode = claim.episode
        try:
            result = rebuild(episode, self._scenarios[episode.scenario_id], _trace(claim))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            return Verdict(episode.index, f"the trace cannot be read: {error}")
        except (InvalidActionError, SimulationError) as error:
            return Verdict(episode.index, f"the trace cannot be replayed: {error}")
        if result.trace != claim.trace:
            return Verdict(episode.index, "the trace line is not in canonical form")
        if result.line != claim.line:
            return Verdict(episode.index, _difference(claim.line, result.line))
        return Verdict(episode.index, "", result.metrics)


def _trace(claim: Claim) -> list[str]:
    document = json.loads(claim.trace)
    trace = document["actions"]
    if not (isinstance(trace, list) and all(isinstance(codes, str) for codes in trace)):
        raise TypeError("it is not a list of texts")
    if document["episode"] != claim.episode.index:
        raise ValueError(f"it is of episode {shown(document['episode'])}")
    return trace


def _difference(claimed: bytes, replayed: bytes) -> str:
    """Name the first part of an artifact line that differs."""
    try:
        said, true = json.loads(claimed), json.loads(replayed)
    except (ValueError, RecursionError):
        return "the line is not JSON"
    if not isinstance(said, dict):
        return "the line is not an object"
    for path, old, new in _leaves(said, true, ""):
        if old != new:
            return f"{path} is {shown(old)}, but the replay gives {shown(new)}"
    return "the line is not in canonical form"


def _leaves(said: object, true: object, path: str) -> list[tuple[str, object, object]]:
    if isinstance(said, dict) and isinstance(true, dict):
        return [
            leaf
            for key in sorted(said.keys() | true.keys())
            for leaf in _leaves(said.get(key), true.get(key), f"{path}.{key}".lstrip("."))
        ]
    if isinstance(said, list) and isinstance(true, list) and len(said) == len(true):
        return [
            leaf
            for index, pair in enumerate(zip(said, true, strict=True))
            for leaf in _leaves(*pair, f"{path}[{index}]")
        ]
    return [(path, said, true)]
