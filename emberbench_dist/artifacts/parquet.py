"""The Parquet files: columns streamed from the ledger in bounded memory, and their reader."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from emberbench_dist.artifacts.durable import remove, replacing
from emberbench_dist.artifacts.ledger import Counts, Ledger
from emberbench_dist.artifacts.parquet_columns import Arrays, Columns, schema
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.artifacts.tables import TABLE
from emberbench_dist.errors import ArtifactError
from emberbench_dist.evaluation.manifest import Manifest
from emberbench_dist.evaluation.slices import Slice

Item = TypeVar("Item")
Maker = Callable[[Item], Arrays]

FORMAT_VERSION = "1.0"
_ORIGIN, _MANIFEST = b"emberbench_dist", b"emberbench_dist.manifest"
_ROW_GROUP = 50_000
_BATCH_ROWS, _BATCH_BYTES = 10_000, 2**24


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


def _origin(manifest: Manifest, ledger: Ledger, committed: int) -> Origin:
    meta = ledger.meta()
    part = Slice.parse(meta.get("slice", str(Slice())))
    return Origin(
        manifest_id=manifest.manifest_id,
        manifest_hash=manifest.manifest_hash,
        agent_spec=meta.get("agent_spec"),
        slice=str(part),
        planned=len(part.episodes(len(manifest))),
        committed=committed,
        manifest=manifest.documents()["manifest"],
    )


def _metadata(origin: Origin) -> dict[bytes, bytes]:
    fields = asdict(origin)
    manifest = fields.pop("manifest")
    known = {_ORIGIN: json.dumps({"format_version": FORMAT_VERSION, **fields}).encode()}
    return known if manifest is None else {**known, _MANIFEST: manifest}


def write_tables(
    manifest: Manifest, ledger: Ledger, folder: RunFolder, *, steps: bool = True
) -> list[str]:
    """Write the tables of the committed episodes (steps only where asked for); return which.

    One pass over the ledger, in bounded memory; where a row is damaged, no table changes.
    """
    columns, failures, committed = Columns(manifest), ledger.failures(), ledger.committed()
    makers: dict[str, Maker[Counts]] = {
        "episodes": columns.episodes,
        "people": columns.people,
        "steps": columns.steps,
        "execution": columns.execution,
    }
    if not steps:
        del makers["steps"]
    origin = _origin(manifest, ledger, sum(map(len, committed)))
    write_files(folder, makers, batches(ledger.counts(committed)), origin)
    if failures:
        write_files(folder, {"failures": columns.failures}, [failures], origin)
    names = [*makers, "failures"] if failures else [*makers]
    for name in TABLE.keys() - set(names):
        remove(folder.table(name))
    return names


def write_files(
    folder: RunFolder,
    makers: Mapping[str, Maker[Item]],
    blocks: Iterable[Item],
    origin: Origin,
) -> None:
    """Write some tables, each block of rows by what makes the columns of a table."""
    metadata = _metadata(origin)
    with ExitStack() as stack:
        files = {name: stack.enter_context(_file(folder, name, metadata)) for name in makers}
        for block in blocks:
            for name, make in makers.items():
                files[name].add(make(block))


@contextmanager
def _file(folder: RunFolder, name: str, metadata: dict[bytes, bytes]) -> Iterator[_Groups]:
    known = schema(name)
    with (
        replacing(folder.table(name)) as file,
        pq.ParquetWriter(file, known, compression="zstd", compression_level=3) as writer,
    ):
        groups = _Groups(writer, known)
        yield groups
        groups.end()
        writer.add_key_value_metadata(metadata)


class _Groups:
    """Rows written in groups of a fixed size, so that equal rows give equal files."""

    def __init__(self, writer: pq.ParquetWriter, known: pa.Schema) -> None:
        self._writer = writer
        self._rest = known.empty_table()

    def add(self, arrays: Arrays) -> None:
        rows = pa.Table.from_arrays(arrays, schema=self._rest.schema)
        self._rest = pa.concat_tables([self._rest, rows])
        while self._rest.num_rows >= _ROW_GROUP:
            self._writer.write_table(self._rest.slice(0, _ROW_GROUP))
            self._rest = self._rest.slice(_ROW_GROUP)

    def end(self) -> None:
        if self._rest.num_rows:
            self._writer.write_table(self._rest)


def batches(blocks: Iterable[Counts]) -> Iterator[Counts]:
    """Yield larger blocks: many short episodes, or few long ones."""
    batch, weight = _no_columns(), 0
    for block in blocks:
        for column, more in zip(batch, block, strict=True):
            column.extend(more)
        weight += sum(sum(map(len, part)) for part in (block.people, block.steps, block.execution))
        if len(batch[0]) >= _BATCH_ROWS or weight >= _BATCH_BYTES:
            yield Counts(*batch)
            batch, weight = _no_columns(), 0
    if batch[0]:
        yield Counts(*batch)


def _no_columns() -> list[list[Any]]:
    return [[] for _ in Counts._fields]
