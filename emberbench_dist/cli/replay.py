"""`dist-eval replay`: the contract's replay check."""

from __future__ import annotations

from pathlib import Path

import click

from emberbench_dist.contract.scenario import Scenario, load_scenario
from emberbench_dist.errors import ReplayError
from emberbench_dist.evaluation.manifest import load_manifest
from emberbench_dist.evaluation.suites import built_in_manifests
from emberbench_dist.simulator.record import check_replay, load_record


@click.command(name="replay")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--scenario",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The scenario, where it is not a built-in one.",
)
def command(file: Path, scenario: Path | None) -> None:
    """Replay a run record and name the first step that is not reproduced byte for byte."""
    record = load_record(file)
    found = load_scenario(scenario) if scenario else _built_in(record, file)
    steps = check_replay(record, found, source=str(file))
    click.echo(f"{file}: {steps} steps are reproduced byte for byte")


def _built_in(record: object, file: Path) -> Scenario:
    """Return the built-in scenario that the record's header names."""
    header = record.get("header") if isinstance(record, dict) else None
    wanted = header.get("scenario_hash") if isinstance(header, dict) else None
    for path in built_in_manifests().values():
        for scenario in load_manifest(path).scenarios.values():
            if scenario.scenario_hash == wanted:
                return scenario
    raise ReplayError(f"{file}: its scenario is not a built-in one; give it with --scenario FILE")
