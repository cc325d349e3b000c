"""Probability of improvement agrees with Mann and Whitney, and with plain counting in pairs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from emberbench_dist.analysis.statistics.improvement import paired_improvement, unpaired_improvement

STRATA = np.repeat([0, 1, 2], [5, 8, 20])


def data(seed=0):
    """Return values with ties of two runs in three strata."""
    maker = np.random.default_rng(seed)
    return maker.integers(0, 6, 33).astype(float), maker.integers(1, 7, 33).astype(float)


def test_unpaired_is_the_mean_of_u_over_the_comparisons():
    """Stratum by stratum it is scipy's U statistic, a tie a half."""
    a, b = data()
    expected = [
        stats.mannwhitneyu(b[one == STRATA], a[one == STRATA]).statistic
        / (one == STRATA).sum() ** 2
        for one in range(3)
    ]
    assert unpaired_improvement(a, b, STRATA).value == pytest.approx(np.mean(expected))


def test_paired_is_the_share_of_wins():
    """Stratum by stratum it is wins and half the ties over the pairs."""
    a, b = data()
    wins = (b > a) + 0.5 * (b == a)
    expected = np.mean([wins[one == STRATA].mean() for one in range(3)])
    assert paired_improvement(a, b, STRATA).value == pytest.approx(expected)


def test_the_order_of_the_pairs_does_not_matter():
    """Pairs may come in any order of their strata."""
    a, b = data()
    order = np.random.default_rng(1).permutation(33)
    for measure in (paired_improvement, unpaired_improvement):
        shuffled, plain = measure(a[order], b[order], STRATA[order]), measure(a, b, STRATA)
        assert shuffled.value == pytest.approx(plain.value)
        assert shuffled.interval.low == pytest.approx(plain.interval.low)


@pytest.mark.parametrize("measure", [paired_improvement, unpaired_improvement])
def test_swapping_the_runs_turns_it_around(measure):
    """What one gains the other loses, intervals included."""
    a, b = data()
    one, other = measure(a, b, STRATA), measure(b, a, STRATA)
    assert one.value == pytest.approx(1 - other.value)
    assert one.interval.low == pytest.approx(1 - other.interval.high)


def test_only_the_paired_one_sees_pairs():
    """A run that is a bit better on every seed wins every pair, and few other comparisons."""
    a = np.linspace(0, 1, 40)
    strata = np.zeros(40, np.int64)
    assert paired_improvement(a, a + 1e-3, strata).value == 1.0
    assert unpaired_improvement(a, a + 1e-3, strata).value == pytest.approx(0.5, abs=0.02)


def test_the_interval_of_the_paired_one_is_closed():
    """Its variance is that of each stratum's mean, summed, over the strata squared."""
    a, b = data()
    wins = (b > a) + 0.5 * (b == a)
    parts = [wins[one == STRATA] for one in range(3)]
    error = np.sqrt(sum(stats.sem(part) ** 2 for part in parts)) / 3
    found = paired_improvement(a, b, STRATA)
    assert found.interval.low == pytest.approx(found.value - 1.959964 * error, abs=1e-6)


@pytest.mark.parametrize("measure", [paired_improvement, unpaired_improvement])
def test_what_has_no_interval_says_why(measure):
    """One pair in a stratum, or outcomes that never vary, give a value and no interval."""
    one = measure(np.array([0.0]), np.array([1.0]), np.array([0]))
    assert (one.value, one.interval.low) == (1.0, None)
    assert one.interval.note == "not defined: a scenario has only one pair"
    same = measure(np.ones(9), np.ones(9), np.zeros(9, np.int64))
    assert (same.value, same.interval.note) == (0.5, "not defined: all equal")


@pytest.mark.parametrize("measure", [paired_improvement, unpaired_improvement])
def test_intervals_cover_the_true_probability(measure):
    """Of 95 % intervals, 93 to 97 % contain the probability of normal values a shift apart."""
    maker, strata = np.random.default_rng(3), np.repeat(np.arange(10), 15)
    truth = stats.norm.cdf(0.3 / np.sqrt(2))
    inside = 0
    for _ in range(1000):
        a, b = maker.normal(0, 1, 150), maker.normal(0.3, 1, 150)
        interval = measure(a, b, strata).interval
        inside += interval.low <= truth <= interval.high
    assert 930 <= inside <= 970
