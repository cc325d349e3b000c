"""Statistics of paired differences: pure functions over arrays, every draw from a generator.

A difference belongs to a pair, the same scenario and seed played twice. A *unit* is what is drawn
anew or has its sign flipped: a pair, or all pairs of one scenario. Units come as `sums` of their
differences and `counts` of their pairs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special, stats

Floats = npt.NDArray[np.float64]

LEVEL = 0.95
# Below FEWEST units no interval is given, below FEW it comes with a warning.
FEWEST, FEW = 5, 10
# Up to so many differences that are not zero, every flip of signs is counted.
_EXACT = 16
_CELLS = 2**21  # drawn at once: 16 MB
_ROUNDING = 1e-9
# So many times more units than kinds of them make it worth to draw by kind.
_FEW_KINDS = 8


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval, or None twice and a note that says why it is not defined."""

    low: float | None
    high: float | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class PValue:
    """A p-value of a two-sided test, and whether it is exact or drawn."""

    value: float
    exact: bool


def grouped(differences: Floats, units: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return sum and count of the differences of each unit that has any; units are numbers."""
    counts = np.bincount(units).astype(float)
    sums = np.bincount(units, weights=differences).astype(float)
    return sums[counts > 0], counts[counts > 0]


def mean_interval(
    sums: Floats,
    counts: Floats,
    generator: np.random.Generator,
    *,
    resamples: int,
    level: float = LEVEL,
    unit: str = "pair",
) -> Interval:
    """Return the BCa bootstrap interval of the mean over all pairs, resampled by unit.

    It is that of `scipy.stats.bootstrap`, whose jackknife would take n^2 steps, at a level that is
    widened as a t interval is over a normal one, without which few units cover too seldom.
    """
    units = len(sums)
    if units < FEWEST:
        return Interval(None, None, f"not defined: {_told(units, unit)}, {FEWEST} are the fewest")
    mean = sums.sum() / counts.sum()
    left_out = (sums.sum() - sums) / (counts.sum() - counts)
    spread = left_out.mean() - left_out
    if np.ptp(left_out) <= _ROUNDING * max(1.0, abs(mean)) / units:
        return Interval(None, None, "not defined: all equal")
    acceleration = (spread**3).sum() / (6 * (spread**2).sum() ** 1.5)
    drawn = _resampled_means(sums, counts, generator, resamples)
    margin = _ROUNDING * np.abs(drawn - mean).max()
    below = ((drawn < mean - margin).mean() + (drawn <= mean + margin).mean()) / 2
    quantiles = _bca(special.ndtri(below), acceleration, widened(level, units))
    if not np.isfinite(quantiles).all():
        return Interval(None, None, "not defined: the resampled means lie on one side")
    low, high = np.quantile(drawn, quantiles)
    if not low < high:
        return Interval(None, None, "not defined: the resampled means are nearly all equal")
    note = f"only {_told(units, unit)}: do not rely on it" if units < FEW else ""
    return Interval(float(low), float(high), note)


def _told(units: int, unit: str) -> str:
    return f"{units} {unit}" if units == 1 else f"{units} {unit}s"


def widened(level: float, units: int, groups: int = 1) -> float:
    """Return the level at which normal quantiles are as far out as those of t, unbiased.

    Each of the groups, within which units are drawn, takes one degree of freedom.
    """
    free = units - groups
    far = stats.t.ppf((1 + level) / 2, free) * np.sqrt(units / free)
    return float(2 * special.ndtr(far) - 1)


def _bca(bias: float, acceleration: float, level: float) -> Floats:
    z = bias + special.ndtri(np.array([(1 - level) / 2, (1 + level) / 2]))
    return np.asarray(special.ndtr(bias + z / (1 - acceleration * z)))


def _resampled_means(
    sums: Floats, counts: Floats, generator: np.random.Generator, resamples: int
) -> Floats:
    units = len(sums)
    kinds, often = np.unique(np.stack([sums, counts]), axis=1, return_counts=True)
    means = []
    # How often each kind of unit is drawn says as much as which units are, and is drawn faster.
    if len(often) * _FEW_KINDS <= units:
        for size in chunks(resamples, len(often)):
            drawn = generator.multinomial(units, often / units, size)
            means.append((drawn * kinds[0]).sum(axis=1) / (drawn * kinds[1]).sum(axis=1))
        return np.concatenate(means)
    for size in chunks(resamples, units):
        drawn = generator.integers(0, units, (size, units))
        means.append(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1))
    return np.concatenate(means)


def chunks(total: int, width: int) -> Iterator[int]:
    """Yield numbers of rows, `total` in all, each of which fits in memory."""
    most = max(1, _CELLS // width)
    for start in range(0, total, most):
        yield min(most, total - start)


def sign_flip(sums: Floats, generator: np.random.Generator, *, flips: int) -> PValue:
    """Test whether the sign of each unit is a coin's: a two-sided permutation test of the mean.

    Exact up to 16 units that are not zero; else `flips` are drawn and the p-value is
    (b + 1) / (flips + 1), which never is too small.
    """
    values = sums[sums != 0]
    observed = abs(values.sum()) - _ROUNDING * np.abs(values).sum()
    if len(values) <= _EXACT:
        flipped = np.zeros(1)
        for value in values:
            flipped = np.concatenate([flipped + value, flipped - value])
        return PValue(float((np.abs(flipped) >= observed).mean()), exact=True)
    beyond = sum(
        int((np.abs(flipped) >= observed).sum())
        for flipped in _flipped_sums(np.abs(values), generator, flips)
    )
    return PValue((beyond + 1) / (flips + 1), exact=False)


def _flipped_sums(values: Floats, generator: np.random.Generator, flips: int) -> Iterator[Floats]:
    """Yield sums of values of random signs; of equal values, only how many are positive matters."""
    kinds, often = np.unique(values, return_counts=True)
    few = len(kinds) * _FEW_KINDS <= len(values)
    sizes, ways = (kinds, often) if few else (values, np.ones(len(values), np.int64))
    for rows in chunks(flips, len(sizes)):
        shape = (rows, len(sizes))
        heads = (
            generator.binomial(ways, 0.5, shape)
            if few
            else generator.integers(0, 2, shape, np.int8)
        )
        yield ((2 * heads - ways) * sizes).sum(axis=1)


def effect_size(differences: Floats) -> float | None:
    """Return the mean over the standard deviation of the differences; None where that is 0."""
    if len(differences) < 2 or np.ptp(differences) <= _ROUNDING:
        return None
    return float(differences.mean() / differences.std(ddof=1))


def mcnemar(only_a: int, only_b: int) -> float:
    """Return the exact two-sided p-value of as many changes one way and the other.

    One that is too small for a float is the smallest float, never 0.
    """
    changes = only_a + only_b
    p = float(stats.binomtest(only_a, changes, 0.5).pvalue) if changes else 1.0
    return max(p, sys.float_info.min)


def wilson(successes: int, trials: int, level: float = LEVEL) -> Interval:
    """Return Wilson's score interval of a bare rate, right also for none and for all."""
    if trials == 0:
        return Interval(None, None, "not defined: there is nothing to count")
    found = stats.binomtest(successes, trials).proportion_ci(level, method="wilson")
    return Interval(float(found.low), float(found.high))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p-values adjusted for their number after Holm; None stays and is not counted."""
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    least = 0.0
    for rank, (p, place) in enumerate(known):
        least = max(least, min(1.0, p * (len(known) - rank)))
        adjusted[place] = least
    return adjusted


def generator_of(seed: int, *what: str) -> np.random.Generator:
    """Return the generator of one purpose: what else is asked for changes none of its draws."""
    return np.random.default_rng([seed, *"\0".join(what).encode()])


def draws(pairs: int, most: int = 9999, budget: int = 2 * 10**8) -> int:
    """Return how often to draw: `most`, or less for many pairs, so that it stays in seconds."""
    return min(most, max(1000, budget // max(pairs, 1)))
