"""Agents whose episodes take a known time, and the manifests that say how much.

An episode is one step: one person beside an exit. How long the step takes is in the map's
`max_steps`, so that workers need to know nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from worlds import document

from benchmarks.rows import cpu_seconds
from emberbench_dist.agents.interface import FreshAgents
from emberbench_dist.contract.observation import Observation
from emberbench_dist.contract.scenario import parse_scenario
from emberbench_dist.evaluation.episode import Player
from emberbench_dist.evaluation.manifest import Episode
from manifests import write_manifest

_ROUNDS = 200_000
_EPISODES = 500
_TRIES = 5
_EAST = {"P": "east"}


def spin(rounds: int) -> None:
    """Keep the CPU busy."""
    for _ in range(rounds):
        pass


class Spins:
    """Keep the CPU busy for `max_steps` rounds, then leave."""

    def act(self, observation: Observation) -> dict[str, str]:
        """Spin, then go east."""
        spin(observation.rules.max_steps)
        return _EAST


class Sleeps:
    """Sleep `max_steps` microseconds, then leave."""

    def act(self, observation: Observation) -> dict[str, str]:
        """Sleep, then go east."""
        time.sleep(observation.rules.max_steps / 1e6)
        return _EAST


def one_step(name: str, amount: int) -> dict[str, Any]:
    """Return a scenario of one step, with the amount that its agent reads."""
    return document("P E . *", max_steps=amount, interval=10**6, scenario_id=name)


def write_episodes(folder: Path, blocks: Iterable[tuple[int, int]]) -> Path:
    """Write a manifest of (amount, episodes) blocks; return its path."""
    listed = [
        (one_step(f"block-{number}", amount), {"first": 0, "count": count})
        for number, (amount, count) in enumerate(blocks)
    ]
    return write_manifest(folder, listed)


@cache
def rounds_for(milliseconds: float) -> int:
    """Return how many rounds make an episode take this much CPU time, all else included."""
    a_round = min(cpu_seconds(lambda: spin(_ROUNDS)) for _ in range(_TRIES)) / _ROUNDS
    return max(1, round((milliseconds / 1000 - _shortest_episode()) / a_round))


@cache
def _shortest_episode() -> float:
    """Return the CPU seconds of an episode in which the agent spins one round."""
    player = Player({"short": parse_scenario(one_step("short", 1))}, FreshAgents(Spins))
    episodes = [Episode(seed, "short", seed) for seed in range(_EPISODES)]
    tries = [cpu_seconds(lambda: player.play(episodes, float("inf"))) for _ in range(_TRIES)]
    return min(tries) / _EPISODES
