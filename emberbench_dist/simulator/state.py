"""Snapshots and step records: frozen values with one canonical form each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from emberbench_dist.contract.actions import Action
from emberbench_dist.contract.document import Position
from emberbench_dist.contract.frozen import frozen
from emberbench_dist.contract.observation import PersonView
from emberbench_dist.simulator.movement import Outcome


class TerminationReason(StrEnum):
    """Why an episode ended; `ALL_RESOLVED` wins where both hold."""

    ALL_RESOLVED = "all_resolved"
    MAX_STEPS = "max_steps"


class Cause(StrEnum):
    """Why a person became a casualty: walked into fire, or fire came."""

    ENTERED_FIRE = "entered_fire"
    FIRE_SPREAD = "fire_spread"


@frozen
class RngState:
    """The position of each random stream, an unsigned 64-bit integer."""

    fire: int

    def to_dict(self) -> dict[str, int]:
        """Return the `rng_state` form of the state."""
        return {"fire": self.fire}


@frozen
class SimulationState:
    """A snapshot between two steps; evaluator-private (contract: State)."""

    step: int
    people: tuple[PersonView, ...]
    burning: tuple[Position, ...]
    trapped: tuple[str, ...]
    rng_state: RngState
    terminated: bool
    termination_reason: TerminationReason | None

    def to_dict(self) -> dict[str, Any]:
        """Return the canonical form of the snapshot."""
        return {
            "step": self.step,
            "people": [person.to_dict() for person in self.people],
            "burning": [list(position) for position in self.burning],
            "trapped": list(self.trapped),
            "rng_state": self.rng_state.to_dict(),
            "terminated": self.terminated,
            "termination_reason": self.termination_reason and self.termination_reason.value,
        }


@dataclass(frozen=True, slots=True)
class Movement:
    """How one person's action was resolved; `to` equals `from_` unless it moved."""

    id: str
    outcome: Outcome
    from_: Position
    to: Position

    def to_dict(self) -> dict[str, Any]:
        """Return the `movements` entry of a record."""
        return {
            "id": self.id,
            "outcome": self.outcome.value,
            "from": list(self.from_),
            "to": list(self.to),
        }


@dataclass(frozen=True, slots=True)
class Evacuation:
    """A person who left, and through which exit."""

    id: str
    exit: str

    def to_dict(self) -> dict[str, str]:
        """Return the `evacuations` entry of a record."""
        return {"id": self.id, "exit": self.exit}


@dataclass(frozen=True, slots=True)
class Casualty:
    """A person who was lost, and why."""

    id: str
    cause: Cause

    def to_dict(self) -> dict[str, str]:
        """Return the `casualties` entry of a record."""
        return {"id": self.id, "cause": self.cause.value}


class StepRecord(NamedTuple):
    """One step: who acted how, what came of it, and the state after it.

    `active`, `choices` and `outcomes` are parallel, in id order; `before` is everybody as they
    stood before the step.
    """

    step: int
    active: tuple[str, ...]
    choices: tuple[Action, ...]
    outcomes: tuple[Outcome, ...]
    ignitions: tuple[Position, ...]
    evacuations: tuple[Evacuation, ...]
    casualties: tuple[Casualty, ...]
    before: tuple[PersonView, ...]
    state: SimulationState

    @property
    def actions(self) -> dict[str, Action]:
        """Return the actions taken, by person id."""
        return dict(zip(self.active, self.choices, strict=True))

    @property
    def movements(self) -> tuple[Movement, ...]:
        """Return how each active person's action was resolved, by id."""
        outcome_of = dict(zip(self.active, self.outcomes, strict=True))
        return tuple(
            Movement(old.id, outcome_of[old.id], old.position, new.position)
            for old, new in zip(self.before, self.state.people, strict=True)
            if old.id in outcome_of
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the `steps` entry of a run record."""
        return {
            "step": self.step,
            "actions": {person: action.value for person, action in self.actions.items()},
            "movements": [movement.to_dict() for movement in self.movements],
            "ignitions": [list(position) for position in self.ignitions],
            "evacuations": [evacuation.to_dict() for evacuation in self.evacuations],
            "casualties": [casualty.to_dict() for casualty in self.casualties],
            "state": self.state.to_dict(),
        }
