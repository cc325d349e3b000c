"""The Parquet tables made again: from a ledger, or from an artifact that has lost its ledger."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from emberbench_dist.artifacts.artifact import header, reading, require_sound
from emberbench_dist.artifacts.durable import read_json
from emberbench_dist.artifacts.ledger import Counts, Ledger
from emberbench_dist.artifacts.parquet import Maker, Origin, write_files, write_tables
from emberbench_dist.artifacts.parquet_columns import Arrays, Columns
from emberbench_dist.artifacts.parquet_lines import episodes_of_lines, people_of_lines
from emberbench_dist.artifacts.repair import kept_manifest
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.errors import (
    ArtifactError,
    EmberBenchError,
    InvalidActionError,
    RunFolderError,
    SimulationError,
)
from emberbench_dist.evaluation.episode import rebuild
from emberbench_dist.evaluation.manifest import Manifest, load_manifest
from emberbench_dist.evaluation.slices import Slice

_BLOCK = 1000


class _Lines(NamedTuple):
    """Lines of artifact and traces, without newlines, from an episode on."""

    first: int
    lines: list[bytes]
    traces: list[bytes]


def export_tables(
    source: RunFolder, out: RunFolder, *, steps: bool = True, manifest: Manifest | None = None
) -> list[str]:
    """Write the tables of the run in `source` into `out`; return which.

    Reads only, also while a driver commits. Without a ledger there are the tables that artifact
    and traces give. `LedgerError`, `ArtifactError` or `RunFolderError` say what is missing or
    damaged; then no table has changed.
    """
    if source.ledger.exists():
        with Ledger.reading(source.ledger) as ledger:
            kept = kept_manifest(ledger, str(source.ledger))
            if manifest is not None and manifest.manifest_hash != kept.manifest_hash:
                raise RunFolderError(f"{source.path}: is not a run of the manifest that was given")
            return write_tables(kept, ledger, out, steps=steps)
    if source.artifact.exists():
        return _export_artifact(source, out, steps=steps, manifest=manifest)
    raise RunFolderError(f"{source.path}: there is no run here")


def _export_artifact(
    source: RunFolder, out: RunFolder, *, steps: bool, manifest: Manifest | None
) -> list[str]:
    head, committed = require_sound(source.artifact)
    manifest = manifest or _built_in(head)
    if manifest is not None and head != header(manifest):
        raise ArtifactError(
            f"{source.artifact}: is not of manifest {manifest.manifest_id} "
            f"({manifest.manifest_hash[:12]}…) under this version"
        )
    parser = _Parser(source.artifact)
    makers: dict[str, Maker[_Lines]] = {"episodes": parser.episodes, "people": parser.people}
    if steps:
        if manifest is None:
            raise ArtifactError(
                f"{source.artifact}: without a ledger, steps need the manifest "
                f"{head['manifest_id']}: give --manifest, or leave them out with --no-steps"
            )
        makers["steps"] = _Replay(source, manifest).steps
    origin = _origin(source, head, committed, manifest)
    write_files(out, makers, _blocks(source, committed, traces=steps), origin)
    return list(makers)


def _origin(
    source: RunFolder, head: dict[str, Any], committed: int, manifest: Manifest | None
) -> Origin:
    """Return which run an artifact is of; only run.json may know whose."""
    known = read_json(source.run_json)
    same = known.get("manifest_hash") == head["manifest_hash"]
    return Origin(
        manifest_id=head["manifest_id"],
        manifest_hash=head["manifest_hash"],
        agent_spec=known.get("agent_spec") if same else None,
        slice=str(Slice()),
        planned=head["episodes"],
        committed=committed,
        manifest=None if manifest is None else manifest.documents()["manifest"],
    )


def _built_in(head: dict[str, Any]) -> Manifest | None:
    """Return the built-in manifest that an artifact is of, if it is of one."""
    try:
        manifest = load_manifest(head["manifest_id"])
    except EmberBenchError:
        return None
    return manifest if manifest.manifest_hash == head["manifest_hash"] else None


def _blocks(source: RunFolder, committed: int, *, traces: bool) -> Iterator[_Lines]:
    with ExitStack() as stack:
        artifact = stack.enter_context(reading(source.artifact))
        others = stack.enter_context(reading(source.traces)) if traces else ()
        next(artifact)
        for first in range(0, committed, _BLOCK):
            count = min(_BLOCK, committed - first)
            lines, actions = (
                [line[:-1] for line in islice(file, count)] for file in (artifact, others)
            )
            if traces and len(actions) < count:
                raise ArtifactError(f"{source.traces}: has fewer lines than the artifact")
            yield _Lines(first, lines, actions)


class _Parser:
    """What is in an artifact, by its lines."""

    def __init__(self, artifact: Path) -> None:
        self._artifact = artifact

    def episodes(self, block: _Lines) -> Arrays:
        return self._parsed(episodes_of_lines, block)

    def people(self, block: _Lines) -> Arrays:
        return self._parsed(people_of_lines, block)

    def _parsed(self, parse: Callable[[list[bytes]], Arrays], block: _Lines) -> Arrays:
        try:
            return parse(block.lines)
        except ValueError as error:
            told = " ".join(str(error).split())
            raise ArtifactError(f"{self._artifact}: its lines cannot be read: {told}") from error


class _Replay:
    """What is not in an artifact, by replaying its traces."""

    def __init__(self, source: RunFolder, manifest: Manifest) -> None:
        self._source = source
        self._manifest = manifest
        self._columns = Columns(manifest)

    def steps(self, block: _Lines) -> Arrays:
        results = [
            self._replayed(episode, line, trace)
            for episode, (line, trace) in enumerate(
                zip(block.lines, block.traces, strict=True), block.first
            )
        ]
        columns = zip(*((*result[:1], *result[3:7]) for result in results), strict=True)
        return self._columns.steps(Counts(*columns))

    def _replayed(self, number: int, line: bytes, trace: bytes) -> Any:
        episode = self._manifest.episode(number)
        scenario = self._manifest.scenarios[episode.scenario_id]
        try:
            result = rebuild(episode, scenario, json.loads(trace)["actions"])
        except (
            *(ValueError, KeyError, TypeError, RecursionError),
            *(InvalidActionError, SimulationError),
        ) as error:
            raise ArtifactError(
                f"{self._source.traces}: line {number + 1}: cannot be replayed: {error}"
            ) from error
        if (result.line, result.trace) != (line, trace):
            raise ArtifactError(
                f"{self._source.artifact}: line {number + 2}: is not what its trace gives; "
                "`dist-eval verify` says more"
            )
        return result
