"""The tables at the top of a report: counts and rates, and typical values."""

from __future__ import annotations

from typing import Any

import pandas as pd

from emberbench_dist.analysis.report.picture import NONE, Table, percent, span
from emberbench_dist.analysis.report.study import Study
from emberbench_dist.analysis.runs import Run
from emberbench_dist.analysis.statistics.aggregate import rates, scores
from emberbench_dist.artifacts.durable import read_json
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.evaluation.accounting import Spent


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


def spent(study: Study) -> Table:
    """Return what the episodes of each run have cost in all, and attempts that were lost."""
    columns = {run.label: _spent(read_json(RunFolder(run.path).run_json)) for run in study.runs}
    names = dict.fromkeys(name for own in columns.values() for name in own)
    rows = tuple((name, *(own.get(name, NONE) for own in columns.values())) for name in names)
    return Table(("", *columns), rows)


def _spent(run_json: dict[str, Any]) -> dict[str, str]:
    """Return sums by what they are of, none where the run does not tell."""
    try:
        known, lost = (Spent(**run_json[name]) for name in ("spent", "lost"))
        told = {"time in episodes": f"{known.seconds:,.1f} s", "steps": f"{known.steps:,}"}
        told |= {name.replace("_", " "): text for name, text in known.reports().items()}
        if known.models:
            told["models"] = ", ".join(f"{name} ({n:,})" for name, n in known.models.items())
        told["lost attempts"] = f"{lost.attempts:,} ({lost.seconds:,.1f} s)"
    except (KeyError, TypeError, ValueError, AttributeError):
        return {}
    return told


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
