"""What a run would do, told without doing it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from emberbench_dist.agents.code import AgentCode
from emberbench_dist.runner.plan import Plan, committed_in


def print_plan(plan: Plan, options: dict[str, Any]) -> None:
    """Print manifest, episodes, agent and what a cluster would get; raise what the run would."""
    committed = committed_in(plan, plan.folder) if plan.folder else None
    manifest, planned = plan.manifest, len(plan.episodes)
    part = "" if plan.slice.parts == 1 else f", slice {plan.slice}"
    done = "a new run" if committed is None else f"{committed} of them committed"
    click.echo(f"manifest: {manifest.manifest_id} ({manifest.manifest_hash})")
    click.echo(f"episodes: {planned} planned{part}, {done}")
    if plan.folder is not None:
        click.echo(f"results: {plan.folder.path}")
    click.echo(f"workers: {_workers(options)}")
    click.echo(f"agent: {plan.agent_spec}")
    if plan.code is not None:
        _print_code(plan.code, address=options["address"])
    for requirement in options["pip"]:
        click.echo(f"pip: {requirement}")


def _workers(options: dict[str, Any]) -> str:
    if options["alone"]:
        return "this process"
    number = options["workers"] or "as many as fit"
    return f"{number}, on " + (f"the cluster {options['address']}" if options["address"] else "Ray")


def _print_code(code: AgentCode, address: str | None) -> None:
    if code.folder is None:
        parts = [f"{name} {part}" for name, part in code.parts.items()]
        click.echo(f"code: {', '.join([code.source, *parts])}; nothing is sent")
    else:
        _print_files(code)
        total = sum(file.size for file in code.files)
        sent = f"sent to {address}" if address else "on this machine, nothing is sent"
        counted = f"{len(code.files)} file{'s' * (len(code.files) != 1)}, {total:,} bytes"
        if code.obstacle:
            counted = f"only its {len(code.parts)} imported files are known ({code.obstacle})"
        click.echo(f"code: {_shown(code.folder)}, {counted}; {sent}")
    click.echo(f"digest: {code.digest}")


def _shown(folder: Path) -> str:
    """Return a folder as it is seen from here."""
    here = Path.cwd()
    return str(folder.relative_to(here) if folder.is_relative_to(here) else folder)


def _print_files(code: AgentCode) -> None:
    """Print a table on a terminal, and a line a file elsewhere."""
    console = Console(highlight=False)
    if not console.is_terminal:
        for file in code.files:
            click.echo(f"file: {file.size} {file.name}")
        return
    table = Table("file", "bytes")
    table.columns[1].justify = "right"
    for file in code.files:
        table.add_row(file.name, f"{file.size:,}")
    console.print(table)
