"""Agents that are not a function of their episode: an audit must find them."""

from __future__ import annotations

import os

from emberbench_dist.agents.baselines import Greedy, Stay

EPISODES = []


class KeepsState(Stay):
    """Play the first episode of a process, and run away in all later ones."""

    def __init__(self):
        """Remember, in the module, that one more episode begins."""
        EPISODES.append(len(EPISODES))
        self._first = len(EPISODES) == 1
        self._later = Greedy()

    def act(self, observation):
        """Stay, or move."""
        return super().act(observation) if self._first else self._later.act(observation)


class Rolls(Stay):
    """Let everybody go where a number of the system sends them."""

    def act(self, observation):
        """Choose."""
        ways = ("north", "south", "east", "west")
        return {person: ways[os.urandom(1)[0] % 4] for person in observation.active}
