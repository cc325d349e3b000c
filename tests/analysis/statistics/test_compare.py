"""A comparison pairs what is the same, counts what is not, and gives the same bytes again."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from recorded import Recorded, document
from scipy import stats

from emberbench_dist.analysis import compare
from emberbench_dist.analysis.metric import METRICS, better
from emberbench_dist.analysis.statistics.paired import generator_of, holm, mean_interval
from emberbench_dist.errors import ArtifactError, ManifestError, RunFolderError

SIZES = {"a": 6, "b": 9, "c": 12, "d": 15, "e": 18}
PLAN = document({name: {"first": 3, "count": size} for name, size in SIZES.items()})
TOTAL = sum(SIZES.values())
SCENARIO = np.repeat(list(SIZES), list(SIZES.values()))


def rates(seed, gain=0.0):
    """Return evacuation rates of all episodes, in tenths."""
    maker = np.random.default_rng(seed)
    return np.clip(np.round(maker.random(TOTAL) * 0.8 + gain, 1), 0, 1)


def write(folder, rate, committed=None, *, plan=PLAN, **metrics):
    """Write a run with these rates; return its folder."""
    numbers = np.arange(TOTAL) if committed is None else committed
    values = {"evacuation_rate": np.asarray(rate)[numbers], **metrics}
    return Recorded(plan, numbers, values).write(folder)


@pytest.fixture
def two(tmp_path):
    """Write two complete runs; the second is a bit better."""
    return write(tmp_path / "first", rates(1)), write(tmp_path / "second", rates(2, 0.15))


def over_all(comparison, pairing=0, metric="evacuation_rate"):
    """Return the row of a metric over all pairs."""
    (row,) = [
        row
        for row in comparison.pairings[pairing].rows
        if (row.metric, row.scenario) == (metric, None)
    ]
    return row


def test_a_comparison_is_the_second_minus_the_first(two):
    """Means, difference, effect size, wins, ties and losses are those of the pairs."""
    row = over_all(compare(*two))
    a, b = rates(1), rates(2, 0.15)
    assert row.pairs == TOTAL
    assert (row.mean_a, row.mean_b) == pytest.approx((a.mean(), b.mean()))
    assert row.difference == pytest.approx((b - a).mean())
    assert row.effect_size == pytest.approx((b - a).mean() / (b - a).std(ddof=1))
    assert (row.wins, row.ties, row.losses) == ((b > a).sum(), (b == a).sum(), (b < a).sum())


def test_the_intervals_are_those_of_the_pairs_and_of_the_scenarios(two):
    """By episode each pair is a unit, by scenario all pairs of one."""
    comparison = compare(*two, seed=7, resamples=500)
    row, differences = over_all(comparison), rates(2, 0.15) - rates(1)
    expected = mean_interval(
        differences,
        np.ones(TOTAL),
        generator_of(7, "evacuation_rate", "pair", "interval"),
        resamples=500,
    )
    assert row.by_episode.interval == expected
    sums = [differences[name == SCENARIO].sum() for name in SIZES]
    exact = stats.permutation_test(
        (np.array(sums),), np.sum, permutation_type="samples", n_resamples=np.inf
    )
    assert row.by_scenario.p.exact
    assert row.by_scenario.p.value == pytest.approx(exact.pvalue)
    assert row.by_scenario.interval.note == "only 5 scenarios: do not rely on it"


def test_each_scenario_has_its_row(two):
    """The scenarios come in the order of the manifest, with their own pairs."""
    rows = compare(*two).pairings[0].rows[1:]
    assert [(row.scenario, row.pairs) for row in rows] == list(SIZES.items())
    differences = rates(2, 0.15) - rates(1)
    for row in rows:
        assert row.difference == pytest.approx(differences[row.scenario == SCENARIO].mean())
        assert row.by_scenario is None


def test_lower_is_better_for_casualties(tmp_path):
    """A win is the better one, whichever way that is; without a better, the higher one."""
    low, high = np.zeros(TOTAL), np.ones(TOTAL)
    a = write(tmp_path / "a", low, casualties=high, moved=low)
    b = write(tmp_path / "b", low, casualties=low, moved=high)
    comparison = compare(a, b, metric=["casualties", "moved"])
    for metric in ("casualties", "moved"):
        row = over_all(comparison, metric=metric)
        assert (row.wins, row.losses) == (TOTAL, 0)
        assert row.improvement_paired.value == row.improvement_unpaired.value == 1.0
    assert [better(name) for name in ("casualties", "evacuated", "moved")] == [
        "lower",
        "higher",
        "",
    ]


def test_pairs_that_only_one_run_has_are_listed_and_counted(tmp_path):
    """What has no partner is named by scenario and seed, what neither has is counted."""
    a = write(tmp_path / "a", rates(1), np.arange(0, TOTAL - 1))
    b = write(tmp_path / "b", rates(2), np.arange(2, TOTAL - 1))
    comparison = compare(a, b)
    (pairing,) = comparison.pairings
    assert pairing.only_a == [("a", 3), ("a", 4)]
    assert (pairing.only_b, pairing.missing, pairing.pairs) == ([], 1, TOTAL - 3)
    assert [score.committed for score in comparison.runs] == [TOTAL - 1, TOTAL - 3]
    assert comparison.notes[:2] == [
        f"a is not complete: {TOTAL - 1} of {TOTAL} episodes are committed",
        f"b is not complete: {TOTAL - 3} of {TOTAL} episodes are committed",
    ]
    score = comparison.runs[1]
    assert score.evacuation_rate_planned == pytest.approx(rates(2)[2:-1].sum() / TOTAL)
    assert score.evacuation_rate_committed == pytest.approx(rates(2)[2:-1].mean())


def test_what_was_not_played_counts_over_the_planned(tmp_path):
    """Over planned episodes, one that was not played is one in which nobody got out."""
    played = np.arange(4, TOTAL)
    a, b = rates(1), np.where(np.arange(TOTAL) < 4, 0.0, rates(2))
    folders = write(tmp_path / "a", a), write(tmp_path / "b", b, played, steps=played)
    (pairing,) = compare(*folders, metric=["evacuation_rate", "steps"]).pairings
    whole, first = pairing.rows[:2]
    assert (whole.pairs, whole.planned) == (TOTAL - 4, TOTAL)
    assert whole.difference == pytest.approx((b - a)[4:].mean())
    assert whole.difference_planned == pytest.approx((b - a).mean())
    assert (first.pairs, first.planned) == (SIZES["a"] - 4, SIZES["a"])
    assert first.difference_planned == pytest.approx((b - a)[: SIZES["a"]].mean())
    (steps,) = [row for row in pairing.rows if (row.metric, row.scenario) == ("steps", None)]
    assert (steps.planned, steps.difference_planned) == (TOTAL, None)


def test_a_pair_without_a_value_is_counted(tmp_path):
    """Where a metric is not defined in one run, the pair is left out and counted."""
    steps = np.full(TOTAL, 4.0)
    some = np.where(np.arange(TOTAL) < 10, np.nan, 6.0)
    a = write(tmp_path / "a", rates(1), mean_evacuation_step=steps)
    b = write(tmp_path / "b", rates(1), mean_evacuation_step=some)
    comparison = compare(a, b, metric="mean_evacuation_step")
    row = over_all(comparison, metric="mean_evacuation_step")
    assert (row.pairs, row.without_value, row.difference) == (TOTAL - 10, 10, 2.0)
    first = comparison.pairings[0].rows[1]
    assert (first.pairs, first.without_value, first.mean_a, first.by_episode) == (0, 6, None, None)


def test_slices_share_what_both_have(tmp_path):
    """A slice is compared with a whole run on the episodes of the slice."""
    half = range(TOTAL // 2, TOTAL)
    part = replace(Recorded(PLAN, np.array(half), {"evacuation_rate": rates(1)[half]}), slice="2/2")
    (pairing,) = compare(part.write(tmp_path / "part"), write(tmp_path / "all", rates(2))).pairings
    assert (pairing.pairs, len(pairing.only_b), pairing.only_b[0]) == (len(half), half[0], ("a", 3))
    assert (pairing.missing, pairing.rows[0].planned) == (0, len(half))


def test_the_same_seed_gives_the_same_bytes(two):
    """Twice the same call is the same document; another seed draws differently."""
    first = json.dumps(compare(*two, seed=5).to_dict())
    assert json.dumps(compare(*two, seed=5).to_dict()) == first
    assert json.dumps(compare(*two, seed=6).to_dict()) != first


def test_what_else_is_asked_for_changes_no_draw(two, tmp_path):
    """Another metric or a third run leaves the numbers of a pair of runs as they are."""
    alone = over_all(compare(*two))
    beside = over_all(compare(*two, metric=["steps", "evacuation_rate"]))
    third = over_all(compare(*two, write(tmp_path / "third", rates(3))))
    assert alone.by_episode.interval == beside.by_episode.interval == third.by_episode.interval
    assert alone.by_scenario.p == beside.by_scenario.p == third.by_scenario.p


def test_three_runs_are_all_compared(two, tmp_path):
    """All against the first come first, then the rest; the matrix has both directions."""
    third = write(tmp_path / "third", rates(3, -0.1))
    comparison = compare(*two, third, labels=["x", "y", "z"])
    pairs = [(pairing.a, pairing.b) for pairing in comparison.pairings]
    assert pairs == [("x", "y"), ("x", "z"), ("y", "z")]
    assert comparison.against_first() == comparison.pairings[:2]
    matrix = comparison.matrix("evacuation_rate")
    expected = (rates(3, -0.1) - rates(2, 0.15)).mean()
    assert matrix.loc["z", "y"] == pytest.approx(expected) == -matrix.loc["y", "z"]
    assert np.isnan(np.diag(matrix)).all()


def test_p_values_are_corrected_for_all_that_is_tested(two, tmp_path):
    """Over all pairs Holm takes every metric and pair of runs, of scenarios those of one metric."""
    third = write(tmp_path / "third", rates(3, -0.1))
    comparison = compare(*two, third, metric=["evacuation_rate", "steps"])
    assert comparison.correction.startswith("Holm over 6 tests: metrics 2, pairs of runs 3")
    rows = [row for pairing in comparison.pairings for row in pairing.rows]
    family = [row.by_episode for row in rows if row.scenario is None]
    assert [one.p_holm for one in family] == holm([one.p.value for one in family])
    scenarios = [row.by_episode for row in comparison.pairings[0].rows[1 : 1 + len(SIZES)]]
    assert [one.p_holm for one in scenarios] == holm([one.p.value for one in scenarios])
    assert compare(*two).correction.startswith("none, there is one test")


def test_people_are_counted_in_both_in_one_and_in_none(two):
    """A person is the same by scenario, seed and id; McNemar's test is over those who changed."""
    maker = np.random.default_rng(0)
    out = [maker.random((TOTAL, 4)) < share for share in (0.4, 0.6)]
    for folder, some in zip(two, out, strict=True):
        Recorded(PLAN, np.arange(TOTAL)).write_people(folder, some)
    (pairing,) = compare(*two).pairings
    people, (a, b) = pairing.people, out
    assert (people.both, people.neither) == ((a & b).sum(), (~a & ~b).sum())
    assert (people.only_a, people.only_b) == ((a & ~b).sum(), (~a & b).sum())
    expected = stats.binomtest(people.only_a, people.only_a + people.only_b)
    assert people.p == pytest.approx(expected.pvalue)
    assert people.difference == pytest.approx(b.mean() - a.mean())
    change = b.sum(axis=1).astype(float) - a.sum(axis=1)
    of_scenarios = [change[name == SCENARIO].sum() for name in SIZES]
    for found, unit, sums, episodes in (
        (people.by_episode, "pair", change, np.ones(TOTAL)),
        (people.by_scenario, "scenario", np.array(of_scenarios), np.array([*SIZES.values()])),
    ):
        expected = mean_interval(
            sums, 4.0 * episodes, generator_of(0, "people", unit, "interval"), resamples=9999
        )
        assert (found.low, found.high) == (expected.low, expected.high)


def test_people_of_episodes_without_a_partner_are_left_out(tmp_path):
    """Only people of episodes that both runs have are joined."""
    numbers = [np.arange(0, TOTAL - 2), np.arange(3, TOTAL)]
    folders = [write(tmp_path / str(len(some)), rates(1), some) for some in numbers]
    for folder, some in zip(folders, numbers, strict=True):
        Recorded(PLAN, some).write_people(folder, np.ones((len(some), 2), bool))
    people = compare(*folders).pairings[0].people
    assert (people.both, people.only_a, people.only_b, people.neither) == (2 * (TOTAL - 5), 0, 0, 0)


def test_people_without_a_table_are_noted(two):
    """A run whose people cannot be read is compared without them, and that is said."""
    comparison = compare(*two)
    assert comparison.pairings[0].people is None
    (note,) = comparison.notes
    assert note.startswith("people are not compared: ")
    assert "dist-eval export" in note


def test_different_people_are_an_error(two):
    """Tables that disagree on who took part are not those of these episodes."""
    for folder, people in zip(two, (3, 4), strict=True):
        Recorded(PLAN, np.arange(TOTAL)).write_people(folder, np.ones((TOTAL, people), bool))
    with pytest.raises(ArtifactError, match="do not have the same people"):
        compare(*two)


def test_a_run_compared_with_its_copy_differs_in_nothing(tmp_path):
    """All ties: no interval but its reason, p-values of 1, an even probability."""
    a, b = (write(tmp_path / name, rates(1)) for name in "ab")
    row = over_all(compare(a, b))
    assert (row.difference, row.ties, row.effect_size) == (0.0, TOTAL, None)
    for found in (row.by_episode, row.by_scenario):
        assert found.interval.low is found.interval.high is None
        assert found.interval.note == "not defined: all equal"
        assert (found.p.value, found.p.exact, found.p_holm) == (1.0, True, 1.0)
    assert row.improvement_paired.value == 0.5


def test_one_pair_says_its_difference_and_no_more(tmp_path):
    """One pair has a difference; everything that needs more is not defined."""
    plan = document({"a": [1]})
    a = Recorded(plan, np.arange(1), {"evacuation_rate": [0.25]}).write(tmp_path / "a")
    b = Recorded(plan, np.arange(1), {"evacuation_rate": [0.75]}).write(tmp_path / "b")
    row = over_all(compare(a, b))
    assert (row.difference, row.effect_size, row.by_episode.p.value) == (0.5, None, 1.0)
    assert row.by_episode.interval.note == "not defined: 1 pair, 5 are the fewest"
    assert row.by_scenario.interval.note == "not defined: 1 scenario, 5 are the fewest"


def test_no_document_has_a_nan(tmp_path):
    """Whatever is not defined is null in the document, also where nothing varies."""
    nothing = np.full(TOTAL, np.nan)
    folders = [
        write(tmp_path / name, np.ones(TOTAL), mean_evacuation_step=nothing) for name in "ab"
    ]
    comparison = compare(*folders, metric="all", resamples=100)
    assert comparison.metrics == list(METRICS)
    json.dumps(comparison.to_dict(), allow_nan=False)


def test_the_frame_has_a_row_for_each_pair_metric_and_scenario(two, tmp_path):
    """The frame says the same as the values, one row each."""
    third = write(tmp_path / "third", rates(3))
    comparison = compare(*two, third, metric=["evacuation_rate", "steps"])
    frame = comparison.frame()
    assert len(frame) == 3 * 2 * (1 + len(SIZES))
    whole = frame[frame["scenario"].isna()]
    row = over_all(comparison)
    assert whole.iloc[0][["a", "b", "metric"]].tolist() == ["first", "second", "evacuation_rate"]
    assert whole.iloc[0]["low_by_episode"] == row.by_episode.interval.low
    assert whole.iloc[0]["p_holm_by_scenario"] == row.by_scenario.p_holm
    assert whole.iloc[0]["improvement_paired"] == row.improvement_paired.value
    assert pd.api.types.is_numeric_dtype(frame["difference"])


def test_another_manifest_is_refused(two, tmp_path):
    """The error names both manifests and the scenarios that differ."""
    plan = json.loads(json.dumps(PLAN))
    plan["scenarios"][1]["scenario_hash"] = "0" * 64
    other = write(tmp_path / "other", rates(1), plan=plan)
    with pytest.raises(
        ManifestError, match=r"first is of made \(.*other of made \(.*scenarios that differ: b$"
    ):
        compare(*two, other)


@pytest.mark.parametrize(
    ("committed", "message"),
    [
        ([[], [0, 1]], "a: has no committed episode"),
        ([[0, 1], [2]], "no committed episode in common"),
    ],
)
def test_nothing_to_compare_is_an_error(committed, message, tmp_path):
    """An empty run, or two without a common episode, is named."""
    folders = [
        write(tmp_path / name, rates(1), np.array(some, np.int64))
        for name, some in zip("ab", committed, strict=True)
    ]
    with pytest.raises(RunFolderError, match=message):
        compare(*folders)


def test_an_unknown_metric_is_an_error_that_lists_them(two):
    """The message has the name and all that there are."""
    with pytest.raises(
        ArtifactError, match=r"no metric 'speed'; there are people, .*evacuation_rate"
    ):
        compare(*two, metric="speed")
