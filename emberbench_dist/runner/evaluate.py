"""Evaluate a manifest in this process, one episode after the other or some at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from emberbench_dist.agents.code import folder_code
from emberbench_dist.agents.interface import AgentFactory, FreshAgents
from emberbench_dist.agents.surroundings import kept_generators
from emberbench_dist.artifacts.playing import Notepad
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.errors import EvaluationError
from emberbench_dist.evaluation.episode import Player
from emberbench_dist.evaluation.manifest import Manifest, load_manifest
from emberbench_dist.runner.drive import Controls
from emberbench_dist.runner.plan import Plan
from emberbench_dist.runner.pool import InProcessPool, OpenPool, Pool
from emberbench_dist.runner.run import RunResult, run
from emberbench_dist.runner.threads import ThreadPool


def evaluate(
    manifest: Manifest | str | Path,
    agent_factory: AgentFactory,
    out: str | Path | None = None,
    resume: bool = False,  # noqa: FBT001, FBT002 - the position is part of the interface
    *,
    agent_spec: str | None = None,
    code_dir: str | Path | None = None,
    agent_changed: bool = True,
    steps: bool = True,
    concurrency: int = 1,
    controls: Controls | None = None,
) -> RunResult:
    """Play a manifest (or the built-in one of that name) in this process.

    `out` is a run folder; without one the result holds the bytes. What the agent raises comes
    out unchanged, after the episodes below it are committed. `resume=True` plays only what is
    missing, also with another factory; where `code_dir` names the folder of its code and
    `agent_changed` is False, only if that has not changed. With `concurrency` above 1 so many
    episodes are played at once, each in a thread.
    """
    if concurrency < 1:
        raise EvaluationError(f"at least one episode is played at once, got {concurrency}")
    leave_out = [] if out is None else [Path(out)]
    plan = Plan(
        manifest=manifest if isinstance(manifest, Manifest) else load_manifest(manifest),
        agent_spec=agent_spec or str(getattr(agent_factory, "__qualname__", "agent")),
        folder=None if out is None else RunFolder(Path(out)),
        resume=resume,
        code=None if code_dir is None else folder_code(code_dir, leave_out),
        agent_changed=agent_changed,
        steps=steps,
        concurrency=concurrency,
        controls=controls or Controls(),
    )
    open_pool = in_process(
        plan.manifest,
        agent_factory,
        folder=plan.folder,
        keep_going=plan.controls.keep_going,
        concurrency=concurrency,
    )
    result = run(plan, open_pool)
    if result.failure is not None and result.failure.exception is not None:
        raise result.failure.exception
    return result


def in_process(
    manifest: Manifest,
    agent_factory: AgentFactory,
    *,
    folder: RunFolder | None = None,
    keep_going: bool = False,
    concurrency: int = 1,
) -> OpenPool:
    """Return how to open a pool of this process alone, which notes what it plays in `folder`."""

    @contextmanager
    def open_pool() -> Iterator[Pool]:
        player = Player(manifest.scenarios, FreshAgents(agent_factory), keep_going=keep_going)
        with ExitStack() as stack:
            if folder is not None:
                player.note = stack.enter_context(closing(Notepad(folder.playing, 0)))
            stack.enter_context(kept_generators())
            pool: Pool = (
                InProcessPool(player.play)
                if concurrency == 1
                else ThreadPool(player.play, concurrency)
            )
            yield stack.enter_context(closing(pool))

    return open_pool
