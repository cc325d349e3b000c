"""`dist-eval record`: write the run record of a committed episode."""

from __future__ import annotations

import json
from pathlib import Path

import click

from emberbench_dist.artifacts.durable import replacing
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.repair import kept_manifest
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.contract.canonical import canonical_json
from emberbench_dist.errors import RunFolderError
from emberbench_dist.evaluation.episode import replay
from emberbench_dist.simulator.record import RunRecord
from emberbench_dist.simulator.simulator import Simulator


@click.command(name="record")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--episode", metavar="N", type=click.IntRange(min=0), required=True)
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write it.  [default: standard output]",
)
def command(folder: Path, episode: int, out: Path | None) -> None:
    """Write every action, movement and state of an episode, rebuilt from its trace."""
    path = RunFolder(folder).ledger
    with Ledger.reading(path) as ledger:
        manifest = kept_manifest(ledger, str(path))
        planned = manifest.episode(episode)
        result = ledger.result(episode)
    if result is None:
        raise RunFolderError(f"{folder}: episode {episode} is not committed")
    simulator = Simulator(manifest.scenarios[planned.scenario_id], planned.seed)
    initial = simulator.state
    steps = tuple(replay(simulator, json.loads(result.trace)["actions"]))
    record = RunRecord(simulator.scenario, planned.seed, initial, steps)
    text = canonical_json(record.to_dict())
    if out is None:
        click.echo(text)
        return
    with replacing(out) as file:
        file.write(text.encode() + b"\n")
