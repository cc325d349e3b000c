"""The metrics that runs are compared by: their names, and which way is better."""

from __future__ import annotations

from collections.abc import Sequence

from emberbench_dist.artifacts.tables import METRIC_COLUMNS
from emberbench_dist.errors import ArtifactError

METRICS = tuple(column.name for column in METRIC_COLUMNS)
DEFAULT = "evacuation_rate"
_HIGHER = {"evacuated", "evacuation_rate"}
_LOWER = {
    "casualties",
    "casualties_entered_fire",
    "casualties_fire_spread",
    "casualty_rate",
    "unresolved",
    "trapped_at_end",
    "ever_trapped",
    "last_evacuation_step",
    "mean_evacuation_step",
}
# What an episode that was not played counts as: nobody got out. Other metrics say nothing of it.
NOT_PLAYED = {"evacuation_rate": 0.0, "evacuated": 0.0}


def better(metric: str) -> str:
    """Return `higher` or `lower`, or nothing for a metric that only describes."""
    return "higher" if metric in _HIGHER else "lower" if metric in _LOWER else ""


def sign(metric: str) -> int:
    """Return -1 where lower is better, else 1."""
    return -1 if metric in _LOWER else 1


def chosen_metrics(metric: str | Sequence[str] | None) -> list[str]:
    """Return the metrics that are named: None is the default one, `all` are all.

    `ArtifactError` lists them where one is unknown.
    """
    named = [metric] if isinstance(metric, str) else list(metric or [DEFAULT])
    if "all" in named:
        return list(METRICS)
    unknown = [name for name in named if name not in METRICS]
    if unknown:
        raise ArtifactError(
            f"there is no metric {', '.join(map(repr, unknown))}; there are {', '.join(METRICS)}"
        )
    return list(dict.fromkeys(named))
