"""Metrics of one episode, metrics_version 1.0, collected step by step."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

from emberbench_dist.contract.observation import Status
from emberbench_dist.contract.scenario import Scenario
from emberbench_dist.simulator.movement import Outcome
from emberbench_dist.simulator.state import Cause, SimulationState, StepRecord

INTEGER_METRICS = (
    "people",
    "evacuated",
    "casualties",
    "casualties_entered_fire",
    "casualties_fire_spread",
    "unresolved",
    "trapped_at_end",
    "ever_trapped",
    "steps",
    "person_steps",
    *(outcome.value for outcome in (Outcome.MOVED, Outcome.STAYED)),
    *(outcome.value for outcome in Outcome if outcome.value.startswith("blocked_")),
    "burned_cells",
    "last_evacuation_step",
)
FLOAT_METRICS = ("evacuation_rate", "casualty_rate", "mean_evacuation_step")
METRICS = (*INTEGER_METRICS, *FLOAT_METRICS)
# What a footer adds up over episodes: a last step has no sum.
SUMMED_METRICS = tuple(name for name in INTEGER_METRICS if name != "last_evacuation_step")
# What is counted of the initial state and after each step, people and cells.
STEP_COUNTS = ("evacuated", "casualties", "burning", "ignited", "trapped")

Metrics = dict[str, Any]


class Tally:
    """What the metrics and the `people` entries need to know of an episode's steps."""

    def __init__(self, initial: SimulationState) -> None:
        """Start at the initial state."""
        self.state = initial
        self.outcomes: list[Outcome] = []
        self.ever_trapped = set(initial.trapped)
        self.evacuated: dict[str, tuple[int, str]] = {}
        self.lost: dict[str, tuple[int, Cause]] = {}
        self.counts = [0, 0, len(initial.burning), 0, len(initial.trapped)]

    def add(self, record: StepRecord) -> None:
        """Take one step in."""
        self.state = record.state
        self.outcomes += record.outcomes
        if record.state.trapped:
            self.ever_trapped.update(record.state.trapped)
        for evacuation in record.evacuations:
            self.evacuated[evacuation.id] = (record.step, evacuation.exit)
        for casualty in record.casualties:
            self.lost[casualty.id] = (record.step, casualty.cause)
        self.counts += (
            len(self.evacuated),
            len(self.lost),
            len(record.state.burning),
            len(record.ignitions),
            len(record.state.trapped),
        )

    def metrics(self, scenario: Scenario) -> Metrics:
        """Return every metric under its name."""
        people, evacuated, lost = len(scenario.people), len(self.evacuated), len(self.lost)
        causes = Counter(cause for _, cause in self.lost.values())
        outcomes = Counter(self.outcomes)
        steps = [step for step, _ in self.evacuated.values()]
        return {
            "people": people,
            "evacuated": evacuated,
            "casualties": lost,
            "casualties_entered_fire": causes[Cause.ENTERED_FIRE],
            "casualties_fire_spread": causes[Cause.FIRE_SPREAD],
            "unresolved": people - evacuated - lost,
            "trapped_at_end": len(self.state.trapped),
            "ever_trapped": len(self.ever_trapped),
            "steps": self.state.step,
            "person_steps": len(self.outcomes),
            **{outcome.value: outcomes[outcome] for outcome in Outcome},
            "burned_cells": len(self.state.burning),
            "last_evacuation_step": max(steps, default=None),
            "evacuation_rate": evacuated / people,
            "casualty_rate": lost / people,
            "mean_evacuation_step": sum(steps) / len(steps) if steps else None,
        }

    def people(self) -> list[dict[str, Any]]:
        """Return the artifact's `people` entries, by id."""
        return [
            {
                "id": person.id,
                "status": person.status.value,
                "position": list(person.position),
                "step": self._resolved(person.id)[0],
                "exit": self.evacuated[person.id][1] if person.status is Status.EVACUATED else None,
                "cause": self.lost[person.id][1].value
                if person.status is Status.CASUALTY
                else None,
            }
            for person in self.state.people
        ]

    def _resolved(self, person: str) -> tuple[int | None, str | None]:
        return self.evacuated.get(person) or self.lost.get(person) or (None, None)


def totals(sums: dict[str, int], rates: Iterable[float], episodes: int) -> Metrics:
    """Return a footer's `totals` from the sums of the metrics and every evacuation rate.

    Floats are one correctly rounded division each, so no order of summation shows in them.
    """
    return {
        **sums,
        "evacuation_rate": sums["evacuated"] / sums["people"] if episodes else None,
        "mean_episode_evacuation_rate": math.fsum(rates) / episodes if episodes else None,
    }
