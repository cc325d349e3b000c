"""Which episodes two runs share: the same scenario and seed, played in both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from emberbench_dist.analysis.frames import load_episodes
from emberbench_dist.analysis.runs import Run
from emberbench_dist.analysis.statistics.paired import Floats
from emberbench_dist.errors import ManifestError, RunFolderError

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Played:
    """A run and its planned episodes as a frame."""

    run: Run
    episodes: pd.DataFrame

    @classmethod
    def load(cls, run: Run, metrics: Iterable[str]) -> Played:
        """Read the metrics of a run; `RunFolderError` where it has no episode."""
        if run.committed == 0:
            raise RunFolderError(f"{run.path}: has no committed episode to compare")
        return cls(run, load_episodes(run, ["scenario_id", "seed", *metrics]))

    def committed(self) -> Numbers:
        """Return the numbers of the committed episodes, ascending."""
        return np.flatnonzero(self.episodes["committed"].to_numpy()) + self.run.episodes.start

    def values(self, metric: str, numbers: Numbers) -> Floats:
        """Return a metric of some episodes; NaN where it is not defined."""
        column = self.episodes[metric].iloc[numbers - self.run.episodes.start]
        return column.to_numpy(np.float64, na_value=np.nan)

    def scenarios(self, numbers: Numbers) -> Numbers:
        """Return the scenarios of some episodes, as places in `scenario_ids`."""
        column = self.episodes["scenario_id"].iloc[numbers - self.run.episodes.start]
        return np.asarray(column.cat.codes, np.int64)

    def scenario_ids(self) -> list[str]:
        """Return the scenarios of the manifest."""
        return list(self.episodes["scenario_id"].cat.categories)

    def named(self, numbers: Numbers) -> list[tuple[str, int]]:
        """Return scenario id and seed of some episodes."""
        rows = self.episodes[["scenario_id", "seed"]].iloc[numbers - self.run.episodes.start]
        return list(zip(rows["scenario_id"].tolist(), rows["seed"].tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class Pairs:
    """Two runs of one manifest: the numbers of the episodes in both, in one, planned in both.

    `missing` counts the episodes that are planned in one of them and that neither has.
    """

    a: Played
    b: Played
    both: Numbers
    only_a: Numbers
    only_b: Numbers
    planned: Numbers
    missing: int

    @classmethod
    def of(cls, a: Played, b: Played) -> Pairs:
        """Pair two runs; `RunFolderError` where they share no episode."""
        left, right = a.committed(), b.committed()
        both = np.intersect1d(left, right, assume_unique=True)
        if not len(both):
            raise RunFolderError(
                f"{a.run.path} and {b.run.path} have no committed episode in common"
            )
        only_a = np.setdiff1d(left, right, assume_unique=True)
        only_b = np.setdiff1d(right, left, assume_unique=True)
        x, y = a.run.episodes, b.run.episodes
        shared = range(max(x.start, y.start), min(x.stop, y.stop))
        missing = len(x) + len(y) - len(shared) - len(both) - len(only_a) - len(only_b)
        return cls(a, b, both, only_a, only_b, np.arange(shared.start, shared.stop), missing)


def require_one_manifest(runs: Sequence[Run]) -> None:
    """Require that all runs plan the same; `ManifestError` tells the manifests and what differs."""
    first = runs[0]
    for run in runs[1:]:
        if run.manifest_hash != first.manifest_hash:
            known, other = _hashes(first), _hashes(run)
            differing = [name for name in known if other.get(name, known[name]) != known[name]]
            told = f"; scenarios that differ: {', '.join(differing)}" if differing else ""
            raise ManifestError(
                f"only runs of one manifest can be compared: {first.path} is of {_named(first)}, "
                f"{run.path} of {_named(run)}{told}"
            )


def _hashes(run: Run) -> dict[str, str]:
    entries = run.plan.document["scenarios"]
    return {entry["scenario_id"]: entry["scenario_hash"] for entry in entries}


def _named(run: Run) -> str:
    return f"{run.manifest_id} ({run.manifest_hash[:12]}…)"
