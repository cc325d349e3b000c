"""`dist-eval verify`: check a result without its agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.repair import kept_manifest
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.cli.progress import Reporter
from emberbench_dist.cli.workers import alone, on_ray, require_consistent, worker_options
from emberbench_dist.evaluation.manifest import Manifest, load_manifest
from emberbench_dist.evaluation.verify import Verifier
from emberbench_dist.runner.verify import verify_files


@click.command(name="verify")
@click.argument("result", metavar="DIR|ARTIFACT", type=click.Path(path_type=Path))
@click.argument("traces", required=False, type=click.Path(path_type=Path))
@click.option("--manifest", metavar="M", help="The manifest; a run folder has a copy of its own.")
@worker_options
def command(result: Path, traces: Path | None, manifest: str | None, **options: Any) -> None:
    """Replay every trace, rebuild the artifact and compare bytes; no agent is needed.

    Give a run folder, whose ledger is audited too, or an artifact, its traces and --manifest.
    """
    require_consistent(options)
    if result.is_dir():
        folder = RunFolder(result)
        found = _audited_manifest(folder, manifest)
        artifact, traces = folder.artifact, traces or folder.traces
    elif traces is None or manifest is None:
        raise click.UsageError("an artifact is verified with its TRACES and --manifest")
    else:
        artifact, found = result, load_manifest(manifest)
    reporter = Reporter()
    with reporter.shown(len(found)):
        verified = verify_files(
            found, artifact, traces, _open_pool(found, options, reporter), reporter.count
        )
    click.echo(
        f"{verified.episodes} of {len(found)} episodes are what their traces give; "
        f"artifact sha256 {verified.sha256}"
    )


def _audited_manifest(folder: RunFolder, manifest: str | None) -> Manifest:
    with Ledger.reading(folder.ledger) as ledger:
        ledger.check()
        return load_manifest(manifest) if manifest else kept_manifest(ledger, str(folder.ledger))


def _open_pool(manifest: Manifest, options: dict[str, Any], reporter: Reporter) -> Any:
    if options["alone"]:
        return alone(Verifier(manifest.scenarios).verify)
    # Loaded here: only a distributed command pays for it.
    from emberbench_dist.distributed.worker import Setup  # noqa: PLC0415

    return on_ray(Setup(manifest.scenarios, None), options, reporter.say)
