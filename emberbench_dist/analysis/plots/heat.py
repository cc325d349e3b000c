"""A table of scenarios and runs in colours and numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from emberbench_dist.analysis.plots.style import INK, SERIES, new_figure, shortened, styled

# So strong that full and empty differ, and so weak that ink on it is read on any page.
_STRONGEST = 0.45


@styled
def scenario_heat(
    table: pd.DataFrame, label: str, over_planned: pd.DataFrame | None = None
) -> Figure:
    """Draw a value for each scenario (row) and run (column), as a colour and as a number.

    `label` names the value. A missing value has no colour and a dash. `over_planned`, of the same
    shape, has a second number for the cells where it differs from the first.
    """
    rows, columns = table.shape
    figure = new_figure(1.1 + 0.23 * rows)
    axes = figure.subplots()
    values = table.to_numpy(dtype=float)
    seconds = values if over_planned is None else over_planned.to_numpy(dtype=float)
    axes.imshow(_tinted(values), aspect="auto", interpolation="none")
    most = max(8, 44 // columns)
    steep = columns > 4
    axes.set_xticks(range(columns), shortened(table.columns, most))
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    if steep:
        axes.tick_params(axis="x", labelrotation=60)
    axes.set_yticks(range(rows), shortened(table.index, 24))
    axes.spines[:].set_visible(False)
    decimals = _decimals(values)
    for (row, column), value in np.ndenumerate(values):
        text = f"{value:.{decimals}f}" if np.isfinite(value) else "\N{EN DASH}"
        if not np.isclose(seconds[row, column], value, equal_nan=True):
            text += f" / {seconds[row, column]:.{decimals}f}"
        axes.text(column, row, text, ha="center", va="center", color=INK, fontsize=9)
    axes.set_xlabel(label)
    return figure


def _tinted(values: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> np.ndarray:
    """Return an image of one colour, the stronger the larger the value."""
    low, high = np.nanmin(values, initial=0), np.nanmax(values, initial=0)
    share = (values - low) / (high - low) if high > low else np.zeros_like(values)
    strength = np.nan_to_num(share) * _STRONGEST
    image = np.empty((*values.shape, 4))
    image[..., :3], image[..., 3] = to_rgb(SERIES[0]), strength
    return image


def _decimals(values: np.ndarray) -> int:
    """Return how many decimals tell the values apart."""
    finite = values[np.isfinite(values)]
    if not finite.size or (finite == finite.round()).all():
        return 0
    return 2 if np.abs(finite).max() < 10 else 1
