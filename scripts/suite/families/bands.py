"""Corridors side by side, each between two rows of rooms: an office, a mall."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from emberbench_dist.authoring.draws import Draws
from suite.canvas import Canvas, enclosed, paint


@dataclass(frozen=True, slots=True, kw_only=True)
class Bands:
    """The measures, in cells."""

    corridor: int
    depth: int
    narrowest: int
    widest: int
    door: int
    crossings: int


@dataclass(frozen=True, slots=True)
class Room:
    """The floor of one room, first and last row and column, and its wall to the corridor."""

    top: int
    bottom: int
    left: int
    right: int
    front: int


def office(size: int, draws: Draws) -> Canvas:
    """Draw offices with one door to the corridor; some lead on into the next."""
    measures = Bands(
        corridor=2,
        depth=3 + size // 48,
        narrowest=3 + size // 64,
        widest=6 + size // 40,
        door=1,
        crossings=size // 32,
    )

    def furnish(canvas: Canvas, room: Room) -> None:
        if draws.below(3) == 0 and room.right + 1 < size - 1:
            canvas[draws.between(room.top, room.bottom)][room.right + 1] = ":"

    return _draw(size, draws, measures, furnish)


def mall(size: int, draws: Draws) -> Canvas:
    """Draw shops with wide doors and rows of shelves, and kiosks on the promenades."""
    measures = Bands(
        corridor=3 + size // 24,
        depth=4 + size // 24,
        narrowest=4 + size // 32,
        widest=8 + size // 16,
        door=2 + size // 64,
        crossings=size // 48,
    )

    def furnish(canvas: Canvas, room: Room) -> None:
        if room.right - room.left >= 4:
            rows = range(room.top + 1, room.bottom, 3)
            paint(canvas, "#", rows, range(room.left + 1, room.right))

    canvas = _draw(size, draws, measures, furnish)
    for top, bottom in _corridors(size, measures):
        middle = (top + bottom) // 2
        for col in range(6, size - 7, 8):
            if draws.below(2) and bottom - top >= 3:
                paint(canvas, "#", [middle, middle + 1], [col, col + 1])
    return canvas


def _draw(
    size: int, draws: Draws, measures: Bands, furnish: Callable[[Canvas, Room], None]
) -> Canvas:
    canvas = enclosed(size, size, ":")
    corridors = list(_corridors(size, measures))
    walls = [0, *((one[1] + two[0]) // 2 for one, two in pairwise(corridors)), size - 1]
    paint(canvas, "#", walls, range(size))
    for number, (top, bottom) in enumerate(corridors):
        paint(canvas, ".", range(top, bottom + 1), range(1, size - 1))
        above = Room(walls[number] + 1, top - 2, 1, 0, top - 1)
        below = Room(bottom + 2, walls[number + 1] - 1, 1, 0, bottom + 1)
        for strip in (above, below):
            paint(canvas, "#", [strip.front], range(1, size - 1))
            for room in _rooms(size, draws, measures, strip):
                _build(canvas, draws, room, measures.door)
                furnish(canvas, room)
    _cross(canvas, measures)
    return canvas


def _corridors(size: int, measures: Bands) -> Iterator[tuple[int, int]]:
    """Yield the first and last row of each corridor, as many as fit."""
    pitch = measures.corridor + 2 * measures.depth + 3
    number = max(1, (size - 1) // pitch)
    for band in range(number):
        middle = (2 * band + 1) * (size - 1) // (2 * number)
        top = middle - (measures.corridor - 1) // 2
        yield top, top + measures.corridor - 1


def _rooms(size: int, draws: Draws, measures: Bands, strip: Room) -> Iterator[Room]:
    """Cut a strip into rooms; the last one is wide enough, too."""
    left = 1
    while left < size - 1:
        right = left + draws.between(measures.narrowest, measures.widest) - 1
        if size - 2 - right <= measures.narrowest:
            right = size - 2
        yield Room(strip.top, strip.bottom, left, right, strip.front)
        left = right + 2


def _build(canvas: Canvas, draws: Draws, room: Room, door: int) -> None:
    """Close a room to the right, and open its door to the corridor."""
    paint(canvas, "#", range(room.top, room.bottom + 1), [room.right + 1])
    first = draws.between(room.left, max(room.left, room.right - door + 1))
    paint(canvas, ".", [room.front], range(first, min(first + door, room.right + 1)))


def _cross(canvas: Canvas, measures: Bands) -> None:
    """Cut walled passages through all bands."""
    size = len(canvas)
    corridors = {
        row for top, bottom in _corridors(size, measures) for row in range(top, bottom + 1)
    }
    for number in range(measures.crossings):
        left = (number + 1) * size // (measures.crossings + 1) - measures.corridor // 2
        right = left + measures.corridor - 1
        paint(canvas, ".", range(1, size - 1), range(left, right + 1))
        sides = [row for row in range(1, size - 1) if row not in corridors]
        paint(canvas, "#", sides, [left - 1, right + 1])
