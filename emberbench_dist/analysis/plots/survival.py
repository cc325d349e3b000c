"""Survival curves: who is out and who is lost by each step."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from emberbench_dist.analysis.plots.style import LINES, color, legend, new_figure, styled

# More bands than these hide each other.
BANDS = 4
_PANELS = {"evacuated": "Evacuated, share of people", "casualty": "Casualties, share of people"}


@styled
def survival(curves: dict[str, pd.DataFrame]) -> Figure:
    """Draw two panels, evacuated and casualties, with a line for each run, and a band for few runs.

    `curves` has, by run, rows of `status`, `step`, `low`, `middle`, `high`: shares from 0 to 1.
    """
    figure = new_figure(3.2)
    panels = figure.subplots(len(_PANELS), 1, sharex=True)
    last = max((int(rows["step"].max()) for rows in curves.values() if len(rows)), default=1)
    for axes, (status, title) in zip(panels, _PANELS.items(), strict=True):
        for index, (run, rows) in enumerate(curves.items()):
            own = _until(rows[rows["status"] == status], last)
            if len(curves) <= BANDS:
                band = {"color": color(index), "linewidth": 0}
                axes.fill_between(own["step"], own["low"], own["high"], alpha=0.18, **band)
            line = {"color": color(index), "linestyle": LINES[index % len(LINES)]}
            axes.plot(own["step"], own["middle"], label=run, **line)
        axes.set_title(title)
        axes.set_ylim(-0.02, 1.02)
        axes.yaxis.set_major_formatter(PercentFormatter(1))
        axes.grid(axis="y")
        axes.margins(x=0)
    panels[-1].set_xlabel("step")
    panels[-1].xaxis.set_major_locator(MaxNLocator(7, integer=True))
    legend(figure, panels[0], curves)
    return figure


def _until(rows: pd.DataFrame, last: int) -> pd.DataFrame:
    """Draw a curve on as it ended, up to the last step of any."""
    return pd.concat([rows, rows.tail(1).assign(step=last)])
