"""Who will be where when: reservations in space and time, and the search around them.

Times are steps of the episode: time t is what an observation with `step` t shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from emberbench_dist.agents.fields import FAR, Field, distances, ways
from emberbench_dist.agents.forecast import Forecast
from emberbench_dist.contract.observation import GridMap, Observation
from emberbench_dist.simulator.grid import Cell, grid_of

# How far ahead plans are made in full, and when they are made anew. Beyond, only exits count.
WINDOW: Final = 12
REFRESH: Final = 6


class Plan(NamedTuple):
    """Where somebody will be at each time from `since` on, and when they mean to be out where."""

    since: int
    cells: Sequence[Cell]
    exit: Cell
    out: int

    def at(self, time: int) -> Cell | None:
        """Return the cell at a time; None beyond the plan."""
        index = time - self.since
        return self.cells[index] if index < len(self.cells) else None

    def holds(self, now: int, forecast: Forecast) -> bool:
        """Say whether all that is left of the plan is safe."""
        return all(
            forecast.is_safe(cell, steps - (cell == self.exit))
            for steps, cell in enumerate(self.cells[now - self.since :])
        )


_NOBODY = Plan(0, (), 0, 0)


class _OrderedWays(dict[Cell, tuple[Cell, ...]]):
    """For each cell its ways away from an exit, itself, and its ways to it, in this order.

    A search that looks at the last first goes on where it can, and waits where it cannot.
    """

    def __init__(self, world: GridMap, exit: Cell) -> None:
        """Start with no cell: a search looks at few."""
        super().__init__()
        self._beside, self._field = ways(world), distances(world, (), [exit])

    def __missing__(self, cell: Cell) -> tuple[Cell, ...]:
        field = self._field
        ordered = sorted((*self._beside[cell], cell), key=lambda near: (-field[near], near == cell))
        return self.setdefault(cell, tuple(ordered))


_ordered_ways = lru_cache(maxsize=64)(_OrderedWays)


class Timetable:
    """The reservations of one step."""

    def __init__(self, observation: Observation) -> None:
        """Start with nothing reserved."""
        self._world, self._now = observation.map, observation.step
        grid = grid_of(observation.map)
        self._exits, self._size = grid.exits, len(grid.terrain)
        self._ordered = {exit: _ordered_ways(self._world, exit) for exit in grid.exits}
        # No queue is longer than all cells, and no path.
        self.end = min(observation.rules.max_steps, self._now + 2 * self._size)
        self._taken: dict[int, Plan] = {}  # by time * size + cell
        # For each exit and number of steps from now the first number from then on at which
        # nobody leaves.
        steps = self.end - self._now
        self._slots = {exit: list(range(steps + 2)) for exit in grid.exits}
        self.waiting: set[Cell] = set()  # where people stand who have no plan yet

    def is_free(self, cell: Cell, time: int) -> bool:
        """Say whether nobody is planned to be at a cell."""
        return time * self._size + cell not in self._taken

    def reserve(self, plan: Plan) -> None:
        """Keep all others from where the plan is when, and from its exit when it is out."""
        for time, cell in enumerate(plan.cells, plan.since):
            self._taken[time * self._size + cell] = plan
        slots = self._slots[plan.exit]
        out = steps = plan.out - self._now
        while steps >= 0 and slots[steps] == out:
            slots[steps] = slots[out + 1]
            steps -= 1

    def block(self, cell: Cell, time: int) -> None:
        """Let nobody else be at a cell at a time."""
        self._taken.setdefault(time * self._size + cell, _NOBODY)

    def soonest(self, start: Cell, exit: Cell, field: Field) -> int:
        """Return when somebody could be out at best, by what `exit` has free; `FAR` for never."""
        steps = field[start]
        return self._now + self._slots[exit][steps] if self._now + steps <= self.end else FAR

    def search(
        self, start: Cell, exit: Cell, field: Field, forecast: Forecast, end: int
    ) -> Plan | None:
        """Return a plan to be out by `exit` soonest, by `end`; None if there is none.

        A* from now on: what counts is when a place leads out at best. Among equal places the one
        found last comes first, which walks up to a queue and then waits.
        """
        soonest = self.soonest(start, exit, field)
        if soonest > end:
            return None
        now, slots, size, latest = self._now, self._slots[exit], self._size, end - self._now
        first = now * size + start
        came = {first: first}
        buckets = {soonest - now: [first]}  # by steps until one is out
        for out in range(soonest - now, latest + 1):
            bucket = buckets.setdefault(out, [])
            while bucket:
                key = bucket.pop()
                cell = key % size
                if cell == exit or key >= (now + WINDOW) * size:
                    return Plan(now, self._traced(key, came), exit, now + out)
                arrival = key // size + 1 - now
                for near in self._moves(key, exit, field, forecast, came):
                    left = arrival + field[near]
                    if left <= latest and slots[left] <= latest:
                        came[key - cell + size + near] = key
                        later = buckets.setdefault(max(out, slots[left]), [])
                        later.append(key - cell + size + near)
        return None

    def _moves(
        self, key: int, exit: Cell, field: Field, forecast: Forecast, came: dict[int, int]
    ) -> Iterator[Cell]:
        """Yield where one can be next: new, not reserved, safe, and not in a circle of movers."""
        time, cell = divmod(key, self._size)
        now, ahead, taken = self._now, key - cell + self._size, self._taken
        safe = forecast.at(time + 1 - now)
        for near in self._ordered[exit][cell]:
            if ahead + near in came or ahead + near in taken:
                continue
            if near in self._exits:
                if near == exit and forecast.is_safe(near, time - now):
                    yield near
            elif safe[near >> 3] >> (near & 7) & 1 and (
                near == cell or self._gives_way(cell, near, time, field)
            ):
                yield near

    def _gives_way(self, cell: Cell, near: Cell, time: int, field: Field) -> bool:
        """Say whether who is at `near` will be gone, and not in a circle that ends at `cell`."""
        if time == self._now and near in self.waiting and field[near] >= field[cell]:
            return False  # they may find no way out of it; those before us in the queue do
        while near != cell:
            other = self._taken.get(time * self._size + near)
            onward = other and other.at(time + 1)
            if onward is None or onward == near:
                return True
            near = onward
        return False

    def _traced(self, key: int, came: dict[int, int]) -> list[Cell]:
        cells = [key % self._size]
        while came[key] != key:
            key = came[key]
            cells.append(key % self._size)
        cells.reverse()
        return cells
