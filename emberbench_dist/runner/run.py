"""One run: open its folder and ledger, play what is pending, write what is canonical."""

from __future__ import annotations

import platform
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

from emberbench_dist import __version__
from emberbench_dist.agents.interface import AgentFactory, FreshAgents
from emberbench_dist.artifacts.artifact import Summary, write_artifact
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.run_folder import (
    RunFolder,
    read_json,
    replacing,
    timestamp,
    write_json,
)
from emberbench_dist.errors import RunFolderError
from emberbench_dist.evaluation.episode import Failure, Player
from emberbench_dist.evaluation.manifest import Manifest, load_manifest
from emberbench_dist.runner.drive import Controls, Drive
from emberbench_dist.runner.pool import InProcessPool, Pool
from emberbench_dist.runner.schedule import MAX_CRASHES, Schedule

OpenPool = Callable[[], AbstractContextManager[Pool]]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is asked to do."""

    manifest: Manifest
    agent_spec: str
    folder: RunFolder | None
    resume: bool = False
    agent_changed: bool = False
    steps: bool = True
    command: tuple[str, ...] = ()
    controls: Controls = field(default_factory=Controls)


@dataclass(frozen=True, slots=True)
class RunResult:
    """What came of a run.

    `outcome` is complete, failed (the agent), crashed (workers) or interrupted; `summary`
    speaks of the artifact, `committed` of the ledger, `played` and `seconds` of this session.
    `artifact` and `traces` hold the bytes where there is no folder.
    """

    outcome: str
    summary: Summary
    committed: int
    played: int
    seconds: float
    failure: Failure | None
    folder: Path | None
    artifact: bytes = b""
    traces: bytes = b""


def evaluate(
    manifest: Manifest | str | Path,
    agent_factory: AgentFactory,
    out: str | Path | None = None,
    resume: bool = False,  # noqa: FBT001, FBT002 - the position is part of the interface
    *,
    agent_spec: str | None = None,
    steps: bool = True,
    controls: Controls | None = None,
) -> RunResult:
    """Play a manifest in this process, one episode after the other.

    `out` is a run folder; without one the result holds the bytes. What the agent raises comes
    out unchanged, after the episodes below it are committed. `resume=True` plays only what is
    missing, also with another factory.
    """
    plan = Plan(
        manifest=manifest if isinstance(manifest, Manifest) else load_manifest(manifest),
        agent_spec=agent_spec or str(getattr(agent_factory, "__qualname__", "agent")),
        folder=None if out is None else RunFolder(Path(out)),
        resume=resume,
        agent_changed=True,
        steps=steps,
        controls=controls or Controls(),
    )
    result = run(plan, in_process(plan.manifest, agent_factory))
    if result.failure is not None and result.failure.exception is not None:
        raise result.failure.exception
    return result


def in_process(manifest: Manifest, agent_factory: AgentFactory) -> OpenPool:
    """Return how to open a pool of this process alone."""

    @contextmanager
    def open_pool() -> Iterator[Pool]:
        pool = InProcessPool(Player(manifest.scenarios, FreshAgents(agent_factory)))
        with closing(pool):
            yield pool

    return open_pool


def run(plan: Plan, open_pool: OpenPool) -> RunResult:
    """Play what is pending with the pool that `open_pool` opens; write the run's files."""
    if plan.folder is None:
        with closing(Ledger.create(None, _binding(plan))) as ledger:
            return _play(plan, ledger, open_pool)
    plan.folder.create()
    with plan.folder.locked(), closing(_open_ledger(plan, plan.folder)) as ledger:
        return _play(plan, ledger, open_pool)


def _binding(plan: Plan) -> dict[str, str]:
    return {
        "manifest_id": plan.manifest.manifest_id,
        "manifest_hash": plan.manifest.manifest_hash,
        "episodes": str(len(plan.manifest)),
        "agent_spec": plan.agent_spec,
    }


def _open_ledger(plan: Plan, folder: RunFolder) -> Ledger:
    if folder.ledger.exists():
        if not plan.resume:
            raise RunFolderError(
                f"{folder.path}: already holds a run; resume it (--resume, or resume=True in "
                "Python), or choose another folder"
            )
        ledger = Ledger.open(folder.ledger)
        try:
            _require_same_run(plan, folder, ledger.meta())
        except RunFolderError:
            ledger.close()
            raise
        return ledger
    if folder.artifact.exists():
        raise RunFolderError(
            f"{folder.path}: holds an artifact but no ledger; choose another folder"
        )
    return Ledger.create(folder.ledger, _binding(plan))


def _require_same_run(plan: Plan, folder: RunFolder, known: dict[str, str]) -> None:
    if known["manifest_hash"] != plan.manifest.manifest_hash:
        raise RunFolderError(
            f"{folder.path}: is a run of manifest {known['manifest_id']} "
            f"({known['manifest_hash'][:12]}…), not of {plan.manifest.manifest_id} "
            f"({plan.manifest.manifest_hash[:12]}…); choose another folder"
        )
    if known["agent_spec"] != plan.agent_spec and not plan.agent_changed:
        raise RunFolderError(
            f"{folder.path}: is a run of agent {known['agent_spec']!r}, not of "
            f"{plan.agent_spec!r}; if you mean to go on with it, add --agent-changed"
        )


def _play(plan: Plan, ledger: Ledger, open_pool: OpenPool) -> RunResult:
    pending = missing(ledger.committed(), len(plan.manifest))
    committed = len(plan.manifest) - sum(map(len, pending))
    ledger.begin_session(plan.agent_spec)
    # Episodes that were given up are tried afresh: their agent may have been mended.
    crashes = {episode: count for episode, count in ledger.crashes().items() if count < MAX_CRASHES}
    schedule = Schedule(pending, crashes=crashes)
    drive = Drive(plan.manifest, ledger, schedule, committed, plan.controls)
    session = _Session.begin(plan)
    try:
        if pending:
            with open_pool() as pool:
                drive.run(pool)
        result = _finish(plan, ledger, drive)
    except BaseException as error:
        with suppress(RunFolderError):  # a full disk has no room for this either
            session.end("interrupted" if isinstance(error, KeyboardInterrupt) else "crashed")
        raise
    session.end(result.outcome)
    return result


def missing(committed: list[range], planned: int) -> list[range]:
    """Return the gaps that ascending ranges leave below `planned`."""
    starts = [0, *(span.stop for span in committed)]
    stops = [*(span.start for span in committed), planned]
    return [range(start, stop) for start, stop in zip(starts, stops, strict=True) if start < stop]


def _finish(plan: Plan, ledger: Ledger, drive: Drive) -> RunResult:
    summary, artifact, traces = _write_results(plan, ledger, interrupted=drive.interrupted)
    failure = drive.failure
    outcome = "complete"
    if failure is not None:
        outcome = "failed" if failure.kind == "agent" else "crashed"
    elif drive.interrupted and not summary.complete:
        outcome = "interrupted"
    return RunResult(
        outcome=outcome,
        summary=summary,
        committed=drive.committed + drive.played,
        played=drive.played,
        seconds=drive.seconds,
        failure=failure,
        folder=plan.folder.path if plan.folder else None,
        artifact=artifact,
        traces=traces,
    )


def _write_results(
    plan: Plan, ledger: Ledger, *, interrupted: bool
) -> tuple[Summary, bytes, bytes]:
    folder = plan.folder
    if folder is None:
        memory = BytesIO(), BytesIO()
        summary = write_artifact(plan.manifest, ledger, *memory)
        return summary, memory[0].getvalue(), memory[1].getvalue()
    with replacing(folder.artifact) as artifact, replacing(folder.traces) as traces:
        summary = write_artifact(plan.manifest, ledger, artifact, traces)
    # Loaded here: pyarrow is slow to import, and a run without a folder needs none.
    from emberbench_dist.artifacts.tables import TABLES, write_tables  # noqa: PLC0415

    if interrupted:  # whoever waits for the prompt does not wait for tables, nor gets old ones
        for table in TABLES:
            folder.table(table.name).unlink(missing_ok=True)
    else:
        write_tables(plan.manifest, ledger, folder, steps=plan.steps)
    return summary, b"", b""


class _Session:
    """This session's entry in `run.json`."""

    def __init__(self, path: Path | None, document: dict[str, Any]) -> None:
        self._path = path
        self._document = document
        self._write()

    @classmethod
    def begin(cls, plan: Plan) -> _Session:
        """Tell that the run is going on; earlier sessions stay."""
        path = plan.folder.run_json if plan.folder else None
        earlier = read_json(path).get("sessions", []) if path else []
        session = {
            "command": list(plan.command),
            "host": socket.gethostname(),
            "python": platform.python_version(),
            "emberbench_dist": __version__,
            "started": timestamp(),
            "ended": None,
            "outcome": "running",
        }
        return cls(
            path,
            {**_binding(plan), "sessions": [*earlier, session]},
        )

    def end(self, outcome: str) -> None:
        """Tell how the session ended."""
        self._document["sessions"][-1].update(ended=timestamp(), outcome=outcome)
        self._write()

    def _write(self) -> None:
        if self._path is not None:
            write_json(self._path, self._document)
