"""Wide floors: a hall of pillars, a stadium."""

from __future__ import annotations

from math import isqrt

from emberbench_dist.authoring.draws import Draws
from suite.canvas import Canvas, enclosed, paint


def hall(size: int, draws: Draws) -> Canvas:
    """Draw pillars in rows, and the crowd on one side of them."""
    canvas = enclosed(size, size, ".")
    pitch = draws.between(3, 4) + size // 32
    thick = 1 + size // 64
    side = draws.below(4)
    for row in range(2, size - 2):
        for col in range(2, size - 2):
            if (row, size - 1 - row, col, size - 1 - col)[side] < size * 2 // 3:
                canvas[row][col] = ":"
    first = 2 + draws.below(pitch - thick)
    for row in range(first, size - 2 - thick, pitch):
        for col in range(first, size - 2 - thick, pitch):
            paint(canvas, "#", range(row, row + thick), range(col, col + thick))
    return canvas


def stadium(size: int, draws: Draws) -> Canvas:
    """Draw a field, tiers of seats around it, aisles between these, and a way around all."""
    canvas = enclosed(size, size, ".")
    field = size // 8 + draws.between(0, size // 16)
    outer = size // 2 - 2 - size // 32
    aisle = size // 64
    for row in range(1, size - 1):
        for col in range(1, size - 1):
            # Twice the distance from the centre, which is between four cells if `size` is even.
            down, right = 2 * row - size + 1, 2 * col - size + 1
            tier = isqrt(down * down + right * right) // 2 - field
            if 0 <= tier <= outer - field:
                canvas[row][col] = _seat(tier, outer - field, down, right, aisle)
    return canvas


def _seat(tier: int, last: int, down: int, right: int, aisle: int) -> str:
    """Return what is in a cell of the tiers: a rail, a place to stand, an aisle."""
    width = 2 * aisle + 1
    crossing = abs(down) <= width or abs(right) <= width
    if crossing or abs(abs(down) - abs(right)) <= width:
        return "."
    return "#" if tier % 3 == 0 or tier == last else ":"
