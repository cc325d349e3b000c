"""What runs in a worker process: a plain synchronous actor that returns data and never raises."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from emberbench_dist.agents.interface import FreshAgents
from emberbench_dist.agents.registry import load_agent
from emberbench_dist.agents.remote.text import RemoteOptions
from emberbench_dist.artifacts.playing import Notepad
from emberbench_dist.contract.scenario import Scenario
from emberbench_dist.evaluation.episode import Failure, Player
from emberbench_dist.evaluation.verify import Verifier
from emberbench_dist.runner.pool import Job


class Setup(NamedTuple):
    """What each worker is built from.

    The scenarios; the agent's SPEC (None: verify instead of play) and where code is found; the
    working folder; on the driver's machine, where to note what is played and to print; whether to
    go on after a failure; how an agent that is no Python is asked; how many batches to work on at
    once, and what that takes of the cluster.
    """

    scenarios: dict[str, Scenario]
    agent_spec: str | None
    import_paths: tuple[str, ...] = ()
    folder: str = "."
    playing: str | None = None
    log: str | None = None
    keep_going: bool = False
    remote: RemoteOptions = RemoteOptions()
    concurrency: int = 1
    cpus: float = 1.0
    gpus: float = 0.0


class Worker:
    """Works through batches; the class that becomes a Ray actor."""

    def __init__(self, setup: Setup, worker: int) -> None:
        """Import the agent as the driver did."""
        signal.signal(signal.SIGTERM, _leave)
        with suppress(OSError):  # another machine may not have it
            os.chdir(setup.folder)
        _print_into(setup.log)
        sys.path[:0] = [path for path in setup.import_paths if path not in sys.path]
        self._job = _job(setup, worker)

    def ready(self) -> int:
        """Return the process id, once the agent is imported."""
        return os.getpid()

    def work(self, items: bytes, budget: float) -> bytes:
        """Work through a pickled batch, in the thread of this call; return its answers pickled.

        What an agent raised goes back as text, which any process can read.
        """
        answers = self._job(pickle.loads(items), budget)  # noqa: S301 - from our own driver
        return pickle.dumps(
            [
                answer.without_exception() if isinstance(answer, Failure) else answer
                for answer in answers
            ]
        )


def _job(setup: Setup, worker: int) -> Job:
    if setup.agent_spec is None:
        return Verifier(setup.scenarios).verify
    agents = FreshAgents(load_agent(setup.agent_spec, setup.remote))
    player = Player(setup.scenarios, agents, keep_going=setup.keep_going)
    with suppress(OSError):
        if setup.playing is not None:
            player.note = Notepad(Path(setup.playing), worker)
    return player.play


def _print_into(log: str | None) -> None:
    """Send what the agent prints, from Python or C, to the run's log where it can be reached."""
    if log is None:
        return
    with suppress(OSError):
        file = os.open(log, os.O_WRONLY | os.O_APPEND)
        for descriptor in (1, 2):
            os.dup2(file, descriptor)
        os.close(file)


def _leave(_: int, __: FrameType | None) -> None:
    """End at once: Ray would raise SystemExit inside the agent, which looks like its failure."""
    os._exit(128 + signal.SIGTERM)
