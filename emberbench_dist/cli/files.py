"""Files that a command reads, and documents that it writes."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from emberbench_dist.artifacts.durable import replacing

out_option = click.option(
    "--out",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write it.  [default: standard output]",
)

a_file = click.Path(path_type=Path, allow_dash=True)


def read_input(path: Path) -> bytes:
    """Read a file that the user named, or standard input for `-`."""
    if str(path) == "-":
        return sys.stdin.buffer.read()
    try:
        return path.read_bytes()
    except OSError as error:
        raise click.FileError(str(path), error.strerror) from error


def write_document(text: str, out: Path | None) -> None:
    """Write to a file, or to standard output."""
    if out is None:
        click.echo(text, nl=False)
        return
    with replacing(out) as file:
        file.write(text.encode())
