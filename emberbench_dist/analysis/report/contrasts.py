"""Figures and tables of paired differences, with their captions."""

from __future__ import annotations

from math import isnan
from typing import Any

import pandas as pd

from emberbench_dist.analysis import plots
from emberbench_dist.analysis.report.picture import MINUS, NONE, Picture, Table, signed, span
from emberbench_dist.analysis.report.study import Study
from emberbench_dist.analysis.runs import Run
from emberbench_dist.analysis.statistics.comparison import Comparison

# So many scenarios have a line of their own in a figure: half with the largest differences.
_LINES = 40
_COUNTS = ("better", "equal", "worse")


def differences(comparison: Comparison, number: int) -> Picture:
    """Draw the mean difference of run `number` to the first in each scenario, sorted."""
    (metric,) = comparison.metrics
    pairing = comparison.against_first()[number - 1]
    found = _rows(comparison, pairing.b)
    found = found[found["scenario"].notna() & (found["pairs"] > 0)]
    found = found.sort_values(["difference", "scenario"], ascending=[False, True])
    shown, some = found, ""
    if len(found) > _LINES:
        shown = pd.concat([found.head(_LINES // 2), found.tail(_LINES // 2)])
        some = f" Shown are the {_LINES // 2} largest and smallest of {len(found)} scenarios."
    names = {
        "scenario": "scenario_id",
        "low_by_episode": "low",
        "high_by_episode": "high",
    }
    return Picture(
        f"differences-{number}",
        f"{pairing.b} {MINUS} {pairing.a}, by scenario",
        f"Mean {metric} of {pairing.b} minus that of {pairing.a} on the same seeds, with "
        f"{comparison.level:.0%} bootstrap intervals over seeds ({comparison.resamples:,} "
        f"resamples, seed {comparison.seed}). A filled mark is an interval without zero; a mark "
        f"without a line has no defined interval. {pairing.pairs:,} pairs are committed in both "
        f"runs.{some}",
        plots.differences(shown.rename(columns=names), f"difference of {metric}"),
        Table(
            ("scenario", "pairs", "difference", f"{comparison.level:.0%} interval", *_COUNTS),
            tuple((str(row.scenario), *_numbers(row)) for row in found.itertuples()),
        ),
    )


def overall(comparison: Comparison) -> Table:
    """Return what is known of each difference to the first run over all pairs."""
    first = comparison.runs[0].label
    rows = []
    for run in comparison.runs[1:]:
        found = _rows(comparison, run.label)
        (row,) = found[found["scenario"].isna()].itertuples()
        rows.append((f"{run.label} {MINUS} {first}", *_numbers(row), *_tests(row)))
    interval = f"{comparison.level:.0%} interval"
    columns = ("difference", "pairs", "mean", interval, *_COUNTS, "p", "p after Holm")
    return Table(columns, tuple(rows))


def _rows(comparison: Comparison, label: str) -> pd.DataFrame:
    rows = comparison.frame()
    rows = rows[(rows["a"] == comparison.runs[0].label) & (rows["b"] == label)]
    numbers = [
        name for name in rows.columns if name.startswith(("difference", "low", "high", "p_"))
    ]
    return rows.astype(dict.fromkeys(numbers, float))


def _numbers(row: Any) -> tuple[str, ...]:
    low, high = row.low_by_episode, row.high_by_episode
    interval = NONE if isnan(low) else span(signed(low), signed(high))
    counts = (f"{count:,}" for count in (row.wins, row.ties, row.losses))
    return (f"{row.pairs:,}", signed(row.difference), interval, *counts)


def _tests(row: Any) -> tuple[str, ...]:
    found = (row.p_by_episode, row.p_holm_by_episode)
    return tuple(NONE if isnan(p) else f"{p:.2g}" for p in found)


def distribution(study: Study, metric: str) -> Picture:
    """Draw how the differences of single episodes to the first run are distributed."""
    first, *others = study.runs
    base = _values(study, first, metric)
    pairs = {
        f"{run.label} {MINUS} {first.label}": (_values(study, run, metric) - base).dropna()
        for run in others
    }
    counts = "; ".join(
        f"{title}: {len(found):,} pairs, {(found > 0).sum():,} higher, "
        f"{(found == 0).sum():,} equal, {(found < 0).sum():,} lower"
        for title, found in pairs.items()
    )
    return Picture(
        "distribution",
        "Differences of single episodes",
        f"{metric} minus that of {first.label} on the same scenario and seed, over episodes "
        f"committed in both. {counts}.",
        plots.difference_distribution(pairs, f"difference of {metric}"),
    )


def _values(study: Study, run: Run, metric: str) -> pd.Series[float]:
    own = study.of(run)
    return own[own["committed"]].set_index("episode")[metric].astype(float)
