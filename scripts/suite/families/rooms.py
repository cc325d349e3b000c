"""Rooms without corridors: a floor is divided, and the parts divided again."""

from __future__ import annotations

from emberbench_dist.authoring.draws import Draws
from suite.canvas import Canvas, enclosed, paint


def rooms(size: int, draws: Draws) -> Canvas:
    """Divide the longer side of each part by a wall with doors, until the rooms are small."""
    canvas = enclosed(size, size, ":")
    least = 3 + size // 40
    parts = [(1, 1, size - 2, size - 2)]
    for top, left, bottom, right in parts:  # grows while it is read: a queue
        if bottom - top >= right - left:
            row = _divide(canvas, draws, (top, left, bottom, right), least)
            if row:
                parts += [(top, left, row - 1, right), (row + 1, left, bottom, right)]
        else:
            turned = [list(line) for line in zip(*canvas, strict=True)]
            col = _divide(turned, draws, (left, top, right, bottom), least)
            if col:
                paint(canvas, "#", range(top, bottom + 1), [col])
                for row in range(top, bottom + 1):
                    canvas[row][col] = turned[col][row]
                parts += [(top, left, bottom, col - 1), (top, col + 1, bottom, right)]
    return canvas


def _divide(
    canvas: Canvas, draws: Draws, part: tuple[int, int, int, int], least: int
) -> int | None:
    """Put a wall with doors across a part, not against a door; return its row, or None."""
    top, left, bottom, right = part
    usable = [
        row
        for row in range(top + least, bottom - least + 1)
        if canvas[row][left - 1] == canvas[row][right + 1] == "#"
    ]
    if not usable:
        return None
    row = draws.one_of(usable)
    paint(canvas, "#", [row], range(left, right + 1))
    width = right - left + 1
    for col in draws.some_of(range(left, right + 1), min(width, 1 + width // 12)):
        canvas[row][col] = "."
    return row
