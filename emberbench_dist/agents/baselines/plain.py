"""Baselines that do not look where they go: `stay`, `counting` and `shuffle`."""

from __future__ import annotations

from hashlib import sha256

from emberbench_dist.contract.actions import Action
from emberbench_dist.contract.observation import Observation, serialize_observation
from emberbench_dist.contract.rng import SplitMix64


class Stay:
    """Nobody moves."""

    def act(self, observation: Observation) -> dict[str, Action]:
        """Return `stay` for everybody."""
        return dict.fromkeys(observation.active, Action.STAY)


class Counting:
    """Everybody cycles through the actions, out of phase with each other.

    It keeps a count, so it shows at once whether an agent leaks into the next episode.
    """

    def __init__(self) -> None:
        """Start to count."""
        self._count = 0

    def act(self, observation: Observation) -> dict[str, Action]:
        """Return the next action of each person's cycle."""
        options = observation.allowed_actions
        self._count += 1
        return {
            person: options[(self._count + place) % len(options)]
            for place, person in enumerate(observation.active)
        }


class Shuffle:
    """Everybody moves at random, where chance is a digest of the observation."""

    def act(self, observation: Observation) -> dict[str, Action]:
        """Return pseudo-random actions: the same observation gives the same ones."""
        digest = sha256(serialize_observation(observation).encode()).digest()
        rng, options = SplitMix64(int.from_bytes(digest[:8], "big")), observation.allowed_actions
        return {person: options[rng.next_u64() % len(options)] for person in observation.active}
