"""`dist-eval audit`: play committed episodes again and compare."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from emberbench_dist.agents.code import code_of, use_code_dir
from emberbench_dist.agents.registry import load_agent
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.repair import kept_manifest
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.cli.agent_options import asking_options, remote_options
from emberbench_dist.cli.progress import Reporter
from emberbench_dist.cli.workers import code_options, on_ray
from emberbench_dist.runner.audit import audit, sample

_DEVIATES = 1


@click.command(name="audit")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--sample",
    "count",
    metavar="N",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="How many episodes.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Chooses the episodes."
)
@click.option(
    "--workers",
    metavar="N",
    type=click.IntRange(min=1),
    help="Processes at once.  [default: one a CPU]",
)
@click.option("--address", metavar="ADDR", help="Join the Ray cluster at ADDR.")
@code_options
@asking_options
def command(folder: Path, count: int, seed: int, **options: Any) -> int:
    """Play N committed episodes of DIR again with their agent, each in a process of its own.

    An agent that is not deterministic, or keeps state from one episode to the next, is found.
    """
    # Loaded here: only a distributed command pays for it.
    from emberbench_dist.distributed.worker import Setup  # noqa: PLC0415

    reporter = Reporter()
    path = RunFolder(folder).ledger
    with Ledger.reading(path) as ledger:
        manifest = kept_manifest(ledger, str(path))
        spec = ledger.meta()["agent_spec"]
        remote = remote_options(spec, options)
        use_code_dir(options["code_dir"])
        load_agent(spec, remote)
        code = code_of(spec, options["code_dir"], leave_out=[folder])
        if changes := code.changes_since(ledger.meta().get("agent_code", code.to_text())):
            reporter.say(f"The agent's code is not that of the run ({changes}).")
        episodes = sample(ledger, count, seed)
        setup = Setup(
            manifest.scenarios,
            spec,
            tuple(path for path in sys.path if path),
            str(Path.cwd()),
            remote=remote,
        )
        open_pool = on_ray(setup, options, reporter.say, fresh=True, code=code)
        with reporter.shown(len(episodes)):
            deviations = audit(manifest, ledger, episodes, open_pool, reporter.count)
    for deviation in deviations:
        click.echo(f"Error: episode {deviation.episode}: {deviation.difference}", err=True)
    same = len(episodes) - len(deviations)
    click.echo(f"{same} of {len(episodes)} episodes came out as they are committed (seed {seed})")
    return _DEVIATES if deviations else 0
