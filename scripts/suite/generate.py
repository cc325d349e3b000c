"""A place of a family becomes a scenario: exits, people and fire are put where they matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from itertools import chain
from typing import Any

from emberbench_dist.authoring.difficulty import measure
from emberbench_dist.authoring.drawing import document
from emberbench_dist.authoring.draws import Draws
from emberbench_dist.authoring.placement import regions
from emberbench_dist.contract.document import Position
from emberbench_dist.contract.observation import Rules
from emberbench_dist.contract.scenario import Scenario, parse_scenario
from emberbench_dist.errors import MapError
from emberbench_dist.simulator.grid import board, flood, grid_of
from suite.canvas import Canvas
from suite.families import FAMILIES

SMALLEST, LARGEST = 16, 256
_PROBABILITIES = 0.3, 0.4, 0.5, 0.6
# So many choices of fire are tried, and the one is kept for which the share of people who are
# late is nearest to this.
_FIRES = 6
_LATE = 2, 5
_REFUSED = 200  # draws that would close somebody's every path, until every cell is tried
_KEPT_CLEAR = 2  # cells around each person where no fire starts


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is wanted; None is chosen by size or by seed, and so is every rule not named."""

    family: str
    size: int
    seed: int = 0
    people: int | None = None
    exits: int | None = None
    ignitions: int | None = None
    rules: dict[str, Any] = field(default_factory=dict)
    name: str | None = None

    def draws(self, what: str) -> Draws:
        """Return the stream of one kind of choice."""
        return Draws(self.seed, f"suite/{self.family}/{self.size}/{what}")


def generate(wish: Wish) -> Scenario:
    """Return the scenario of a wish, in which everybody has a path to an exit at step 0.

    `MapError` where the size is out of bounds, or there is no room for what is wanted.
    """
    _check(wish)
    size = wish.size
    canvas = FAMILIES[wish.family].draw(size, wish.draws("map"))
    region = _keep_largest(canvas)
    exits = _exits(canvas, wish)
    people = _people(canvas, region, wish)
    for symbol, cells in (("E", exits), ("P", people)):
        for row, col in cells:
            canvas[row][col] = symbol
    scenario = parse_scenario(
        document(
            ["".join(row).replace(":", ".") for row in canvas],
            _rules(wish),
            scenario_id=wish.name or f"{wish.family}-{wish.seed}-{size}x{size}",
            description=f"{FAMILIES[wish.family].about}, generated with seed {wish.seed}.",
            seed=wish.seed,
        ),
        source=wish.family,
    )
    return _limited(_ignited(scenario, region, wish), wish)


def _check(wish: Wish) -> None:
    if wish.family not in FAMILIES:
        raise MapError(f"there is no family {wish.family!r}; there are {', '.join(FAMILIES)}")
    if not SMALLEST <= wish.size <= LARGEST:
        raise MapError(f"a size is from {SMALLEST} to {LARGEST}, not {wish.size}")
    for what, number, least in (
        ("people", wish.people, 1),
        ("exits", wish.exits, 1),
        ("ignitions", wish.ignitions, 0),
    ):
        if number is not None and number < least:
            raise MapError(f"{what} must be {least} or more, not {number}")
    if wish.rules.get("fire_model") == "deterministic" and "spread_probability" in wish.rules:
        raise MapError("a deterministic fire has no probability")


def _keep_largest(canvas: Canvas) -> list[Position]:
    """Wall up every part of the floor but the largest; return its cells, row-major."""
    floor = ["".join(row).replace(":", ".") for row in canvas]
    largest, *others = sorted(regions(floor), key=len, reverse=True)
    for part in others:
        for row, col in part:
            canvas[row][col] = "#"
    return largest


def _exits(canvas: Canvas, wish: Wish) -> list[Position]:
    """Draw exits in the outer wall, apart from each other where that can be."""
    number = 3 + wish.size // 48 if wish.exits is None else wish.exits
    usable = _doors(canvas, ".")
    if len(usable) < 4 * number:
        usable = _doors(canvas, ".:")
    _require(len(usable), number, "exits", "cells of the outer wall beside the floor")
    order = wish.draws("exits").some_of(usable, len(usable))
    chosen: list[Position] = []
    apart = wish.size
    while len(chosen) < number:
        for cell in order:
            if len(chosen) < number and all(_distance(cell, other) >= apart for other in chosen):
                chosen.append(cell)
        apart //= 2
    return chosen


def _doors(canvas: Canvas, floor: str) -> list[Position]:
    """Return the cells of the outer wall with such floor behind them."""
    last = len(canvas) - 1
    inside = range(1, last)
    return [
        *((0, col) for col in inside if canvas[1][col] in floor),
        *((row, 0) for row in inside if canvas[row][1] in floor),
        *((row, last) for row in inside if canvas[row][last - 1] in floor),
        *((last, col) for col in inside if canvas[last - 1][col] in floor),
    ]


def _people(canvas: Canvas, region: Sequence[Position], wish: Wish) -> list[Position]:
    """Draw people: half of them anywhere, half in groups."""
    number = wish.size * 3 // 2 if wish.people is None else wish.people
    usable = [(row, col) for row, col in region if canvas[row][col] == ":"]
    _require(len(usable), number, "people", "cells for people")
    draws = wish.draws("people")
    chosen = draws.some_of(usable, number - number // 2)
    left = set(usable).difference(chosen)
    groups = 1 + number // 40
    for group in range(groups):
        count = number // 2 * (group + 1) // groups - number // 2 * group // groups
        centre = draws.one_of(usable)
        near = nsmallest(2 * count, left, key=lambda cell: (_distance(cell, centre), cell))
        members = draws.some_of(near, count)
        chosen += members
        left.difference_update(members)
    return chosen


def _rules(wish: Wish) -> Rules:
    """Draw every rule, so that one that is given changes no other."""
    draws = wish.draws("rules")
    drawn: dict[str, Any] = {
        "fire_model": draws.one_of(("stochastic", "stochastic", "stochastic", "deterministic")),
        "spread_interval": draws.one_of((1, 1, 2)),
        "spread_probability": draws.one_of(_PROBABILITIES),
        "exits_flammable": draws.one_of((False, True)),
        "enter_fire": draws.one_of(("blocked", "casualty")),
        "conflict_resolution": "lowest_id_wins",
        "max_steps": wish.size * wish.size,
    }
    if "spread_probability" in wish.rules:
        drawn["fire_model"] = "stochastic"
    drawn |= wish.rules
    if drawn["fire_model"] == "deterministic":
        drawn["spread_probability"] = None
    return Rules(**drawn)


def _ignited(scenario: Scenario, region: Sequence[Position], wish: Wish) -> Scenario:
    """Put fire near the exits, where it makes some people late, but not all."""
    number = 2 + wish.size // 32 if wish.ignitions is None else wish.ignitions
    people = [person.position for person in scenario.people]
    clear = {
        (row + down, col + right)
        for row, col in people
        for down in range(-_KEPT_CLEAR, _KEPT_CLEAR + 1)
        for right in range(-_KEPT_CLEAR, _KEPT_CLEAR + 1)
    }
    exits = [exit.position for exit in scenario.map.exits]
    free = sorted(set(region).difference(people))
    usable = [
        cell
        for cell in free
        if cell not in clear and min(_distance(cell, exit) for exit in exits) < wish.size // 3
    ]
    if len(usable) < 2 * number:
        usable = free
    _require(len(usable), number, "ignitions", "cells without anybody")
    draws = wish.draws("ignitions")
    tried = [
        replace(scenario, ignitions=_fires(scenario, number, usable, free, draws))
        for _ in range(_FIRES if number else 1)
    ]
    return min(tried, key=lambda item: abs(_LATE[1] * measure(item).late - _LATE[0] * len(people)))


def _fires(
    scenario: Scenario,
    number: int,
    usable: Sequence[Position],
    free: Sequence[Position],
    draws: Draws,
) -> tuple[Position, ...]:
    """Draw usable cells that may burn while everybody keeps a path, else take any that are free."""
    grid = grid_of(scenario.map)
    people = board(grid.cell(person.position) for person in scenario.people)
    chosen: list[Position] = []
    floor = grid.open_cells
    drawn = (draws.one_of(usable) for _ in range(_REFUSED + number))
    candidates = chain(drawn, free)
    while len(chosen) < number:
        fire = next(candidates, None)
        if fire is None:
            raise MapError(
                f"there is no room for {number} ignitions: more than {len(chosen)} leave "
                "somebody without a path"
            )
        left = floor & ~(1 << grid.cell(fire))
        if fire not in chosen and not people & ~flood(grid.exit_cells, left, grid):
            chosen.append(fire)
            floor = left
    return tuple(sorted(chosen))


def _limited(scenario: Scenario, wish: Wish) -> Scenario:
    """Give twice the time that everybody needs by the nearest exit, in tens of steps."""
    if "max_steps" in wish.rules:
        return scenario
    needed = measure(scenario).nearest_exits or 0
    rules = replace(scenario.rules, max_steps=20 + needed // 5 * 10)
    return replace(scenario, rules=rules)


def _distance(one: Position, other: Position) -> int:
    return abs(one[0] - other[0]) + abs(one[1] - other[1])


def _require(available: int, wanted: int, what: str, where: str) -> None:
    if available < wanted:
        raise MapError(f"there is no room for {wanted} {what}: there are {available} {where}")
