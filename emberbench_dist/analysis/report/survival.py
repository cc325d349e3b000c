"""Who is out and who is lost by each step: survival curves, with a band over seeds."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emberbench_dist.contract.observation import Status

STATUSES = (Status.EVACUATED.value, Status.CASUALTY.value)
LOW, HIGH = 0.1, 0.9
_POINTS = 80

Counts = NDArray[np.int64]


def scenario_curves(episodes: pd.DataFrame, people: pd.DataFrame) -> pd.DataFrame:
    """Return the curves of each scenario of one run: its median episode, and a band over seeds.

    `episodes` and `people` are one run's frames, `people` of the scenarios that are wanted. Rows:
    `scenario_id`, `status`, `step`, and `low`, `middle`, `high`: shares of the scenario's people
    by that step.
    """
    committed = episodes[episodes["committed"]].groupby("scenario_id", observed=True)
    parts = []
    for scenario_id, events in people.groupby("scenario_id", observed=True):
        own = committed.get_group(scenario_id)
        steps = _grid(_last_step(events))
        for status in STATUSES:
            reached = _episodes_with_at_least(events[events["status"] == status], steps)
            low, middle, high = (
                _quantile(reached, len(own), share) / own["people"].iloc[0]
                for share in (LOW, 0.5, HIGH)
            )
            parts.append(_rows(scenario_id, status, steps, low, middle, high))
    return pd.concat(parts, ignore_index=True) if parts else _rows("", "", *[np.empty(0)] * 4)


def pooled_curves(episodes: pd.DataFrame, people: pd.DataFrame) -> pd.DataFrame:
    """Return the curves of one run over all people, with a band over seeds.

    A draw is the k-th seed of every scenario, for as many k as every scenario has. `middle` is the
    share over everybody in committed episodes; the band is over draws. Rows: `status`, `step`,
    `low`, `middle`, `high`.
    """
    known = episodes[["episode", "scenario_id", "committed", "people"]].copy()
    known["draw"] = known.groupby("scenario_id", observed=True, sort=False).cumcount()
    known = known[known["committed"]]
    common = int(known.groupby("scenario_id", observed=True)["draw"].max().min()) + 1
    draw_of = known.set_index("episode")["draw"]
    size_of = known.groupby("draw")["people"].sum().reindex(range(common), fill_value=0)
    steps, parts = _grid(_last_step(people)), []
    for status in STATUSES:
        events = people[people["status"] == status]
        draws = events["episode"].map(draw_of).to_numpy()
        at = events["step"].to_numpy(dtype=np.int64)
        middle = np.searchsorted(np.sort(at), steps, side="right") / known["people"].sum()
        shares = _by_draw(draws, at, steps, common)[size_of.to_numpy() > 0]
        shares = shares / size_of[size_of > 0].to_numpy()[:, None]
        low, high = np.quantile(shares, (LOW, HIGH), axis=0)
        parts.append(_rows("", status, steps, low, middle, high))
    return pd.concat(parts, ignore_index=True).drop(columns="scenario_id")


def _grid(last: int) -> Counts:
    """Return the steps at which a curve is drawn: all, or evenly spaced ones."""
    return np.unique(np.linspace(0, last, min(last + 1, _POINTS)).round().astype(np.int64))


def _last_step(people: pd.DataFrame) -> int:
    last = people["step"].max()
    return 1 if pd.isna(last) else int(last) + 1


def _episodes_with_at_least(events: pd.DataFrame, steps: Counts) -> Counts:
    """Return how many episodes have k or more events by each step: row k - 1, column step."""
    ordered = events.sort_values(["episode", "step"], kind="stable")
    nth = ordered.groupby("episode").cumcount().to_numpy()
    column = np.searchsorted(steps, ordered["step"].to_numpy(dtype=np.int64))
    counts = np.zeros((int(nth.max(initial=-1)) + 1, len(steps)), dtype=np.int64)
    np.add.at(counts, (nth, column), 1)
    return counts.cumsum(axis=1)


def _quantile(reached: Counts, episodes: int, share: float) -> Counts:
    """Return the smallest count that at least `share` of the episodes do not exceed."""
    result: Counts = (episodes - reached < share * episodes - 1e-9).sum(axis=0)
    return result


def _by_draw(draws: NDArray[np.float64], at: Counts, steps: Counts, common: int) -> Counts:
    """Return the events of each draw by each step."""
    kept = draws < common
    counts = np.zeros((common, len(steps)), dtype=np.int64)
    np.add.at(counts, (draws[kept].astype(np.int64), np.searchsorted(steps, at[kept])), 1)
    return counts.cumsum(axis=1)


def _rows(scenario_id: object, status: str, steps: object, *band: object) -> pd.DataFrame:
    low, middle, high = band
    return pd.DataFrame(
        {
            "scenario_id": scenario_id,
            "status": status,
            "step": steps,
            "low": low,
            "middle": middle,
            "high": high,
        }
    )
