"""What planners know of a step: who stands where, and how far the exits are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, count, islice
from typing import Final, Self

from emberbench_dist.contract.actions import Action
from emberbench_dist.contract.document import Position
from emberbench_dist.contract.observation import GridMap, Observation, Status
from emberbench_dist.simulator.grid import Cell, Grid, cells_of, grid_of

FAR: Final = 2**31  # the distance of what no path reaches

Field = Sequence[int]  # for each cell, its distance


def standing(observation: Observation) -> dict[str, Cell]:
    """Return the cell of each active person, by id in order."""
    stride, active = grid_of(observation.map).stride, Status.ACTIVE
    return {
        person.id: person.position[0] * stride + person.position[1]
        for person in observation.people
        if person.status is active
    }


@lru_cache(maxsize=16)
def ways(world: GridMap) -> Sequence[tuple[Cell, ...]]:
    """Return for each cell the open cells beside it: north, south, east, west."""
    grid = grid_of(world)
    offsets = [offset for offset in grid.offsets.values() if offset]
    inside = set(cells_of(grid.open_cells))
    return [
        tuple([cell + offset for offset in offsets if cell + offset in inside])
        if cell in inside
        else ()
        for cell in range(len(grid.terrain))
    ]


def step_between(grid: Grid, cell: Cell, near: Cell) -> Action:
    """Return the action that leads from a cell to one beside it, or to itself."""
    return next(action for action, offset in grid.offsets.items() if cell + offset == near)


def distances(world: GridMap, burning: Iterable[Position], exits: Iterable[Cell]) -> list[int]:
    """Return each cell's steps to the nearest of `exits`, around walls and `burning`, or `FAR`."""
    grid, beside = grid_of(world), ways(world)
    field = [-1] * len(grid.terrain)
    for position in burning:
        field[grid.cell(position)] = FAR
    found = [cell for cell in exits if field[cell] < 0]
    for cell in found:
        field[cell] = 0
    for cell in found:
        beyond = field[cell] + 1
        for near in beside[cell]:
            if field[near] < 0:
                field[near] = beyond
                found.append(near)
    return [FAR if steps < 0 else steps for steps in field]


class ExitFields:
    """The distances around what burns, each made when it is asked for, and kept up to date."""

    def __init__(self) -> None:
        """Start without a map."""
        self._world: GridMap | None = None
        self._seen: Sequence[Position] = ()
        self._burnt: dict[Cell, None] = {}  # in the order in which it was seen
        self._made: dict[tuple[Cell, ...], tuple[list[int], int]] = {}  # with how much has burnt
        self.exits: tuple[Cell, ...] = ()

    def follow(self, observation: Observation) -> Self:
        """Go on to another observation, of which mostly the fire has grown a little."""
        world, burning = observation.map, observation.burning
        if world is self._world and burning is self._seen:
            return self
        grid = grid_of(world)
        cells = dict.fromkeys(map(grid.cell, burning))
        if world != self._world or not self._burnt.keys() <= cells.keys():
            self._made, self._burnt = {}, {}
        self._world, self._seen, self.exits = world, burning, tuple(grid.exits)
        self._burnt |= cells
        return self

    def to(self, *exits: Cell) -> Field:
        """Return each cell's distance to the nearest of these exits."""
        assert self._world is not None
        if exits not in self._made:
            field, known = distances(self._world, self._seen, exits), len(self._burnt)
        else:
            field, known = self._made[exits]
        if known < len(self._burnt):
            raise_distances(field, ways(self._world), set(islice(self._burnt, known, None)))
        self._made[exits] = field, len(self._burnt)
        return field


def raise_distances(
    field: list[int], beside: Sequence[Sequence[Cell]], closed: Collection[Cell]
) -> None:
    """Change distances to what they are when some more cells are closed.

    Looks only at cells that are reached through these alone, then finds a way around for them.
    """
    lost = _lose(field, beside, closed).difference(closed)
    found: defaultdict[int, list[Cell]] = defaultdict(list)
    rim = [(1 + min([field[near] for near in beside[cell]]), cell) for cell in lost]
    for steps, cell in rim:
        if steps < FAR:
            field[cell] = steps
            found[steps].append(cell)
    for steps, cell in nearest_first(found):
        if field[cell] == steps:
            for near in beside[cell]:
                if field[near] > steps + 1 and near in lost:
                    field[near] = steps + 1
                    found[steps + 1].append(near)


def _lose(
    field: list[int], beside: Sequence[Sequence[Cell]], closed: Collection[Cell]
) -> set[Cell]:
    """Return the cells with no way left that is as short as it was; they are at `FAR` now."""
    lost: defaultdict[int, list[Cell]] = defaultdict(list)
    for cell in closed:
        lost[field[cell]].append(cell)
        field[cell] = FAR
    lost.pop(FAR, None)
    gone = set(chain.from_iterable(lost.values()))
    for steps, cell in nearest_first(lost):
        for near in beside[cell]:
            if field[near] == steps + 1 and steps not in [field[on] for on in beside[near]]:
                field[near] = FAR
                lost[steps + 1].append(near)
                gone.add(near)
    return gone


def nearest_first(cells: dict[int, list[Cell]]) -> Iterator[tuple[int, Cell]]:
    """Take out and yield cells by distance, with those that are added meanwhile, not nearer."""
    for steps in count(min(cells, default=0)):
        if not cells:
            return
        for cell in cells.get(steps, ()):
            yield steps, cell
        cells.pop(steps, None)
