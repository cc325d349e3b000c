"""`dist-eval publish`: copy a complete run to an object store or a folder elsewhere."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from emberbench_dist.artifacts.publishing.place import Place, parse_place
from emberbench_dist.artifacts.publishing.publish import Published, check_place, publish
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.errors import EmberBenchError

_MIB = 2**20
_NOT_PUBLISHED = 3
publish_option = click.option(
    "--publish",
    "place",
    metavar="URL",
    callback=lambda _context, _option, url: None if url is None else parse_place(url),
    help="Copy the run, once it is complete, to s3://…, gs://… or file://….",
)


@click.command(name="publish")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("url", metavar="URL")
@click.option("--overwrite", is_flag=True, help="Replace another run that is published there.")
def command(folder: Path, url: str, *, overwrite: bool) -> None:
    """Copy the complete run in DIR to URL: s3://…, gs://… or file://….

    What is there already and the same is left. The ledger stays here.
    """
    place = parse_place(url)
    _tell(publish(RunFolder(folder), place, overwrite=overwrite), place)


def require_place(place: Place | None, folder: RunFolder) -> None:
    """Check the place that a run will go to, before it begins."""
    if place is not None:
        check_place(place, folder)


def published(place: Place | None, folder: RunFolder | None, code: int) -> int:
    """Publish a run that ended with an exit code, where asked for; return the code to end with."""
    if place is None or folder is None:
        return code
    if code:
        click.echo("Not published: only complete runs are.", err=True)
        return code
    click.echo(f"Publishing to {place.url} …", err=True)
    again = shlex.join(["dist-eval", "publish", str(folder.path), place.url])
    try:
        _tell(publish(folder, place), place)
    except KeyboardInterrupt:
        click.echo(f"\nThe run is complete. Publish it with: {again}", err=True)
        raise
    except EmberBenchError as error:
        click.echo(f"Error: the run is complete, but not published: {error}", err=True)
        click.echo(f"Publish it with: {again}", err=True)
        return _NOT_PUBLISHED
    return code


def _tell(done: Published, place: Place) -> None:
    kept = len(done.files) - len(done.copied)
    there = f", {kept} of them were there" if kept else ""
    size = f"{done.size / _MIB:.1f} MiB"
    click.echo(f"published: {place.url} ({len(done.files)} files, {size}{there})")
