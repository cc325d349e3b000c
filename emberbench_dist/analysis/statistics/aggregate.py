"""Scores over the episodes of runs: rates, robust means, profiles, probability of improvement.

Wherever an episode that was not played matters, a score is given twice: over the planned
episodes, where it counts as one in which nobody got out, and over the committed ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from emberbench_dist.analysis.frames import load_episodes
from emberbench_dist.analysis.metric import DEFAULT, NOT_PLAYED, chosen_metrics
from emberbench_dist.analysis.runs import Runs
from emberbench_dist.analysis.statistics.paired import (
    LEVEL,
    Floats,
    Interval,
    chunks,
    draws,
    generator_of,
    widened,
    wilson,
)

Codes = npt.NDArray[np.int64]
STATISTICS = ("mean", "median", "iqm")


def rates(episodes: pd.DataFrame, by: str | Sequence[str] = "run") -> pd.DataFrame:
    """Return a row for each group: how many got out, over planned and over committed episodes.

    `episodes` has what `by` names, `evacuation_rate` and `committed`. `evacuation_rate` is the
    mean over episodes; `all_out` the share of episodes in which everybody got out, with Wilson's
    95 % interval.
    """
    told = episodes.assign(
        evacuation_rate=episodes["evacuation_rate"].fillna(0.0),
        all_out=episodes["evacuation_rate"] == 1,
    )
    groups = told.groupby([by] if isinstance(by, str) else list(by), observed=True)
    found = groups.agg(
        planned=("committed", "size"),
        committed=("committed", "sum"),
        total=("evacuation_rate", "sum"),
        all_out=("all_out", "sum"),
    )
    total, all_out = found.pop("total"), found.pop("all_out")
    for over in ("planned", "committed"):
        count = found[over]
        found[f"evacuation_rate_{over}"] = total / count.where(count > 0)
        bounds = [wilson(int(some), int(n)) for some, n in zip(all_out, count, strict=True)]
        found[f"all_out_{over}"] = all_out / count.where(count > 0)
        found[f"all_out_{over}_low"] = [bound.low for bound in bounds]
        found[f"all_out_{over}_high"] = [bound.high for bound in bounds]
    return found


def scores(
    runs: Runs,
    metric: str | Sequence[str] | None = None,
    *,
    seed: int = 0,
    resamples: int | None = None,
    labels: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Return mean, median and interquartile mean of metrics for each run, with 95 % intervals.

    A row for each run, metric, `over` (planned or committed episodes) and statistic: `episodes`
    that have a value, `estimate`, `low`, `high` and a `note` where the interval is not defined.
    Seeds are drawn anew within each scenario, `resamples` times (2000 by default, less above
    10^5 episodes); the scenarios stay as they are.
    """
    metrics = chosen_metrics(metric)
    episodes = load_episodes(runs, ["scenario_id", *metrics], labels)
    rows = [
        (run, name, over, *row)
        for run, played in episodes.groupby("run", observed=True, sort=False)
        for name in metrics
        for over, scored in _scored_overs(played, name, seed, resamples)
        for row in scored
    ]
    names = ("run", "metric", "over", "statistic", "episodes", "estimate", "low", "high", "note")
    return pd.DataFrame(rows, columns=list(names))


Scored = list[tuple[str, int, float | None, float | None, float | None, str]]


def _scored_overs(
    played: pd.DataFrame, metric: str, seed: int, resamples: int | None
) -> Iterator[tuple[str, Scored]]:
    """Yield the scores over the planned and over the committed episodes."""
    values = played[metric].to_numpy(np.float64, na_value=np.nan)
    strata = np.asarray(played["scenario_id"].cat.codes, np.int64)
    there = ~np.isnan(values)
    committed = _scored(values[there], strata[there], generator_of(seed, metric), resamples)
    if metric in NOT_PLAYED and there.all():
        yield "planned", committed
    elif metric in NOT_PLAYED:
        filled = np.where(there, values, NOT_PLAYED[metric])
        yield "planned", _scored(filled, strata, generator_of(seed, metric), resamples)
    yield "committed", committed


def _scored(
    values: Floats, strata: Codes, generator: np.random.Generator, resamples: int | None
) -> Scored:
    size = len(values)
    if not size:
        return [(name, 0, None, None, None, "not defined: no episode") for name in STATISTICS]
    kinds, often = np.unique(values, return_counts=True)
    estimates = _statistics(kinds, often[None])[:, 0]
    times = resamples or draws(size, 2000)
    bounds = stratified_intervals(values, strata, generator, resamples=times)
    return [
        (name, size, float(estimate), bound.low, bound.high, bound.note)
        for name, estimate, bound in zip(STATISTICS, estimates, bounds, strict=True)
    ]


def _statistics(kinds: Floats, often: Codes) -> Floats:
    """Return mean, median and interquartile mean of rows: ascending values, each so often there.

    `often` has the shape (rows, kinds), what is returned (3, rows).
    """
    upto = np.cumsum(often, axis=1)
    size = int(upto[0, -1])
    middle = [kinds[(upto > place).argmax(axis=1)] for place in ((size - 1) // 2, size // 2)]
    cut = size // 4  # as scipy.stats.trim_mean cuts
    kept = np.diff(np.clip(upto, cut, size - cut), axis=1, prepend=cut)
    return np.stack(
        [
            (kinds * often).sum(axis=1) / size,
            (middle[0] + middle[1]) / 2,
            (kinds * kept).sum(axis=1) / (size - 2 * cut),
        ]
    )


def stratified_intervals(
    values: Floats,
    strata: Codes,
    generator: np.random.Generator,
    *,
    resamples: int,
    level: float = LEVEL,
) -> list[Interval]:
    """Return percentile bootstrap intervals of mean, median and interquartile mean.

    Values are drawn within their stratum. The level is widened for the strata's small sizes.
    """
    size, order = len(values), np.argsort(strata, kind="stable")
    _, sizes = np.unique(strata, return_counts=True)
    if size == len(sizes):
        return [Interval(None, None, "not defined: one episode a scenario")] * len(STATISTICS)
    first, count = np.repeat(np.cumsum(sizes) - sizes, sizes), np.repeat(sizes, sizes)
    kinds, kind = np.unique(values[order], return_inverse=True)
    parts = []
    for rows in chunks(resamples, size):
        places = first + (generator.random((rows, size)) * count).astype(np.int64)
        cells = kind[places] + len(kinds) * np.arange(rows)[:, None]
        often = np.bincount(cells.ravel(), minlength=rows * len(kinds)).reshape(rows, -1)
        parts.append(_statistics(kinds, often))
    tail = (1 - widened(level, size, len(sizes))) / 2
    return [_percentiles(column, tail) for column in np.concatenate(parts, axis=1)]


def _percentiles(drawn: Floats, tail: float) -> Interval:
    low, high = np.quantile(drawn, [tail, 1 - tail])
    if not high - low > 1e-12 * max(1.0, abs(high)):
        return Interval(None, None, "not defined: the resamples are nearly all equal")
    return Interval(float(low), float(high))


def performance_profile(
    episodes: pd.DataFrame, metric: str = DEFAULT, thresholds: Floats | None = None
) -> pd.DataFrame:
    """Return, for each run and threshold, the share of episodes whose metric is above it.

    `episodes` has `run`, `committed` and the metric; an episode that was not played is above
    nothing. The intervals are Wilson's, of 95 %, each for itself. Thresholds: 0 to 1 by default.
    """
    steps = np.arange(101) / 100 if thresholds is None else np.asarray(thresholds, float)
    rows = []
    for run, played in episodes.groupby("run", observed=True, sort=False):
        values = np.sort(played[metric].dropna().to_numpy(float))
        above = len(values) - np.searchsorted(values, steps, side="right")
        planned, committed = len(played), int(played["committed"].sum())
        for threshold, count in zip(steps, above, strict=True):
            row: list[object] = [run, float(threshold), planned, committed]
            for total in (planned, committed):
                bound = wilson(int(count), total)
                row += [count / total if total else None, bound.low, bound.high]
            rows.append(row)
    told = [
        f"{name}_{over}" for over in ("planned", "committed") for name in ("share", "low", "high")
    ]
    return pd.DataFrame(rows, columns=["run", "threshold", "planned", "committed", *told])
