"""`dist-eval compare`: runs on the same scenarios and seeds, as tables or for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from emberbench_dist.cli.options import labels_option
from emberbench_dist.errors import RunFolderError

if TYPE_CHECKING:
    from emberbench_dist.analysis.statistics.comparison import (
        Comparison,
        Pairing,
        People,
        Resampled,
        Row,
    )
    from emberbench_dist.analysis.statistics.improvement import Estimate
    from emberbench_dist.analysis.statistics.paired import Interval

_TINY = 1e-300  # smaller ones are at the end of what a float can tell
_LISTED = 10


@dataclass(frozen=True, slots=True)
class _Sheet:
    """A table before it is drawn: a title, the names of its columns, and texts."""

    title: str
    columns: list[str]
    rows: list[list[str]]


@click.command(name="compare")
@click.argument("runs", metavar="RUN_A RUN_B [RUN_C]...", nargs=-1, required=True)
@click.option(
    "--metric",
    "metrics",
    metavar="M",
    multiple=True,
    help="A metric, or all; more than once for several.  [default: evacuation_rate]",
)
@labels_option
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Every draw's seed."
)
@click.option(
    "--resamples",
    metavar="N",
    type=click.IntRange(min=100),
    help="Draws of each interval and test.  [default: 9999, less for many pairs]",
)
@click.option("--json", "form", flag_value="json", help="Print one JSON object.")
@click.option("--csv", "form", flag_value="csv", help="Print a row a metric and scenario.")
@click.option("--markdown", "form", flag_value="markdown", help="Print tables in Markdown.")
def command(  # noqa: PLR0917 - click passes them by name
    runs: tuple[str, ...],
    metrics: tuple[str, ...],
    labels: tuple[str, ...],
    seed: int,
    resamples: int | None,
    form: str | None,
) -> None:
    """Compare runs of one manifest, pair by pair: the same scenario and seed, played by each.

    Runs are folders or patterns. Differences are against the first run; of three or more runs
    all other differences are shown too.
    """
    # Loaded here: pandas and scipy take their time.
    from emberbench_dist.analysis.runs import find_runs  # noqa: PLC0415
    from emberbench_dist.analysis.statistics.comparing import compare  # noqa: PLC0415

    found = find_runs(runs, labels or None)
    if len(found) < 2:
        raise RunFolderError(f"{found[0].path}: is one run; name another one to compare it with")
    comparison = compare(*found, metric=metrics or None, seed=seed, resamples=resamples)
    if form == "json":
        click.echo(json.dumps(comparison.to_dict(), indent=2, allow_nan=False))
    elif form == "csv":
        click.echo(comparison.frame().to_csv(index=False, lineterminator="\n"), nl=False)
    elif form == "markdown":
        click.echo("\n\n".join(_in_markdown(comparison)))
    else:
        _show(comparison)


def _show(comparison: Comparison) -> None:
    console = Console(highlight=False)
    for part in _parts(comparison):
        if isinstance(part, str):
            console.print(part, markup=False, soft_wrap=True)
            continue
        table = Table(title=part.title, title_justify="left")
        for name in part.columns:
            table.add_column(name, justify="right" if table.columns else "left", overflow="fold")
        for row in part.rows:
            table.add_row(*map(escape, row))
        console.print(table)


def _in_markdown(comparison: Comparison) -> Iterator[str]:
    for part in _parts(comparison):
        if isinstance(part, str):
            yield part
            continue
        rule = ["---", *("---:" for _ in part.columns[1:])]
        cells = [[text.replace("|", "\\|") for text in row] for row in (part.columns, *part.rows)]
        lines = [f"| {' | '.join(row)} |" for row in (cells[0], rule, *cells[1:])]
        yield "\n".join([f"**{part.title}**", "", *lines])


def _parts(comparison: Comparison) -> Iterator[str | _Sheet]:
    """Yield what is to be shown, from the runs to the scenarios."""
    yield (
        f"manifest {comparison.manifest_id} ({comparison.manifest_hash[:12]}…), seed "
        f"{comparison.seed}, {comparison.resamples} resamples, {comparison.level:.0%} intervals"
    )
    yield _runs(comparison)
    for note in comparison.notes:
        yield f"Note: {note}"
    for pairing in comparison.pairings:
        yield from _unpaired(pairing)
    for metric in comparison.metrics:
        yield _against_first(comparison, metric)
    if any(pairing.people for pairing in comparison.against_first()):
        yield _people(comparison)
    yield f"Correction of p: {comparison.correction}."
    if len(comparison.runs) > 2:
        yield from (_matrix(comparison, metric) for metric in comparison.metrics)
    for pairing in comparison.against_first():
        yield from (_scenarios(pairing, metric) for metric in comparison.metrics)


def _runs(comparison: Comparison) -> _Sheet:
    rows = [
        [
            run.label,
            run.agent,
            str(run.planned),
            str(run.committed),
            _number(run.evacuation_rate_planned),
            _number(run.evacuation_rate_committed),
        ]
        for run in comparison.runs
    ]
    columns = ["run", "agent", "planned", "committed", "over planned", "over committed"]
    return _Sheet("Mean evacuation rate; what was not played counts as nobody", columns, rows)


def _unpaired(pairing: Pairing) -> Iterator[str]:
    """Tell of every episode that has no partner."""
    for label, alone in ((pairing.a, pairing.only_a), (pairing.b, pairing.only_b)):
        if alone:
            told = ", ".join(f"{scenario} {seed}" for scenario, seed in alone[:_LISTED])
            more = f" and {len(alone) - _LISTED} more (--json has all)" * (len(alone) > _LISTED)
            yield (
                f"Note: {pairing.b} and {pairing.a}: {len(alone)} episodes only in {label}, "
                f"not compared: {told}{more}"
            )
    if pairing.missing:
        yield f"Note: {pairing.b} and {pairing.a}: {pairing.missing} episodes in neither"


def _against_first(comparison: Comparison, metric: str) -> _Sheet:
    from emberbench_dist.analysis.metric import better  # noqa: PLC0415 - as above

    pairings = comparison.against_first()
    columns = [_facts(_overall(pairing, metric)) for pairing in pairings]
    rows = [
        [name, *(column[name] for column in columns)]
        for name in columns[0]
        if any(column[name] for column in columns)
    ]
    way = f", {better(metric)} is better" if better(metric) else ""
    headings = [f"{pairing.b} - {pairing.a}" for pairing in pairings]
    return _Sheet(f"{metric}{way}", ["", *headings], rows)


def _overall(pairing: Pairing, metric: str) -> Row:
    return next(row for row in pairing.rows if (row.metric, row.scenario) == (metric, None))


def _facts(row: Row) -> dict[str, str]:
    return {
        "pairs": f"{row.pairs}"
        + f", {row.without_value} without a value" * bool(row.without_value),
        "mean of the first": _number(row.mean_a),
        "mean of the other": _number(row.mean_b),
        "mean difference": _number(row.difference, "+"),
        "the same over planned": ""
        if row.difference_planned is None
        else f"{_number(row.difference_planned, '+')}, {row.planned} episodes",
        "interval, by episode": _resampled(row.by_episode),
        "interval, by scenario": _resampled(row.by_scenario),
        "p, by episode": _p(row.by_episode),
        "p, by scenario": _p(row.by_scenario),
        "wins/ties/losses": f"{row.wins}/{row.ties}/{row.losses}",
        "effect size": _number(row.effect_size, "+"),
        "better on the same seed": _estimate(row.improvement_paired),
        "better on any seed": _estimate(row.improvement_unpaired),
    }


def _people(comparison: Comparison) -> _Sheet:
    pairings = [pairing for pairing in comparison.against_first() if pairing.people]
    columns = [_counts(pairing.people) for pairing in pairings if pairing.people]
    rows = [[name, *(column[name] for column in columns)] for name in columns[0]]
    headings = [f"{pairing.b} - {pairing.a}" for pairing in pairings]
    return _Sheet("People who got out", ["", *headings], rows)


def _counts(people: People) -> dict[str, str]:
    return {
        "in both": str(people.both),
        "only in the first": str(people.only_a),
        "only in the other": str(people.only_b),
        "in neither": str(people.neither),
        "difference of the shares": _number(people.difference, "+"),
        "interval, by episode": _interval(people.by_episode),
        "interval, by scenario": _interval(people.by_scenario),
        "McNemar's p, as if independent": _probability(people.p),
    }


def _matrix(comparison: Comparison, metric: str) -> _Sheet:
    labels = [run.label for run in comparison.runs]
    cells = dict.fromkeys(product(labels, labels), "")
    for pairing in comparison.pairings:
        row = _overall(pairing, metric)
        for way, pair in ((1, (pairing.b, pairing.a)), (-1, (pairing.a, pairing.b))):
            difference = None if row.difference is None else way * row.difference
            p = "" if row.by_episode is None else f" ({_probability(row.by_episode.p_holm)})"
            cells[pair] = f"{_number(difference, '+')}{p}"
    rows = [[label, *(cells[label, other] for other in labels)] for label in labels]
    return _Sheet(
        f"{metric}: mean difference, row - column (p by episode, corrected)", ["", *labels], rows
    )


def _scenarios(pairing: Pairing, metric: str) -> _Sheet:
    rows = [
        [
            row.scenario,
            str(row.pairs),
            _number(row.difference, "+"),
            _resampled(row.by_episode),
            "" if row.by_episode is None else _probability(row.by_episode.p_holm),
            f"{row.wins}/{row.ties}/{row.losses}",
        ]
        for row in pairing.rows
        if row.metric == metric and row.scenario is not None
    ]
    columns = ["scenario", "pairs", "difference", "interval", "p, Holm", "w/t/l"]
    return _Sheet(f"{metric} by scenario, {pairing.b} - {pairing.a}", columns, rows)


def _number(value: float | None, plus: str = "") -> str:
    return "not defined" if value is None else f"{value:{plus}.4g}"


def _resampled(found: Resampled | None) -> str:
    return "not defined" if found is None else _interval(found.interval)


def _interval(found: Interval) -> str:
    if found.low is None or found.high is None:
        return found.note
    note = f" ({found.note})" if found.note else ""
    return f"[{found.low:.4g}, {found.high:.4g}]{note}"


def _p(found: Resampled | None) -> str:
    if found is None or found.p_holm is None:
        return "not defined"
    exact = ", exact" if found.p.exact else ""
    return f"{_probability(found.p.value)} ({_probability(found.p_holm)} corrected{exact})"


def _probability(p: float | None) -> str:
    if p is None:
        return "not defined"
    return f"{p:.2g}" if p > _TINY else f"< {_TINY:g}"


def _estimate(found: Estimate | None) -> str:
    return "not defined" if found is None else f"{found.value:.4g} ({_interval(found.interval)})"
