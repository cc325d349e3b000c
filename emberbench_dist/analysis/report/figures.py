"""Any one figure of a report by its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from emberbench_dist.analysis.metric import DEFAULT, chosen_metrics
from emberbench_dist.analysis.report import contrasts, gallery
from emberbench_dist.analysis.report.picture import Picture
from emberbench_dist.analysis.report.study import (
    Study,
    has_ledger,
    read_people,
    read_study,
    read_waiting,
)
from emberbench_dist.analysis.runs import Run
from emberbench_dist.analysis.statistics.comparing import compare
from emberbench_dist.artifacts.tables import ACCOUNTING_COLUMNS
from emberbench_dist.errors import ArtifactError, RunFolderError

FIGURES = {
    "survival": "Who is out and who is lost by each step; of all, or of --scenario.",
    "differences": "Paired differences of two runs by scenario, with intervals.",
    "distribution": "Differences of single episodes to the first run.",
    "heat": "The metric's mean for each scenario and run.",
    "map": "Where people die, and where they wait, in --scenario.",
    "movement": "What became of all actions.",
    "time": "Wall time of episodes.",
    **{
        column.name: f"{column.meaning.capitalize()}, by step."
        for column in ACCOUNTING_COLUMNS
        if column.type != "string"
    },
}


def draw(
    name: str, runs: Sequence[Run], *, metric: str = DEFAULT, scenario: str | None = None
) -> Picture:
    """Return a figure of `FIGURES` about these runs.

    Raises `ArtifactError` for an unknown metric or scenario, or where there is nothing to draw;
    else as `read_study` does.
    """
    chosen_metrics(metric)
    if name in ("differences", "distribution") and len(runs) == 1:
        raise RunFolderError(f"{name} needs two runs: differences are those between runs")
    study = read_study(list(runs))
    if scenario is not None and scenario not in study.scenario_ids:
        raise ArtifactError(
            f"there is no scenario {scenario!r}; there are {', '.join(study.scenario_ids)}"
        )
    if name in ("survival", "map"):
        return _of_people(name, study, scenario)
    if name in _DRAWN:
        return _DRAWN[name](study, metric)
    for picture in gallery.accounting(study):
        if picture.name == f"cost-{name}":
            return picture
    raise ArtifactError(f"there is no {name} to draw: no agent of these runs reported any")


def _differences(study: Study, metric: str) -> Picture:
    first, second, *_ = study.runs
    return contrasts.differences(compare(first, second, metric=metric), 1)


_DRAWN: dict[str, Callable[[Study, str], Picture]] = {
    "differences": _differences,
    "distribution": contrasts.distribution,
    "heat": gallery.scenario_heat,
    "movement": lambda study, _: gallery.movement(study),
    "time": lambda study, _: gallery.seconds(study),
}


def _of_people(name: str, study: Study, scenario: str | None) -> Picture:
    shown = [scenario] if scenario else []
    people = {run.label: read_people(study, run, shown) for run in study.runs}
    if name == "survival":
        if scenario is None:
            return gallery.pooled_survival(study, people)
        return gallery.scenario_survival(study, people, scenario)
    if scenario is None:
        raise ArtifactError(f"a map needs --scenario, one of {', '.join(study.scenario_ids)}")
    for run in study.runs:
        if not has_ledger(run):
            raise ArtifactError(f"{run.path}: has no ledger.sqlite, so nothing can be replayed")
    waiting = {run.label: read_waiting(study, run, shown) for run in study.runs}
    return gallery.place_map(study, people, waiting, scenario)
