"""How hard a scenario is, measured on its map and rules alone: nobody plays.

Everybody takes a shortest path, around walls and what burns at step 0, to the nearest exit; of
exits equally near to the first by id. An exit lets one person out a step. Two fires spread from
cell to cell: the *worst* that the rules allow, in `spread_interval` steps, and a *usual* one, in
`spread_interval * (1 + 1 / spread_probability) / 2`, halfway between the worst and the mean of a
single edge. A deterministic fire is both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from emberbench_dist.agents.fields import FAR, ways
from emberbench_dist.contract.scenario import Scenario
from emberbench_dist.simulator.grid import Cell, cells_of, grid_of

CLASSES: Final = ("easy", "medium", "hard")


@dataclass(frozen=True, slots=True)
class Difficulty:
    """What was measured, in steps and people."""

    shortest_evacuation: int | None
    """Steps of the longest of all shortest paths; None where somebody has no path."""
    exit_capacity: int | None
    """No plan gets everybody out in less steps; None where somebody has no path."""
    nearest_exits: int | None
    """Steps until all are out by their nearest exits; None where somebody has no path."""
    least_lead: int | None
    median_lead: int | None
    """Steps that somebody could wait and outrun the worst fire; None where none ever comes."""
    late: int
    """Number of people whom the usual fire gets if they first wait for their turn at the exit."""
    difficulty: str
    """`easy`, `medium` or `hard`: less than a quarter are late, less than a half, or more."""

    def to_dict(self) -> dict[str, Any]:
        """Return the form for programs."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def measure(scenario: Scenario) -> Difficulty:
    """Measure a scenario."""
    grid, rules = grid_of(scenario.map), scenario.rules
    starts = [grid.cell(person.position) for person in scenario.people]
    paths, chance = _Paths(scenario), rules.spread_probability
    distances = [paths.steps[cell] for cell in starts]
    outs = _turns([(paths.exit_of[cell], paths.steps[cell]) for cell in starts])
    spreads = _spreads(scenario)
    worst = leads = paths.leads(starts, _ignitions(spreads, rules.spread_interval))
    if chance:
        pace = rules.spread_interval * (1 + 1 / chance) / 2
        leads = paths.leads(starts, _ignitions(spreads, pace))
    late = sum(
        out > rules.max_steps or lead < out - steps
        for out, lead, steps in zip(outs, leads, distances, strict=True)
    )
    ordered = sorted(worst)
    return Difficulty(
        shortest_evacuation=_known(max(distances)),
        exit_capacity=_known(_least_steps(distances, len(paths.exits))),
        nearest_exits=_known(max(outs)),
        least_lead=_known(ordered[0]),
        median_lead=_known(ordered[(len(ordered) - 1) // 2]),
        late=late,
        difficulty=CLASSES[(4 * late >= len(starts)) + (2 * late >= len(starts))],
    )


def _known(steps: int) -> int | None:
    return steps if abs(steps) < FAR else None


class _Paths:
    """All shortest paths to the exits that do not burn at step 0: steps and exit of each cell."""

    def __init__(self, scenario: Scenario) -> None:
        grid = grid_of(scenario.map)
        self._beside = ways(scenario.map)
        burning = {grid.cell(position) for position in scenario.ignitions}
        self.exits = [cell for cell in grid.exits if cell not in burning]
        self.steps = steps = [FAR] * len(grid.terrain)
        self.exit_of = [-1] * len(grid.terrain)
        self._found = found = list(self.exits)  # by id: of equal exits the first is there first
        for exit in found:
            steps[exit], self.exit_of[exit] = 0, exit
        for cell in found:
            for near in self._beside[cell]:
                if steps[near] == FAR and near not in burning:
                    steps[near], self.exit_of[near] = steps[cell] + 1, self.exit_of[cell]
                    found.append(near)

    def leads(self, starts: Iterable[Cell], fire: Sequence[int]) -> list[int]:
        """Return for each start how many steps one could wait; less than 0 if it is too late.

        On the shortest path that leaves most, where cells ignite in the steps of `fire`.
        FAR, or more, where no fire comes; -FAR without a path.
        """
        steps, best = self.steps, [-FAR] * len(self.steps)
        for exit in self.exits:
            best[exit] = fire[exit]
        for cell in self._found:
            away, onward = steps[cell], best[cell]
            for near in self._beside[cell]:
                # Who goes on from `near` is so many steps from being out when it may ignite.
                if steps[near] > away and onward > best[near]:
                    best[near] = max(best[near], min(onward, fire[near] + away))
        return [best[cell] - (steps[cell] if abs(best[cell]) < FAR else 0) for cell in starts]


def _spreads(scenario: Scenario) -> Sequence[int]:
    """Return for each cell how many cells fire has to come to reach it; 0 is what burns at first.

    FAR is for never: walls, exits that do not burn, and what no fire reaches, as with a spread
    probability of 0.
    """
    grid, beside, rules = grid_of(scenario.map), ways(scenario.map), scenario.rules
    spreads = [FAR] * len(grid.terrain)
    found = [grid.cell(position) for position in scenario.ignitions]
    for cell in found:
        spreads[cell] = 0
    if rules.spread_probability == 0:
        return spreads
    fireproof = set() if rules.exits_flammable else set(cells_of(grid.exit_cells))
    for cell in found:
        for near in beside[cell]:
            if spreads[near] == FAR and near not in fireproof:
                spreads[near] = spreads[cell] + 1
                found.append(near)
    return spreads


def _ignitions(spreads: Sequence[int], pace: float) -> Sequence[int]:
    """Return the step in which each cell ignites, if fire takes `pace` steps to the next one."""
    pace = min(pace, FAR)
    return [FAR if number * pace >= FAR else int(number * pace) for number in spreads]


def _turns(people: Sequence[tuple[Cell, int]]) -> list[int]:
    """Return when each is out, of (exit, distance): the nearest first, then by id."""
    last: dict[Cell, int] = {}
    outs = [FAR] * len(people)
    for index in sorted(range(len(people)), key=lambda index: people[index][1]):
        exit, steps = people[index]
        if steps < FAR:
            outs[index] = last[exit] = max(steps, last.get(exit, 0) + 1)
    return outs


def _least_steps(distances: Iterable[int], exits: int) -> int:
    """Return when all are out if every exit were the nearest of everybody."""
    outs: list[int] = []
    for steps in sorted(distances):
        outs.append(max(steps, outs[-exits] + 1 if len(outs) >= exits > 0 else 0))
    return outs[-1]
