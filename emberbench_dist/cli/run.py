"""`dist-eval run`: evaluate an agent on a manifest."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import click

from emberbench_dist.agents.registry import load_agent
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.cli.interrupts import INTERRUPTED, Interrupts
from emberbench_dist.cli.progress import Reporter, print_summary
from emberbench_dist.evaluation.manifest import load_manifest
from emberbench_dist.runner.drive import Controls
from emberbench_dist.runner.pool import Pool
from emberbench_dist.runner.run import OpenPool, Plan, RunResult, in_process, run

_EXIT_CODES = {"complete": 0, "failed": 1, "crashed": 3, "interrupted": INTERRUPTED}


@click.command(name="run")
@click.argument("manifest", default="public-v1")
@click.option(
    "--agent",
    "agent_spec",
    metavar="SPEC",
    default="greedy",
    show_default=True,
    help="A known name, package.module:factory, or path/to/file.py:factory.",
)
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="The run folder.  [default: results/<manifest>/<agent>]",
)
@click.option("--resume", is_flag=True, help="Go on with the run in the folder.")
@click.option("--agent-changed", is_flag=True, help="Resume although the agent SPEC differs.")
@click.option(
    "--workers",
    metavar="N",
    type=click.IntRange(min=1),
    help="Worker processes.  [default: one a CPU]",
)
@click.option("--address", metavar="ADDR", help="Join the Ray cluster at ADDR: auto or HOST:PORT.")
@click.option("--in-process", "alone", is_flag=True, help="Play in this process, without Ray.")
@click.option("--no-steps", is_flag=True, help="Leave out steps.parquet.")
def command(manifest: str, agent_spec: str, out: Path | None, **options: Any) -> int:
    """Evaluate an agent on MANIFEST: a file, or a built-in manifest (default: public-v1)."""
    if options["alone"] and (options["address"] or options["workers"]):
        raise click.UsageError("--in-process plays in this process: no --workers, no --address")
    found = load_manifest(manifest)
    reporter, interrupts = Reporter(), Interrupts(alone=options["alone"])
    plan = Plan(
        manifest=found,
        agent_spec=agent_spec,
        folder=RunFolder(out or Path("results", _slug(found.manifest_id), _slug(agent_spec))),
        resume=options["resume"],
        agent_changed=options["agent_changed"],
        steps=not options["no_steps"],
        command=tuple(sys.argv[1:]),
        controls=Controls(stop=interrupts.stop, report=reporter.report),
    )
    open_pool = interrupts.guarding(_open_pool(plan, reporter, options))
    with interrupts.caught(), reporter.shown(len(found)):
        result = run(plan, open_pool)
    _tell(result, plan, reporter)
    return _EXIT_CODES[result.outcome]


def _open_pool(plan: Plan, reporter: Reporter, options: dict[str, Any]) -> OpenPool:
    if options["alone"]:
        return in_process(plan.manifest, load_agent(plan.agent_spec))
    # Loaded here: only a distributed run pays for it.
    from emberbench_dist.distributed.cluster import available_cpus  # noqa: PLC0415
    from emberbench_dist.distributed.evaluate import on_ray  # noqa: PLC0415

    workers, address = options["workers"], options["address"]
    if workers and not address and workers > available_cpus():
        reporter.say(f"{workers} workers share {available_cpus()} CPUs: they will not be faster.")
    open_pool = on_ray(plan, workers=workers, address=address)
    assert plan.folder is not None
    log = plan.folder.log

    @contextmanager
    def opened() -> Iterator[Pool]:
        reporter.say("Starting Ray …" if not address else f"Joining Ray at {address} …")
        # Ray prints to standard output what its processes do; ours is for results.
        with log.open("a") as file, redirect_stdout(file), open_pool() as pool:
            yield pool

    return opened


def _slug(spec: str) -> str:
    """Return a folder name for a manifest id or an agent SPEC."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", spec).strip("-.") or "run"


def _tell(result: RunResult, plan: Plan, reporter: Reporter) -> None:
    """Print the summary, then, on standard error, what went wrong and how to go on."""
    if not result.played and result.outcome == "complete":
        reporter.say(f"All {result.summary.episodes} episodes are committed; nothing to play.")
    print_summary(result)
    if result.failure is not None:
        if result.failure.traceback:
            click.echo(result.failure.traceback.rstrip(), err=True)
        click.echo(f"Error: {result.failure}", err=True)
    if result.outcome != "complete":
        left = result.summary.episodes - result.committed
        again = [part for part in plan.command if part != "--resume"]
        click.echo(
            f"{left} episodes are left. Go on with: dist-eval {shlex.join([*again, '--resume'])}",
            err=True,
        )
