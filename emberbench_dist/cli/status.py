"""`dist-eval status`: how far a run is, read from its ledger without touching it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from emberbench_dist.artifacts.durable import read_json
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.playing import Playing, read_notes
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.evaluation.accounting import Spent
from emberbench_dist.evaluation.slices import Slice

_SHOWN = 5


@click.command(name="status")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(folder: Path, as_json: bool) -> None:  # noqa: FBT001 - click passes it by name
    """Say how many episodes of the run in DIR are committed, failed and pending."""
    status = read_status(RunFolder(folder))
    if as_json:
        click.echo(json.dumps(status, indent=2))
        return
    click.echo(f"{status['manifest_id']} with {status['agent']}: {status['outcome']}")
    click.echo(
        f"{status['committed']} of {status['episodes']} episodes committed, "
        f"{status['failed']} failed, {status['pending']} pending; "
        f"{status['episodes_per_second']} episodes/s in the latest session"
    )
    click.echo(f"spent: {Spent(**status['spent'])}")
    if status["lost"]["attempts"]:
        click.echo(f"lost: {status['lost']['attempts']} attempts, {Spent(**status['lost'])}")
    for playing in status["running"]:
        click.echo(f"running: {playing}")
    for failure in status["failures"]:
        click.echo(f"failed: {failure}")


def read_status(folder: RunFolder) -> dict[str, Any]:
    """Return the run's counts; reads only, works during a run and after a crash."""
    with Ledger.reading(folder.ledger) as ledger:
        meta, sessions, failures = ledger.meta(), ledger.sessions(), ledger.failures()
        spent, lost = ledger.spent(), ledger.lost()
    planned = len(Slice.parse(meta["slice"]).episodes(int(meta["episodes"])))
    committed = sum(count for _, _, count in sessions)
    return {
        "manifest_id": meta["manifest_id"],
        "agent": meta["agent_spec"],
        "slice": meta["slice"],
        "outcome": _outcome(folder),
        "episodes": planned,
        "committed": committed,
        "failed": len(failures),
        "pending": planned - committed,
        "episodes_per_second": _rate(sessions),
        "sessions": len(sessions),
        "spent": spent.to_dict(),
        "lost": lost.to_dict(),
        "running": [str(note) for note in _running(folder)],
        "failures": [str(failure) for failure in failures],
    }


def _outcome(folder: RunFolder) -> str:
    """Return how the latest session ended, as far as is known."""
    outcome = str(read_json(folder.run_json).get("outcome", "unknown"))
    return "killed" if outcome == "running" and not folder.in_use() else outcome


def _running(folder: RunFolder) -> list[Playing]:
    """Return what is played just now, the longest first."""
    return read_notes(folder.playing)[:_SHOWN] if folder.in_use() else []


def _rate(sessions: list[tuple[float, float, int]]) -> float:
    """Return episodes per second of the latest session that committed any."""
    rates = [
        count / (updated - started) for started, updated, count in sessions if updated > started
    ]
    return round(rates[-1], 1) if rates else 0.0
