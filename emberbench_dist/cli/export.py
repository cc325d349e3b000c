"""`dist-eval export`: make the Parquet tables again."""

from __future__ import annotations

from pathlib import Path

import click

from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.errors import RunFolderError
from emberbench_dist.evaluation.manifest import load_manifest


@click.command(name="export")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--out", metavar="DIR", type=click.Path(path_type=Path), help="Write them elsewhere.")
@click.option("--steps/--no-steps", default=True, help="Whether to write steps.parquet.")
@click.option("--manifest", metavar="M", help="The manifest, for an artifact without a ledger.")
def command(folder: Path, out: Path | None, manifest: str | None, *, steps: bool) -> None:
    """Write the tables of the run in DIR from its ledger, or from its artifact and traces.

    With --out also while the run goes on: the tables of what is committed by then.
    """
    # Loaded here: pyarrow is slow to import.
    from emberbench_dist.artifacts.export import export_tables  # noqa: PLC0415

    source, target = RunFolder(folder), RunFolder(out or folder)
    known = load_manifest(manifest) if manifest else None
    if not folder.is_dir():  # locking would make it
        raise RunFolderError(f"{folder}: there is no run here")
    _require_free(source, target)
    target.create()
    with target.locked():
        names = export_tables(source, target, steps=steps, manifest=known)
    click.echo(f"{', '.join(names)} in {target.path}")


def _require_free(source: RunFolder, target: RunFolder) -> None:
    if target.path.resolve() != source.path.resolve():
        if target.ledger.exists() or target.artifact.exists():
            raise RunFolderError(f"{target.path}: already holds a run; choose another folder")
    elif source.in_use():
        raise RunFolderError(
            f"{source.path}: a driver is at work there; --out writes the tables elsewhere"
        )
