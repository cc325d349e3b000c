"""Evaluate a manifest on Ray: the same run as in one process, by many."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from emberbench_dist.agents.registry import load_agent
from emberbench_dist.agents.remote.text import RemoteOptions
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.distributed.cluster import available_cpus, joined_cluster, local_cluster
from emberbench_dist.distributed.head import require_address
from emberbench_dist.distributed.worker import Setup
from emberbench_dist.errors import ClusterError, EpisodeFailedError, EvaluationError
from emberbench_dist.evaluation.manifest import Manifest, load_manifest
from emberbench_dist.runner.drive import Controls
from emberbench_dist.runner.pool import OpenPool, Pool
from emberbench_dist.runner.run import Plan, RunResult, run

_LEAST_SHARE = 0.0001  # of a CPU, in Ray


def evaluate_distributed(
    manifest: Manifest | str | Path,
    agent_spec: str,
    out: str | Path,
    resume: bool = False,  # noqa: FBT001, FBT002 - the position is part of the interface
    *,
    workers: int | None = None,
    address: str | None = None,
    agent_changed: bool = False,
    steps: bool = True,
    remote: RemoteOptions | None = None,
    concurrency: int = 1,
    max_in_flight: int | None = None,
    cpus_per_worker: float = 1.0,
    gpus_per_worker: float = 0.0,
    controls: Controls | None = None,
) -> RunResult:
    """Play a manifest on `workers` Ray workers (default: all that fit) into the run folder `out`.

    A local Ray is started, or the cluster at `address` joined. Each worker takes `cpus_per_worker`
    and `gpus_per_worker` and plays `concurrency` episodes at once, all together no more than
    `max_in_flight`. Raises `EpisodeFailedError` with the lowest failure where the agent failed,
    `ClusterError` where workers were lost too often.
    """
    plan = Plan(
        manifest=manifest if isinstance(manifest, Manifest) else load_manifest(manifest),
        agent_spec=agent_spec,
        folder=RunFolder(Path(out)),
        resume=resume,
        agent_changed=agent_changed,
        steps=steps,
        remote=remote or RemoteOptions(),
        concurrency=concurrency,
        max_in_flight=max_in_flight,
        controls=controls or Controls(),
    )
    setup = worker_setup(plan)._replace(cpus=cpus_per_worker, gpus=gpus_per_worker)
    result = run(plan, on_ray(plan, setup, workers=workers, address=address))
    if result.outcome == "crashed":
        raise ClusterError(result.problem)
    if result.failure is not None:
        raise EpisodeFailedError(str(result.failure), failure=result.failure)
    return result


def on_ray(plan: Plan, setup: Setup, *, workers: int | None, address: str | None) -> OpenPool:
    """Check the agent here first, where a typo costs milliseconds; return how to open the pool."""
    if workers is not None and workers < 1:
        raise EvaluationError(f"at least one worker is needed, got {workers}")
    for most in (plan.concurrency, plan.max_in_flight):
        if most is not None and most < 1:
            raise EvaluationError(f"at least one episode is played at once, got {most}")
    load_agent(plan.agent_spec, plan.remote)
    return ray_pool(setup, workers=workers, address=address)


def ray_pool(
    setup: Setup, *, workers: int | None, address: str | None, fresh: bool = False
) -> OpenPool:
    """Return how to open a pool on a local Ray, or on the cluster at `address`."""
    if address:
        require_address(address)
    _require_share("CPUs", setup.cpus, least=_LEAST_SHARE)
    _require_share("GPUs", setup.gpus, least=0)

    @contextmanager
    def open_pool() -> Iterator[Pool]:
        with suppress(OSError):  # a full disk has its own error
            if setup.log:
                Path(setup.log).touch()
        with (
            joined_cluster(address) if address else local_cluster(_own_cpus(setup, workers)) as gone
        ):
            # Loaded here: Ray reads its settings when it is imported.
            from emberbench_dist.distributed.ray_pool import RayPool  # noqa: PLC0415

            shared = bool(address)
            with closing(RayPool(setup, workers, fresh=fresh, shared=shared, gone=gone)) as pool:
                if not address:
                    pool.require_place()
                yield pool

    return open_pool


def _require_share(name: str, share: float, *, least: float) -> None:
    """Refuse what Ray cannot give a worker of a resource."""
    if not (least <= share <= 1 or (share > 1 and share == int(share))):
        raise EvaluationError(
            f"{name} of a worker are a whole number or, below 1, a part, got {share}"
        )


def _own_cpus(setup: Setup, workers: int | None) -> int:
    """Return how many CPUs a Ray of our own is told to have: all workers asked for have a place."""
    if workers:
        return math.ceil(workers * max(1.0, setup.cpus))
    return max(available_cpus(), math.ceil(setup.cpus))


def worker_setup(plan: Plan) -> Setup:
    """Return what each worker that plays is built from."""
    folder = plan.folder
    return Setup(
        scenarios=plan.manifest.scenarios,
        agent_spec=plan.agent_spec,
        import_paths=tuple(path for path in sys.path if path),
        folder=str(Path.cwd()),
        playing=str(folder.playing.resolve()) if folder else None,
        log=str(folder.log.resolve()) if folder else None,
        keep_going=plan.controls.keep_going,
        remote=plan.remote,
        concurrency=plan.concurrency,
    )
