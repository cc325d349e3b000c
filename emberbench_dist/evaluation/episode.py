"""One episode, played into canonical bytes; a batch of them, played within a time budget."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from struct import pack
from threading import Lock
from time import perf_counter
from types import TracebackType
from typing import NamedTuple

from emberbench_dist.agents.execution import StepExecution
from emberbench_dist.agents.interface import EpisodePolicy, FreshAgents
from emberbench_dist.agents.surroundings import Surroundings
from emberbench_dist.contract.actions import Action
from emberbench_dist.contract.document import class_name, plain_text, shown
from emberbench_dist.contract.scenario import Scenario
from emberbench_dist.errors import InvalidActionError, SimulationError
from emberbench_dist.evaluation.accounting import execution_record
from emberbench_dist.evaluation.lines import episode_line, trace_line
from emberbench_dist.evaluation.manifest import Episode
from emberbench_dist.evaluation.metrics import Tally
from emberbench_dist.evaluation.packing import pack_metrics, pack_people, pack_steps
from emberbench_dist.simulator.simulator import Simulator
from emberbench_dist.simulator.state import StepRecord

TRACE_CODES = {
    Action.STAY: ".",
    Action.NORTH: "n",
    Action.SOUTH: "s",
    Action.EAST: "e",
    Action.WEST: "w",
}

HALF = 32  # where the digest of the second half begins
_ACTIONS = {code: action for action, code in TRACE_CODES.items()}
_CODES = frozenset(_ACTIONS)
_PACKAGE = str(Path(__file__).parents[1]) + "/"


class EpisodeResult(NamedTuple):
    """A finished episode: its artifact line and trace line (no newline), its counts and cost.

    `metrics`, `people` and `steps` are packed numbers; `execution` is JSON that is not canonical
    (times, accounting). `digest` seals each part, in two halves that can be read alone: what the
    artifact needs (`line`, `trace`, `metrics`) and what the tables need (all the others, and
    `metrics` again).
    """

    episode: int
    line: bytes
    trace: bytes
    metrics: bytes
    people: bytes
    steps: bytes
    execution: bytes
    digest: bytes

    def is_sound(self) -> bool:
        """Say whether every part is as it was sealed."""
        try:
            again = sealed(*self[:-1])
        except TypeError:  # of a damaged row a part may have lost its type
            return False
        return again.digest == self.digest


@dataclass(frozen=True, slots=True)
class Failure:
    """An episode that ended in an exception: what was raised, and where.

    `step` is the step that was asked for, None before the first one. `exception` is the object
    itself, known only in the process where it was raised, `execution` what this attempt has cost.
    """

    episode: int
    scenario_id: str
    seed: int
    step: int | None
    kind: str
    type: str
    message: str
    traceback: str
    attempts: int = 1
    exception: BaseException | None = field(default=None, compare=False, repr=False)
    execution: bytes = field(default=b"", compare=False, repr=False)

    def __str__(self) -> str:
        """Say it in one line."""
        step = "" if self.step is None else f", step {self.step}"
        message = " ".join(self.message.split())
        return (
            f"episode {self.episode} (scenario {self.scenario_id}, seed {self.seed}{step}): "
            f"{self.type}: {message}"
        )

    def without_exception(self) -> Failure:
        """Return plain data that any process can read."""
        return replace(self, exception=None)


Outcome = EpisodeResult | Failure


class Player:
    """Play episodes one after the other, each with a fresh agent in the same surroundings.

    Several threads may play at once, and then share these: they are put back whenever an episode
    begins while no other is being played.
    """

    def __init__(
        self,
        scenarios: Mapping[str, Scenario],
        agents: FreshAgents,
        *,
        keep_going: bool = False,
    ) -> None:
        """Play episodes of `scenarios` with agents from `agents`.

        `keep_going` plays on after a failure; `note` may be set to be told what begins.
        """
        self._scenarios = scenarios
        self._agents = agents
        self._keep_going = keep_going
        self.note: Callable[[int | None], None] = lambda _: None
        self._surroundings = Surroundings()
        self._playing = 0
        self._lock = Lock()

    def play(self, episodes: Iterable[Episode], budget: float) -> list[Outcome]:
        """Play in order until all are done, one fails, or `budget` seconds have passed.

        Return the outcomes of those that were started. Never raises: whatever the agent raises
        comes back as a `Failure`.
        """
        started, outcomes = perf_counter(), list[Outcome]()
        for episode in episodes:
            self.note(episode.index)
            outcomes.append(self._play(episode))
            failed = isinstance(outcomes[-1], Failure)
            if (failed and not self._keep_going) or perf_counter() - started >= budget:
                break
        self.note(None)
        self._enter(0)
        return outcomes

    def _enter(self, playing: int) -> None:
        """Put the surroundings back if no other thread plays; count `playing` in."""
        with self._lock:
            if not self._playing:
                self._surroundings.restore()
            self._playing += playing

    def _leave(self) -> None:
        with self._lock:
            self._playing -= 1

    def _play(self, episode: Episode) -> Outcome:
        self._enter(1)
        run = _Play(episode, self._scenarios[episode.scenario_id])
        try:
            return run.play(self._agents)
        except BaseException as error:  # noqa: BLE001 - SystemExit and the like are the agent's
            return _failure(episode, run.step, error, run.execution())
        finally:
            self._leave()


class _Play:
    """One play of one episode; `step` tells how far it got, `execution` what it cost so far."""

    def __init__(self, episode: Episode, scenario: Scenario) -> None:
        self.episode = episode
        self.scenario = scenario
        self.step: int | None = None
        self._reports: Sequence[StepExecution | None] = ()
        self._started = perf_counter()
        # When the first step began, and when each one had ended.
        self._times = list[float]()

    def play(self, agents: Callable[[], EpisodePolicy]) -> EpisodeResult:
        policy = agents()
        self._reports = policy.executions
        try:
            tally, trace = self._steps(policy)
        except BaseException:
            with suppress(Exception):  # what failed first is what is told
                policy.close()
            raise
        policy.close()
        return finish(self.episode, self.scenario, tally, trace, self.execution())

    def _steps(self, policy: EpisodePolicy) -> tuple[Tally, list[str]]:
        simulator = Simulator(self.scenario, self.episode.seed)
        tally, trace = Tally(simulator.state), list[str]()
        self._times.append(perf_counter())
        while not tally.state.terminated:
            self.step = tally.state.step
            record = simulator.advance(policy.choose(simulator.observe()))
            tally.add(record)
            trace.append("".join([TRACE_CODES[choice] for choice in record.choices]))
            self._times.append(perf_counter())
        return tally, trace

    def execution(self) -> bytes:
        """Return what is known of the cost so far."""
        seconds = perf_counter() - self._started
        steps = [end - start for start, end in pairwise(self._times)]
        return execution_record(seconds, steps, self._reports)


def finish(
    episode: Episode, scenario: Scenario, tally: Tally, trace: list[str], execution: bytes = b"{}"
) -> EpisodeResult:
    """Return the result of a played (or replayed) episode as canonical bytes."""
    metrics, fates = tally.metrics(scenario), list(tally.fates())
    exits = {way.id: number for number, way in enumerate(scenario.map.exits)}
    return sealed(
        episode.index,
        episode_line(episode, scenario, tally.state, metrics, fates, trace).encode(),
        trace_line(trace, episode.index).encode(),
        pack_metrics(metrics),
        pack_people(fates, exits),
        pack_steps(tally.counts),
        execution,
    )


def rebuild(episode: Episode, scenario: Scenario, trace: list[str]) -> EpisodeResult:
    """Return the result that an episode has by its trace, without its agent.

    Raises `InvalidActionError` or `SimulationError` where the trace does not fit the episode.
    """
    return finish(episode, scenario, retrace(episode, scenario, trace), trace)


def retrace(episode: Episode, scenario: Scenario, trace: Iterable[str]) -> Tally:
    """Replay an episode to its end; return what it comes to. Raises as `replay` does."""
    simulator = Simulator(scenario, episode.seed)
    tally = Tally(simulator.state)
    for record in replay(simulator, trace):
        tally.add(record)
    return tally


def replay(simulator: Simulator, trace: Iterable[str]) -> Iterator[StepRecord]:
    """Yield the steps that a trace gives from a fresh simulator, to the end of the episode.

    Raises `InvalidActionError` or `SimulationError` where the trace does not fit the episode.
    """
    for codes in trace:
        step, active = simulator.state.step, len(simulator.active)
        if len(codes) != active:
            raise InvalidActionError(
                f"step {step}: the trace has {len(codes)} actions for {active} active people"
            )
        if not _CODES.issuperset(codes):
            raise InvalidActionError(
                f"step {step}: the trace has {shown(codes)}; its actions are {''.join(_ACTIONS)}"
            )
        yield simulator.advance([_ACTIONS[code] for code in codes])
    if not simulator.state.terminated:
        raise SimulationError(f"step {simulator.state.step}: the trace ends before the episode")


def sealed(  # noqa: PLR0917 - the parts of a result
    episode: int,
    line: bytes,
    trace: bytes,
    metrics: bytes,
    people: bytes,
    steps: bytes,
    execution: bytes,
) -> EpisodeResult:
    """Return a result whose digest covers every part of it."""
    digest = seal(episode, line, trace, metrics) + seal(episode, metrics, people, steps, execution)
    return EpisodeResult(episode, line, trace, metrics, people, steps, execution, digest)


def seal(episode: int, *parts: bytes) -> bytes:
    """Return the digest of one half of a result."""
    head = pack(f"<{1 + len(parts)}q", episode, *map(len, parts))
    return sha256(b"".join((head, *parts))).digest()


def seals(episodes: Sequence[int], *columns: Sequence[bytes]) -> list[bytes]:
    """Return what `seal` returns, of several results whose parts are given by columns."""
    lengths = [map(len, column) for column in columns]
    heads = map(partial(pack, f"<{1 + len(columns)}q"), episodes, *lengths)
    rows = zip(heads, *columns, strict=True)
    return [sha256(b"".join(row)).digest() for row in rows]


def _failure(episode: Episode, step: int | None, error: BaseException, execution: bytes) -> Failure:
    def formatted() -> str:
        raised = _outside_package(error.__traceback__)
        if raised is None:
            return ""  # raised by the checks of this package: the message says it all
        told = traceback.TracebackException(type(error), error, raised, limit=-30, compact=True)
        return "".join(told.format())

    return Failure(
        episode=episode.index,
        scenario_id=episode.scenario_id,
        seed=episode.seed,
        step=step,
        kind="agent",
        type=plain_text(lambda: class_name(error)),
        message=plain_text(lambda: str(error)),
        traceback=plain_text(formatted),
        exception=error,
        execution=execution,
    )


def _outside_package(raised: TracebackType | None) -> TracebackType | None:
    """Return the traceback from the first frame that is not ours on."""
    while raised is not None and raised.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        raised = raised.tb_next
    return raised
