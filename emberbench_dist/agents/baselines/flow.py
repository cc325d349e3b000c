"""`flow`: people are assigned to exits by what the exits can take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count

from emberbench_dist.agents.fields import FAR, ExitFields, Field, standing, step_between, ways
from emberbench_dist.contract.actions import Action
from emberbench_dist.contract.observation import GridMap, Observation
from emberbench_dist.simulator.grid import Cell, grid_of


class Flow:
    """Everybody, the nearest first, is assigned to the exit at which they can be out soonest.

    An exit lets one person out a step, so a queue counts as much as a distance. Then everybody
    takes a shortest path to that exit around what burns now. Who would walk into each other
    exchange their exits; who has no path stays.
    """

    def __init__(self) -> None:
        """Start without a map."""
        self._fields = ExitFields()

    def act(self, observation: Observation) -> dict[str, Action]:
        """Return each person's next step."""
        world, grid = observation.map, grid_of(observation.map)
        places = standing(observation)
        goals = _assign(self._fields.follow(observation), places.values())
        targets = {cell: _nearer(world, cell, field) for cell, field in goals.items()}
        # Each exchange makes both ways a step shorter, so that this ends.
        for cell in _meeting(targets):
            other = targets[cell]
            goals[cell], goals[other] = goals[other], goals[cell]
            for moved in (cell, other):
                targets[moved] = _nearer(world, moved, goals[moved])
        return {
            person: step_between(grid, cell, targets.get(cell, cell))
            for person, cell in places.items()
        }


def _assign(fields: ExitFields, cells: Iterable[Cell]) -> dict[Cell, Field]:
    """Return the distances to the exit of each cell with a path to any."""
    nearest, goals = fields.to(*fields.exits), {}
    taken: dict[Cell, set[int]] = {exit: set() for exit in fields.exits}
    for cell in sorted(cells, key=nearest.__getitem__):
        if nearest[cell] < FAR:
            out, exit = min(
                (_free_from(taken[exit], fields.to(exit)[cell]), exit) for exit in fields.exits
            )
            taken[exit].add(out)
            goals[cell] = fields.to(exit)
    return goals


def _free_from(taken: set[int], time: int) -> int:
    return next(later for later in count(time) if later not in taken)


def _nearer(world: GridMap, cell: Cell, field: Field) -> Cell:
    return min(ways(world)[cell], key=field.__getitem__)


def _meeting(targets: dict[Cell, Cell]) -> Iterator[Cell]:
    """Yield cells whose people would walk into each other, until there are none."""
    todo = list(targets)
    for cell in todo:
        other = targets[cell]
        if targets.get(other) == cell:
            yield cell
            todo += (cell, other)
