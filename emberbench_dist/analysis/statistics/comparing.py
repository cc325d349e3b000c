"""Runs of one manifest compared pair by pair: the same scenario and seed, played by each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from emberbench_dist.analysis.frames import load_people
from emberbench_dist.analysis.metric import DEFAULT, NOT_PLAYED, chosen_metrics, sign
from emberbench_dist.analysis.runs import Run, find_runs
from emberbench_dist.analysis.statistics.comparison import (
    Comparison,
    Pairing,
    People,
    Resampled,
    Row,
    Score,
)
from emberbench_dist.analysis.statistics.improvement import paired_improvement, unpaired_improvement
from emberbench_dist.analysis.statistics.paired import (
    Floats,
    Interval,
    draws,
    effect_size,
    generator_of,
    grouped,
    holm,
    mcnemar,
    mean_interval,
    sign_flip,
)
from emberbench_dist.analysis.statistics.pairs import Numbers, Pairs, Played, require_one_manifest
from emberbench_dist.errors import ArtifactError


@dataclass(frozen=True, slots=True)
class _Chance:
    """Where draws come from and how many there are; each purpose has draws of its own."""

    seed: int
    times: int

    def interval(self, sums: Floats, counts: Floats, unit: str, *purpose: str) -> Interval:
        generator = generator_of(self.seed, *purpose, unit, "interval")
        return mean_interval(sums, counts, generator, resamples=self.times, unit=unit)

    def resampled(self, sums: Floats, counts: Floats, unit: str, *purpose: str) -> Resampled:
        generator = generator_of(self.seed, *purpose, unit, "test")
        test = sign_flip(sums, generator, flips=self.times)
        return Resampled(self.interval(sums, counts, unit, *purpose), test)


def compare(
    a: str | Path | Run,
    b: str | Path | Run,
    *others: str | Path | Run,
    metric: str | Sequence[str] | None = None,
    seed: int = 0,
    resamples: int | None = None,
    labels: Sequence[str] | None = None,
) -> Comparison:
    """Compare runs of one manifest, pair by pair; a difference is the later run minus the earlier.

    `metric` is one or more, or `all`; by default `evacuation_rate`. Every draw comes from `seed`.
    `resamples` is how many each interval and test draws; by default 9999, less above 20,000 pairs.
    `ManifestError` for another manifest, `RunFolderError` for runs without an episode to compare,
    `ArtifactError` for an unknown metric or a table that is missing.
    """
    metrics, runs = chosen_metrics(metric), find_runs([a, b, *others], labels)
    require_one_manifest(runs)
    played = [Played.load(run, {*metrics, DEFAULT}) for run in runs]
    pairs = [Pairs.of(*two) for two in combinations(played, 2)]
    people, notes = _people_of(runs)
    chance = _Chance(seed, resamples or draws(max(len(two.both) for two in pairs)))
    return Comparison(
        manifest_id=runs[0].manifest_id,
        manifest_hash=runs[0].manifest_hash,
        metrics=metrics,
        seed=seed,
        resamples=chance.times,
        correction=_correction(len(metrics), len(pairs)),
        runs=[_score(one) for one in played],
        pairings=_corrected([_pairing(two, metrics, people, chance) for two in pairs]),
        notes=[*_incomplete(runs), *notes],
    )


def _score(played: Played) -> Score:
    run, total = played.run, played.episodes[DEFAULT].sum()
    return Score(
        label=run.label,
        path=str(run.path),
        agent=run.agent,
        planned=run.planned,
        committed=run.committed,
        evacuation_rate_planned=float(total / run.planned),
        evacuation_rate_committed=float(total / run.committed),
    )


def _incomplete(runs: list[Run]) -> list[str]:
    return [
        f"{run.label} is not complete: {run.committed} of {run.planned} episodes are committed"
        for run in runs
        if not run.complete
    ]


def _pairing(
    pairs: Pairs, metrics: list[str], people: pd.DataFrame | None, chance: _Chance
) -> Pairing:
    return Pairing(
        a=pairs.a.run.label,
        b=pairs.b.run.label,
        pairs=len(pairs.both),
        only_a=pairs.a.named(pairs.only_a),
        only_b=pairs.b.named(pairs.only_b),
        missing=pairs.missing,
        people=None if people is None else _people(pairs, people, chance),
        rows=[row for metric in metrics for row in _rows(pairs, metric, chance)],
    )


def _rows(pairs: Pairs, metric: str, chance: _Chance) -> list[Row]:
    """Return the row over all pairs, then those of the scenarios in the manifest's order."""
    a, b = (one.values(metric, pairs.both) for one in (pairs.a, pairs.b))
    scenarios, names = pairs.a.scenarios(pairs.both), pairs.a.scenario_ids()
    rows = [_over_all(_row(a, b, metric, None, chance), a, b, scenarios, chance)]
    order = np.argsort(scenarios, kind="stable")
    cuts = np.flatnonzero(np.diff(scenarios[order])) + 1
    for part in np.split(order, cuts):
        name = names[scenarios[part[0]]]
        rows.append(_row(a[part], b[part], metric, name, chance))
    planned = _planned(pairs, metric)
    told = ((row, *planned[row.scenario]) for row in rows)
    return [replace(row, planned=count, difference_planned=mean) for row, count, mean in told]


def _row(a: Floats, b: Floats, metric: str, scenario: str | None, chance: _Chance) -> Row:
    known = _known(a, b)
    row = Row(metric, scenario, int(known.sum()), int((~known).sum()))
    if not row.pairs:
        return row
    differences = (b - a)[known]
    wins, losses = (int((sign(metric) * way * differences > 0).sum()) for way in (1, -1))
    purpose = (metric,) if scenario is None else (metric, "scenario", scenario)
    return replace(
        row,
        mean_a=float(a[known].mean()),
        mean_b=float(b[known].mean()),
        difference=float(differences.mean()),
        effect_size=effect_size(differences),
        wins=wins,
        ties=row.pairs - wins - losses,
        losses=losses,
        by_episode=chance.resampled(differences, np.ones(row.pairs), "pair", *purpose),
    )


def _over_all(row: Row, a: Floats, b: Floats, scenarios: Numbers, chance: _Chance) -> Row:
    """Add what it takes several scenarios to tell."""
    if not row.pairs:
        return row
    known = _known(a, b)
    a, b, scenarios = a[known], b[known], scenarios[known]
    units, way = grouped(b - a, scenarios), sign(row.metric)
    return replace(
        row,
        by_scenario=chance.resampled(*units, "scenario", row.metric),
        improvement_paired=paired_improvement(way * a, way * b, scenarios),
        improvement_unpaired=unpaired_improvement(way * a, way * b, scenarios),
    )


def _planned(pairs: Pairs, metric: str) -> dict[str | None, tuple[int, float | None]]:
    """Return, over all and for each scenario, planned episodes and the difference over them.

    In an episode that was not played nobody got out; other metrics have no difference.
    """
    numbers, names = pairs.planned, pairs.a.scenario_ids()
    scenarios = pairs.a.scenarios(numbers)
    counts = np.bincount(scenarios, minlength=len(names))
    told: dict[str | None, tuple[int, float | None]] = {None: (len(numbers), None)}
    told |= {name: (int(count), None) for name, count in zip(names, counts, strict=True)}
    if metric not in NOT_PLAYED:
        return told
    a, b = (
        np.nan_to_num(one.values(metric, numbers), nan=NOT_PLAYED[metric])
        for one in (pairs.a, pairs.b)
    )
    sums = np.bincount(scenarios, weights=b - a, minlength=len(names))
    means = zip([None, *names], [(b - a).sum(), *sums], strict=True)
    return {name: (told[name][0], float(total / max(told[name][0], 1))) for name, total in means}


def _known(a: Floats, b: Floats) -> npt.NDArray[np.bool_]:
    return ~np.isnan(a) & ~np.isnan(b)


def _people_of(runs: list[Run]) -> tuple[pd.DataFrame | None, list[str]]:
    """Return the people of all runs; none, and a note, where a table cannot be used."""
    try:
        return load_people(runs, ["episode", "id", "status"]), []
    except ArtifactError as error:
        return None, [f"people are not compared: {error}"]


def _people(pairs: Pairs, people: pd.DataFrame, chance: _Chance) -> People:
    a, b = (_outcomes(people, one.run.label, pairs.both) for one in (pairs.a, pairs.b))
    if not a[["episode", "id"]].equals(b[["episode", "id"]]):
        raise ArtifactError(
            f"{pairs.a.run.path} and {pairs.b.run.path} do not have the same people in the same "
            "episodes; `dist-eval export` writes their tables anew"
        )
    out_a, out_b = a["out"].to_numpy(), b["out"].to_numpy()
    only_a, only_b = int((out_a & ~out_b).sum()), int((out_b & ~out_a).sum())
    change = out_b.astype(float) - out_a
    episode = np.searchsorted(pairs.both, a["episode"].to_numpy())
    scenario = pairs.a.scenarios(pairs.both)[episode]
    return People(
        both=int((out_a & out_b).sum()),
        only_a=only_a,
        only_b=only_b,
        neither=int((~out_a & ~out_b).sum()),
        p=mcnemar(only_a, only_b),
        difference=(only_b - only_a) / len(a),
        by_episode=chance.interval(*grouped(change, episode), "pair", "people"),
        by_scenario=chance.interval(*grouped(change, scenario), "scenario", "people"),
    )


def _outcomes(people: pd.DataFrame, label: str, episodes: Numbers) -> pd.DataFrame:
    """Return episode, id and `out`, whether they got out, of the people in a run's episodes."""
    own = people[(people["run"] == label) & people["episode"].isin(episodes)]
    return own.assign(out=own["status"] == "evacuated").reset_index(drop=True)


def _correction(metrics: int, pairs: int) -> str:
    tests = metrics * pairs
    told = f"Holm over {tests} tests: metrics {metrics}, pairs of runs {pairs}"
    whole = told if tests > 1 else "none, there is one test"
    return f"{whole}; for a scenario, Holm over the scenarios of a metric and pair of runs"


def _corrected(pairings: list[Pairing]) -> list[Pairing]:
    """Adjust the p-values: those over all pairs together, the scenarios' for each metric."""
    rows = [row for pairing in pairings for row in pairing.rows]
    families = [[row for row in rows if row.scenario is None]]
    for pairing in pairings:
        told = [row for row in pairing.rows if row.scenario is not None]
        families += [list(family) for _, family in groupby(told, lambda row: row.metric)]
    adjusted = {id(old): new for family in families for old, new in _adjusted(family)}
    return [
        replace(pairing, rows=[adjusted[id(row)] for row in pairing.rows]) for pairing in pairings
    ]


def _adjusted(family: list[Row]) -> list[tuple[Row, Row]]:
    """Return each row and the same row with its adjusted p-values."""
    by_episode = _holm([row.by_episode for row in family])
    by_scenario = _holm([row.by_scenario for row in family])
    return [
        (row, replace(row, by_episode=one, by_scenario=other))
        for row, one, other in zip(family, by_episode, by_scenario, strict=True)
    ]


def _holm(found: list[Resampled | None]) -> list[Resampled | None]:
    adjusted = holm([one.p.value if one else None for one in found])
    return [one and replace(one, p_holm=p) for one, p in zip(found, adjusted, strict=True)]
