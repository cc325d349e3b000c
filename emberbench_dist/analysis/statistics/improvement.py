"""Probability of improvement: how likely the second of two runs is the better one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from emberbench_dist.analysis.statistics.paired import LEVEL, Floats, Interval

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value and its interval."""

    value: float
    interval: Interval


def paired_improvement(a: Floats, b: Floats, strata: Codes, level: float = LEVEL) -> Estimate:
    """Return how often b is higher than a in the same pair, ties a half, averaged over strata."""
    return _averaged(a, b, strata, level, _same_pair)


def unpaired_improvement(a: Floats, b: Floats, strata: Codes, level: float = LEVEL) -> Estimate:
    """Return how often any b of a stratum is higher than any a of it, averaged over strata.

    Within a stratum that is Mann and Whitney's U over the number of comparisons.
    """
    return _averaged(a, b, strata, level, _any_pair)


def _averaged(
    a: Floats,
    b: Floats,
    strata: Codes,
    level: float,
    measure: Callable[[Floats, Floats], tuple[float, float]],
) -> Estimate:
    """Average over strata; the interval is normal, its variance the sum of theirs (DeLong)."""
    order = np.argsort(strata, kind="stable")
    cuts = np.flatnonzero(np.diff(strata[order])) + 1
    parts = zip(np.split(a[order], cuts), np.split(b[order], cuts), strict=True)
    shares, variances = np.array([measure(*part) for part in parts]).T
    share = float(shares.mean())
    if np.isnan(variances).any():
        return Estimate(share, Interval(None, None, "not defined: a scenario has only one pair"))
    error = float(np.sqrt(variances.sum())) / len(shares)
    if error == 0:
        return Estimate(share, Interval(None, None, "not defined: all equal"))
    margin = float(special.ndtri((1 + level) / 2)) * error
    return Estimate(share, Interval(max(0.0, share - margin), min(1.0, share + margin)))


def _same_pair(a: Floats, b: Floats) -> tuple[float, float]:
    wins = (1 + np.sign(b - a)) / 2
    return float(wins.mean()), _variance(wins)


def _any_pair(a: Floats, b: Floats) -> tuple[float, float]:
    below, above = _placements(b, a), 1 - _placements(a, b)
    return float(below.mean()), _variance(below) + _variance(above)


def _placements(values: Floats, among: Floats) -> Floats:
    """Return which share of `among` lies below each value, ties a half."""
    known = np.sort(among)
    ranks = np.searchsorted(known, values, "left") + np.searchsorted(known, values, "right")
    return ranks / (2 * len(known))


def _variance(values: Floats) -> float:
    """Return the variance of a mean; NaN for one value."""
    return float(values.var(ddof=1)) / len(values) if len(values) > 1 else float("nan")
