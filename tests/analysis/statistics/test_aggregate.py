"""Scores of a run are those of numpy and scipy, with honest denominators and intervals."""

from __future__ import annotations

import numpy as np
import pytest
from recorded import Recorded, document
from scipy import stats

from emberbench_dist.analysis import load_episodes, performance_profile, rates, scores
from emberbench_dist.analysis.statistics.aggregate import stratified_intervals
from emberbench_dist.errors import ArtifactError

PLAN = document({"a": {"first": 0, "count": 10}, "b": {"first": 5, "count": 30}})


@pytest.fixture
def run(tmp_path):
    """Write a run of 40 planned episodes, 30 of them committed."""
    maker = np.random.default_rng(2)
    committed = np.sort(maker.permutation(40)[:30])
    rate = maker.integers(0, 11, 30) / 10
    rate[:4] = 1.0
    metrics = {"evacuation_rate": rate, "steps": maker.integers(5, 50, 30)}
    return Recorded(PLAN, committed, metrics).write(tmp_path / "run")


def test_a_rate_stands_beside_both_of_its_denominators(run):
    """An episode that was not played counts as nobody out of the planned, not of the committed."""
    episodes = load_episodes(run)
    (row,) = rates(episodes).to_dict("records")
    played = episodes["evacuation_rate"].dropna()
    assert (row["planned"], row["committed"]) == (40, 30)
    assert row["evacuation_rate_planned"] == pytest.approx(played.sum() / 40)
    assert row["evacuation_rate_committed"] == pytest.approx(played.mean())
    assert row["all_out_planned"] == (played == 1).sum() / 40
    assert row["all_out_committed"] == (played == 1).mean()


def test_the_share_of_whole_escapes_has_wilson_s_interval(run):
    """The bare rate of episodes in which everybody got out is a binomial one."""
    episodes = load_episodes(run)
    (row,) = rates(episodes).to_dict("records")
    successes = int((episodes["evacuation_rate"] == 1).sum())
    for over, trials in (("planned", 40), ("committed", 30)):
        expected = stats.binomtest(successes, trials).proportion_ci(method="wilson")
        assert row[f"all_out_{over}_low"] == pytest.approx(expected.low)
        assert row[f"all_out_{over}_high"] == pytest.approx(expected.high)


def test_rates_of_groups_and_of_nothing(tmp_path):
    """Each group has its own row; a group without a committed episode has no committed rate."""
    folder = Recorded(PLAN, np.arange(10), {"evacuation_rate": np.ones(10)}).write(tmp_path / "x")
    found = rates(load_episodes(folder), ["run", "scenario_id"])
    assert found.loc[("x", "a"), "evacuation_rate_committed"] == 1.0
    assert found.loc[("x", "a"), "all_out_planned_low"] > 0.7  # all successes, no zero width
    assert found.loc[("x", "a"), "all_out_planned_high"] == 1.0
    none = found.loc[("x", "b")]
    assert (none["planned"], none["committed"], none["evacuation_rate_planned"]) == (30, 0, 0.0)
    assert np.isnan(none["evacuation_rate_committed"])
    assert np.isnan(none["all_out_committed_low"])


def test_scores_are_those_of_numpy_and_scipy(run):
    """Mean, median and interquartile mean are the plain ones, of planned and of committed."""
    episodes = load_episodes(run)
    found = (
        scores(run, ["evacuation_rate", "steps"])
        .set_index(["metric", "over", "statistic"])
        .sort_index()
    )
    rate = episodes["evacuation_rate"].to_numpy()
    steps = episodes["steps"].dropna().to_numpy(float)
    for key, values in (
        (("evacuation_rate", "planned"), np.nan_to_num(rate)),
        (("evacuation_rate", "committed"), rate[~np.isnan(rate)]),
        (("steps", "committed"), steps),
    ):
        told = found.loc[key]["estimate"]
        assert told["mean"] == pytest.approx(values.mean())
        assert told["median"] == pytest.approx(np.median(values))
        assert told["iqm"] == pytest.approx(stats.trim_mean(values, 0.25))
        assert (found.loc[key]["episodes"] == len(values)).all()
    assert ("steps", "planned") not in found.index.droplevel("statistic")


def test_scores_of_a_complete_run_are_the_same_over_both(tmp_path):
    """Where nothing is missing, planned and committed say the same, from the same draws."""
    rate = np.random.default_rng(0).random(40)
    folder = Recorded(PLAN, np.arange(40), {"evacuation_rate": rate}).write(tmp_path / "run")
    found = scores(folder, resamples=200).set_index("over")
    planned, committed = found.loc["planned"], found.loc["committed"]
    assert planned.to_dict("records") == committed.to_dict("records")


def test_scores_come_from_their_seed(run):
    """The same seed gives the same intervals, whatever else is asked for; another one others."""
    first = scores(run, resamples=200)
    more = scores(run, ["steps", "evacuation_rate"], resamples=200)
    assert more[more["metric"] == "evacuation_rate"].to_dict("records") == first.to_dict("records")
    assert scores(run, resamples=200, seed=1)["low"].tolist() != first["low"].tolist()


def test_scores_without_variety_have_no_interval(tmp_path):
    """Values that are all equal, or one episode a scenario, or none: not defined, never zero."""
    same = Recorded(PLAN, np.arange(40), {"evacuation_rate": np.ones(40)}).write(tmp_path / "same")
    assert set(scores(same)["note"]) == {"not defined: the resamples are nearly all equal"}
    alone = document({"a": [1], "b": [2]})
    each = Recorded(alone, np.arange(2), {"evacuation_rate": [0.1, 0.9]}).write(tmp_path / "each")
    found = scores(each)
    assert set(found["note"]) == {"not defined: one episode a scenario"}
    assert found["low"].isna().all()
    missing = {"mean_evacuation_step": [None, None]}
    none = scores(Recorded(alone, np.arange(2), missing).write(tmp_path / "none"), [*missing])
    assert set(none["note"]) == {"not defined: no episode"}
    assert none["estimate"].isna().all()


def test_stratified_intervals_cover_the_truth():
    """Of 95 % intervals of the mean, 93 to 97 % contain it, with scenarios that differ."""
    maker, strata = np.random.default_rng(5), np.repeat(np.arange(8), 4)
    inside = 0
    for _ in range(800):
        values = maker.normal(strata, 1.0)
        mean, *_ = stratified_intervals(values, strata, maker, resamples=200)
        inside += mean.low <= 3.5 <= mean.high
    assert 744 <= inside <= 776


def test_a_profile_is_the_share_above_each_threshold(run):
    """The profile counts what is above, strictly; what was not played is above nothing."""
    episodes = load_episodes(run)
    found = performance_profile(episodes)
    values = episodes["evacuation_rate"].dropna().to_numpy()
    assert len(found) == 101
    for row in found.to_dict("records"):
        above = (values > row["threshold"]).sum()
        assert row["share_planned"] == above / 40
        assert row["share_committed"] == above / 30
        assert row["low_planned"] <= row["share_planned"] <= row["high_planned"]
    assert found["threshold"].tolist()[70] == 0.7


def test_a_profile_takes_other_thresholds_and_metrics(run):
    """Any metric can be profiled at any thresholds."""
    found = performance_profile(load_episodes(run), "steps", np.array([0.0, 100.0]))
    assert found["share_committed"].tolist() == [1.0, 0.0]


def test_an_unknown_metric_is_refused(run):
    """The error lists the metrics."""
    with pytest.raises(ArtifactError, match=r"no metric 'speed'; there are people, evacuated"):
        scores(run, "speed")
