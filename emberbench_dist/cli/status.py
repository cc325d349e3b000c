"""`dist-eval status`: how far a run is, read from its ledger without touching it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.run_folder import RunFolder, read_json


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
    for failure in status["failures"]:
        click.echo(f"failed: {failure}")


def read_status(folder: RunFolder) -> dict[str, Any]:
    """Return the run's counts; reads only, works during a run and after a crash."""
    with Ledger.reading(folder.ledger) as ledger:
        meta, sessions, failures = ledger.meta(), ledger.sessions(), ledger.failures()
    sessions_told = read_json(folder.run_json).get("sessions") or [{}]
    planned = int(meta["episodes"])
    committed = sum(count for _, _, count in sessions)
    started, updated, count = sessions[-1] if sessions else (0.0, 0.0, 0)
    return {
        "manifest_id": meta["manifest_id"],
        "agent": meta["agent_spec"],
        "outcome": sessions_told[-1].get("outcome", "unknown"),
        "episodes": planned,
        "committed": committed,
        "failed": len(failures),
        "pending": planned - committed,
        "episodes_per_second": round(count / (updated - started), 1) if updated > started else 0.0,
        "sessions": len(sessions),
        "failures": [str(failure) for failure in failures],
    }
