"""`dist-eval repair`: drop the damaged rows of a ledger."""

from __future__ import annotations

from pathlib import Path

import click

from emberbench_dist.artifacts.repair import repair_ledger
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.errors import RunFolderError
from emberbench_dist.evaluation.manifest import load_manifest

_SHOWN = 20


@click.command(name="repair")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--manifest", metavar="M", help="The manifest, where the ledger's copy is damaged.")
def command(folder: Path, manifest: str | None) -> None:
    """Keep every row of the ledger in DIR that is as it was written; resume plays the others.

    The damaged ledger stays beside the new one as ledger.damaged.sqlite.
    """
    run = RunFolder(folder)
    known = load_manifest(manifest) if manifest else None
    if not run.ledger.is_file():  # locking would make the folder
        raise RunFolderError(f"{run.ledger}: there is no run here")
    with run.locked():
        repaired = repair_ledger(run, known)
    dropped = repaired.dropped
    lost = f", {repaired.lost} not to be found" if repaired.lost else ""
    click.echo(f"{repaired.kept} rows kept, {len(dropped)} damaged rows dropped{lost}")
    if dropped:
        names = ", ".join(map(str, dropped[:_SHOWN])) + (" …" if len(dropped) > _SHOWN else "")
        click.echo(f"episodes {names} are to be played again: dist-eval run … --resume")
