"""What planners know of a step: who stands where, how far exits are, where fire may be how soon."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from emberbench_dist.contract.actions import Action
from emberbench_dist.contract.document import Position
from emberbench_dist.contract.observation import GridMap, Observation, Status
from emberbench_dist.simulator.grid import Cell, Grid, board, cells_of, flood, grid_of

FAR: Final = 2**31  # the distance of what no path reaches

Field = Sequence[int]  # for each cell, its distance

# No forecast looks further ahead, in steps: it would take memory, and tell nobody anything new.
_FORESEEN: Final = 500

# Between the worst case, which may close every path, and a fire that stands still.
_PACES: Final = (1, 2, 4, FAR)


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


def distances(world: GridMap, burning: Iterable[Position], exits: Iterable[Cell]) -> Field:
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
    """The distances of one observation, around what burns now, each made when it is asked for."""

    def __init__(self, observation: Observation) -> None:
        """Start with none of them made."""
        self._world, self._burning = observation.map, observation.burning
        self.exits = tuple(grid_of(observation.map).exits)
        self._made: dict[tuple[Cell, ...], Field] = {}

    def to(self, *exits: Cell) -> Field:
        """Return each cell's distance to the nearest of these exits."""
        if exits not in self._made:
            self._made[exits] = distances(self._world, self._burning, exits)
        return self._made[exits]


class Forecast:
    """Where fire may be at each time to come, and where one may stand and still get out.

    `fire` and `safe` are bitboards by steps from now; the last one holds for all time after it.
    """

    def __init__(self, observation: Observation, pace: int) -> None:
        """Let every flammable neighbour of fire ignite, on every `pace`-th spread step."""
        rules = observation.rules
        self._grid = grid = grid_of(observation.map)
        self._fuel = grid.open_cells
        if not rules.exits_flammable:
            self._fuel &= ~grid.exit_cells
        self.fire = list(self._spread(observation, pace))
        self.safe = self._safe()
        size = len(grid.terrain) // 8 + 1
        self._flags = [bits.to_bytes(size, "little") for bits in self.safe]
        self._last = len(self._flags) - 1

    def is_safe(self, cell: Cell, steps: int) -> bool:
        """Say whether somebody at a cell so many steps from now can still get out.

        Others are ignored. An exit is safe as long as one can go there in the step after.
        """
        return bool(self.at(steps)[cell >> 3] >> (cell & 7) & 1)

    def at(self, steps: int) -> bytes:
        """Return which cells are safe so many steps from now, a bit each."""
        return self._flags[min(steps, self._last)]

    def _spread(self, seen: Observation, pace: int) -> Iterator[int]:
        """Yield the fire now and after each step, until it has nowhere to go."""
        stride, interval, spreads = self._grid.stride, seen.rules.spread_interval, 0
        fire = board(map(self._grid.cell, seen.burning))
        yield fire
        last = min(seen.rules.max_steps, seen.step + _FORESEEN) if pace < FAR else seen.step
        for step in range(seen.step + 1, last + 1):
            if step % interval == 0:
                spreads += 1
                if spreads % pace == 0:
                    ignited = around(fire, stride) & self._fuel & ~fire
                    if not ignited:
                        return
                    fire |= ignited
            yield fire

    def _safe(self) -> list[int]:
        """Go back in time from the end: safe is what leads to a safe cell, or out."""
        grid, safe = self._grid, []
        inside = grid.open_cells & ~self.fire[-1]
        after = flood(grid.exit_cells, inside, grid)
        for fire in reversed(self.fire):
            after |= grid.exit_cells & ~fire
            after = (after | around(after, grid.stride)) & grid.open_cells & ~fire
            safe.append(after)
        safe.reverse()
        return safe


class Outlook:
    """The forecasts of one observation, from the worst case to a fire that stands still.

    The first is exactly what a deterministic fire does, and then the only one.
    """

    def __init__(self, observation: Observation) -> None:
        """Start with none of them made."""
        self._observation = observation
        self._paces = _PACES[:1] if observation.rules.spread_probability is None else _PACES
        self._made: dict[int, Forecast] = {}

    def __getitem__(self, level: int) -> Forecast:
        """Return the forecast of a level; 0 is the worst case."""
        if level not in self._made:
            self._made[level] = Forecast(self._observation, self._paces[level])
        return self._made[level]

    def __len__(self) -> int:
        """Return the number of levels."""
        return len(self._paces)

    def hopeful(self, cell: Cell) -> Iterator[int]:
        """Yield the levels at which somebody at a cell can get out, if nobody is in the way."""
        return (level for level in range(len(self)) if self[level].is_safe(cell, 0))


def around(bits: int, stride: int) -> int:
    """Return the neighbours of a bitboard's cells; some may be walls or boundary."""
    return bits << 1 | bits >> 1 | bits << stride | bits >> stride
