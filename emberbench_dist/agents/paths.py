"""Shortest paths that the fire to come leaves open, for people one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from emberbench_dist.agents.fields import FAR, Field, nearest_first, ways
from emberbench_dist.agents.forecast import Forecast, around
from emberbench_dist.contract.observation import GridMap
from emberbench_dist.simulator.grid import Cell, board, grid_of

# A way that this many cells for each step of it do not settle is searched by bitboards.
PATIENCE: Final = 2


class SafePaths:
    """The paths that are safe in a forecast: straight to some exits, or around the fire to any.

    Others are ignored; among equal steps the first of north, south, east, west is taken.
    """

    def __init__(self, world: GridMap, field: Field, forecast: Forecast) -> None:
        """Start with nothing looked at; `field` has the distances to the exits."""
        self._grid, self._beside = grid_of(world), ways(world)
        self._field, self._forecast = field, forecast
        self._exits = [exit for exit in self._grid.exits if not field[exit]]
        # For a cell the last time from which going straight on is known to lead out, and the
        # first from which it is known not to.
        self._leads_out: dict[Cell, int] = {}
        self._leads_nowhere: dict[Cell, int] = {}

    def straight(self, start: Cell) -> Cell | None:
        """Return the first cell of a safe path on which each step is nearer to an exit."""
        steps = self._field[start]
        if steps == FAR or not any(self._forecast.is_safe(exit, steps - 1) for exit in self._exits):
            return None
        trail, branches = [start], [self._nearer(start)]
        for _ in range(PATIENCE * steps):
            time, cell = len(trail), next(branches[-1], None)
            if cell is None:
                branches.pop()
                self._leads_nowhere[trail.pop()] = time - 1
                if not trail:
                    return None
            elif self._is_known_to_lead_out(cell, time):
                for passed, on in enumerate(trail):
                    self._leads_out[on] = max(passed, self._leads_out.get(on, 0))
                return [*trail, cell][1]
            elif self._forecast.is_safe(cell, time) and time < self._leads_nowhere.get(cell, FAR):
                trail.append(cell)
                branches.append(self._nearer(cell))
        layers = self._layers(start, board(self._exits), steps)
        return next((near for near in self._beside[start] if layers[0] >> near & 1), None)

    def _is_known_to_lead_out(self, cell: Cell, time: int) -> bool:
        if self._field[cell]:
            return time <= self._leads_out.get(cell, 0)
        return self._forecast.is_safe(cell, time - 1)

    def _nearer(self, cell: Cell) -> Iterator[Cell]:
        steps = self._field[cell] - 1
        return (near for near in self._beside[cell] if self._field[near] == steps)

    def around(self, start: Cell) -> Sequence[Cell]:
        """Return a shortest safe path from a safe cell to any exit."""
        path = [start]
        for layer in self._layers(start, self._grid.exit_cells, FAR):
            path.append(next(near for near in self._beside[path[-1]] if layer >> near & 1))
        return path

    def _layers(self, start: Cell, exits: int, most: int) -> list[int]:
        """Return where the shortest safe paths are after each step, as bitboards.

        They are of no more than `most` steps; where that is too few all are empty.
        """
        grid, safe = self._grid, self._forecast.safe
        layers, left, last = [1 << start], grid.open_cells, len(safe) - 1
        for time, frontier in enumerate(layers):
            left &= ~frontier
            near = around(frontier, grid.stride)
            out = near & exits & safe[min(time, last)]
            if out or time + 1 == most:
                break
            layers.append(near & left & safe[min(time + 1, last)])
        found = [out]
        for layer in reversed(layers[1:]):
            found.append(around(found[-1], grid.stride) & layer)
        return found[::-1]


def along(world: GridMap, path: Sequence[Cell], reach: int) -> Field:
    """Return the distance to the end of a path by way of it, for cells near its beginning."""
    beside, last = ways(world), len(path) - 1
    field = [FAR] * len(beside)
    for steps, cell in enumerate(reversed(path)):
        field[cell] = steps
    found = {steps: [path[last - steps]] for steps in range(max(0, last - 2 * reach), last + 1)}
    for steps, cell in nearest_first(found):
        if steps < last + reach:
            for near in beside[cell]:
                if steps + 1 < field[near]:
                    field[near] = steps + 1
                    found.setdefault(steps + 1, []).append(near)
    return field
