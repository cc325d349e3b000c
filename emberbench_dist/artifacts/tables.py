"""The Parquet tables: columns as data, rows streamed from the ledger in bounded memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from emberbench_dist.artifacts.durable import remove, replacing
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.evaluation.episode import replay
from emberbench_dist.evaluation.manifest import Manifest
from emberbench_dist.evaluation.metrics import FLOAT_METRICS, INTEGER_METRICS, METRICS
from emberbench_dist.simulator.simulator import Simulator
from emberbench_dist.simulator.state import SimulationState, TerminationReason

Row = tuple[Any, ...]
Rows = Callable[[Manifest, Ledger], Iterator[Row]]

_ROW_GROUP = 50_000
_UNRESOLVED = METRICS.index("unresolved")


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, Arrow type and meaning."""

    name: str
    type: pa.DataType
    meaning: str


@dataclass(frozen=True, slots=True)
class Table:
    """One Parquet file of the run folder: its columns, and where its rows come from."""

    name: str
    columns: tuple[Column, ...]
    rows: Rows

    @property
    def schema(self) -> pa.Schema:
        """Return the Arrow schema."""
        return pa.schema([(column.name, column.type) for column in self.columns])


def write_tables(
    manifest: Manifest, ledger: Ledger, folder: RunFolder, *, steps: bool = True
) -> None:
    """Write every table of the committed episodes (`steps.parquet` only where asked for)."""
    for table in TABLES:
        if (table.name == "steps" and not steps) or (
            table.name == "failures" and not ledger.failures()
        ):
            remove(folder.table(table.name))
            continue
        with replacing(folder.table(table.name)) as file, closing(_writer(file, table)) as writer:
            _stream(table.rows(manifest, ledger), table.schema, writer)


def _writer(file: Any, table: Table) -> pq.ParquetWriter:
    return pq.ParquetWriter(file, table.schema, compression="zstd", compression_level=3)


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
        yield (result.episode, None, execution["seconds"], *(None for _ in _ACCOUNTING))
        for step, known in enumerate(execution["steps"]):
            reported = known or {}
            yield (
                result.episode,
                step,
                None,
                *(reported.get(column.name) for column in _ACCOUNTING),
            )


_EPISODE = Column("episode", pa.int64(), "number in the manifest, from 0")
_SCENARIO = Column("scenario_id", pa.string(), "scenario")
_SEED = Column("seed", pa.uint64(), "seed, unsigned 64-bit")
_ACCOUNTING = (
    Column("latency_seconds", pa.float64(), "time of the call, as the agent reports it"),
    Column("input_tokens", pa.int64(), "tokens sent"),
    Column("output_tokens", pa.int64(), "tokens received"),
    Column("cost_usd", pa.float64(), "price of the call"),
    Column("retries", pa.int64(), "transport retries of the call"),
    Column("model", pa.string(), "model that answered"),
)

TABLES = (
    Table(
        "episodes",
        (
            _EPISODE,
            _SCENARIO,
            Column("scenario_hash", pa.string(), "SHA-256 of the normalised scenario"),
            _SEED,
            Column("termination_reason", pa.string(), "all_resolved or max_steps"),
            *(Column(name, pa.int64(), "metric") for name in INTEGER_METRICS),
            *(Column(name, pa.float64(), "metric") for name in FLOAT_METRICS),
        ),
        _episode_rows,
    ),
    Table(
        "people",
        (
            _EPISODE,
            _SCENARIO,
            _SEED,
            Column("id", pa.string(), "person"),
            Column("status", pa.string(), "active, evacuated or casualty at the end"),
            Column("row", pa.int64(), "last row, from the top"),
            Column("col", pa.int64(), "last column, from the left"),
            Column("step", pa.int64(), "step of the evacuation or the casualty, from 1"),
            Column("exit", pa.string(), "exit taken"),
            Column("cause", pa.string(), "entered_fire or fire_spread"),
        ),
        _people_rows,
    ),
    Table(
        "steps",
        (
            _EPISODE,
            Column("step", pa.int64(), "after this step; 0 is the initial state"),
            Column("active", pa.int64(), "people still inside"),
            Column("evacuated", pa.int64(), "people out so far"),
            Column("casualties", pa.int64(), "people lost so far"),
            Column("burning", pa.int64(), "burning cells"),
            Column("ignited", pa.int64(), "cells that ignited in this step"),
            Column("trapped", pa.int64(), "active people without a path to an exit"),
        ),
        _step_rows,
    ),
    Table(
        "execution",
        (
            _EPISODE,
            Column("step", pa.int64(), "step as observed, from 0; null: the whole episode"),
            Column("seconds", pa.float64(), "wall time of the whole episode"),
            *_ACCOUNTING,
        ),
        _execution_rows,
    ),
    Table(
        "failures",
        (
            _EPISODE,
            _SCENARIO,
            _SEED,
            Column("step", pa.int64(), "step that was asked for; null: none yet, or not known"),
            Column("kind", pa.string(), "agent or crash"),
            Column("type", pa.string(), "type of what was raised"),
            Column("message", pa.string(), "its message"),
            Column("traceback", pa.string(), "the agent's traceback"),
            Column("attempts", pa.int64(), "times that the episode failed"),
        ),
        _failure_rows,
    ),
)
