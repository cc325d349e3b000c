"""Evaluate a manifest on Ray: the same run as in one process, by many."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from emberbench_dist.agents.code import code_of, use_code_dir
from emberbench_dist.agents.registry import load_agent
from emberbench_dist.agents.remote.text import RemoteOptions
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.distributed.cluster import available_cpus, joined_cluster, local_cluster
from emberbench_dist.distributed.head import require_address
from emberbench_dist.distributed.shipping import Luggage
from emberbench_dist.distributed.worker import Setup
from emberbench_dist.errors import ClusterError, EpisodeFailedError, EvaluationError
from emberbench_dist.evaluation.manifest import Manifest, load_manifest
from emberbench_dist.runner.drive import Controls
from emberbench_dist.runner.plan import Plan
from emberbench_dist.runner.pool import OpenPool, Pool
from emberbench_dist.runner.run import RunResult, run

if TYPE_CHECKING:
    from emberbench_dist.distributed.nodes import Nodes

_LEAST_SHARE = 0.0001  # of a CPU, in Ray
_NOTHING = Luggage()


def evaluate_distributed(
    manifest: Manifest | str | Path,
    agent_spec: str,
    out: str | Path,
    resume: bool = False,  # noqa: FBT001, FBT002 - the position is part of the interface
    *,
    workers: int | None = None,
    address: str | None = None,
    code_dir: str | Path | None = None,
    pip: Sequence[str] = (),
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

    A local Ray is started, or the cluster at `address` joined: its nodes get a copy of the agent's
    code (`code_dir`, by default the folder that it is in) and what `pip` requires. Each worker
    takes `cpus_per_worker` and `gpus_per_worker` and plays `concurrency` episodes at once, all
    together no more than `max_in_flight`. Raises `EpisodeFailedError` with the lowest failure
    where the agent failed, `ClusterError` where workers were lost too often.
    """
    use_code_dir(code_dir)
    load_agent(agent_spec, remote or RemoteOptions())
    plan = Plan(
        manifest=manifest if isinstance(manifest, Manifest) else load_manifest(manifest),
        agent_spec=agent_spec,
        folder=RunFolder(Path(out)),
        code=code_of(agent_spec, code_dir, leave_out=[Path(out)]),
        resume=resume,
        agent_changed=agent_changed,
        steps=steps,
        remote=remote or RemoteOptions(),
        concurrency=concurrency,
        max_in_flight=max_in_flight,
        controls=controls or Controls(),
    )
    setup = worker_setup(plan)._replace(cpus=cpus_per_worker, gpus=gpus_per_worker)
    result = run(plan, on_ray(plan, setup, workers=workers, address=address, pip=pip))
    if result.outcome == "crashed":
        raise ClusterError(result.problem)
    if result.failure is not None:
        raise EpisodeFailedError(str(result.failure), failure=result.failure)
    return result


def on_ray(
    plan: Plan,
    setup: Setup,
    *,
    workers: int | None,
    address: str | None,
    pip: Sequence[str] = (),
) -> OpenPool:
    """Return how to open the pool of a plan."""
    if workers is not None and workers < 1:
        raise EvaluationError(f"at least one worker is needed, got {workers}")
    for most in (plan.concurrency, plan.max_in_flight):
        if most is not None and most < 1:
            raise EvaluationError(f"at least one episode is played at once, got {most}")
    return ray_pool(setup, workers=workers, address=address, luggage=Luggage(plan.code, pip))


def ray_pool(
    setup: Setup,
    *,
    workers: int | None,
    address: str | None,
    fresh: bool = False,
    luggage: Luggage = _NOTHING,
) -> OpenPool:
    """Return how to open a pool on a local Ray, or on the cluster at `address`.

    `luggage` is what the cluster's nodes get before.
    """
    if address:
        require_address(address)
    _require_share("CPUs", setup.cpus, least=_LEAST_SHARE)
    _require_share("GPUs", setup.gpus, least=0)
    luggage.require_cluster(address)
    if address is not None:
        setup = luggage.packed_for(setup)

    @contextmanager
    def open_pool() -> Iterator[Pool]:
        with suppress(OSError):  # a full disk has its own error
            if setup.log:
                Path(setup.log).touch()
        with ExitStack() as stack:
            nodes = None
            if address:
                with luggage.runtime_env() as wanted:
                    gone = stack.enter_context(joined_cluster(address, wanted))
                nodes = _fit_nodes(setup)
            else:
                gone = stack.enter_context(local_cluster(_own_cpus(setup, workers)))
            # Loaded here: Ray reads its settings when it is imported.
            from emberbench_dist.distributed.ray_pool import RayPool  # noqa: PLC0415

            shared = bool(address)
            pool = RayPool(setup, workers, fresh=fresh, shared=shared, gone=gone, nodes=nodes)
            stack.enter_context(closing(pool))
            if not address:
                pool.require_place()
            yield pool

    return open_pool


def _fit_nodes(setup: Setup) -> Nodes:
    """Ask every node on which a worker fits whether it can play."""
    # Loaded here, as above.
    from emberbench_dist.distributed.nodes import Nodes  # noqa: PLC0415

    nodes = Nodes(setup)
    nodes.require_fit()
    return nodes


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
