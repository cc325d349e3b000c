"""`dist-eval scenario`: drawings, maps of other formats, and what is wrong with a document."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from emberbench_dist.artifacts.durable import replacing
from emberbench_dist.authoring.difficulty import Difficulty, measure
from emberbench_dist.authoring.drawing import document, draw, read_drawing
from emberbench_dist.authoring.moving_ai import Starts, read_map, read_starts
from emberbench_dist.authoring.page import page
from emberbench_dist.authoring.placement import Placement, place
from emberbench_dist.cli.files import a_file, out_option, read_input, write_document
from emberbench_dist.cli.options import together
from emberbench_dist.contract.document import Position
from emberbench_dist.contract.observation import ENTER_FIRE, FIRE_MODELS, Rules
from emberbench_dist.contract.scenario import (
    MAX_SEED,
    Scenario,
    broken_rules,
    load_scenario,
    parse_scenario,
    read_document,
)
from emberbench_dist.errors import MapError, ScenarioError
from emberbench_dist.evaluation.suites import find_scenario

_BAD_INPUT = 2
_PROBABILITY = 0.25
_TOLD = 20
_WIDE = 250
_STYLES = {
    "#": "bright_black on bright_black",
    ".": "bright_black",
    "E": "bold green",
    "P": "bold blue",
    "*": "bold red",
    "X": "bold red on green",
}
_SAME = re.compile(r"(.)\1*")
_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9._-]+")

_rule_options = together(
    click.option(
        "--id", "name", metavar="ID", help="The scenario's id.  [default: the file's name]"
    ),
    click.option(
        "--fire-model", type=click.Choice(FIRE_MODELS), default="stochastic", show_default=True
    ),
    click.option(
        "--probability",
        metavar="P",
        type=click.FloatRange(0, 1),
        help=f"That a stochastic fire spreads to a cell.  [default: {_PROBABILITY}]",
    ),
    click.option(
        "--interval",
        metavar="N",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Fire spreads in every Nth step.",
    ),
    click.option(
        "--max-steps",
        metavar="N",
        type=click.IntRange(min=1),
        help="[default: 4 x (width + height)]",
    ),
    click.option(
        "--enter-fire", type=click.Choice(ENTER_FIRE), default="casualty", show_default=True
    ),
    click.option("--exits-flammable", is_flag=True, help="Fire spreads to exits."),
)


@click.group(name="scenario")
def command() -> None:
    """Draw, import, show, check and measure scenarios."""


@command.command(name="new")
@click.option(
    "--rows",
    "file",
    metavar="FILE",
    type=a_file,
    required=True,
    help="The drawing; - for standard input.",
)
@_rule_options
@click.option("--description", metavar="TEXT", default="")
@click.option(
    "--development-seed",
    "seed",
    metavar="S",
    type=click.IntRange(0, MAX_SEED),
    default=0,
    show_default=True,
)
@out_option
def new(file: Path, description: str, seed: int, out: Path | None, **rules: Any) -> None:
    """Make a scenario of a drawing: a line a row, a character a cell.

    # wall, . floor, E exit, P person, * fire, X an exit that burns from the start.
    People are called P1, P2, …, and exits E1, E2, …, in reading order.
    """
    rows = read_drawing(_text(file), str(file))
    write_document(_scenario_page(rows, rules, file, description, seed), out)


@command.command(name="import")
@click.argument("file", metavar="MAP", type=a_file)
@click.option("--scen", metavar="FILE", type=a_file, help="Where people start.")
@click.option(
    "--people",
    metavar="N",
    type=click.IntRange(min=1),
    help="[default: every start of --scen, or 20, less on a small map]",
)
@click.option(
    "--exits",
    metavar="N",
    type=click.IntRange(min=1),
    help="[default: 4, less on a small map]",
)
@click.option(
    "--ignitions",
    metavar="N",
    type=click.IntRange(min=0),
    help="Cells that burn from the start.  [default: 1]",
)
@click.option(
    "--seed",
    metavar="S",
    type=click.IntRange(0, MAX_SEED),
    default=0,
    show_default=True,
    help="Places everything that no file places.",
)
@_rule_options
@out_option
def import_map(  # noqa: PLR0917 - click passes them by name
    file: Path,
    scen: Path | None,
    people: int | None,
    exits: int | None,
    ignitions: int | None,
    seed: int,
    out: Path | None,
    **rules: Any,
) -> None:
    """Make a scenario of a grid MAP of the Moving AI benchmarks (.map).

    What was chosen is told on standard error; the same input and seed choose the same.
    """
    terrain = read_map(read_input(file), str(file))
    starts = read_starts(read_input(scen), str(scen), terrain.rows) if scen else Starts((), 0)
    try:
        placed = place(
            terrain.rows,
            seed=seed,
            exits=exits,
            people=people,
            ignitions=ignitions,
            starts=starts.positions,
        )
    except MapError as error:
        raise MapError(f"{file}: {error}") from error
    origin = f"from {scen.name}" if scen else f"placed by seed {seed}"
    description = f"Imported from {file.name}: people {origin}, exits and fire by seed {seed}."
    rows = placed.drawn_on(terrain.rows)
    text = _scenario_page(rows, rules, file, description, seed)
    for line in (*terrain.notes, *_choices(terrain.rows, placed, starts, origin)):
        click.echo(f"{file}: {line}", err=True)
    write_document(text, out)


def _choices(rows: Sequence[str], placed: Placement, starts: Starts, origin: str) -> list[str]:
    """Return what an import chose, a line each."""
    floor = sum(row.count(".") for row in rows)
    if starts.positions:
        origin += f", not {placed.left_out} with no way out and {starts.repeated} repeated"
    return [
        f"{len(rows[0])} by {len(rows)}, {floor} cells of floor, {placed.region} of them in use",
        f"exits: {len(placed.exits)} by the seed: {_listed(placed.exits)}",
        f"people: {len(placed.people)} {origin}: {_listed(placed.people)}",
        f"ignitions: {len(placed.ignitions)} by the seed: {_listed(placed.ignitions)}",
    ]


def _listed(positions: Sequence[Position]) -> str:
    told = ", ".join(str(list(position)) for position in positions[:_TOLD])
    return f"{told}, …" if len(positions) > _TOLD else told or "none"


@command.command(name="show")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--out",
    metavar="FILE.png",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a picture instead.",
)
def show(file: Path, out: Path | None) -> None:
    """Draw a scenario, as `scenario new` reads it.

    Ids, texts and rules are not in a drawing.
    """
    scenario = load_scenario(file)
    if out is None:
        _print(draw(scenario))
        return
    if out.suffix.lower() != ".png":
        raise click.UsageError(f"--out ends with .png, not {out.suffix!r}")
    # Loaded here: only a picture needs Pillow.
    from emberbench_dist.analysis.episodes.image import plan  # noqa: PLC0415

    picture = plan(scenario)
    with replacing(out) as target:
        target.write(picture)


def _print(rows: Sequence[str]) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        click.echo("\n".join(rows))
        return
    for row in rows:
        runs = ((run[0], _STYLES[run[1]]) for run in _SAME.finditer(row))
        console.print(Text.assemble(*runs), soft_wrap=True)


@command.command(name="check")
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
def check(files: tuple[Path, ...]) -> int:
    """Tell every rule that scenario documents break.

    Each is a line on standard error, with its place; exit code 2 if there is any.
    """
    return max([_check(file) for file in files])


def _check(file: Path) -> int:
    try:
        value = read_document(file)
    except ScenarioError as error:
        click.echo(str(error), err=True)
        return _BAD_INPUT
    rules = broken_rules(value)
    for rule in rules:
        click.echo(f"{file}: {rule}", err=True)
    if rules:
        return _BAD_INPUT
    click.echo(f"{file}: {_summary(parse_scenario(value))}")
    return 0


def _summary(scenario: Scenario) -> str:
    world = scenario.map
    return (
        f"{scenario.scenario_id}, {world.width} by {world.height}, people {len(scenario.people)}, "
        f"exits {len(world.exits)}, ignitions {len(scenario.ignitions)}, {scenario.scenario_hash}"
    )


@command.command(name="measure")
@click.argument("names", metavar="SCENARIO...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print a list of JSON objects.")
def measure_scenarios(names: tuple[str, ...], as_json: bool) -> None:  # noqa: FBT001 - as click
    """Tell how hard scenarios are, by their maps and rules: nobody plays.

    A SCENARIO is a file, or the id of a built-in scenario.
    """
    scenarios = [load_scenario(find_scenario(name)) for name in names]
    measured = [(scenario, measure(scenario)) for scenario in scenarios]
    if not as_json:
        # The table takes what it needs; in 80 columns it would be no more than dots.
        Console(highlight=False, width=_WIDE).print(_measures(measured))
        return
    told = [
        {"scenario_id": scenario.scenario_id, "people": len(scenario.people)} | found.to_dict()
        for scenario, found in measured
    ]
    click.echo(json.dumps(told, indent=2))


def _measures(measured: Sequence[tuple[Scenario, Difficulty]]) -> Table:
    """Return the table of what was measured; - is for never."""
    names = ("people", "shortest", "capacity", "nearest", "least lead", "median lead", "late")
    table = Table("scenario", *(Column(name, justify="right") for name in names), "difficulty")
    for scenario, found in measured:
        numbers = (
            len(scenario.people),
            found.shortest_evacuation,
            found.exit_capacity,
            found.nearest_exits,
            found.least_lead,
            found.median_lead,
            found.late,
        )
        shown = ("-" if number is None else f"{number:,}" for number in numbers)
        table.add_row(scenario.scenario_id, *shown, found.difficulty)
    return table


def _text(file: Path) -> str:
    try:
        return read_input(file).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise MapError(f"{file}: is not UTF-8 (byte {error.start})") from error


def _scenario_page(
    rows: Sequence[str], options: dict[str, Any], source: Path, description: str, seed: int
) -> str:
    """Return the file of a drawing under the rules that the options give."""
    stochastic, probability = options["fire_model"] == "stochastic", options["probability"]
    if probability is None:
        probability = _PROBABILITY
    elif not stochastic:
        raise click.UsageError("--probability is for the stochastic fire model")
    rules = Rules(
        fire_model=options["fire_model"],
        spread_interval=options["interval"],
        spread_probability=probability if stochastic else None,
        exits_flammable=options["exits_flammable"],
        enter_fire=options["enter_fire"],
        conflict_resolution="lowest_id_wins",
        max_steps=options["max_steps"] or 4 * (len(rows) + len(rows[0])),
    )
    name = options["name"] or _NOT_IN_IDS.sub("-", source.stem)[:128]
    made = document(rows, rules, scenario_id=name, description=description, seed=seed)
    return page(parse_scenario(made, source=str(source)).to_dict())
