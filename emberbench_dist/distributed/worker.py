"""What runs in a worker process: a plain synchronous actor that returns data and never raises."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import NamedTuple

from emberbench_dist.agents.interface import FreshAgents
from emberbench_dist.agents.registry import load_agent
from emberbench_dist.contract.scenario import Scenario
from emberbench_dist.evaluation.episode import Failure, Outcome, Player
from emberbench_dist.evaluation.manifest import Episode


class Setup(NamedTuple):
    """What each worker is built from: the scenarios, the agent's SPEC, and where code is found."""

    scenarios: dict[str, Scenario]
    agent_spec: str
    import_paths: tuple[str, ...]
    folder: str


class Worker:
    """Plays batches; the class that becomes a Ray actor."""

    def __init__(self, setup: Setup) -> None:
        """Import the agent as the driver did."""
        signal.signal(signal.SIGTERM, _leave)
        if os.path.isdir(setup.folder):  # noqa: PTH112 - another node may not have it
            os.chdir(setup.folder)
        sys.path[:0] = [path for path in setup.import_paths if path not in sys.path]
        self._player = Player(setup.scenarios, FreshAgents(load_agent(setup.agent_spec)))

    def ready(self) -> int:
        """Return the process id, once the agent is imported."""
        return os.getpid()

    def play(self, episodes: list[Episode], budget: float) -> list[Outcome]:
        """Play a batch; what the agent raises comes back as text, which any process can read."""
        outcomes = self._player.play(episodes, budget)
        return [
            outcome.without_exception() if isinstance(outcome, Failure) else outcome
            for outcome in outcomes
        ]


def _leave(_: int, __: FrameType | None) -> None:
    """End at once: Ray would raise SystemExit inside the agent, which looks like its failure."""
    os._exit(128 + signal.SIGTERM)
