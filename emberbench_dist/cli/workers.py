"""The options that say who works, and the pool that they ask for."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emberbench_dist.cli.options import together
from emberbench_dist.runner.pool import InProcessPool, Job, OpenPool, Pool

if TYPE_CHECKING:
    from emberbench_dist.agents.code import AgentCode
    from emberbench_dist.distributed.worker import Setup

worker_options = together(
    click.option(
        "--workers",
        metavar="N",
        type=click.IntRange(min=1),
        help="Worker processes.  [default: as many as fit, one a CPU]",
    ),
    click.option(
        "--address",
        metavar="ADDR",
        help="Join the Ray cluster at ADDR: auto, HOST:PORT or, from outside, ray://HOST:PORT.",
    ),
    click.option("--in-process", "alone", is_flag=True, help="Use this process, not Ray."),
)

load_options = together(
    click.option(
        "--concurrency",
        metavar="K",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Episodes that each worker plays at once, in threads, for agents that wait for a "
        "model elsewhere. They share folder, environment and global random generators.",
    ),
    click.option(
        "--max-in-flight",
        metavar="N",
        type=click.IntRange(min=1),
        help="Episodes in play at once, over all workers.  [default: workers x K]",
    ),
    click.option(
        "--cpus-per-worker",
        metavar="C",
        type=click.FloatRange(min=0, min_open=True),
        help="CPUs that each worker takes, also a part of one.  [default: 1]",
    ),
    click.option(
        "--gpus-per-worker",
        metavar="G",
        type=click.FloatRange(min=0),
        help="GPUs that each worker takes, also a part of one.  [default: 0]",
    ),
)

# What a cluster that is joined gets before it works.
code_options = together(
    click.option(
        "--code-dir",
        metavar="DIR",
        type=click.Path(path_type=Path),
        help="The folder of the agent's code, which a joined cluster gets a copy of.  "
        "[default: the one that it is in]",
    ),
    click.option(
        "--pip",
        metavar="REQ",
        multiple=True,
        help="What the agent needs on a joined cluster, in the words of pip; repeatable.",
    ),
)


def require_consistent(options: dict[str, Any]) -> None:
    """Refuse options that contradict each other."""
    if options["alone"] and (options["address"] or options["workers"]):
        raise click.UsageError("--in-process uses this process: no --workers, no --address")
    if options["alone"] and (options.get("cpus_per_worker") or options.get("gpus_per_worker")):
        raise click.UsageError(
            "--in-process takes nothing of a cluster: no --cpus-per-worker, no --gpus-per-worker"
        )
    if options.get("pip") and not options["address"]:
        raise click.UsageError(
            "--pip is for a cluster that is joined by --address; on this machine, install it "
            f"yourself: pip install {shlex.join(options['pip'])}"
        )


def alone(job: Job) -> OpenPool:
    """Return how to open a pool of this process."""

    @contextmanager
    def opened() -> Iterator[Pool]:
        yield InProcessPool(job)

    return opened


def on_ray(
    setup: Setup,
    options: dict[str, Any],
    say: Callable[[str], None],
    *,
    fresh: bool = False,
    code: AgentCode | None = None,
) -> OpenPool:
    """Return how to open a pool on Ray, quietly: what Ray prints goes to the setup's log.

    `code` is the agent's, for a cluster that is joined.
    """
    # Loaded here: only a distributed command pays for it.
    from emberbench_dist.distributed.cluster import available_cpus  # noqa: PLC0415
    from emberbench_dist.distributed.evaluate import ray_pool  # noqa: PLC0415
    from emberbench_dist.distributed.shipping import Luggage  # noqa: PLC0415

    workers, address = options["workers"], options["address"]
    if workers and not address and workers * setup.cpus > available_cpus():
        say(f"{workers} workers share {available_cpus()} CPUs: they will not be faster.")
    open_pool = ray_pool(
        setup,
        workers=workers,
        address=address,
        fresh=fresh,
        luggage=Luggage(code, options.get("pip", ())),
    )

    @contextmanager
    def opened() -> Iterator[Pool]:
        say(f"Joining Ray at {address} …" if address else "Starting Ray …")
        if address and address.startswith("ray://"):
            say(
                "ray:// takes each call through the head: a run on a node of the cluster is faster."
            )
        for requirement in options.get("pip", ()):
            say(f"Its nodes install {requirement} first; that may take a while.")
        with ExitStack() as stack:
            log = Path(setup.log) if setup.log else Path("/dev/null")
            stack.enter_context(redirect_stdout(stack.enter_context(log.open("a"))))
            yield stack.enter_context(open_pool())

    return opened
