"""`dist-eval plot`: one figure of a report, as a file for a paper."""

from __future__ import annotations

from pathlib import Path

import click

from emberbench_dist.artifacts.durable import replacing
from emberbench_dist.cli.options import labels_option, metric_option

_SUFFIXES = (".png", ".svg", ".pdf")


@click.command(name="plot", no_args_is_help=True)
@click.argument("figure", metavar="FIGURE")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file; its suffix says how: .png, .svg or .pdf.  [default: FIGURE.png]",
)
@metric_option
@click.option("--scenario", metavar="ID", help="Only this scenario (survival, map).")
@labels_option
def command(  # noqa: PLR0917 - click passes them by name
    figure: str,
    runs: tuple[str, ...],
    out: Path | None,
    metric: str,
    scenario: str | None,
    labels: tuple[str, ...],
) -> None:
    """Draw a FIGURE of a report about each RUN, a run folder; the first is the baseline.

    FIGURE is survival, differences, distribution, heat, map, movement, time, or a column of
    execution.parquet such as cost_usd.
    """
    # Loaded here, so that --help does not wait for pandas and matplotlib.
    from emberbench_dist.analysis.plots import encode  # noqa: PLC0415
    from emberbench_dist.analysis.report.figures import FIGURES, draw  # noqa: PLC0415
    from emberbench_dist.analysis.runs import find_runs  # noqa: PLC0415

    if figure not in FIGURES:
        raise click.UsageError(f"there is no figure {figure!r}; there are {', '.join(FIGURES)}")
    path = out or Path(f"{figure}.png")
    if path.suffix not in _SUFFIXES:
        raise click.UsageError(f"--out ends with {', '.join(_SUFFIXES)}, not {path.suffix!r}")
    found = find_runs(runs, labels or None)
    with replacing(path) as file:  # opened first: what cannot be written is known at once
        picture = draw(figure, found, metric=metric, scenario=scenario)
        file.write(encode(picture.figure, path.suffix[1:]))
    click.echo(f"{picture.title}. {picture.caption}")
    click.echo(f"figure: {path}")
