"""One run: open its folder and ledger, play what is pending, write what is canonical."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from shutil import rmtree

from emberbench_dist.artifacts.artifact import Summary, read_summary, write_artifact
from emberbench_dist.artifacts.durable import remove, replacing
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.artifacts.tables import TABLE
from emberbench_dist.errors import ClusterError, LedgerError, RunFolderError
from emberbench_dist.evaluation.accounting import Spent
from emberbench_dist.evaluation.episode import Failure
from emberbench_dist.evaluation.manifest import Manifest
from emberbench_dist.runner.drive import Drive
from emberbench_dist.runner.plan import Plan, binding, code_binding, open_ledger
from emberbench_dist.runner.pool import OpenPool
from emberbench_dist.runner.schedule import Schedule
from emberbench_dist.runner.session import COMPLETE, CRASHED, FAILED, INTERRUPTED, Session


@dataclass(frozen=True, slots=True)
class RunResult:
    """What came of a run.

    `outcome` is complete, failed (the agent), crashed (workers) or interrupted; `problem` tells
    in one line what ended it. `summary` speaks of the artifact, `committed` of the ledger,
    `played` and `seconds` of this session; `spent` is what all committed episodes have cost, `lost`
    what the attempts that brought no result have. `artifact` and `traces` hold the bytes where
    there is no folder.
    """

    outcome: str
    summary: Summary
    planned: int
    committed: int
    played: int
    seconds: float
    failure: Failure | None
    problem: str
    folder: Path | None
    spent: Spent = field(default_factory=Spent)
    lost: Spent = field(default_factory=Spent)
    artifact: bytes = b""
    traces: bytes = b""


def run(plan: Plan, open_pool: OpenPool) -> RunResult:
    """Play what is pending with the pool that `open_pool` opens; write the run's files."""
    with ExitStack() as stack:
        if plan.folder is None:
            ledger = Ledger.create(None, binding(plan), {})
        else:
            plan.folder.create()
            stack.enter_context(plan.folder.locked())
            ledger = open_ledger(plan, plan.folder)
        stack.enter_context(closing(ledger))
        return _play(plan, ledger, open_pool)


def _play(plan: Plan, ledger: Ledger, open_pool: OpenPool) -> RunResult:
    folder = plan.folder
    pending = missing(_planned_only(ledger.committed(), plan), plan.episodes)
    committed = len(plan.episodes) - sum(map(len, pending))
    if plan.skip_failed:
        pending = without(pending, (failure.episode for failure in ledger.failures()))
    ledger.begin_session(plan.agent_spec, **code_binding(plan))
    drive = Drive(
        plan.manifest,
        ledger,
        _schedule(plan, ledger, pending),
        len(plan.episodes),
        committed,
        plan.controls,
        folder.playing if folder else None,
    )
    session = Session(
        folder.run_json if folder else None,
        binding(plan),
        list(plan.command),
        plan.code,
    )
    try:
        problem = _drive(drive, open_pool, folder) if pending else ""
        result = _finish(plan, ledger, drive, problem)
    except BaseException as error:
        with suppress(RunFolderError):  # a full disk has no room for this either
            session.end(INTERRUPTED if isinstance(error, KeyboardInterrupt) else CRASHED)
        raise
    session.end(result.outcome, {"spent": result.spent.to_dict(), "lost": result.lost.to_dict()})
    return result


def _schedule(plan: Plan, ledger: Ledger, pending: list[range]) -> Schedule:
    # Episodes that were given up are tried afresh: their agent may have been mended.
    crashes = {
        episode: count for episode, count in ledger.crashes().items() if count < plan.max_crashes
    }
    return Schedule(
        pending,
        max_crashes=plan.max_crashes,
        crashes=crashes,
        concurrency=plan.concurrency,
        max_in_flight=plan.max_in_flight,
    )


def _drive(drive: Drive, open_pool: OpenPool, folder: RunFolder | None) -> str:
    """Play; return what of the machinery ended it, if anything did."""
    try:
        if folder is not None:
            rmtree(folder.playing, ignore_errors=True)  # of a session that was killed
            with suppress(OSError):  # notes are a help, and a full disk has its own error
                folder.playing.mkdir()
        with open_pool() as pool:
            drive.run(pool)
    except ClusterError as error:
        return str(error)
    finally:
        if folder is not None:
            rmtree(folder.playing, ignore_errors=True)
    return drive.stalled


def _planned_only(committed: list[range], plan: Plan) -> list[range]:
    """Require that only what is planned is committed: any other row is damage."""
    for span in committed:
        if span.start < plan.episodes.start or span.stop > plan.episodes.stop:
            where = plan.folder.ledger if plan.folder else "the ledger"
            raise LedgerError(
                f"{where}: holds an episode from {span.start} to {span.stop - 1} that is not "
                "planned; `dist-eval repair` drops it"
            )
    return committed


def missing(committed: list[range], planned: range) -> list[range]:
    """Return the gaps that ascending ranges leave in `planned`."""
    edges = [
        planned.start,
        *(edge for span in committed for edge in (span.start, span.stop)),
        planned.stop,
    ]
    gaps = [range(start, stop) for start, stop in pairwise(edges)][::2]
    return [gap for gap in gaps if gap]


def without(spans: list[range], episodes: Iterable[int]) -> list[range]:
    """Return ascending ranges without some episodes."""
    for episode in episodes:
        spans = [
            part
            for span in spans
            for part in (
                (range(span.start, episode), range(episode + 1, span.stop))
                if episode in span
                else (span,)
            )
            if part
        ]
    return spans


def _finish(plan: Plan, ledger: Ledger, drive: Drive, problem: str) -> RunResult:
    failure = drive.failure
    committed = drive.committed + drive.played
    outcome = COMPLETE if committed == len(plan.episodes) else INTERRUPTED
    if problem or (failure and failure.kind == "crash" and not plan.controls.keep_going):
        outcome = CRASHED
    elif failure or (outcome == INTERRUPTED and not drive.interrupted):
        outcome = FAILED  # also where failed episodes were left alone
    done = outcome == COMPLETE and not drive.played
    summary, artifact, traces = _write_results(
        plan, ledger, interrupted=drive.interrupted, done=done
    )
    return RunResult(
        outcome=outcome,
        summary=summary,
        planned=len(plan.episodes),
        committed=committed,
        played=drive.played,
        seconds=drive.seconds,
        failure=failure,
        problem=problem or (str(failure) if failure else ""),
        folder=plan.folder.path if plan.folder else None,
        spent=ledger.spent(),
        lost=ledger.lost(),
        artifact=artifact,
        traces=traces,
    )


def _write_results(
    plan: Plan, ledger: Ledger, *, interrupted: bool, done: bool
) -> tuple[Summary, bytes, bytes]:
    """Write what is not there yet; `done` says that all was committed before this session."""
    if plan.folder is None:
        memory = BytesIO(), BytesIO()
        summary = write_artifact(plan.manifest, ledger, *memory)
        return summary, memory[0].getvalue(), memory[1].getvalue()
    # Whoever interrupts does not wait for tables; those of an earlier session are gone.
    steps = None if interrupted else plan.steps
    whole = plan.slice.parts == 1
    files = plan.folder.results(TABLE)
    there = plan.folder.table("steps").exists()
    if whole and done and steps == there and ledger.knows_files(files):
        return read_summary(plan.manifest, plan.folder.artifact), b"", b""
    summary = write_results(plan.manifest, ledger, plan.folder, steps=steps, whole=whole)
    ledger.note_files(files)
    return summary, b"", b""


def write_results(
    manifest: Manifest,
    ledger: Ledger,
    folder: RunFolder,
    *,
    steps: bool | None,
    whole: bool = True,
) -> Summary:
    """Write artifact, traces and tables from the ledger; return what they hold.

    A slice has no artifact (`whole` False): the merge of all slices has it. Without `steps`
    there is no `steps.parquet`; None leaves out every table.
    """
    # Loaded here: pyarrow is slow to import, and a run without a folder needs none.
    from emberbench_dist.artifacts.parquet import write_tables  # noqa: PLC0415

    if whole:
        with replacing(folder.artifact) as artifact, replacing(folder.traces) as traces:
            summary = write_artifact(manifest, ledger, artifact, traces)
    else:
        everything = len(manifest)
        committed = sum(map(len, ledger.committed()))
        summary = Summary(committed, committed, ledger.totals(everything))
    if steps is None:
        for name in TABLE:
            remove(folder.table(name))
    else:
        write_tables(manifest, ledger, folder, steps=steps)
    return summary
