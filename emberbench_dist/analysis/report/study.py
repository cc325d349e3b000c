"""What the pictures of some runs need, gathered one run at a time and kept small."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from emberbench_dist.analysis.frames import load_episodes, load_execution, load_people
from emberbench_dist.analysis.metric import METRICS
from emberbench_dist.analysis.report import places, survival
from emberbench_dist.analysis.runs import Run
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.repair import kept_manifest
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.artifacts.tables import ACCOUNTING_COLUMNS
from emberbench_dist.contract.scenario import Scenario
from emberbench_dist.errors import ManifestError, RunFolderError

# How many episodes of a scenario and run are replayed to see where people wait.
REPLAYED = 5


@dataclass(frozen=True, slots=True)
class Study:
    """Runs of one manifest, a row for each planned episode of each, and the scenarios.

    `scenarios` is empty where no run folder has its ledger.
    """

    runs: list[Run]
    episodes: pd.DataFrame
    scenarios: dict[str, Scenario]

    def of(self, run: Run) -> pd.DataFrame:
        """Return the planned episodes of one run."""
        return self.episodes[self.episodes["run"] == run.label]

    @property
    def scenario_ids(self) -> list[str]:
        """Return the scenarios of the planned episodes, in the manifest's order."""
        return list(self.episodes["scenario_id"].cat.remove_unused_categories().cat.categories)

    def evacuated(self, run: Run) -> tuple[int, int]:
        """Return how many people of committed episodes are out, and how many there are."""
        sums = self.of(run)[["evacuated", "people"]].sum()
        return int(sums["evacuated"]), int(sums["people"])

    def over_planned(self, run: Run) -> float | None:
        """Return the share of the people of all planned episodes who are out, where known."""
        people = self.people_planned(run)
        return self.evacuated(run)[0] / people if people else None

    def people_planned(self, run: Run) -> int | None:
        """Return the people of all planned episodes; None where a scenario is not known."""
        own = self.of(run)
        seen = self.episodes.groupby("scenario_id", observed=True)["people"].max()
        sizes = {str(name): size for name, size in seen.items() if not pd.isna(size)}
        sizes |= {name: len(scenario.people) for name, scenario in self.scenarios.items()}
        counts = own["scenario_id"].value_counts()
        planned = {str(name): int(count) for name, count in counts.items() if count}
        if not planned.keys() <= sizes.keys():
            return None
        return sum(int(sizes[name]) * count for name, count in planned.items())


@dataclass(frozen=True, slots=True)
class People:
    """What the table of people of one run says: curves, and casualties by cell."""

    pooled: pd.DataFrame
    curves: pd.DataFrame
    casualties: dict[str, places.Cells]


def read_study(runs: list[Run]) -> Study:
    """Read the episodes of some runs.

    `ManifestError` for runs of different manifests, `RunFolderError` for one without an episode.
    """
    for run in runs:
        if run.manifest_hash != runs[0].manifest_hash:
            raise ManifestError(
                f"{run.path}: is a run of manifest {run.manifest_id} ({run.manifest_hash[:12]}), "
                f"{runs[0].path} of {runs[0].manifest_id} ({runs[0].manifest_hash[:12]}); "
                "only runs of one manifest can be shown together"
            )
        if not run.committed:
            raise RunFolderError(f"{run.path}: no episode is committed; there is nothing to show")
    columns = ["episode", "scenario_id", "seed", *METRICS]
    return Study(runs, load_episodes(runs, columns), _scenarios(runs))


def _scenarios(runs: list[Run]) -> dict[str, Scenario]:
    for run in runs:
        path = RunFolder(run.path).ledger
        if has_ledger(run):
            with Ledger.reading(path) as ledger:
                return kept_manifest(ledger, str(path)).scenarios
    return {}


def read_people(study: Study, run: Run, scenario_ids: list[str]) -> People:
    """Read one run's people; the curves and casualties are those of some scenarios."""
    episodes = study.of(run)
    columns = ["episode", "scenario_id", "status", "row", "col", "step"]
    people = load_people(run, columns).drop(columns=["run", "agent"])
    pooled = survival.pooled_curves(episodes, people)
    if len(scenario_ids) < len(study.scenario_ids):
        people = people[people["scenario_id"].isin(scenario_ids)]
    curves = survival.scenario_curves(episodes, people)
    played = episodes.loc[episodes["committed"], "scenario_id"].value_counts()
    cells = {
        str(name): places.casualties(study.scenarios[str(name)].map, own, int(played[name]))
        for name, own in people.groupby("scenario_id", observed=True)
        if name in study.scenarios
    }
    return People(pooled, curves, cells)


def replayed(study: Study, run: Run, scenario_id: str) -> list[int]:
    """Return the episodes of a scenario that are replayed to see where people wait."""
    own = study.of(run)
    found = own[(own["scenario_id"] == scenario_id) & own["committed"]]
    return places.spread(found["episode"].tolist(), REPLAYED)


def read_waiting(study: Study, run: Run, scenario_ids: list[str]) -> dict[str, places.Cells]:
    """Replay some episodes of one run; return where people wait, by scenario."""
    path = RunFolder(run.path).ledger
    with Ledger.reading(path) as ledger:
        return {
            name: places.waiting(
                study.scenarios[name], _plays(study, run, ledger, replayed(study, run, name))
            )
            for name in scenario_ids
        }


def _plays(
    study: Study, run: Run, ledger: Ledger, episodes: list[int]
) -> Iterator[tuple[int, list[str]]]:
    seed_of = study.of(run).set_index("episode")["seed"]
    for episode in episodes:
        result = ledger.result(episode)
        if result is not None:
            yield int(seed_of[episode]), json.loads(result.trace)["actions"]


def require_committed(study: Study, episodes: list[int]) -> None:
    """Raise `RunFolderError` unless every run has committed all of these episodes."""
    for run in study.runs:
        own = study.of(run)
        missing = set(episodes).difference(own.loc[own["committed"], "episode"])
        if missing:
            raise RunFolderError(f"{run.path}: episode {min(missing)} is not committed")


def has_ledger(run: Run) -> bool:
    """Say whether the episodes of a run can be replayed."""
    return RunFolder(run.path).ledger.is_file()


def has_execution(run: Run) -> bool:
    """Say whether a run has a table of times and costs."""
    return RunFolder(run.path).table("execution").is_file()


def read_seconds(run: Run) -> pd.Series[float]:
    """Return the wall time of each committed episode that has one."""
    known = load_execution(run, ["step", "seconds"])
    return known.loc[known["step"].isna(), "seconds"].dropna()  # the other rows are of steps


def read_accounting(run: Run) -> dict[str, pd.Series[float]]:
    """Return what the agent reported of its calls, by column; only columns with any value."""
    numbers = [column.name for column in ACCOUNTING_COLUMNS if column.type != "string"]
    found = {}
    for name in numbers:
        values = load_execution(run, [name])[name].dropna().astype(np.float64)
        if len(values):
            found[name] = values
    return found


def read_models(run: Run) -> list[str]:
    """Return the models that answered, by name."""
    return sorted(load_execution(run, ["model"])["model"].cat.categories)
