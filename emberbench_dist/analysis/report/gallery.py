"""Every figure of a report, with its caption and its numbers."""

from __future__ import annotations

from collections.abc import Container, Iterator

import numpy as np
import pandas as pd

from emberbench_dist.analysis import plots
from emberbench_dist.analysis.metric import DEFAULT
from emberbench_dist.analysis.report import choices, survival
from emberbench_dist.analysis.report.picture import Picture, Table, percent, played
from emberbench_dist.analysis.report.places import Cells
from emberbench_dist.analysis.report.study import (
    People,
    Study,
    read_accounting,
    read_seconds,
    replayed,
)
from emberbench_dist.analysis.statistics.aggregate import rates
from emberbench_dist.artifacts.tables import ACCOUNTING_COLUMNS, METRIC_COLUMNS
from emberbench_dist.simulator.movement import Outcome

# So many scenarios have a line in a figure.
_LINES = 60
_METRICS = {column.name: column for column in METRIC_COLUMNS}


def pooled_survival(study: Study, people: dict[str, People]) -> Picture:
    """Draw the survival curves over everybody."""
    return Picture(
        "survival",
        "All scenarios",
        "Share of all people in committed episodes who are out, or lost, by each step."
        f"{_bands(study, ', a draw being the k-th seed of every scenario')} {played(study)}"
        f"{''.join(_ends(study))}",
        plots.survival({run: found.pooled for run, found in people.items()}),
    )


def _ends(study: Study) -> Iterator[str]:
    """Say where curves over committed episodes alone end too high or too low."""
    for run in study.runs:
        if not run.complete:
            evacuated, people = study.evacuated(run)
            yield (
                f" At the end of {run.label}, {percent(evacuated / people)} of these people are "
                f"out, and {percent(study.over_planned(run))} of those in planned episodes, where "
                "a missing or failed episode counts as nobody evacuated."
            )


def _bands(study: Study, more: str = "") -> str:
    if len(study.runs) > plots.BANDS:
        return ""
    return f" Bands: quantiles {survival.LOW:.0%} to {survival.HIGH:.0%} over seeds{more}."


def scenario_survival(study: Study, people: dict[str, People], scenario_id: str) -> Picture:
    """Draw the survival curves of one scenario."""
    own = study.episodes[study.episodes["scenario_id"] == scenario_id]
    known = own.groupby("run", observed=True)["committed"].agg(["sum", "size"])
    counts = ", ".join(f"{run} {row['sum']} of {row['size']}" for run, row in known.iterrows())
    curves = {
        run: found.curves[found.curves["scenario_id"] == scenario_id]
        for run, found in people.items()
    }
    return Picture(
        f"survival-{scenario_id}",
        scenario_id,
        f"Share of the people by step in the median episode.{_bands(study)} "
        f"Committed seeds: {counts}.",
        plots.survival(curves),
    )


def scenario_heat(study: Study, metric: str) -> Picture:
    """Draw the mean of a metric for each scenario and run."""
    shown = choices.shown_scenarios(study, metric, _LINES)
    over_planned, second = None, ""
    if metric == DEFAULT and not all(run.complete for run in study.runs):
        found = rates(study.episodes, ["scenario_id", "run"])["evacuation_rate_planned"]
        over_planned = _by_scenario(study, found.reset_index(), str(found.name)).loc[shown]
        second = (
            " A second number is over planned episodes, a missing or failed one counted as nobody "
            "evacuated."
        )
    means = _by_scenario(study, study.episodes[study.episodes["committed"]], metric)
    some = choices.told(study, shown)
    return Picture(
        "heat",
        f"{metric} by scenario and run",
        f"Mean {metric} ({_METRICS[metric].meaning}) over committed episodes; the stronger the "
        f"colour, the larger.{second} {some + ' ' * bool(some)}{played(study)}",
        plots.scenario_heat(means.loc[shown], f"mean {metric}", over_planned),
        _scenario_rates(study),
    )


def _by_scenario(study: Study, rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the mean of a column for each scenario (row) and run (column), absent for no row."""
    found = rows.pivot_table(
        index="scenario_id", columns="run", values=column, observed=False, dropna=False
    )
    return found.astype(float).reindex(study.scenario_ids)[[run.label for run in study.runs]]


def _scenario_rates(study: Study) -> Table:
    found = rates(study.episodes, ["scenario_id", "run"])
    keys = (found.index.get_level_values(level) for level in (0, 1))
    rows = (
        (
            str(scenario),
            str(run),
            percent(row["evacuation_rate_planned"]),
            percent(row["evacuation_rate_committed"]),
            f"{row['committed']:,.0f} of {row['planned']:,.0f}",
        )
        for scenario, run, row in zip(*keys, found.to_dict("records"), strict=True)
    )
    columns = ("scenario", "run", "evacuated, over planned", "over committed", "committed episodes")
    return Table(columns, tuple(rows))


def movement(study: Study) -> Picture:
    """Draw what became of all actions."""
    outcomes = [outcome.value for outcome in Outcome]
    known = study.episodes[study.episodes["committed"]]
    sums = known.groupby("run", observed=True)[[*outcomes, "person_steps"]].sum().astype(int).T
    sums = sums[[run.label for run in study.runs]]
    shares = sums.loc[outcomes] / sums.loc["person_steps"]
    rows = tuple(
        (name.replace("_", " "), *(f"{count:,}" for count in sums.loc[name])) for name in outcomes
    )
    meanings = "; ".join(
        f"{name.removeprefix('blocked_')}: {_METRICS[name].meaning}"
        for name in outcomes
        if name.startswith("blocked")
    )
    return Picture(
        "movement",
        "What became of actions",
        f"Share of all actions of active people, over committed episodes. Blocked by {meanings}. "
        f"{played(study)}",
        plots.movement(shares),
        Table(("actions", *map(str, shares.columns)), rows),
    )


def place_map(
    study: Study,
    people: dict[str, People],
    waiting: dict[str, dict[str, Cells]],
    scenario_id: str,
) -> Picture:
    """Draw where people die and where they wait in one scenario; the runs that `waiting` has."""
    world = study.scenarios[scenario_id].map
    nothing = np.zeros((world.height, world.width))
    shown = {
        run: {
            "casualties": people[run].casualties.get(scenario_id, nothing),
            "waiting": found[scenario_id],
        }
        for run, found in waiting.items()
    }
    return Picture(
        f"map-{scenario_id}",
        scenario_id,
        "Left: casualties of an episode. Right: steps spent waiting. "
        f"{_sources(study, scenario_id, waiting)}",
        plots.place_heat(world, shown),
    )


def _sources(study: Study, scenario_id: str, labels: Container[str]) -> str:
    own = study.episodes[study.episodes["scenario_id"] == scenario_id]
    committed = own.groupby("run", observed=True)["committed"].sum()
    seeds = (
        f"{run.label} {committed.get(run.label, 0):,} and {len(replayed(study, run, scenario_id))}"
        for run in study.runs
        if run.label in labels
    )
    return f"Seeds: {', '.join(seeds)}."


def seconds(study: Study) -> Picture:
    """Draw how long episodes took."""
    values = {run.label: read_seconds(run) for run in study.runs}
    return Picture(
        "time",
        "Wall time of episodes",
        "Share of the episodes that took at most so long. Times of different machines or numbers "
        f"of workers are not comparable. {played(study)}",
        plots.cumulative(values, "seconds per episode"),
        _spread(values, 4),
    )


def accounting(study: Study) -> Iterator[Picture]:
    """Draw what the agents reported of their calls; nothing where none did."""
    found = {run.label: read_accounting(run) for run in study.runs}
    for column in ACCOUNTING_COLUMNS:
        values = {run: own[column.name] for run, own in found.items() if column.name in own}
        if not values:
            continue
        calls = ", ".join(f"{run} {len(own):,}" for run, own in values.items())
        unit = f" ({column.unit})" if column.unit else ""
        yield Picture(
            f"cost-{column.name}",
            column.name.replace("_", " "),
            f"{column.meaning.capitalize()}, as the agent reported it: share of the steps with at "
            f"most so much. Steps with a report: {calls}.",
            plots.cumulative(values, f"{column.name}{unit} per step"),
            _spread(values, 6),
        )


def _spread(values: dict[str, pd.Series[float]], digits: int) -> Table:
    rows = []
    for run, found in values.items():
        quantiles = found.quantile([0.5, 0.95, 1]) if len(found) else [np.nan] * 3
        numbers = (float(found.sum()), *(float(value) for value in quantiles))
        rows.append((run, f"{len(found):,}", *(f"{number:,.{digits}g}" for number in numbers)))
    return Table(("run", "values", "sum", "median", "95%", "largest"), tuple(rows))
