"""Paired differences between two runs: an interval for each scenario, and all of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from emberbench_dist.analysis.plots.style import (
    MUTED,
    PAPER,
    SERIES,
    new_figure,
    shortened,
    styled,
)

_BINS = 41


@styled
def differences(rows: pd.DataFrame, label: str) -> Figure:
    """Draw the mean difference of each scenario with its interval, the largest on top.

    `rows` has `scenario_id`, `difference`, `low`, `high`, in the order to draw, the first on top.
    A filled mark is an interval without zero. `label` says what is drawn.
    """
    figure = new_figure(1.0 + 0.24 * len(rows))
    axes = figure.subplots()
    places = np.arange(len(rows))
    axes.axvline(0, color=MUTED, linewidth=0.8)
    axes.hlines(places, rows["low"], rows["high"], color=SERIES[0], linewidth=2)
    # An interval that is not defined is no line; its mark stays empty.
    beside = (rows["low"] > 0) | (rows["high"] < 0)
    for chosen, fill in ((beside, SERIES[0]), (~beside, PAPER)):
        (marks,) = axes.plot(rows["difference"][chosen], places[chosen], "o", color=SERIES[0])
        marks.set(markerfacecolor=fill, zorder=3)
    axes.set_yticks(places, shortened(rows["scenario_id"], 24))
    axes.set_ylim(len(rows) - 0.4, -0.6)
    digits = 3 if rows["difference"].abs().max() < 10 else 1
    for place, value in zip(places, rows["difference"], strict=True):
        text, at = f"{value:+.{digits}f}", ("axes fraction", "data")
        axes.annotate(text, (1.02, place), xycoords=at, va="center", size=9, annotation_clip=False)
    axes.grid(axis="x")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.set_xlabel(label)
    return figure


@styled
def difference_distribution(pairs: dict[str, pd.Series], label: str) -> Figure:
    """Draw how the differences of single episodes are distributed, a panel for each pair of runs.

    `pairs` has, by title, a difference for each episode; `label` says what is drawn.
    """
    figure = new_figure(0.7 + 1.35 * len(pairs))
    panels = figure.subplots(len(pairs), 1, sharex=True, squeeze=False)[:, 0]
    widest = max((float(values.abs().max()) for values in pairs.values() if len(values)), default=0)
    # A bin about zero, for pairs that are equal, and the largest differences in the outer ones.
    edges = np.linspace(-1, 1, _BINS + 1) * (widest or 1) * _BINS / (_BINS - 1)
    for axes, (title, values) in zip(panels, pairs.items(), strict=True):
        counts, _ = np.histogram(values, edges)
        axes.stairs(counts, edges, fill=True, color=SERIES[0], alpha=0.75)
        axes.axvline(0, color=MUTED, linewidth=0.8)
        axes.set_title(shortened([title], 40)[0])
        axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.grid(axis="y")
        axes.set_ylabel("episodes")
        if len(values):
            mean = float(values.mean())
            axes.axvline(mean, color=SERIES[1], linestyle="--")
            axes.set_title(f"mean {mean:+.3g}", loc="right", color=SERIES[1])
    least = min((float(values.min()) for values in pairs.values() if len(values)), default=0)
    most = max((float(values.max()) for values in pairs.values() if len(values)), default=0)
    wide = edges[-1] - edges[-2]
    panels[-1].set_xlim(min(least, 0) - wide, max(most, 0) + wide)
    panels[-1].set_xlabel(label)
    return figure
