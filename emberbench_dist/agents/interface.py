"""The boundary between evaluator and decision model: `Observation -> {person id: Action}`."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Protocol, cast

from emberbench_dist.agents.execution import ReportsExecution, StepExecution
from emberbench_dist.contract.actions import Action, ActionOutput, check_choices
from emberbench_dist.contract.document import class_name
from emberbench_dist.contract.observation import Observation
from emberbench_dist.errors import EvaluationError


class Agent(Protocol):
    """A decision model for one episode."""

    def act(self, observation: Observation) -> ActionOutput:
        """Return exactly one action per active person."""
        ...


AgentFactory = Callable[[], Agent]
Policy = Callable[[Observation], ActionOutput]


class PolicyAgent:
    """Adapt a stateless policy (observation to actions) to `Agent`."""

    def __init__(self, policy: Policy) -> None:
        """Ask `policy`, which all episodes share, for every action."""
        self._policy = policy

    def act(self, observation: Observation) -> ActionOutput:
        """Return the policy's actions."""
        return self._policy(observation)


class EpisodePolicy:
    """Bind one agent to one episode: steps in order from 0, every output checked.

    Raises `EvaluationError` for an observation out of order, before the agent sees it, and
    `ModelOutputError` for output that the simulator would not accept. What the agent raises
    passes through unchanged (model interface, sections 4 and 6).
    """

    def __init__(self, agent: Agent) -> None:
        """Bind `agent`; keep its accounting where it reports any."""
        self._agent = agent
        self._next_step = 0
        # Asked once and cheaply: `isinstance` of a protocol costs as much as a short step.
        self._reports: ReportsExecution | None = None
        if callable(getattr(agent, "last_execution", None)):
            self._reports = cast("ReportsExecution", agent)
        self.executions: list[StepExecution | None] = []

    def __call__(self, observation: Observation) -> dict[str, Action]:
        """Return the agent's checked actions for the next step."""
        return dict(zip(observation.active, self.choose(observation), strict=True))

    def choose(self, observation: Observation) -> list[Action]:
        """Do the same; return one action per active person, in id order."""
        if observation.step != self._next_step:
            raise EvaluationError(
                f"the agent is bound to one episode and expects step {self._next_step}, "
                f"got step {observation.step}; build a new agent for each episode"
            )
        self._next_step += 1
        output = self._agent.act(observation)
        if self._reports is not None:
            self.executions.append(self._last_execution(self._reports))
        return check_choices(observation, output)

    def close(self) -> None:
        """Tell the agent that the episode is over, where it has a `close()`."""
        close = getattr(self._agent, "close", None)
        if callable(close):
            close()

    @staticmethod
    def _last_execution(agent: ReportsExecution) -> StepExecution | None:
        execution = agent.last_execution()
        if execution is not None and not isinstance(execution, StepExecution):
            raise EvaluationError(
                f"last_execution() must return a StepExecution or None, got {class_name(execution)}"
            )
        return execution


class FreshAgents:
    """Build a new agent for each episode and refuse any that was returned before.

    Reuse is detected by identity: every agent is kept alive, so identities stay unique for as
    long as this object lives. Use one per evaluation run (model interface, section 4), from any
    number of threads.
    """

    def __init__(self, factory: AgentFactory) -> None:
        """Build agents with `factory`, called without arguments."""
        self._factory = factory
        self._earlier: dict[int, object] = {}
        self._lock = Lock()

    def __call__(self) -> EpisodePolicy:
        """Return a new agent, bound to the next episode; `EvaluationError` for any other object."""
        agent = self._factory()
        if not callable(getattr(agent, "act", None)):
            raise EvaluationError(
                f"the agent factory returned {class_name(agent)}, which has no act() method"
            )
        with self._lock:
            known = len(self._earlier)
            self._earlier[id(agent)] = agent
            is_new = len(self._earlier) > known
        if not is_new:
            raise EvaluationError(
                "the agent factory returned an agent of an earlier episode; "
                "it must build a new one each time it is called"
            )
        return EpisodePolicy(agent)
