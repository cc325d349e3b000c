"""Play agents and tell, event by event, what they do and which rules it breaks."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from itertools import islice
from typing import Any, Literal, NamedTuple

from emberbench_dist.agents.conformance.trials import Trial
from emberbench_dist.agents.execution import StepExecution
from emberbench_dist.agents.interface import Agent, AgentFactory
from emberbench_dist.agents.surroundings import Surroundings
from emberbench_dist.contract.actions import Action, read_actions
from emberbench_dist.contract.canonical import canonical_json
from emberbench_dist.contract.document import class_name, plain_text, shown
from emberbench_dist.contract.observation import (
    Observation,
    Status,
    parse_observation,
    serialize_observation,
)
from emberbench_dist.errors import InvalidActionError
from emberbench_dist.simulator.simulator import Simulator

_MAX_ENTRIES = 1000
_MAX_TOLD = 300


class Event(NamedTuple):
    """What happened in a play; plain data, so that it can leave the process.

    A play `begins` (`text`: the trial; not told of the first) and `asks`; a rule was `judged`, or
    found `broken` (`text`: what was seen); the agent `answered` (`text`: its actions). All plays
    are `done`.
    """

    kind: Literal["begins", "asks", "judged", "broken", "answered", "done"]
    step: int | None = None
    rule: str = ""
    text: str = ""


class Witness:
    """Play trials one after the other as the evaluator plays episodes, and tell of them."""

    def __init__(self, factory: AgentFactory, tell: Callable[[Event], None]) -> None:
        """Play with agents of `factory`, and `tell` every event at once."""
        self._factory = factory
        self._tell = tell
        self._agents: list[object] = []
        self._surroundings = Surroundings()
        self._step: int | None = None

    def play(self, trials: Iterable[Trial]) -> None:
        """Play until the trials are over, or there is no fresh agent for the next one."""
        for number, trial in enumerate(trials):
            self._surroundings.restore()
            self._step = None
            if number:
                self._tell(Event("begins", text=trial.name))
            agent = self._build()
            if agent is None:
                break
            self._play(agent, Simulator(trial.scenario, trial.seed))
            self._close(agent)
        self._tell(Event("done"))

    def _build(self) -> Agent | None:
        try:
            inspect.signature(self._factory).bind()
        except TypeError as error:
            self._broken("no-arguments", _told(error))
            return None
        except BaseException:  # noqa: BLE001, S110 - it has no signature; calling it will tell
            pass
        try:
            agent = self._factory()
        except BaseException as error:  # noqa: BLE001 - SystemExit and the like are the agent's
            self._broken("returns", f"the factory raised {_told(error)}")
            return None
        self._judged("no-arguments")
        if not _acts(agent):
            self._broken("is-agent", f"the factory returned {class_name(agent)}, without act()")
            return None
        if any(agent is other for other in self._agents):
            self._broken("fresh-agent", "the factory returned an earlier agent")
            return None
        self._judged("is-agent")
        if self._agents:
            self._judged("fresh-agent")
        self._agents.append(agent)
        return agent

    def _play(self, agent: Agent, simulator: Simulator) -> None:
        given = list[tuple[Observation, str]]()
        while not simulator.state.terminated:
            text = serialize_observation(simulator.observe())
            # A copy: a changed one must change neither the world nor what is compared with.
            observation = parse_observation(text)
            given.append((observation, text))
            self._step = observation.step
            choices = self._ask(agent, observation, simulator)
            if choices is None:
                break
            simulator.advance(choices)
        self._judged("observation-unchanged")
        for self._step, (observation, text) in enumerate(given):
            changed = _change(observation, text)
            if changed:
                self._broken("observation-unchanged", changed)
                break

    def _close(self, agent: object) -> None:
        try:
            close = getattr(agent, "close", None)
            if callable(close):
                close()
        except BaseException as error:  # noqa: BLE001 - as above
            self._broken("returns", f"close raised {_told(error)}")

    def _ask(
        self, agent: Agent, observation: Observation, simulator: Simulator
    ) -> list[Action] | None:
        """Return the agent's actions; None where they are not to be played."""
        self._tell(Event("asks", self._step))
        original = simulator.observe()
        try:
            output: Any = agent.act(observation)
        except BaseException as error:  # noqa: BLE001 - as above
            self._raised(original, _told(error))
            return None
        self._judged("returns", *(["step-order"] if original.step else []))
        self._judge_accounting(agent)
        entries = self._entries(output)
        if entries is None:
            return None
        faults = list(faults_of(original, entries))
        self._judged("every-active", "no-unknown", "legal-actions")
        if len(original.active) < len(original.people):
            self._judged("no-resolved")
        for rule, seen in faults:
            self._broken(rule, seen)
        if faults:
            return None
        choices = read_actions(simulator.active, dict(entries))
        actions = canonical_json(dict(zip(simulator.active, choices, strict=True)))
        self._tell(Event("answered", self._step, text=actions))
        return choices

    def _raised(self, original: Observation, error: str) -> None:
        """Blame the step's number where a new agent answers the same as another step."""
        other = replace(original, step=0 if original.step else 1)
        agent: Agent | None = None
        try:
            agent = self._factory()
            self._agents.append(agent)
            agent.act(parse_observation(serialize_observation(other)))
        except BaseException:  # noqa: BLE001 - as above
            self._broken("returns", f"act raised {error}")
        else:
            told = f"act raised {error}; a new agent answers the same as step {other.step}"
            self._broken("step-order", told)
        finally:
            self._close(agent)

    def _judge_accounting(self, agent: Agent) -> None:
        try:
            report = getattr(agent, "last_execution", None)
            if not callable(report):
                return
            self._judged("accounting")
            execution = report()
        except BaseException as error:  # noqa: BLE001 - as above
            self._broken("accounting", f"last_execution raised {_told(error)}")
            return
        if not issubclass(type(execution), StepExecution | None):
            self._broken("accounting", f"last_execution returned {class_name(execution)}")
        elif execution is not None:
            self._judge_values(execution)

    def _judge_values(self, execution: StepExecution) -> None:
        """Build it again: whoever gets around a frozen value gets around its checks."""
        try:
            StepExecution(*[getattr(execution, field.name) for field in fields(StepExecution)])
        except BaseException as error:  # noqa: BLE001 - as above
            self._broken("accounting", _told(error))

    def _entries(self, output: Any) -> list[tuple[str, Any]] | None:
        """Read a mapping once, since another reading may give something else."""
        self._judged("mapping")
        if not issubclass(type(output), Mapping):
            self._broken("mapping", f"act returned {class_name(output)}")
            return None
        try:
            entries = [(key, value) for key, value in islice(output.items(), _MAX_ENTRIES)]
        except BaseException as error:  # noqa: BLE001 - as above
            self._broken("mapping", f"reading it raised {_told(error)}")
            return None
        for key, _ in entries:
            if not issubclass(type(key), str):
                self._broken("mapping", f"a person id is {class_name(key)}, not text")
                return None
        return [(str.__str__(key), value) for key, value in entries]

    def _judged(self, *rules: str) -> None:
        for rule in rules:
            self._tell(Event("judged", self._step, rule))

    def _broken(self, rule: str, seen: str) -> None:
        self._judged(rule)
        self._tell(Event("broken", self._step, rule, seen))


def faults_of(
    observation: Observation, entries: Iterable[tuple[str, object]]
) -> Iterator[tuple[str, str]]:
    """Yield each rule that an answer breaks, and how; nothing where the simulator accepts it."""
    status = {person.id: person.status for person in observation.people}
    counts = Counter[str]()
    for person, value in entries:
        counts[person] += 1
        if person not in status:
            yield "no-unknown", f"there is nobody named {shown(person)}"
        elif status[person] is not Status.ACTIVE:
            yield "no-resolved", f"{shown(person)} has the status {status[person]}"
        else:
            try:
                read_actions((person,), {person: value})
            except InvalidActionError as error:
                yield "legal-actions", str(error)
    for person in observation.active:
        if counts[person] != 1:
            yield "every-active", f"{counts[person] or 'no'} entries for {shown(person)}"


def _acts(agent: object) -> bool:
    try:
        return callable(getattr(agent, "act", None))
    except BaseException:  # noqa: BLE001 - whatever it raises, there is no method
        return False


def _change(observation: Observation, text: str) -> str:
    """Say what of an observation is not as it was given."""
    given = parse_observation(text)
    names = [field.name for field in fields(Observation)]
    changed = [name for name in names if _field(observation, name) != _field(given, name)]
    return f"{' and '.join(changed)} changed" if changed else ""


def _field(observation: Observation, name: str) -> str:
    return plain_text(lambda: repr(getattr(observation, name)))


def _told(error: BaseException) -> str:
    """Return a foreign error as one bounded line that any terminal can show."""
    text = plain_text(lambda: f"{class_name(error)}: {str.__str__(str(error))}")
    line = " ".join(text.split())[:_MAX_TOLD].removesuffix(":")
    return "".join([mark if mark.isprintable() else ascii(mark)[1:-1] for mark in line])
