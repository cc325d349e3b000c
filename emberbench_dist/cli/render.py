"""`dist-eval render`: one episode as a picture, an animation, a page or text."""

from __future__ import annotations

from pathlib import Path

import click

from emberbench_dist.analysis.episodes.render import as_text, render


@click.command(name="render")
@click.argument(
    "folders", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option("--episode", metavar="N", type=click.IntRange(min=0), required=True)
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A sheet of key steps (.png), an animation (.gif), the player (.html), or text (.txt).  "
    "[default: text on standard output]",
)
def command(folders: tuple[Path, ...], episode: int, out: Path | None) -> None:
    """Show a committed episode, as one or more runs of the same manifest played it."""
    names = [folder.resolve().name for folder in folders]
    told = names if len(set(names)) == len(names) else [str(folder) for folder in folders]
    runs = list(zip(told, folders, strict=True))
    if out is None:
        click.echo(as_text(runs, episode), nl=False)
    else:
        render(runs, episode, out)
