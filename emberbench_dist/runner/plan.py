"""What a run is asked to do, and whether the run in its folder is that one."""

from __future__ import annotations

from dataclasses import dataclass, field

from emberbench_dist.agents.code import AgentCode
from emberbench_dist.agents.remote.text import RemoteOptions
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.errors import RunFolderError
from emberbench_dist.evaluation.manifest import Manifest
from emberbench_dist.evaluation.slices import Slice
from emberbench_dist.runner.drive import Controls
from emberbench_dist.runner.schedule import MAX_CRASHES


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is asked to do.

    Each worker plays `concurrency` episodes at once, all together no more than `max_in_flight`.
    `code` is what the agent is made of, where that is known.
    """

    manifest: Manifest
    agent_spec: str
    folder: RunFolder | None
    code: AgentCode | None = None
    resume: bool = False
    agent_changed: bool = False
    skip_failed: bool = False
    steps: bool = True
    slice: Slice = field(default_factory=Slice)
    max_crashes: int = MAX_CRASHES
    concurrency: int = 1
    max_in_flight: int | None = None
    command: tuple[str, ...] = ()
    remote: RemoteOptions = field(default_factory=RemoteOptions)
    controls: Controls = field(default_factory=Controls)

    @property
    def episodes(self) -> range:
        """Return the episodes of this run: all of the manifest's, or those of its slice."""
        return self.slice.episodes(len(self.manifest))


def binding(plan: Plan) -> dict[str, str]:
    """Return what a run is bound to from its beginning."""
    return {
        "manifest_id": plan.manifest.manifest_id,
        "manifest_hash": plan.manifest.manifest_hash,
        "episodes": str(len(plan.manifest)),
        "slice": str(plan.slice),
        "agent_spec": plan.agent_spec,
    }


def code_binding(plan: Plan) -> dict[str, str]:
    """Return what a session adds to that, for the next one: the agent's code."""
    return {} if plan.code is None else {"agent_code": plan.code.to_text()}


def open_ledger(plan: Plan, folder: RunFolder) -> Ledger:
    """Open or create the ledger in a folder; `RunFolderError` unless it is this run's."""
    if _is_new(plan, folder):
        return Ledger.create(folder.ledger, binding(plan), plan.manifest.documents())
    ledger = Ledger.open(folder.ledger)
    try:
        _require_same_run(plan, folder, ledger)
    except RunFolderError:
        ledger.close()
        raise
    return ledger


def committed_in(plan: Plan, folder: RunFolder) -> int | None:
    """Return how many episodes a run would find committed (None: it is new); touch nothing.

    Raises what opening the folder for the run would.
    """
    folder.require_usable()
    if _is_new(plan, folder):
        return None
    with Ledger.reading(folder.ledger) as ledger:
        _require_same_run(plan, folder, ledger)
        return sum(map(len, ledger.committed()))


def _is_new(plan: Plan, folder: RunFolder) -> bool:
    """Say whether the folder has no run yet; `RunFolderError` where what it has is in the way."""
    if not folder.ledger.exists():
        if folder.artifact.exists():
            raise RunFolderError(
                f"{folder.path}: holds an artifact but no ledger; choose another folder"
            )
        return True
    if not plan.resume:
        raise RunFolderError(
            f"{folder.path}: already holds a run; resume it (--resume, or resume=True in "
            "Python), or choose another folder"
        )
    return False


def _require_same_run(plan: Plan, folder: RunFolder, ledger: Ledger) -> None:
    known = ledger.meta()
    if known["manifest_hash"] != plan.manifest.manifest_hash:
        raise RunFolderError(
            f"{folder.path}: is a run of manifest {known['manifest_id']} "
            f"({known['manifest_hash'][:12]}…), not of {plan.manifest.manifest_id} "
            f"({plan.manifest.manifest_hash[:12]}…); choose another folder"
        )
    if known["slice"] != str(plan.slice):
        raise RunFolderError(
            f"{folder.path}: is slice {known['slice']} of its manifest, not {plan.slice}; "
            "choose another folder"
        )
    if known["agent_spec"] != plan.agent_spec and not plan.agent_changed:
        raise RunFolderError(
            f"{folder.path}: is a run of agent {known['agent_spec']!r}, not of "
            f"{plan.agent_spec!r}; if you mean to go on with it, add --agent-changed"
        )
    kept = known.get("agent_code")
    if plan.code is None or kept is None or plan.agent_changed or not ledger.committed():
        return
    if changes := plan.code.changes_since(kept):
        raise RunFolderError(
            f"{folder.path}: the agent's code is not that of the run ({changes}); if you mean to "
            "go on with it, add --agent-changed (agent_changed=True in Python)"
        )
