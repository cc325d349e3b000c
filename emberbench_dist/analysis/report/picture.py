"""A figure with its caption and its numbers, and how numbers are written."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from emberbench_dist.analysis.report.study import Study

MINUS, NONE = "\N{MINUS SIGN}", "\N{EN DASH}"


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers as texts: the first column names the rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure with what it shows: `name` is its id, `table` has its numbers if they are few."""

    name: str
    title: str
    caption: str
    figure: Figure
    table: Table | None = None


def span(low: str, high: str) -> str:
    """Write an interval that stays in one line."""
    return f"{low}\N{NO-BREAK SPACE}to\N{NO-BREAK SPACE}{high}"


def percent(share: float | None) -> str:
    """Write a rate."""
    return NONE if share is None or np.isnan(share) else f"{share:.1%}"


def played(study: Study) -> str:
    """Say how many episodes of each run are committed, of how many planned."""
    runs = (f"{run.label} {run.committed:,} of {run.planned:,}" for run in study.runs)
    return f"Committed episodes: {', '.join(runs)}."


def signed(value: float | None) -> str:
    """Write a difference."""
    return NONE if value is None or np.isnan(value) else f"{value:+.4g}"
