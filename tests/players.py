"""Agents that misbehave on a map of `TRIGGER` columns, for worker processes to import by SPEC."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.agents.execution import StepExecution

TRIGGER = 9


class Trap(Greedy):
    """Play greedily, and call `spring` in step 1 on a map of `TRIGGER` columns."""

    def act(self, observation):
        """Act, or spring the trap."""
        if observation.map.width == TRIGGER and observation.step == 1:
            return self.spring(observation)
        return super().act(observation)

    def spring(self, observation):
        """Do what this agent is for."""
        raise NotImplementedError


class Raises(Trap):
    """Raise an ordinary exception."""

    def spring(self, observation):
        """Raise."""
        raise ValueError(f"no plan for step {observation.step}")


class KeywordOnlyError(Exception):
    """An exception that cannot be rebuilt from its `args`."""

    def __init__(self, *, code):
        """Keep a lock too, which cannot be pickled."""
        super().__init__(f"code {code}")
        self.lock = threading.Lock()


class RaisesUnpicklable(Trap):
    """Raise what cannot travel between processes."""

    def spring(self, observation):
        """Raise."""
        raise KeywordOnlyError(code=observation.step)


class Exits(Trap):
    """Raise SystemExit(0)."""

    def spring(self, observation):
        """Raise."""
        raise SystemExit(0)


class PressesCtrlC(Trap):
    """Raise KeyboardInterrupt."""

    def spring(self, observation):
        """Raise."""
        raise KeyboardInterrupt


class AnswersBadly(Trap):
    """Return an action that does not exist."""

    def spring(self, observation):
        """Answer."""
        return dict.fromkeys(observation.active, "up")


class Dies(Trap):
    """End the process at once."""

    def spring(self, observation):
        """End."""
        os._exit(7)


class DiesByKill(Trap):
    """Be killed by the system."""

    def spring(self, observation):
        """End."""
        os.kill(os.getpid(), signal.SIGKILL)


class DiesOnce(Trap):
    """End the process the first time only, remembered in a file of the working folder."""

    def spring(self, observation):
        """End, or play on."""
        mark = Path("died")
        if not mark.exists():
            mark.touch()
            os._exit(7)
        return Greedy.act(self, observation)


class Slow(Greedy):
    """Take 20 ms a step."""

    def act(self, observation):
        """Sleep, then act."""
        time.sleep(0.02)
        return super().act(observation)


class Waits(Greedy):
    """Wait for a second before each step, as for a model elsewhere."""

    def act(self, observation):
        """Sleep, then act."""
        time.sleep(1.0)
        return super().act(observation)


class Sleeps(Greedy):
    """Think for ten minutes before each step."""

    def act(self, observation):
        """Sleep, then act."""
        time.sleep(600)
        return super().act(observation)


class Accounts(Greedy):
    """Report what each step cost."""

    def last_execution(self):
        """Report a constant."""
        return StepExecution(input_tokens=7, cost_usd=0.5, model="stub")


class AccountsAndFailsOnce(Accounts):
    """Fail in step 1 on a map of `TRIGGER` columns, the first time only."""

    def act(self, observation):
        """Act, or raise."""
        if observation.map.width == TRIGGER and observation.step == 1:
            mark = Path("failed")
            if not mark.exists():
                mark.touch()
                raise ValueError("not yet")
        return super().act(observation)


def takes_an_argument(name):
    """Be no factory."""
    raise AssertionError(name)


def returns_nothing():
    """Return no agent."""


def raises_at_once():
    """Fail to build an agent."""
    raise RuntimeError("no key")


NOT_CALLABLE = 3
