"""`dist-eval run`: evaluate an agent on a manifest."""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from emberbench_dist.agents.code import AgentCode, code_of, use_code_dir
from emberbench_dist.agents.interface import AgentFactory
from emberbench_dist.agents.registry import load_agent
from emberbench_dist.artifacts.filesystem import network_warning
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.cli.agent_options import agent_options, asked_spec, remote_options
from emberbench_dist.cli.dry_run import print_plan
from emberbench_dist.cli.interrupts import EXIT_INTERRUPTED, Interrupts
from emberbench_dist.cli.progress import Reporter, print_summary
from emberbench_dist.cli.publish import publish_option, published, require_place
from emberbench_dist.cli.workers import (
    code_options,
    load_options,
    on_ray,
    require_consistent,
    worker_options,
)
from emberbench_dist.evaluation.manifest import load_manifest
from emberbench_dist.evaluation.slices import Slice
from emberbench_dist.runner.drive import Controls
from emberbench_dist.runner.evaluate import in_process
from emberbench_dist.runner.plan import Plan
from emberbench_dist.runner.pool import OpenPool
from emberbench_dist.runner.run import RunResult, run
from emberbench_dist.runner.schedule import MAX_CRASHES

_MAX_SLUG = 100  # a command may be longer than the name of a file
_EXIT_CODES = {"complete": 0, "failed": 1, "crashed": 3, "interrupted": EXIT_INTERRUPTED}


@click.command(name="run")
@click.argument("manifest", default="public-v1")
@agent_options
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="The run folder.  [default: results/<manifest>/<agent>]",
)
@click.option("--resume", is_flag=True, help="Go on with the run in the folder.")
@click.option("--agent-changed", is_flag=True, help="Resume although SPEC or code differ.")
@worker_options
@code_options
@load_options
@click.option("--slice", "part", metavar="I/N", help="Play only part I of N of the manifest.")
@click.option("--keep-going", is_flag=True, help="Play on after an episode failed; exit 1.")
@click.option("--skip-failed", is_flag=True, help="With --resume: leave failed episodes alone.")
@click.option(
    "--max-crashes",
    metavar="N",
    type=click.IntRange(min=1),
    default=MAX_CRASHES,
    show_default=True,
    help="Give an episode up when N workers died with it alone.",
)
@click.option(
    "--stall-after",
    metavar="S",
    type=click.FloatRange(min=0, min_open=True),
    help="End the run when nothing was committed for S seconds.",
)
@click.option("--no-steps", is_flag=True, help="Leave out steps.parquet.")
@publish_option
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
def command(manifest: str, out: Path | None, **options: Any) -> int:
    """Evaluate an agent on MANIFEST: a file, or a built-in manifest (default: public-v1)."""
    require_consistent(options)
    if options["alone"] and options["stall_after"]:
        raise click.UsageError("--in-process has no workers to watch: no --stall-after")
    reporter, interrupts = Reporter(), Interrupts(alone=options["alone"])
    controls = Controls(
        stop=interrupts.stop,
        report=reporter.report,
        stall_seconds=options["stall_after"] or float("inf"),
        keep_going=options["keep_going"],
    )
    plan = _plan(manifest, out, controls, options)
    use_code_dir(options["code_dir"])
    factory = _factory(plan)
    plan = replace(plan, code=_code(plan, options))
    open_pool = interrupts.guarding(_open_pool(plan, factory, reporter, options))
    if options["dry_run"]:
        print_plan(plan, options)
        return 0
    _look_at_places(plan, reporter, options)
    with interrupts.caught(), reporter.shown(len(plan.episodes)):
        result = run(plan, open_pool)
    _tell(result, plan, reporter)
    return published(options["place"], plan.folder, _EXIT_CODES[result.outcome])


def _plan(manifest: str, out: Path | None, controls: Controls, options: dict[str, Any]) -> Plan:
    spec = asked_spec(options)
    remote = remote_options(spec, options)
    found = load_manifest(manifest)
    part = Slice.parse(options["part"]) if options["part"] else Slice()
    name = _slug(found.manifest_id) + (f"-{part.part}of{part.parts}" if part.parts > 1 else "")
    return Plan(
        manifest=found,
        agent_spec=spec,
        folder=RunFolder(out or Path("results", name, _slug(spec))),
        resume=options["resume"],
        agent_changed=options["agent_changed"],
        skip_failed=options["skip_failed"],
        steps=not options["no_steps"],
        slice=part,
        max_crashes=options["max_crashes"],
        concurrency=options["concurrency"],
        max_in_flight=options["max_in_flight"],
        command=tuple(sys.argv[1:]),
        remote=remote,
        controls=controls,
    )


def _look_at_places(plan: Plan, reporter: Reporter, options: dict[str, Any]) -> None:
    """Require that the run can be published where asked; tell of a disk that is none."""
    if plan.folder is None:
        return
    require_place(options["place"], plan.folder)
    warning = network_warning(plan.folder.path)
    if warning:
        reporter.say(warning)


def _factory(plan: Plan) -> AgentFactory:
    """Import the agent here first, where a typo costs milliseconds."""
    log = str(plan.folder.log) if plan.folder else None
    return load_agent(plan.agent_spec, replace(plan.remote, log=log))


def _code(plan: Plan, options: dict[str, Any]) -> AgentCode:
    folders = [plan.folder.path] if plan.folder else []
    return code_of(plan.agent_spec, options["code_dir"], leave_out=folders)


def _open_pool(
    plan: Plan, factory: AgentFactory, reporter: Reporter, options: dict[str, Any]
) -> OpenPool:
    if options["alone"]:
        return in_process(
            plan.manifest,
            factory,
            folder=plan.folder,
            keep_going=plan.controls.keep_going,
            concurrency=plan.concurrency,
        )
    # Loaded here: only a distributed run pays for it.
    from emberbench_dist.distributed.evaluate import worker_setup  # noqa: PLC0415

    setup = worker_setup(plan)._replace(
        cpus=options["cpus_per_worker"] or 1.0, gpus=options["gpus_per_worker"] or 0.0
    )
    return on_ray(setup, options, reporter.say, code=plan.code)


def _slug(name: str) -> str:
    """Return a folder name for a manifest id or an agent SPEC."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:_MAX_SLUG].strip("-.") or "run"


def _tell(result: RunResult, plan: Plan, reporter: Reporter) -> None:
    """Print the summary, then, on standard error, what went wrong and how to go on."""
    if not result.played and result.outcome == "complete":
        reporter.say(f"All {result.planned} episodes are committed; nothing to play.")
    print_summary(result)
    if result.failure is not None and result.failure.traceback:
        click.echo(result.failure.traceback.rstrip(), err=True)
    if result.problem:
        click.echo(f"Error: {result.problem}", err=True)
    if result.outcome != "complete":
        again = [part for part in plan.command if part != "--resume"]
        click.echo(
            f"{result.planned - result.committed} episodes are left. "
            f"Go on with: dist-eval {shlex.join([*again, '--resume'])}",
            err=True,
        )
