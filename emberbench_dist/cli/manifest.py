"""`dist-eval manifest`: build, check and show which episodes there are."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click
from rich.console import Console
from rich.table import Column, Table

from emberbench_dist.authoring.plan import (
    Seeds,
    manifest_document,
    manifest_page,
    parse_seeds,
    secret_seeds,
)
from emberbench_dist.cli.files import a_file, out_option, read_input, write_document
from emberbench_dist.contract.scenario import load_scenario
from emberbench_dist.errors import EmberBenchError, ManifestError
from emberbench_dist.evaluation.manifest import (
    Manifest,
    broken_rules,
    load_manifest,
    parse_manifest,
)

_BAD_INPUT = 2
_COLUMNS = ("size", "people", "exits", "episodes")


@click.group(name="manifest")
def command() -> None:
    """Build, show and check manifests."""


@command.command(name="build")
@click.argument(
    "files", metavar="SCENARIO...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option("--id", "name", metavar="ID", required=True, help="The manifest's id.")
@click.option("--description", metavar="TEXT", default="")
@click.option(
    "--seeds",
    metavar="SEEDS",
    multiple=True,
    help="1,2,5 or 1..1000, for each scenario; may be given again.",
)
@click.option(
    "--secret-file",
    metavar="FILE",
    type=a_file,
    help="Draw the seeds from the secret in a file.",
)
@click.option("--secret-env", metavar="NAME", help="Draw them from an environment variable.")
@click.option(
    "--count",
    metavar="N",
    type=click.IntRange(min=1),
    help="How many seeds to draw for each scenario.",
)
@out_option
def build(  # noqa: PLR0917 - click passes them by name
    files: tuple[Path, ...],
    name: str,
    description: str,
    seeds: tuple[str, ...],
    secret_file: Path | None,
    secret_env: str | None,
    count: int | None,
    out: Path | None,
) -> None:
    """Plan every SCENARIO under the same seeds, or under seeds of its own that are secret.

    The scenarios are in the folder of --out, or below it; without --out, of where you are.
    """
    secrets = [source for source in (secret_file, secret_env) if source is not None]
    if bool(seeds) == bool(secrets) or len(secrets) > 1 or bool(secrets) != (count is not None):
        raise click.UsageError(
            "give --seeds, or one of --secret-file and --secret-env with --count"
        )
    folder = out.parent if out else Path()
    scenarios = {_path_from(folder, file): load_scenario(file) for file in files}
    if len(scenarios) < len(files):
        raise click.UsageError("a scenario is given twice")
    blocks: list[tuple[str, Seeds]]
    if count is None:
        chosen = [parse_seeds(text) for text in seeds]
        blocks = [(item.scenario_id, part) for item in scenarios.values() for part in chosen]
    else:
        secret = _secret(secret_file, secret_env)
        blocks = [
            (item.scenario_id, secret_seeds(secret, f"{name}/{item.scenario_id}", count))
            for item in scenarios.values()
        ]
    text = manifest_page(manifest_document(name, description, scenarios, blocks))
    parse_manifest(text.encode(), folder, source=str(out or "manifest"))
    write_document(text, out)


def _path_from(folder: Path, file: Path) -> str:
    """Return where a scenario is, seen from its manifest."""
    try:
        return file.resolve().relative_to(folder.resolve()).as_posix()
    except ValueError as error:
        raise ManifestError(
            f"{file}: is not in the manifest's folder or below it; copy it there"
        ) from error


def _secret(file: Path | None, variable: str | None) -> bytes:
    """Return the secret without the end of its line; nothing may show or keep it."""
    if file is not None:
        return read_input(file).rstrip(b"\r\n")
    secret = os.environ.get(variable or "")
    if secret is None:
        raise click.UsageError(f"there is no environment variable {variable!r}")
    return os.fsencode(secret)


@command.command(name="check")
@click.argument("manifests", metavar="MANIFEST...", nargs=-1, required=True)
def check(manifests: tuple[str, ...]) -> int:
    """Tell every rule that manifests, and the scenarios that they name, break.

    Each is a line on standard error, with its place; exit code 2 if there is any.
    """
    return max([_check(manifest) for manifest in manifests])


def _check(name: str) -> int:
    try:
        rules = broken_rules(name)
        for rule in rules:
            click.echo(f"{name}: {rule}", err=True)
        if rules:
            return _BAD_INPUT
        manifest = load_manifest(name)
    except EmberBenchError as error:
        click.echo(str(error), err=True)
        return _BAD_INPUT
    click.echo(f"{name}: {_summary(manifest)}")
    return 0


def _summary(manifest: Manifest) -> str:
    return (
        f"{manifest.manifest_id}, scenarios {len(manifest.scenarios)}, "
        f"episodes {len(manifest)}, {manifest.manifest_hash}"
    )


@command.command(name="show")
@click.argument("name", metavar="MANIFEST")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(name: str, as_json: bool) -> None:  # noqa: FBT001 - click passes it by name
    """Tell the scenarios, the number of episodes and the hash of a manifest."""
    manifest = load_manifest(name)
    counts = dict.fromkeys(manifest.scenarios, 0)
    for block in manifest.blocks:
        counts[block.scenario_id] += len(block.seeds)
    if as_json:
        described = {
            "manifest_id": manifest.manifest_id,
            "description": manifest.description,
            "manifest_hash": manifest.manifest_hash,
            "episodes": len(manifest),
            "scenarios": counts,
        }
        click.echo(json.dumps(described, indent=2))
        return
    click.echo(": ".join(filter(None, (manifest.manifest_id, manifest.description))))
    _print(manifest, counts)
    click.echo(f"{len(manifest):,} episodes, manifest_hash {manifest.manifest_hash}")


def _print(manifest: Manifest, counts: dict[str, int]) -> None:
    table = Table("scenario", *(Column(name, justify="right") for name in _COLUMNS))
    for scenario_id, number in counts.items():
        scenario = manifest.scenarios[scenario_id]
        world = scenario.map
        size, people = f"{world.width} x {world.height}", len(scenario.people)
        numbers = (f"{people:,}", f"{len(world.exits):,}", f"{number:,}")
        table.add_row(scenario_id, size, *numbers)
    Console(highlight=False).print(table)
