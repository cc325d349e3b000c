"""What became of people's moves."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from emberbench_dist.analysis.plots.style import (
    HATCHES,
    PAPER,
    color,
    legend,
    new_figure,
    styled,
)


@styled
def movement(shares: pd.DataFrame) -> Figure:
    """Draw the share of each outcome (row) in a run's actions (column), as bars side by side."""
    outcomes, runs = shares.shape
    thick = 0.8 / runs
    figure = new_figure(0.6 + outcomes * max(0.3, 0.19 * runs))
    axes = figure.subplots()
    for index, run in enumerate(shares.columns):
        places = np.arange(outcomes) + (index - (runs - 1) / 2) * thick
        hatch = HATCHES[index % len(HATCHES)]
        bars = axes.barh(places, shares[run], thick, label=run, color=color(index), hatch=hatch)
        for bar in bars:
            bar.set_edgecolor(PAPER)
            bar.set_linewidth(0.5)
        texts = [f"{share:.1%}" for share in shares[run]]
        axes.bar_label(bars, texts, padding=3, fontsize=8)
    axes.set_yticks(np.arange(outcomes), [name.replace("_", " ") for name in shares.index])
    axes.set_ylim(outcomes - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_formatter(PercentFormatter(1))
    axes.set_xlim(0, 1.14 * max(0.01, float(shares.to_numpy().max(initial=0))))
    axes.grid(axis="x")
    axes.set_xlabel("share of all actions")
    legend(figure, axes, shares.columns)
    return figure
