"""`dist-eval doctor`: say before a run whether it can be."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from emberbench_dist import __version__
from emberbench_dist.doctor.examine import examine
from emberbench_dist.doctor.finding import PROBLEM, Asked

_EXIT_PROBLEM = 3


@click.command(name="doctor")
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path),
    default="results",
    show_default=True,
    help="The folder that runs go to; nothing stays in it.",
)
@click.option(
    "--address", metavar="ADDR", help="Look at the Ray cluster at ADDR: auto or HOST:PORT."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(out: Path, address: str | None, *, as_json: bool) -> int:
    """Check what a run needs, and say what to do: a line for each check.

    Exit code 0, or 3 where something would keep a run from its end.
    """
    findings = []
    for finding in examine(Asked(out, address)):
        findings.append(finding)
        if not as_json:
            click.echo(str(finding))
    problems = [finding for finding in findings if finding.level == PROBLEM]
    if as_json:
        told = {
            "emberbench_dist": __version__,
            "fit": not problems,
            "findings": [asdict(finding) for finding in findings],
        }
        click.echo(json.dumps(told, indent=2))
    return _EXIT_PROBLEM if problems else 0
