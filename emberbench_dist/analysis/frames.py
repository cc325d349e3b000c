"""The tables of runs as typed pandas frames; of episodes, a row for each planned one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from emberbench_dist.analysis.plan import Index
from emberbench_dist.analysis.runs import Run, Runs, find_runs, remedy, require_current
from emberbench_dist.artifacts.parquet import read_table
from emberbench_dist.artifacts.tables import TABLE, Column
from emberbench_dist.errors import ArtifactError

ADDED = (
    Column("run", "category", "", "label of the run"),
    Column("agent", "category", "", "SPEC of the agent, from `run.json`"),
    Column("committed", "bool", "", "whether the planned episode was played"),
)
# What the manifest tells of an episode, so it is known also of one that was not played.
PLANNED = ("episode", "scenario_id", "scenario_hash", "seed")
# Integers that every row has; any other may be absent.
_ALWAYS = {"steps": {"step", "active", "evacuated", "casualties", "burning", "ignited", "trapped"}}
_ALWAYS["people"] = {"row", "col"}

Arrays = dict[str, Any]
Labels = Sequence[str] | None
Names = Iterable[str] | None


def load_episodes(runs: Runs, columns: Names = None, labels: Labels = None) -> pd.DataFrame:
    """Return a row for each planned episode; `committed` is false where it was not played.

    `runs` are folders, patterns or `Run`s. The columns are `run`, `agent`, those asked for (None:
    all of `episodes.parquet`) and `committed`; metrics are absent where `committed` is false.
    `ArtifactError` for a column or table that is not there, `RunFolderError` for a wrong folder.
    """
    return _load(_episodes, "episodes", runs, columns, labels)


def load_people(runs: Runs, columns: Names = None, labels: Labels = None) -> pd.DataFrame:
    """Return a row for each person of each committed episode; else as `load_episodes`."""
    return _load(_rows, "people", runs, columns, labels)


def load_steps(runs: Runs, columns: Names = None, labels: Labels = None) -> pd.DataFrame:
    """Return a row for each step of each committed episode; else as `load_episodes`."""
    return _load(_rows, "steps", runs, columns, labels)


def load_execution(runs: Runs, columns: Names = None, labels: Labels = None) -> pd.DataFrame:
    """Return times and accounting of committed episodes and steps; else as `load_episodes`."""
    return _load(_rows, "execution", runs, columns, labels)


def columns_of(table: str) -> tuple[str, ...]:
    """Return the columns that a loader can be asked for: the manifest's, then the table's."""
    own = (column.name for column in TABLE[table].columns)
    return tuple(dict.fromkeys((*PLANNED, *own)))


def _load(
    build: Callable[[Run, str, list[str]], Arrays],
    table: str,
    runs: Runs,
    columns: Names,
    labels: Labels,
) -> pd.DataFrame:
    names = _chosen(table, columns)
    found = find_runs(runs, labels)
    frames = [pd.DataFrame(_headed(run, build(run, table, names)), copy=False) for run in found]
    return frames[0] if len(frames) == 1 else _joined(frames)


def _chosen(table: str, columns: Names) -> list[str]:
    known = columns_of(table)
    wanted = known if columns is None else [columns] if isinstance(columns, str) else [*columns]
    unknown = sorted(set(wanted) - {*known, *(column.name for column in ADDED)})
    if unknown:
        raise ArtifactError(
            f"{table} have no column {', '.join(map(repr, unknown))}; they have {', '.join(known)}"
        )
    return [name for name in known if name in wanted]


def _headed(run: Run, arrays: Arrays) -> Arrays:
    """Put the columns `run` and `agent` before the others."""
    codes = np.zeros(len(next(iter(arrays.values()))), np.int8)
    told = {"run": run.label, "agent": run.agent}
    first = {name: pd.Categorical.from_codes(codes, pd.Index([told[name]])) for name in told}
    return first | arrays


def _joined(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Put frames one below the other, each category column with the categories of all."""
    for name in frames[0].select_dtypes("category").columns:
        known = dict.fromkeys(text for frame in frames for text in frame[name].cat.categories)
        for frame in frames:
            frame[name] = frame[name].cat.set_categories(list(known))
    return pd.concat(frames, ignore_index=True)


def _episodes(run: Run, table: str, names: list[str]) -> Arrays:
    own = [name for name in names if name not in PLANNED]
    arrays = {name: run.plan.column(name) for name in names if name in PLANNED}
    # All of them are there: their numbers are read only where they are wanted.
    if run.complete and own and "episode" not in names:
        read = _read(run, table, own)
        _require(run, len(read[own[0]]) == run.planned)
        return arrays | read | {"committed": np.ones(run.planned, bool)}
    read = _read(run, table, ["episode", *own])
    rows: Index = read.pop("episode") - run.episodes.start
    once = len(rows) == run.committed and bool((np.diff(rows) > 0).all())
    _require(run, once and not (len(rows) and (rows[0] < 0 or rows[-1] >= run.planned)))
    committed, place = np.zeros(run.planned, bool), np.full(run.planned, -1)
    committed[rows], place[rows] = True, np.arange(len(rows))
    take = pd.api.extensions.take
    spread = {name: take(values, place, allow_fill=True) for name, values in read.items()}
    return arrays | spread | {"committed": committed}


def _require(run: Run, as_written: bool) -> None:  # noqa: FBT001 - it is what is required
    """Require each committed episode once, in order: a table may have been edited."""
    if not as_written:
        raise ArtifactError(
            f"{run.path / 'episodes.parquet'}: does not have each of its {run.committed} episodes "
            f"once and in order; {remedy(run.path)}"
        )


def _rows(run: Run, table: str, names: list[str]) -> Arrays:
    require_current(run.path, table)
    read = _read(run, table, ["episode", *(name for name in names if name not in PLANNED)])
    rows: Index = read.pop("episode") - run.episodes.start
    return {name: run.plan.column(name, rows) for name in names if name in PLANNED} | read


def _read(run: Run, table: str, names: list[str]) -> Arrays:
    """Read columns of a table as arrays of their pandas types, in the order of the names."""
    path = run.path / f"{table}.parquet"
    try:
        read = read_table(path, names)
    except ArtifactError as error:
        raise ArtifactError(f"{error}; {remedy(run.path)}") from error
    columns = {column.name: column for column in TABLE[table].columns}
    return {name: _array(read.column(name), table, columns[name]) for name in names}


def _array(values: Any, table: str, column: Column) -> Any:
    """Return an Arrow column as categories, nullable integers, or plain numbers."""
    if column.type == "string":
        found = values.dictionary_encode().unify_dictionaries().to_pandas().array
        ordered = found.set_categories(sorted(found.categories))
        return pd.Categorical.from_codes(ordered.codes.copy(), dtype=ordered.dtype)
    if column.type == "int64" and column.name not in _ALWAYS.get(table, set()) | {"episode"}:
        absent = values.is_null().to_numpy() if values.null_count else np.zeros(len(values), bool)
        known = values.fill_null(0) if values.null_count else values
        return pd.arrays.IntegerArray(_own(known), absent)
    return _own(values)


def _own(values: Any) -> Any:
    """Return an Arrow column as an array that may be written to; one chunk alone is shared."""
    return np.require(values.to_numpy(), requirements="W")
