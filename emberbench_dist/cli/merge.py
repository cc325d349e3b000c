"""`dist-eval merge`: join the slices of a run."""

from __future__ import annotations

from pathlib import Path

import click

from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.merge import merge_ledgers
from emberbench_dist.artifacts.repair import kept_manifest
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.runner.run import write_results
from emberbench_dist.runner.session import Session


@click.command(name="merge")
@click.argument("out", metavar="OUT", type=click.Path(path_type=Path))
@click.argument("parts", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--partial", is_flag=True, help="Merge although episodes are missing.")
@click.option("--no-steps", is_flag=True, help="Leave out steps.parquet.")
def command(out: Path, parts: tuple[Path, ...], *, partial: bool, no_steps: bool) -> None:
    """Join run folders into OUT: the run that one machine would have made, the same bytes."""
    folder = RunFolder(out)
    folder.create()
    with folder.locked():
        merge_ledgers(folder, [RunFolder(part) for part in parts], partial=partial)
        with Ledger.reading(folder.ledger) as ledger:
            manifest, binding = kept_manifest(ledger, str(folder.ledger)), ledger.meta()
            session = Session(folder.run_json, binding, ["merge", *map(str, (out, *parts))])
            summary = write_results(manifest, ledger, folder, steps=not no_steps)
        session.end("complete" if summary.complete else "failed")
    click.echo(f"{summary.committed} of {summary.episodes} episodes in {folder.artifact}")
