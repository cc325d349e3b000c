"""A place while it is drawn, a list of characters for each row.

`#` wall, `.` floor, `E` exit, `P` person, `*` fire, `:` floor on which people may be put.
"""

from __future__ import annotations

from collections.abc import Iterable

Canvas = list[list[str]]


def canvas_of(drawing: str) -> Canvas:
    """Return a drawing as rows of characters."""
    return [list(line) for line in drawing.split()]


def enclosed(width: int, height: int, floor: str) -> Canvas:
    """Return a floor inside a ring of walls; width and height include the walls."""
    inside = ["#", *floor * (width - 2), "#"]
    return [["#"] * width, *(list(inside) for _ in range(height - 2)), ["#"] * width]


def paint(canvas: Canvas, symbol: str, rows: Iterable[int], cols: Iterable[int]) -> None:
    """Write `symbol` to each crossing of `rows` and `cols`."""
    cols = list(cols)
    for row in rows:
        for col in cols:
            canvas[row][col] = symbol
