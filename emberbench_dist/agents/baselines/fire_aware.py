"""`fire-aware`: a shortest path over time, through a fire that goes on to spread."""

from __future__ import annotations

from collections.abc import Iterator

from emberbench_dist.agents.fields import FAR, ExitFields, Field, standing, step_between, ways
from emberbench_dist.agents.forecast import Forecast, Outlook, around
from emberbench_dist.contract.actions import Action
from emberbench_dist.contract.observation import GridMap, Observation
from emberbench_dist.simulator.grid import Cell, Grid, grid_of


class FireAware:
    """Everybody takes a path that the fire to come leaves open, and of those a shortest one.

    The forecast is exact for a deterministic fire, and the worst case for a stochastic one. Whom
    the worst case leaves no path hopes for a slower fire. Paths ignore other people; among equal
    steps the first of north, south, east, west is taken; who has no path at all stays.
    """

    def __init__(self) -> None:
        """Start without a map."""
        self._fields = ExitFields()

    def act(self, observation: Observation) -> dict[str, Action]:
        """Return each person's next step."""
        world, outlook = observation.map, Outlook(observation)
        fields = self._fields.follow(observation)
        nearest, paths = fields.to(*fields.exits), dict[int, _Paths]()

        def first_step(cell: Cell) -> Action:
            for level in outlook.hopeful(cell):
                if level not in paths:
                    paths[level] = _Paths(world, nearest, outlook[level])
                return paths[level].first_step(cell)
            return Action.STAY

        return {person: first_step(cell) for person, cell in standing(observation).items()}


class _Paths:
    """The safe paths of one forecast: where one exists that is as short as without fire, or not."""

    def __init__(self, world: GridMap, field: Field, forecast: Forecast) -> None:
        self._grid, self._beside = grid_of(world), ways(world)
        self._field, self._forecast = field, forecast
        # For a cell the last time from which going straight on is known to lead out, and the
        # first from which it is known not to.
        self._leads_out: dict[Cell, int] = {}
        self._leads_nowhere: dict[Cell, int] = {}

    def first_step(self, start: Cell) -> Action:
        near = self._straight(start)
        if near is not None:
            return step_between(self._grid, start, near)
        onto = _first_cells(self._grid, self._forecast, start)
        return next(
            action
            for action, offset in self._grid.offsets.items()
            if 1 << start & _moved(onto, -offset)
        )

    def _straight(self, start: Cell) -> Cell | None:
        """Return the first cell of the first safe path on which each step is nearer to an exit."""
        trail, branches = [start], [self._nearer(start)]
        while branches:
            time, cell = len(trail), next(branches[-1], None)
            if cell is None:
                branches.pop()
                self._leads_nowhere[trail.pop()] = time - 1
            elif self._is_known_to_lead_out(cell, time):
                for passed, on in enumerate(trail):
                    self._leads_out[on] = max(passed, self._leads_out.get(on, 0))
                return [*trail, cell][1]
            elif self._forecast.is_safe(cell, time) and time < self._leads_nowhere.get(cell, FAR):
                trail.append(cell)
                branches.append(self._nearer(cell))
        return None

    def _is_known_to_lead_out(self, cell: Cell, time: int) -> bool:
        if self._field[cell]:
            return time <= self._leads_out.get(cell, 0)
        return self._forecast.is_safe(cell, time - 1)

    def _nearer(self, cell: Cell) -> Iterator[Cell]:
        steps = self._field[cell] - 1
        return (near for near in self._beside[cell] if self._field[near] == steps)


def _moved(bits: int, offset: int) -> int:
    return bits << offset if offset > 0 else bits >> -offset


def _first_cells(grid: Grid, forecast: Forecast, start: Cell) -> int:
    """Return the bitboard of where shortest paths that are safe go first."""
    stride, exits = grid.stride, grid.exit_cells
    layers, left = [1 << start], grid.open_cells
    for time, frontier in enumerate(layers):
        left &= ~frontier
        near = around(frontier, stride)
        out = near & exits & forecast.safe[min(time, len(forecast.safe) - 1)]
        if out:
            break
        layers.append(near & left & forecast.safe[min(time + 1, len(forecast.safe) - 1)])
    for layer in reversed(layers[1:]):
        out = around(out, stride) & layer
    return out
