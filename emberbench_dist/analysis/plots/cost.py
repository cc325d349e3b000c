"""Time and cost of episodes and calls."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, PercentFormatter

from emberbench_dist.analysis.plots.style import LINES, color, legend, new_figure, styled

_POINTS = 200


@styled
def cumulative(values: dict[str, pd.Series], label: str) -> Figure:
    """Draw which share of a run's values is at most so large, on a logarithmic axis.

    `values` has, by run, any number of values; `label` names them with their unit.
    """
    figure = new_figure(2.4)
    axes = figure.subplots()
    shares = np.linspace(0, 1, _POINTS)
    for index, (run, found) in enumerate(values.items()):
        known = found.dropna().to_numpy(dtype=float)
        at = np.quantile(known, shares) if known.size else np.full(_POINTS, np.nan)
        axes.plot(at, shares, label=run, color=color(index), linestyle=LINES[index % len(LINES)])
    if any((found > 0).any() for found in values.values()):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.set_ylim(-0.02, 1.02)
    axes.grid()
    axes.set_xlabel(label)
    legend(figure, axes, values)
    return figure
