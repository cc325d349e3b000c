"""`reserve`: everybody plans in space and time, around what others have reserved."""

from __future__ import annotations

from itertools import islice
from operator import itemgetter
from typing import Final

from emberbench_dist.agents.fields import ExitFields, Field, standing, step_between, ways
from emberbench_dist.agents.forecast import Outlook
from emberbench_dist.agents.paths import SafePaths, along
from emberbench_dist.agents.timetable import REFRESH, WINDOW, Plan, Timetable
from emberbench_dist.contract.actions import Action
from emberbench_dist.contract.observation import GridMap, Observation
from emberbench_dist.simulator.grid import Cell, grid_of

_TRIED: Final = 2  # exits to search for a way to; who is refused at the best two tries again later


class Reserve:
    """Everybody, the nearest to an exit first, reserves a way out in space and time.

    A plan is safe in the forecast of the fire: the worst case, or, for whom that leaves no plan, a
    slower fire. It waits for others, and neither meets nor swaps with them. Plans are kept while
    they hold. Who has none steps aside for those who have.
    """

    def __init__(self) -> None:
        """Start without plans."""
        self._plans: dict[str, tuple[int, Plan]] = {}  # with the level of the forecast
        self._fields = ExitFields()

    def act(self, observation: Observation) -> dict[str, Action]:
        """Return each person's next step."""
        grid, places = grid_of(observation.map), standing(observation)
        table = self._plan(observation, places)
        now = observation.step
        targets = {
            person: plan.cells[now + 1 - plan.since] for person, (_, plan) in self._plans.items()
        }
        idle = {person: cell for person, cell in places.items() if person not in self._plans}
        for cell in (*idle.values(), *map(grid.cell, observation.burning)) if idle else ():
            table.block(cell, now)
        for person, cell in idle.items():
            targets[person] = _aside(observation.map, table, cell, now)
            table.block(targets[person], now + 1)
        return {
            person: step_between(grid, cell, targets[person]) for person, cell in places.items()
        }

    def _plan(self, observation: Observation, places: dict[str, Cell]) -> Timetable:
        """Keep the plans that hold, and make those that are missing."""
        outlook, table = Outlook(observation), Timetable(observation)
        self._plans = self._kept(observation, outlook, places)
        for _, plan in self._plans.values():
            table.reserve(plan)
        missing = {person: cell for person, cell in places.items() if person not in self._plans}
        if not missing:
            return table
        fields = self._fields.follow(observation)
        nearest = fields.to(*fields.exits)
        routes = _Routes(observation.map, fields, outlook)
        table.waiting.update(missing.values())
        for person, cell in sorted(missing.items(), key=lambda item: nearest[item[1]]):
            table.waiting.remove(cell)
            found = _soonest(table, routes, cell)
            if found:
                self._plans[person] = found
                table.reserve(found[1])
        return table

    def _kept(
        self, observation: Observation, outlook: Outlook, places: dict[str, Cell]
    ) -> dict[str, tuple[int, Plan]]:
        """Return the plans that went as planned and are still safe; none every few steps."""
        now = observation.step
        if now % REFRESH == 0:
            return {}
        return {
            person: (level, plan)
            for person, (level, plan) in self._plans.items()
            if person in places
            and plan.at(now) == places[person]
            and plan.at(now + 1) is not None
            and plan.holds(now, outlook[level])
        }


class _Routes:
    """The ways of a step that somebody may plan along: straight to an exit, or around the fire."""

    def __init__(self, world: GridMap, fields: ExitFields, outlook: Outlook) -> None:
        self._world, self._fields, self.outlook = world, fields, outlook
        self._paths: dict[tuple[int, tuple[Cell, ...]], SafePaths] = {}

    def best(self, table: Timetable, cell: Cell, level: int) -> list[tuple[int, Cell, Field]]:
        """Return when one could be out at best, by which exits, with the distances to them.

        These are the best ways that are safe at a level; exits are looked at in turn, since most
        people need no more than the first.
        """
        fields, exits = self._fields, self._fields.exits
        ranked = sorted((table.soonest(cell, exit, fields.to(exit)), exit) for exit in exits)
        straight = (
            (out, exit, fields.to(exit))
            for out, exit in ranked
            if self._safe(level, exit).straight(cell) is not None
        )
        found = list(islice(straight, _TRIED))
        nearest = self._safe(level, *exits)
        if nearest.straight(cell) is None:
            path = nearest.around(cell)
            if self._safe(level, path[-1]).straight(cell) is None:
                field = along(self._world, path, WINDOW)
                found.append((table.soonest(cell, path[-1], field), path[-1], field))
        return sorted(found, key=itemgetter(0, 1))[:_TRIED]

    def _safe(self, level: int, *exits: Cell) -> SafePaths:
        key = level, exits
        if key not in self._paths:
            field, forecast = self._fields.to(*exits), self.outlook[level]
            self._paths[key] = SafePaths(self._world, field, forecast)
        return self._paths[key]


def _soonest(table: Timetable, routes: _Routes, cell: Cell) -> tuple[int, Plan] | None:
    """Return the soonest plan by one of the best ways, in the first forecast that has any."""
    for level in routes.outlook.hopeful(cell):
        best, end = None, table.end
        for out, exit, field in routes.best(table, cell, level):
            if out <= end:
                plan = table.search(cell, exit, field, routes.outlook[level], end)
                if plan:
                    best, end = plan, plan.out - 1
        if best:
            return level, best
    return None


def _aside(world: GridMap, table: Timetable, cell: Cell, now: int) -> Cell:
    """Return where to go without a plan: nowhere, unless somebody else is to come here."""
    if table.is_free(cell, now + 1):
        return cell
    free = (n for n in ways(world)[cell] if table.is_free(n, now) and table.is_free(n, now + 1))
    return next(free, cell)
