"""Obstacles without any order."""

from __future__ import annotations

from emberbench_dist.authoring.draws import Draws
from suite.canvas import Canvas, enclosed, paint


def scatter(size: int, draws: Draws) -> Canvas:
    """Strew blocks of different sizes, about a quarter of the floor."""
    canvas = enclosed(size, size, ":")
    largest = 2 + size // 24
    left = size * size // 4
    while left > 0:
        height, width = draws.between(1, largest), draws.between(1, largest)
        row, col = draws.between(1, size - 1 - height), draws.between(1, size - 1 - width)
        paint(canvas, "#", range(row, row + height), range(col, col + width))
        left -= height * width
    return canvas
