"""The tables at the top of a report: counts and rates, and typical values."""

from __future__ import annotations

from typing import Any

import pandas as pd

from emberbench_dist.analysis.report.picture import NONE, Table, percent, span
from emberbench_dist.analysis.report.study import Study
from emberbench_dist.analysis.runs import Run
from emberbench_dist.analysis.statistics.aggregate import rates, scores


def counts(study: Study) -> Table:
    """Return the counts of each run and its rates, over planned and over committed episodes."""
    found = rates(study.episodes)
    columns = {run.label: _scores(study, run, found.loc[[run.label]]) for run in study.runs}
    names = list(next(iter(columns.values())))
    rows = tuple((name, *(own[name] for own in columns.values())) for name in names)
    return Table(("", *columns), rows)


def _scores(study: Study, run: Run, found: pd.DataFrame) -> dict[str, str]:
    own = study.of(run)
    sums = own[["people", "evacuated", "casualties", "unresolved"]].sum()
    planned = study.people_planned(run)
    return {
        "agent": run.agent,
        "episodes planned": f"{run.planned:,}",
        "episodes committed": f"{run.committed:,}",
        "people in planned episodes": NONE if planned is None else f"{planned:,}",
        "people in committed episodes": f"{sums['people']:,}",
        "evacuated": f"{sums['evacuated']:,}",
        "casualties": f"{sums['casualties']:,}",
        "unresolved": f"{sums['unresolved']:,}",
        "evacuation rate over planned": percent(study.over_planned(run)),
        "evacuation rate over committed": percent(sums["evacuated"] / sums["people"]),
        "mean episode rate over planned": percent(found["evacuation_rate_planned"].item()),
        "mean episode rate over committed": percent(found["evacuation_rate_committed"].item()),
        "everybody out, over planned": _with_interval(found, "all_out_planned"),
        "everybody out, over committed": _with_interval(found, "all_out_committed"),
    }


def _with_interval(found: pd.DataFrame, name: str) -> str:
    share, low, high = (found[column].item() for column in (name, f"{name}_low", f"{name}_high"))
    return (
        percent(share)
        if pd.isna(low)
        else f"{percent(share)} ({span(percent(low), percent(high))})"
    )


def typical(study: Study, metric: str) -> Table:
    """Return mean, median and interquartile mean of a metric for each run, with intervals."""
    found = scores(study.runs, metric)
    statistics = list(dict.fromkeys(found["statistic"]))
    rows = []
    for (run, over), own in found.groupby(["run", "over"], sort=False, observed=True):
        episodes = int(own["episodes"].iloc[0])
        texts = (_estimate(row) for row in own.itertuples())
        rows.append((f"{run}, over {over}", f"{episodes:,}", *texts))
    names = {"iqm": "interquartile mean"}
    columns = ("run", "episodes", *(names.get(name, name) for name in statistics))
    return Table(columns, tuple(rows))


def _estimate(row: Any) -> str:
    if pd.isna(row.estimate):
        return NONE
    value = f"{row.estimate:.4g}"
    return value if pd.isna(row.low) else f"{value} ({span(f'{row.low:.4g}', f'{row.high:.4g}')})"
