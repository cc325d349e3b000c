"""Heat maps on a scenario's map: where people die, and where they queue."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.typing import NDArray

from emberbench_dist.analysis.plots.style import (
    DEATH,
    INK,
    MUTED,
    QUEUE,
    WALL,
    WIDTH,
    new_figure,
    shortened,
    styled,
)
from emberbench_dist.contract.observation import GridMap

Image = NDArray[np.float64]

_HEAD, _LINE = 0.5, 0.25
_HUES = {"casualties": DEATH, "waiting": QUEUE}
_FAINTEST = 0.35


@styled
def place_heat(world: GridMap, places: dict[str, dict[str, Image]]) -> Figure:
    """Draw a map for each run (row) and each of `casualties` and `waiting` (column).

    `places` has, by run, both as arrays of the map's shape, a mean of an episode in each cell.
    All runs share a column's scale. Walls are grey, exits squares with a border.
    """
    columns = list(_HUES)
    height = (WIDTH / len(columns) - 0.1) * world.height / world.width
    figure = new_figure(_HEAD + len(places) * (max(0.25, min(height, 3.5)) + _LINE))
    names = shortened(places, 36)
    panels = figure.subplots(len(places), len(columns), squeeze=False)
    for column, kind in enumerate(columns):
        most = max(float(found[kind].max(initial=0)) for found in places.values())
        for row, (run, found) in enumerate(zip(names, places.values(), strict=True)):
            axes = panels[row, column]
            axes.imshow(_image(world, found[kind], most, _HUES[kind]), interpolation="none")
            _draw_frame(axes, world)
            if column == 0:
                axes.set_title(run, fontsize=9)
        panels[-1, column].set_xlabel(f"{kind} (strongest: {most:.3g})", fontsize=9)
    return figure


def _image(world: GridMap, values: Image, most: float, hue: str) -> Image:
    """Return an image that reads on light and dark pages: the larger a value, the more opaque."""
    image = np.zeros((world.height, world.width, 4))
    shown = values > 0
    image[..., :3] = to_rgb(hue)
    strength = _FAINTEST + (1 - _FAINTEST) * np.sqrt(values / (most or 1))
    image[..., 3] = np.where(shown, strength, 0)
    for row, column in world.obstacles:
        image[row, column] = (*to_rgb(WALL), 0.55)
    return image


def _draw_frame(axes: Axes, world: GridMap) -> None:
    rows, columns = zip(*(exit.position for exit in world.exits), strict=True)
    size = 9 if max(world.width, world.height) > 40 else 16
    axes.scatter(columns, rows, size, marker="s", facecolor="none", edgecolor=INK, clip_on=False)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(True)
    axes.spines[:].set_color(MUTED)
