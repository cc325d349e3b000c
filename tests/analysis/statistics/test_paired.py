"""Intervals and tests agree with scipy and closed forms, cover the truth, and never pretend."""

from __future__ import annotations

from functools import partial
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from synthetic_pairs import coverage, false_positives

from emberbench_dist.analysis.statistics.paired import (
    FEW,
    FEWEST,
    Interval,
    chunks,
    draws,
    effect_size,
    generator_of,
    grouped,
    holm,
    mcnemar,
    mean_interval,
    sign_flip,
    widened,
    wilson,
)


def interval(differences, seed=3, resamples=2000):
    """Return the interval of a mean, resampled by pair."""
    generator = np.random.default_rng(seed)
    return mean_interval(
        np.asarray(differences, float), np.ones(len(differences)), generator, resamples=resamples
    )


@pytest.mark.parametrize("size", [12, 80, 300])
def test_the_interval_by_pair_is_that_of_scipy(size):
    """From the same draws, the BCa interval is scipy's at the widened level."""
    differences = np.random.default_rng(size).exponential(size=size) - 0.8
    expected = stats.bootstrap(
        (differences,),
        np.mean,
        n_resamples=2000,
        confidence_level=widened(0.95, size),
        rng=np.random.default_rng(3),
        method="BCa",
    ).confidence_interval
    found = interval(differences)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-9)


def test_the_interval_by_scenario_is_that_of_scipy():
    """Sums over counts of drawn scenarios are scipy's paired bootstrap of a ratio."""
    maker = np.random.default_rng(1)
    counts = maker.integers(1, 30, 25).astype(float)
    sums = maker.normal(0.3, 1, 25) * counts
    expected = stats.bootstrap(
        (sums, counts),
        lambda sums, counts, axis: sums.sum(axis) / counts.sum(axis),
        paired=True,
        n_resamples=2000,
        confidence_level=widened(0.95, 25),
        rng=np.random.default_rng(5),
        method="BCa",
    ).confidence_interval
    found = mean_interval(sums, counts, np.random.default_rng(5), resamples=2000)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-9)


def test_the_level_is_widened_as_t_is_over_normal():
    """The widened interval of a normal sample is Student's; for many units nothing changes."""
    for units in (5, 16, 100):
        far = stats.norm.ppf((1 + widened(0.95, units)) / 2) * np.sqrt((units - 1) / units)
        assert far == pytest.approx(stats.t.ppf(0.975, units - 1))
    assert widened(0.95, 10**6) == pytest.approx(0.95, abs=1e-5)


def test_drawing_by_kind_says_the_same():
    """Few kinds of differences are drawn by how often each comes; the interval is the same."""
    differences = np.random.default_rng(8).choice([-0.5, 0.0, 0.25, 1.0], 4000)
    distinct = differences + np.arange(4000) * 1e-12  # no two are equal, so they are drawn singly
    few, many = interval(differences), interval(distinct)
    assert (few.low, few.high) == pytest.approx((many.low, many.high), abs=2e-3)
    test = partial(sign_flip, flips=20_000)
    by_kind = test(differences - 0.19, np.random.default_rng(1)).value
    singly = test(distinct - 0.19, np.random.default_rng(2)).value
    assert by_kind == pytest.approx(singly, abs=0.02)


@pytest.mark.parametrize(
    ("differences", "note"),
    [
        ([], "not defined: 0 pairs, 5 are the fewest"),
        ([0.5], "not defined: 1 pair, 5 are the fewest"),
        ([0.5, 0.1, 0.3, 0.2], "not defined: 4 pairs, 5 are the fewest"),
        ([0.0] * 50, "not defined: all equal"),
        ([1.0] * 50, "not defined: all equal"),
        ([0.1 + 0.2, 0.3] * 25, "not defined: all equal"),
    ],
)
def test_an_interval_that_cannot_be_is_not_defined(differences, note):
    """Too few units, or units that are all the same, give no interval and say why."""
    assert interval(differences) == Interval(None, None, note)


def test_few_units_come_with_a_warning():
    """From five to nine units there is an interval that says not to rely on it."""
    values = np.linspace(-1, 2, FEW)
    assert interval(values).note == ""
    assert interval(values[: FEW - 1]).note == "only 9 pairs: do not rely on it"
    assert interval(values[:FEWEST]).low is not None


@given(st.lists(st.sampled_from([0.0, 0.0, 0.0, 0.5, -1.0]), min_size=1, max_size=40))
def test_an_interval_is_ordered_or_not_defined(differences):
    """Ties, outliers and what else there may be never give NaN, nor low and high the same."""
    found = interval(differences, resamples=200)
    if found.low is None:
        assert found.high is None
        assert found.note.startswith("not defined")
    else:
        assert found.low < found.high


def test_few_different_pairs_among_many_ties_have_an_interval():
    """One pair in a hundred that differs says something of the mean, in one direction."""
    found = interval([0.5] + [0.0] * 99)
    assert 0.0 <= found.low <= 0.005 < found.high < 0.05


def test_an_exact_sign_flip_is_the_permutation_test_of_scipy():
    """Up to 16 differences every flip counts, as in scipy's exact permutation test."""
    for size in (2, 7, 13):
        values = np.random.default_rng(size).normal(0.4, 1, size)
        expected = stats.permutation_test(
            (values,), np.mean, permutation_type="samples", n_resamples=np.inf
        ).pvalue
        found = sign_flip(values, np.random.default_rng(0), flips=10)
        assert found.exact
        assert found.value == pytest.approx(expected)


def test_equal_differences_have_the_binomial_p_value():
    """With differences of one size the test is the sign test; zeros do not count."""
    values = np.array([1.0] * 9 + [-1.0] * 3 + [0.0] * 100)
    found = sign_flip(values, np.random.default_rng(0), flips=10)
    assert found.exact
    assert found.value == pytest.approx(stats.binomtest(9, 12).pvalue)


@pytest.mark.parametrize("kinds", [1, 400])
def test_a_drawn_sign_flip_is_near_the_truth(kinds):
    """Above 16 differences the drawn p-value is near that of the normal limit."""
    sizes = np.repeat(np.linspace(1, 2, kinds), 400 // kinds)
    signs = np.where(np.random.default_rng(4).random(400) < 0.54, 1, -1)
    values = sizes * signs
    z = abs(values.sum()) / np.sqrt((values**2).sum())
    found = sign_flip(values, np.random.default_rng(1), flips=20_000)
    assert not found.exact
    assert found.value == pytest.approx(2 * stats.norm.sf(z), abs=0.02)


def test_a_drawn_p_value_is_never_zero():
    """A difference that no flip reaches has the p-value of one in all draws and itself."""
    found = sign_flip(np.ones(500), np.random.default_rng(1), flips=999)
    assert found.value == 1 / 1000


def test_no_difference_at_all_is_no_evidence():
    """All ties have the p-value 1, exactly."""
    found = sign_flip(np.zeros(30), np.random.default_rng(0), flips=10)
    assert (found.value, found.exact) == (1.0, True)


@given(st.integers(0, 30), st.integers(0, 30))
def test_mcnemar_is_the_binomial_sum(one, other):
    """The p-value is twice the smaller tail of a fair coin, at most 1."""
    changes = one + other
    tail = sum(comb(changes, k) for k in range(min(one, other) + 1)) / 2**changes
    assert mcnemar(one, other) == pytest.approx(min(1.0, 2 * tail))


def test_mcnemar_is_never_zero():
    """A p-value below what a float can tell is the smallest float."""
    assert 0 < mcnemar(20_000, 3) < 1e-300


@pytest.mark.parametrize(("successes", "trials"), [(0, 20), (20, 20), (7, 20), (1, 1), (0, 1)])
def test_wilson_is_its_closed_form(successes, trials):
    """Wilson's interval is the formula's, with room to both sides for none and all."""
    z = stats.norm.ppf(0.975)
    rate = successes / trials
    middle = (rate + z * z / (2 * trials)) / (1 + z * z / trials)
    half = (
        z
        / (1 + z * z / trials)
        * np.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials))
    )
    found = wilson(successes, trials)
    assert (found.low, found.high) == pytest.approx((middle - half, middle + half), abs=1e-12)
    assert found.low < found.high


def test_wilson_of_nothing_is_not_defined():
    """No trial, no interval."""
    assert wilson(0, 0) == Interval(None, None, "not defined: there is nothing to count")


def test_holm_is_step_down():
    """The smallest is multiplied by all, the next by one less, and none falls below another."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, None, 0.9]) == [1.0, None, 1.0]
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


def test_an_effect_size_is_mean_over_deviation():
    """The paired effect size is t over the root of n; without a deviation there is none."""
    values = np.random.default_rng(0).normal(0.5, 2, 30)
    expected = stats.ttest_1samp(values, 0).statistic / np.sqrt(30)
    assert effect_size(values) == pytest.approx(expected)
    assert effect_size(np.ones(5)) is None
    assert effect_size(np.array([3.0])) is None


def test_differences_are_grouped_by_unit():
    """Each unit that has a pair comes once, with sum and count; others do not come."""
    sums, counts = grouped(np.array([1.0, 2.0, 4.0]), np.array([5, 2, 5]))
    assert (sums.tolist(), counts.tolist()) == ([2.0, 5.0], [1.0, 2.0])


def test_draws_depend_on_their_purpose_alone():
    """The same seed and purpose draw the same; another of either draws something else."""
    first = generator_of(1, "a", "b").random()
    assert generator_of(1, "a", "b").random() == first
    assert len({first, generator_of(2, "a", "b").random(), generator_of(1, "ab").random()}) == 3


def test_large_data_is_drawn_less_often():
    """What is drawn falls with the pairs, but never below a thousand."""
    assert [draws(10), draws(10**5), draws(10**7)] == [9999, 2000, 1000]


def test_chunks_are_the_whole():
    """Rows are cut into parts that fit, none lost."""
    assert list(chunks(5, 2**20)) == [2, 2, 1]
    assert list(chunks(2, 2**30)) == [1, 1]


@pytest.mark.parametrize("unit", ["episode", "scenario"])
def test_intervals_cover_the_truth(unit):
    """Of 95 % intervals, 93 to 97 % contain the true difference, also where scenarios differ."""
    assert 0.93 <= coverage(unit, worlds=1200, seed=1) <= 0.97


@pytest.mark.parametrize("unit", ["episode", "scenario"])
def test_the_test_errs_as_often_as_it_says(unit):
    """Where nothing differs, about one in twenty tests is below 0.05."""
    assert 0.035 <= false_positives(unit, worlds=1200, seed=2) <= 0.065


def test_resampling_by_episode_is_not_for_new_scenarios():
    """Where scenarios differ, intervals by episode miss the mean over new scenarios too often."""
    assert coverage("episode", worlds=200, seed=1, between=0.15) < 0.8
