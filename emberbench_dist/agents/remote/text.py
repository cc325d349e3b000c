"""Agents elsewhere: text out, text in, and an account of each step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from time import perf_counter

from emberbench_dist.agents.execution import StepExecution
from emberbench_dist.contract.actions import ActionOutput, parse_actions
from emberbench_dist.contract.observation import Observation, serialize_observation
from emberbench_dist.errors import AgentSpecError

MIB = 2**20
# A map of 2048 x 2048 with a hundred thousand people has payloads of some megabytes.
MAX_ANSWER_BYTES = 16 * MIB
TIMEOUT_SECONDS = 60.0
# Beyond a day, nobody is waiting; the system's own limits are not far above.
MAX_TIMEOUT_SECONDS = 86_400.0
RETRIES = 3
MAX_RETRIES = 100


@dataclass(frozen=True, slots=True)
class RemoteOptions:
    """How a program or a server is asked.

    Seconds for each answer, retries of a transport failure, the environment variable that
    holds headers, and the file to which a program's standard error goes (None: to this
    process's).
    """

    timeout_seconds: float = TIMEOUT_SECONDS
    retries: int = RETRIES
    headers_from: str | None = None
    log: str | None = None

    def __post_init__(self) -> None:
        """Refuse a timeout that cannot be kept."""
        _require_timeout(self.timeout_seconds)


class TextAgent(ABC):
    """Ask a model by text: by default an observation for an action payload.

    A subclass says how to `exchange`; it may ask in another way (`request`) and read the answer
    in another way (`read`). One thread uses one agent, for one episode.
    """

    def __init__(self, timeout_seconds: float) -> None:
        """Wait up to `timeout_seconds` for each answer; `AgentSpecError` unless in (0, a day]."""
        _require_timeout(timeout_seconds)
        self.timeout_seconds = timeout_seconds
        self.retried = 0
        self.execution: StepExecution | None = None

    def act(self, observation: Observation) -> ActionOutput:
        """Return what the model answers; whatever fails is raised, nothing is made up."""
        self.execution, self.retried = None, 0
        request = self.request(observation).encode()
        started = perf_counter()
        answer = self.exchange(request)
        seconds = perf_counter() - started
        self.execution = StepExecution(latency_seconds=seconds, retries=self.retried)
        return self.read(observation, answer)

    def request(self, observation: Observation) -> str:
        """Return what to send: the serialized observation."""
        return serialize_observation(observation)

    @abstractmethod
    def exchange(self, request: bytes) -> bytes:
        """Send the request and return the answer as it came."""

    def read(self, observation: Observation, answer: bytes) -> ActionOutput:
        """Return the actions of an answer, an action payload; `ModelOutputError` if it is none.

        An override may replace `self.execution` where the answer tells more of its cost.
        """
        return parse_actions(observation, answer)

    def last_execution(self) -> StepExecution | None:
        """Return latency and retries of the latest step."""
        return self.execution


def _require_timeout(seconds: float) -> None:
    if not 0 < seconds <= MAX_TIMEOUT_SECONDS:
        raise AgentSpecError(
            f"an agent's timeout must be more than 0 and at most {MAX_TIMEOUT_SECONDS:.0f} "
            f"seconds, got {seconds}"
        )
