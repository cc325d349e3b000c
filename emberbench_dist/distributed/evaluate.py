"""Evaluate a manifest on Ray: the same run as in one process, by many."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from emberbench_dist.agents.registry import load_agent
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.distributed.cluster import available_cpus, joined_cluster, local_cluster
from emberbench_dist.distributed.worker import Setup
from emberbench_dist.errors import ClusterError, EpisodeFailedError, EvaluationError
from emberbench_dist.evaluation.manifest import Manifest, load_manifest
from emberbench_dist.runner.drive import Controls
from emberbench_dist.runner.pool import OpenPool, Pool
from emberbench_dist.runner.run import Plan, RunResult, run


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
    concurrency: int = 1,
    controls: Controls | None = None,
) -> RunResult:
    """Play a manifest on `workers` Ray workers (default: one a CPU) into the run folder `out`.

    A local Ray is started, or the cluster at `address` joined. Raises `EpisodeFailedError` with
    the lowest failure where the agent failed, `ClusterError` where workers were lost too often.
    """
    plan = Plan(
        manifest=manifest if isinstance(manifest, Manifest) else load_manifest(manifest),
        agent_spec=agent_spec,
        folder=RunFolder(Path(out)),
        resume=resume,
        agent_changed=agent_changed,
        steps=steps,
        concurrency=concurrency,
        controls=controls or Controls(),
    )
    result = run(plan, on_ray(plan, workers=workers, address=address))
    if result.outcome == "crashed":
        raise ClusterError(result.problem)
    if result.failure is not None:
        raise EpisodeFailedError(str(result.failure), failure=result.failure)
    return result


def on_ray(plan: Plan, *, workers: int | None = None, address: str | None = None) -> OpenPool:
    """Check the agent here first, where a typo costs milliseconds; return how to open the pool."""
    if workers is not None and workers < 1:
        raise EvaluationError(f"at least one worker is needed, got {workers}")
    if plan.concurrency < 1:
        raise EvaluationError(f"at least one episode is played at once, got {plan.concurrency}")
    load_agent(plan.agent_spec)
    return ray_pool(worker_setup(plan), workers=workers, address=address)


def ray_pool(
    setup: Setup, *, workers: int | None, address: str | None, fresh: bool = False
) -> OpenPool:
    """Return how to open a pool on a local Ray, or on the cluster at `address`."""

    @contextmanager
    def open_pool() -> Iterator[Pool]:
        with suppress(OSError):  # a full disk has its own error
            if setup.log:
                Path(setup.log).touch()
        cluster = joined_cluster(address) if address else local_cluster(workers or available_cpus())
        with cluster as gone:
            # Loaded here: Ray reads its settings when it is imported.
            from emberbench_dist.distributed.ray_pool import RayPool  # noqa: PLC0415

            with closing(RayPool(setup, workers, fresh=fresh, gone=gone)) as pool:
                yield pool

    return open_pool


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
        concurrency=plan.concurrency,
    )
