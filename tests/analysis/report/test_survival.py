"""Survival curves, against the steps of each episode counted one by one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emberbench_dist.analysis.report.survival import pooled_curves, scenario_curves

STATUSES = ("evacuated", "casualty")
_PEOPLE = 4

# For each episode: its scenario, whether it is committed, and (status, step) of each person.
persons = st.tuples(st.sampled_from((*STATUSES, "active")), st.integers(1, 9))
plays = st.lists(
    st.tuples(st.sampled_from("ab"), st.booleans(), st.lists(persons, min_size=4, max_size=4)),
    min_size=1,
    max_size=12,
)


def frames(episodes):
    """Return the frames of a run as the loaders do."""
    episode = pd.DataFrame(
        {
            "episode": range(len(episodes)),
            "scenario_id": pd.Categorical([name for name, _, _ in episodes], list("ab")),
            "committed": [committed for _, committed, _ in episodes],
            "people": pd.array([_PEOPLE if played else None for _, played, _ in episodes], "Int64"),
        }
    )
    rows = [
        (number, name, status, None if status == "active" else step)
        for number, (name, committed, people) in enumerate(episodes)
        for status, step in people
        if committed
    ]
    people = pd.DataFrame(rows, columns=["episode", "scenario_id", "status", "step"])
    return episode, people.astype({"step": "Int64", "episode": "int64"})


def counted(people, status, step):
    """Return how many of an episode's people have a status by a step."""
    return sum(how == status and when <= step for how, when in people)


@given(plays)
@settings(max_examples=60)
def test_a_scenario_has_the_quantiles_of_its_episodes(episodes):
    """Each point is a quantile of the counts of single episodes, as numpy defines it."""
    found = scenario_curves(*frames(episodes))
    committed = {name for name, played, _ in episodes if played}
    assert set(found["scenario_id"]) == committed
    for row in found.itertuples():
        own = [people for name, played, people in episodes if played and name == row.scenario_id]
        counts = [counted(people, row.status, row.step) for people in own]
        expected = np.quantile(counts, (0.1, 0.5, 0.9), method="inverted_cdf") / _PEOPLE
        assert [row.low, row.middle, row.high] == pytest.approx([*expected])


@given(plays)
@settings(max_examples=60)
def test_all_people_together_have_the_quantiles_of_draws(episodes):
    """The line is over all people; the band over draws of the k-th episode of each scenario."""
    if not any(played for _, played, _ in episodes):
        return
    found = pooled_curves(*frames(episodes))
    draws = {}
    position = {"a": 0, "b": 0}
    last = {}
    for name, played, people in episodes:
        if played:
            draws.setdefault(position[name], []).append(people)
            last[name] = position[name]
        position[name] += 1
    common = [draws[number] for number in sorted(draws) if number <= min(last.values())]
    for row in found.itertuples():
        everybody = [people for draw in draws.values() for people in draw]
        total = sum(counted(people, row.status, row.step) for people in everybody)
        assert row.middle == pytest.approx(total / (_PEOPLE * len(everybody)))
        shares = [
            sum(counted(people, row.status, row.step) for people in draw) / (_PEOPLE * len(draw))
            for draw in common
        ]
        assert [row.low, row.high] == pytest.approx([*np.quantile(shares, (0.1, 0.9))])


def test_a_curve_starts_at_zero_and_ends_after_the_last_event():
    """Nobody is out at step 0, and the last step that is drawn shows how it ended."""
    found = scenario_curves(*frames([("a", True, [("evacuated", 3)] * 4)]))
    curve = found[found["status"] == "evacuated"].set_index("step")["middle"]
    assert curve.to_dict() == {0: 0.0, 1: 0.0, 2: 0.0, 3: 1.0, 4: 1.0}


def test_a_long_episode_is_drawn_at_few_steps():
    """A curve of ten thousand steps has 80 points, the first and the last among them."""
    people = [("evacuated", step) for step in (1, 5000, 9999, 9999)]
    found = pooled_curves(*frames([("a", True, people)]))
    curve = found[found["status"] == "evacuated"]
    assert len(curve) == 80
    assert [*curve["middle"].iloc[[0, -1]]] == [0.0, 1.0]


def test_nothing_happened_is_a_flat_curve():
    """Where nobody leaves and nobody dies, both curves lie at zero."""
    found = pooled_curves(*frames([("a", True, [("active", 1)] * 4)]))
    assert set(found["status"]) == set(STATUSES)
    assert (found[["low", "middle", "high"]] == 0).all(axis=None)
