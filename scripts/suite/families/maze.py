"""A maze: a tree of cells, and some walls more that are open."""

from __future__ import annotations

from emberbench_dist.authoring.draws import Draws
from suite.canvas import Canvas

_LOOPS = 8  # one wall of so many is opened


def maze(size: int, draws: Draws) -> Canvas:
    """Grow a tree from a random cell, mostly where it grew last; then open walls for loops."""
    width = 1 + size // 100
    side = (size - 1) // (width + 1)
    canvas = [["#"] * (2 * side + 1) for _ in range(2 * side + 1)]
    start = 2 * draws.below(side) + 1, 2 * draws.below(side) + 1
    canvas[start[0]][start[1]] = ":"
    growing = [start]
    while growing:
        # Only the last makes long corridors, only random ones many dead ends.
        index = len(growing) - 1 if draws.below(4) else draws.below(len(growing))
        row, col = growing[index]
        ways = _solid(canvas, row, col)
        if not ways:
            growing.pop(index)
            continue
        to_row, to_col = draws.one_of(ways)
        canvas[(row + to_row) // 2][(col + to_col) // 2] = canvas[to_row][to_col] = ":"
        growing.append((to_row, to_col))
    _open(canvas, draws)
    return _widened(canvas, width, size)


def _solid(canvas: Canvas, row: int, col: int) -> list[tuple[int, int]]:
    around = [(row - 2, col), (row, col - 2), (row, col + 2), (row + 2, col)]
    last = len(canvas) - 1
    return [(r, c) for r, c in around if 0 < r < last and 0 < c < last and canvas[r][c] == "#"]


def _open(canvas: Canvas, draws: Draws) -> None:
    inside = range(1, len(canvas) - 1)
    walls = [
        (row, col)
        for row in inside
        for col in inside
        if (row + col) % 2 and canvas[row][col] == "#"
    ]
    for row, col in draws.some_of(walls, len(walls) // _LOOPS):
        canvas[row][col] = "."


def _widened(canvas: Canvas, width: int, size: int) -> Canvas:
    """Repeat the lines of the ways `width` times, and those in the middle to fill the size."""
    spare = size - (len(canvas) // 2) * (width + 1) - 1
    middle = len(canvas) // 2 | 1
    times = [width if line % 2 else 1 for line in range(len(canvas))]
    times[middle] += spare
    rows = [
        [symbol for symbol, number in zip(row, times, strict=True) for _ in range(number)]
        for row in canvas
    ]
    return [list(row) for row, number in zip(rows, times, strict=True) for _ in range(number)]
