"""Exits, people and fire on a map that has none: chosen by rule and by seed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from emberbench_dist.authoring.drawing import EXIT, FIRE, FLOOR, PERSON
from emberbench_dist.authoring.draws import Draws
from emberbench_dist.contract.document import Position
from emberbench_dist.errors import MapError

_EXITS, _PEOPLE = 4, 20


@dataclass(frozen=True, slots=True)
class Placement:
    """What was placed, row-major, and where: on one connected part of the floor."""

    exits: tuple[Position, ...]
    people: tuple[Position, ...]
    ignitions: tuple[Position, ...]
    region: int
    """Number of cells of that part."""
    left_out: int
    """Number of starts that are not on it, or had to become exits."""

    def drawn_on(self, rows: Sequence[str]) -> list[str]:
        """Return the rows of a map with all of it."""
        cells = [list(row) for row in rows]
        for symbol, positions in (
            (EXIT, self.exits),
            (PERSON, self.people),
            (FIRE, self.ignitions),
        ):
            for row, col in positions:
                cells[row][col] = symbol
        return ["".join(line) for line in cells]


def place(
    rows: Sequence[str],
    *,
    seed: int,
    exits: int | None = None,
    people: int | None = None,
    ignitions: int | None = None,
    starts: Sequence[Position] = (),
) -> Placement:
    """Place exits, people and fire on the floor of a map, with a path to an exit for everybody.

    All is on the connected part of the floor with the most starts, then the most cells. Exits are
    on its rim, far from each other, and not on a start where that can be. People stand on the
    first of the `starts`, or are drawn by `seed`; fire is drawn from what is left. None is 4 exits,
    all starts or 20 people and 1 ignition, less on a small map. `MapError` where there is no room.
    """
    wanted = set(starts)
    region = max(regions(rows), key=lambda part: (len(wanted.intersection(part)), len(part)))
    number = max(1, min(_EXITS, len(region) // 8)) if exits is None else exits
    doors = _spread(_rim(region, wanted, number), number, Draws(seed, "authoring/exits"))
    inside = set(region).difference(doors)
    reached = [start for start in starts if start in inside]
    if wanted:
        persons = _first(reached, people)
    else:
        crowd = max(1, min(_PEOPLE, len(region) // 4)) if people is None else people
        persons = _drawn(inside, crowd, Draws(seed, "authoring/people"), "people")
    left = inside.difference(persons)
    burning = min(1, len(left)) if ignitions is None else ignitions
    fires = _drawn(left, burning, Draws(seed, "authoring/ignitions"), "ignitions")
    return Placement(
        exits=tuple(sorted(doors)),
        people=tuple(sorted(persons)),
        ignitions=tuple(sorted(fires)),
        region=len(region),
        left_out=len(wanted) - len(reached),
    )


def regions(rows: Sequence[str]) -> Iterator[list[Position]]:
    """Yield the connected parts of the floor, each row-major; `MapError` where there is none."""
    stride = len(rows[0]) + 1
    # One wall right of each row and a row of walls below: from there a step off the grid returns.
    free = bytearray(symbol == FLOOR for row in rows for symbol in f"{row} ") + bytearray(stride)
    first = free.find(1)
    if first < 0:
        raise MapError("the map has no floor")
    while first >= 0:
        free[first] = 0
        found = [first]
        for cell in found:
            for near in (cell - stride, cell - 1, cell + 1, cell + stride):
                if free[near]:
                    free[near] = 0
                    found.append(near)
        yield [divmod(cell, stride) for cell in sorted(found)]
        first = free.find(1, first)


def _rim(region: Sequence[Position], taken: Collection[Position], least: int) -> list[Position]:
    """Return the cells nearest to the edges of a region's bounding box, at least so many."""
    top, bottom = region[0][0], region[-1][0]
    left, right = min(col for _, col in region), max(col for _, col in region)

    def depth(position: Position) -> int:
        row, col = position
        return min(row - top, bottom - row, col - left, right - col)

    everywhere = sorted((depth(cell), cell) for cell in region)
    free = [found for found in everywhere if found[1] not in taken]
    usable = free if len(free) >= least else everywhere
    _require(len(usable), least, "exits", "cells in the largest part of the floor")
    deepest = usable[least - 1][0]
    return [cell for how_deep, cell in usable if how_deep <= deepest]


def _spread(cells: Sequence[Position], number: int, draws: Draws) -> list[Position]:
    """Choose one cell by chance, then each time the one farthest from those before."""
    chosen = [draws.one_of(cells)]
    apart = [_distance(cell, chosen[0]) for cell in cells]
    while len(chosen) < number:
        chosen.append(cells[apart.index(max(apart))])
        apart = [
            min(far, _distance(cell, chosen[-1])) for far, cell in zip(apart, cells, strict=True)
        ]
    return chosen


def _distance(one: Position, other: Position) -> int:
    return abs(one[0] - other[0]) + abs(one[1] - other[1])


def _first(starts: list[Position], number: int | None) -> list[Position]:
    if number is None:
        number = max(1, len(starts))
    _require(len(starts), number, "people", "starts with a path to an exit")
    return starts[:number]


def _drawn(free: Collection[Position], number: int, draws: Draws, what: str) -> list[Position]:
    """Draw some of the free cells, each as likely as any other."""
    _require(len(free), number, what, "free cells with a path to an exit")
    return draws.some_of(sorted(free), number)


def _require(available: int, wanted: int, what: str, where: str) -> None:
    if available < wanted:
        raise MapError(f"there is no room for {wanted} {what}: there are {available} {where}")
