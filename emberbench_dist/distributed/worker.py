"""What runs in a worker process: a plain synchronous actor that returns data and never raises."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from emberbench_dist import __version__
from emberbench_dist.agents.interface import FreshAgents
from emberbench_dist.agents.registry import CodeCopy, load_agent
from emberbench_dist.agents.remote.text import RemoteOptions
from emberbench_dist.artifacts.playing import Notepad
from emberbench_dist.contract.scenario import Scenario
from emberbench_dist.errors import AgentSpecError, ClusterError
from emberbench_dist.evaluation.episode import Failure, Player
from emberbench_dist.evaluation.verify import Verifier
from emberbench_dist.runner.pool import Job


class Shipped(NamedTuple):
    """The agent's code where it is copied to every node: its folder here, and its file in it."""

    folder: str
    file: str | None


class Setup(NamedTuple):
    """What each worker is built from.

    The scenarios; the agent's SPEC (None: verify instead of play) and where code is found; the
    working folder; on the driver's machine, where to note what is played and to print; whether to
    go on after a failure; how an agent that is no Python is asked; how many batches to work on at
    once, and what that takes of the cluster; what of the agent's code is copied to every node; the
    driver's version of this package.
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
    shipped: Shipped | None = None
    version: str = __version__


class Worker:
    """Works through batches; the class that becomes a Ray actor."""

    def __init__(self, setup: Setup, worker: int) -> None:
        """Import the agent as the driver did."""
        if setup.version != __version__:  # on a node that joined and was not asked yet
            raise ClusterError(f"it has {__version__}, the driver {setup.version}")
        signal.signal(signal.SIGTERM, _leave)
        _print_into(setup.log)
        self._copy = settle(setup)
        self._job = _job(setup, worker, self._copy)

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
                _as_told_here(answer, self._copy) if isinstance(answer, Failure) else answer
                for answer in answers
            ]
        )


def settle(setup: Setup) -> CodeCopy | None:
    """Take the place of the driver: its import paths, and its working folder where there is one.

    Returns the copy of the agent's code, where one came along. Ray starts a worker in it. A
    working folder inside the code is that of the copy: what is there on this node may be another.
    """
    shipped = setup.shipped
    new = [path for path in setup.import_paths if path not in sys.path]
    if shipped is None:
        sys.path[:0] = new
        with suppress(OSError):  # another machine may not have it
            os.chdir(setup.folder)
        return None
    copy = CodeCopy(Path.cwd(), Path(shipped.folder), shipped.file)
    sys.path += new  # what this node has of the same name is meant for it
    folder = Path(setup.folder)
    inside = folder.is_relative_to(copy.there)
    with suppress(OSError):
        os.chdir(copy.here / folder.relative_to(copy.there) if inside else folder)
    return copy


def problem_of(setup: Setup) -> str:
    """Return why the agent cannot be imported in this process; empty if it can."""
    if setup.agent_spec is None:
        return ""
    copy = settle(setup)
    try:
        load_agent(setup.agent_spec, setup.remote, copy)
    except AgentSpecError as error:
        return _there(str(error), copy)
    return ""


def _as_told_here(failure: Failure, copy: CodeCopy | None) -> Failure:
    """Return plain data that names files as they are called on the driver's machine."""
    plain = failure.without_exception()
    return replace(
        plain, message=_there(plain.message, copy), traceback=_there(plain.traceback, copy)
    )


def _there(text: str, copy: CodeCopy | None) -> str:
    return text if copy is None else text.replace(str(copy.here), str(copy.there))


def _job(setup: Setup, worker: int, copy: CodeCopy | None) -> Job:
    if setup.agent_spec is None:
        return Verifier(setup.scenarios).verify
    agents = FreshAgents(load_agent(setup.agent_spec, setup.remote, copy))
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
