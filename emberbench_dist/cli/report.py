"""`dist-eval report`: one page about one or more runs."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

from emberbench_dist.artifacts.durable import replacing
from emberbench_dist.cli.options import labels_option, metric_option

_RANGES = r"\d{1,19}(-\d{1,19})?(,\d{1,19}(-\d{1,19})?)*"
_MOST = 1000


@click.command(name="report")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    default="report.html",
    show_default=True,
    help="The page.",
)
@metric_option
@click.option(
    "--episodes",
    metavar="LIST",
    help="Episodes to play in the page, such as 3,17,20-25, or none.  "
    "[default: those that differ most, and one a scenario]",
)
@labels_option
def command(
    runs: tuple[str, ...],
    out: Path,
    metric: str,
    episodes: str | None,
    labels: tuple[str, ...],
) -> None:
    """Write one self-contained HTML page about each RUN, a run folder.

    Differences are those of the others to the first.
    """
    # Loaded here, so that --help does not wait for pandas and matplotlib.
    from emberbench_dist.analysis.report.page import report_page  # noqa: PLC0415
    from emberbench_dist.analysis.runs import find_runs  # noqa: PLC0415

    chosen = None if episodes is None else _numbers(episodes)
    found = find_runs(runs, labels or None)
    with replacing(out) as file:  # opened first: what cannot be written is known at once
        page = report_page(found, metric=metric, episodes=chosen, command=sys.argv[1:])
        file.write(page.encode())
    for run in found:
        if not run.complete:
            told = f"{run.committed} of {run.planned} planned episodes are committed"
            click.echo(f"Note: {run.path} is not complete: {told}.", err=True)
    click.echo(f"report: {out}")


def _numbers(text: str) -> list[int]:
    """Read episode numbers and ranges."""
    if text == "none":
        return []
    if not re.fullmatch(_RANGES, text):
        raise click.UsageError(
            f"--episodes takes numbers such as 3,17,20-25, or none, not {text!r}"
        )
    found: dict[int, None] = {}
    for part in text.split(","):
        first, _, last = part.partition("-")
        span = range(int(first), int(last or first) + 1)
        if not span:
            raise click.UsageError(f"--episodes: {part} is no range")
        if len(found) + (span.stop - span.start) > _MOST:
            raise click.UsageError(f"--episodes takes at most {_MOST} episodes")
        found |= dict.fromkeys(span)
    return list(found)
