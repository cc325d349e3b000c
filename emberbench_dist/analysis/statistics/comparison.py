"""What a comparison of runs says: frozen values, as one document and as one frame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from emberbench_dist.analysis.statistics.improvement import Estimate
from emberbench_dist.analysis.statistics.paired import LEVEL, Interval, PValue


@dataclass(frozen=True, slots=True)
class Resampled:
    """What one way of resampling says: the interval of the mean difference, and a test of zero.

    `p_holm` is the p-value adjusted for the number of tests that `Comparison.correction` tells.
    """

    interval: Interval
    p: PValue
    p_holm: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One metric over all pairs (`scenario` is None) or over those of one scenario.

    The difference is b minus a. In `without_value` pairs the metric is not defined in a or b. A
    win is a pair in which b is better or, of a metric that has no better, higher. Over the planned
    episodes, one that was not played counts as one in which nobody got out; other metrics than
    those of evacuation say nothing of it.
    """

    metric: str
    scenario: str | None
    pairs: int
    without_value: int
    mean_a: float | None = None
    mean_b: float | None = None
    difference: float | None = None
    effect_size: float | None = None
    wins: int = 0
    ties: int = 0
    losses: int = 0
    planned: int = 0
    difference_planned: float | None = None
    by_episode: Resampled | None = None
    by_scenario: Resampled | None = None
    improvement_paired: Estimate | None = None
    improvement_unpaired: Estimate | None = None


@dataclass(frozen=True, slots=True)
class People:
    """Who got out: in both runs, in one of them, in neither; and McNemar's exact p-value.

    That test takes people for independent, which those of one episode are not; the intervals of
    the difference, the share that gets out in b minus that in a, do not.
    """

    both: int
    only_a: int
    only_b: int
    neither: int
    p: float
    difference: float
    by_episode: Interval
    by_scenario: Interval


@dataclass(frozen=True, slots=True)
class Pairing:
    """Two runs: their pairs, what only one of them has, and a row for each metric and scenario.

    `only_a` and `only_b` have scenario id and seed of episodes without a partner; `missing`
    counts the planned ones that neither has.
    """

    a: str
    b: str
    pairs: int
    only_a: list[tuple[str, int]]
    only_b: list[tuple[str, int]]
    missing: int
    people: People | None
    rows: list[Row]


@dataclass(frozen=True, slots=True)
class Score:
    """A run's mean evacuation rate over its planned and over its committed episodes."""

    label: str
    path: str
    agent: str
    planned: int
    committed: int
    evacuation_rate_planned: float
    evacuation_rate_committed: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Every pair of runs: first all against the first run, then the others.

    `resamples` is how often each interval and each test that is not exact were drawn.
    """

    manifest_id: str
    manifest_hash: str
    metrics: list[str]
    seed: int
    resamples: int
    correction: str
    runs: list[Score]
    pairings: list[Pairing]
    notes: list[str]
    level: float = LEVEL

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as one document for JSON; what is not defined is None, never NaN."""
        return asdict(self)

    def frame(self) -> pd.DataFrame:
        """Return a row for each pair of runs, metric and scenario (absent: over all)."""
        rows = [_flat(pairing, row) for pairing in self.pairings for row in pairing.rows]
        return pd.DataFrame(rows)

    def against_first(self) -> list[Pairing]:
        """Return the pairings with the first run."""
        return self.pairings[: len(self.runs) - 1]

    def matrix(self, metric: str) -> pd.DataFrame:
        """Return the mean differences over all pairs, row minus column; absent with itself."""
        labels = [run.label for run in self.runs]
        found = pd.DataFrame(float("nan"), index=labels, columns=labels)
        for pairing in self.pairings:
            (row,) = (row for row in pairing.rows if (row.metric, row.scenario) == (metric, None))
            if row.difference is not None:
                found.loc[pairing.b, pairing.a] = row.difference
                found.loc[pairing.a, pairing.b] = -row.difference
        return found


def _flat(pairing: Pairing, row: Row) -> dict[str, Any]:
    plain = (
        "metric",
        "scenario",
        "pairs",
        "without_value",
        "mean_a",
        "mean_b",
        "difference",
        "effect_size",
        "wins",
        "ties",
        "losses",
        "planned",
        "difference_planned",
    )
    told: dict[str, Any] = {"a": pairing.a, "b": pairing.b}
    told |= {name: getattr(row, name) for name in plain}
    for name in ("by_episode", "by_scenario"):
        told |= {f"{field}_{name}": value for field, value in _resampled(getattr(row, name))}
    for name in ("improvement_paired", "improvement_unpaired"):
        told |= {f"{name}{field}": value for field, value in _estimate(getattr(row, name))}
    return told


def _resampled(found: Resampled | None) -> Iterator[tuple[str, Any]]:
    yield "low", found and found.interval.low
    yield "high", found and found.interval.high
    yield "p", found and found.p.value
    yield "p_holm", found and found.p_holm
    yield "exact", found and found.p.exact
    yield "note", found and found.interval.note


def _estimate(found: Estimate | None) -> Iterator[tuple[str, Any]]:
    yield "", found and found.value
    yield "_low", found and found.interval.low
    yield "_high", found and found.interval.high
