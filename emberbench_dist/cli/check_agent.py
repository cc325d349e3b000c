"""`dist-eval check-agent`: which rules of the model interface an agent breaks."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from emberbench_dist.agents.conformance import STEP_LIMIT, Finding, Report, Verdict, check_agent
from emberbench_dist.agents.registry import load_agent
from emberbench_dist.cli.agent_options import asking_options, remote_options

_BREAKS_RULES = 1
_STYLES = {Verdict.HOLDS: "green", Verdict.BROKEN: "bold red", Verdict.NOT_CHECKED: "yellow"}


@click.command(name="check-agent")
@click.argument("spec", metavar="SPEC")
@click.option(
    "--step-limit",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    default=STEP_LIMIT,
    show_default=True,
    help="An agent that is silent for so long hangs.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@asking_options
def command(spec: str, step_limit: float, as_json: bool, **options: Any) -> int:  # noqa: FBT001 - click passes it by name
    """Play small episodes with the agent SPEC and say which rules it breaks.

    Ends with exit code 1 if it breaks any. What the agent prints goes to standard error.
    """
    with redirect_stdout(sys.stderr):
        factory = load_agent(spec, remote_options(spec, options))
    report = check_agent(factory, step_limit=step_limit)
    if as_json:
        findings = [finding.to_dict() for finding in report.findings]
        click.echo(json.dumps({"agent": spec, "ok": report.ok, "rules": findings}, indent=2))
    else:
        _print(spec, report)
    return 0 if report.ok else _BREAKS_RULES


def _print(spec: str, report: Report) -> None:
    table = Table("rule", "§", "verdict", "text, and what was seen")
    for finding in report.findings:
        verdict = Text(finding.verdict, style=_STYLES[finding.verdict])
        table.add_row(finding.rule.id, str(finding.rule.section), verdict, _text(finding))
    console = Console(highlight=False)
    console.print(table)
    counts = f"{len(report.holds)} hold, {len(report.not_checked)} not checked"
    line = f"{spec} breaks {len(report.broken)} of {len(report.findings)} rules; {counts}"
    console.print(Text(line), soft_wrap=True)


def _text(finding: Finding) -> Text:
    text = Text(finding.rule.text)
    for told in [*finding.evidence, *filter(None, [finding.reason])]:
        text.append(f"\n- {told}", style=_STYLES[finding.verdict])
    return text
