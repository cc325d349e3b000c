"""The Parquet files: rows streamed from the ledger in bounded memory, and their reader."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from emberbench_dist.artifacts.durable import remove, replacing
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.artifacts.tables import ACCOUNTING_COLUMNS, TABLES, Table
from emberbench_dist.errors import ArtifactError
from emberbench_dist.evaluation.episode import replay
from emberbench_dist.evaluation.manifest import Manifest
from emberbench_dist.evaluation.metrics import METRICS
from emberbench_dist.evaluation.slices import Slice
from emberbench_dist.simulator.simulator import Simulator
from emberbench_dist.simulator.state import SimulationState, TerminationReason

Row = tuple[Any, ...]
Rows = Callable[[Manifest, Ledger], Iterator[Row]]

FORMAT_VERSION = "1.0"
_ORIGIN, _MANIFEST = b"emberbench_dist", b"emberbench_dist.manifest"
_ROW_GROUP = 50_000
_UNRESOLVED = METRICS.index("unresolved")


@dataclass(frozen=True, slots=True)
class Origin:
    """The run that a table is of, as the table itself tells it.

    `planned` counts the episodes of its slice, `committed` those that there were when the table
    was written. `agent_spec` and `manifest` (the document) are None where they were not known.
    """

    manifest_id: str
    manifest_hash: str
    agent_spec: str | None
    slice: str
    planned: int
    committed: int
    manifest: bytes | None


def read_table(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Return a table, or some of its columns; `ArtifactError` where that cannot be."""
    try:
        with pq.ParquetFile(path) as file:
            absent = sorted(set(columns or ()) - set(file.schema_arrow.names))
            if absent:
                raise ArtifactError(f"{path}: there is no such column: {', '.join(absent)}")
            table = file.read(columns)
            return table if columns is None else table.select(columns)
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(path, error) from error


def read_origin(path: Path) -> Origin:
    """Return which run a table is of; `ArtifactError` unless it tells."""
    try:
        known = pq.read_metadata(path).metadata or {}
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(path, error) from error
    try:
        fields = json.loads(known[_ORIGIN])
        version = fields.pop("format_version")
        if version != FORMAT_VERSION:
            raise ArtifactError(
                f"{path}: has format {version}; this program reads {FORMAT_VERSION}: "
                "`dist-eval export` writes it anew"
            )
        return Origin(**fields, manifest=known.get(_MANIFEST))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ArtifactError(f"{path}: does not tell which run it is of") from error


def _unreadable(path: Path, error: Exception) -> ArtifactError:
    if isinstance(error, FileNotFoundError):
        return ArtifactError(f"{path}: there is no such table; `dist-eval export` writes it")
    told = " ".join(str(error).split())
    return ArtifactError(f"{path}: cannot be read, `dist-eval export` writes it anew: {told}")


def _origin(manifest: Manifest, ledger: Ledger) -> Origin:
    meta = ledger.meta()
    part = Slice.parse(meta.get("slice", str(Slice())))
    return Origin(
        manifest_id=manifest.manifest_id,
        manifest_hash=manifest.manifest_hash,
        agent_spec=meta.get("agent_spec"),
        slice=str(part),
        planned=len(part.episodes(len(manifest))),
        committed=sum(map(len, ledger.committed())),
        manifest=manifest.documents()["manifest"],
    )


def _metadata(origin: Origin) -> dict[bytes, bytes]:
    fields = asdict(origin)
    manifest = fields.pop("manifest")
    known = {_ORIGIN: json.dumps({"format_version": FORMAT_VERSION, **fields}).encode()}
    return known if manifest is None else {**known, _MANIFEST: manifest}


def write_tables(
    manifest: Manifest, ledger: Ledger, folder: RunFolder, *, steps: bool = True
) -> None:
    """Write every table of the committed episodes (`steps.parquet` only where asked for)."""
    metadata = _metadata(_origin(manifest, ledger))
    for table in TABLES:
        if (table.name == "steps" and not steps) or (
            table.name == "failures" and not ledger.failures()
        ):
            remove(folder.table(table.name))
            continue
        schema = _schema(table)
        with (
            replacing(folder.table(table.name)) as file,
            closing(
                pq.ParquetWriter(file, schema, compression="zstd", compression_level=3)
            ) as writer,
        ):
            _stream(_ROWS[table.name](manifest, ledger), schema, writer)
            writer.add_key_value_metadata(metadata)


def _schema(table: Table) -> pa.Schema:
    return pa.schema([(one.name, pa.type_for_alias(one.type)) for one in table.columns])


def _stream(rows: Iterator[Row], schema: pa.Schema, writer: pq.ParquetWriter) -> None:
    """Write rows in groups of a fixed size, so that equal rows give equal files."""
    chunk: list[Row] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == _ROW_GROUP:
            writer.write_table(_as_table(chunk, schema))
            chunk.clear()
    if chunk:
        writer.write_table(_as_table(chunk, schema))


def _as_table(rows: list[Row], schema: pa.Schema) -> pa.Table:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _episode_rows(manifest: Manifest, ledger: Ledger) -> Iterator[Row]:
    for result in ledger.results():
        episode = manifest.episode(result.episode)
        yield (
            result.episode,
            episode.scenario_id,
            manifest.scenarios[episode.scenario_id].scenario_hash,
            episode.seed,
            TerminationReason.ALL_RESOLVED.value
            if result.metrics[_UNRESOLVED] == 0
            else TerminationReason.MAX_STEPS.value,
            *result.metrics,
        )


def _people_rows(manifest: Manifest, ledger: Ledger) -> Iterator[Row]:
    for result in ledger.results():
        episode = manifest.episode(result.episode)
        for person in _people(result.line):
            yield (
                result.episode,
                episode.scenario_id,
                episode.seed,
                person["id"],
                person["status"],
                *person["position"],
                person["step"],
                person["exit"],
                person["cause"],
            )


def _people(line: bytes) -> Any:
    """Parse the `people` of an artifact line alone, the one list of objects in it."""
    start = line.index(b'"people":[') + len(b'"people":')
    return json.loads(line[start : line.index(b',"scenario_hash":', start)])


def _step_rows(manifest: Manifest, ledger: Ledger) -> Iterator[Row]:
    for result in ledger.results():
        episode = manifest.episode(result.episode)
        scenario = manifest.scenarios[episode.scenario_id]
        simulator = Simulator(scenario, episode.seed)
        initial = simulator.state
        evacuated = casualties = 0
        yield _step_row(result.episode, initial, evacuated, casualties, ignited=0)
        for record in replay(simulator, json.loads(result.trace)["actions"]):
            evacuated += len(record.evacuations)
            casualties += len(record.casualties)
            ignited = len(record.ignitions)
            yield _step_row(result.episode, record.state, evacuated, casualties, ignited=ignited)


def _step_row(
    episode: int, state: SimulationState, evacuated: int, casualties: int, *, ignited: int
) -> Row:
    active = len(state.people) - evacuated - casualties
    burning, trapped = len(state.burning), len(state.trapped)
    return (episode, state.step, active, evacuated, casualties, burning, ignited, trapped)


def _failure_rows(_: Manifest, ledger: Ledger) -> Iterator[Row]:
    for failure in ledger.failures():
        yield (
            failure.episode,
            failure.scenario_id,
            failure.seed,
            failure.step,
            failure.kind,
            failure.type,
            failure.message,
            failure.traceback,
            failure.attempts,
        )


def _execution_rows(_: Manifest, ledger: Ledger) -> Iterator[Row]:
    for result in ledger.results():
        execution = json.loads(result.execution)
        yield (result.episode, None, execution["seconds"], *(None for _ in ACCOUNTING_COLUMNS))
        for step, known in enumerate(execution["steps"]):
            reported = known or {}
            yield (
                result.episode,
                step,
                None,
                *(reported.get(column.name) for column in ACCOUNTING_COLUMNS),
            )


_ROWS: dict[str, Rows] = {
    "episodes": _episode_rows,
    "people": _people_rows,
    "steps": _step_rows,
    "execution": _execution_rows,
    "failures": _failure_rows,
}
