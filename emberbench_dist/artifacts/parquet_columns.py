"""Whole columns of the tables, made of packed counts without a Python object for each value."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from emberbench_dist.artifacts.ledger import Counts
from emberbench_dist.artifacts.tables import ACCOUNTING_COLUMNS, TABLE, Column
from emberbench_dist.evaluation.episode import Failure
from emberbench_dist.evaluation.manifest import Manifest
from emberbench_dist.evaluation.metrics import INTEGER_METRICS, METRICS, STEP_COUNTS
from emberbench_dist.evaluation.packing import FIRE_SPREAD, PERSON_WIDTH

Arrays = list[pa.Array]

_INT_BYTES = 4
_PEOPLE, _UNRESOLVED = METRICS.index("people"), METRICS.index("unresolved")
# By fate, from `FIRE_SPREAD` up to 0, which here stands for every exit.
_STATUS_OF_FATE = pa.array(["casualty", "casualty", "active", "evacuated"])
_CAUSE_OF_FATE = pa.array(["fire_spread", "entered_fire", None, None])


def _fields(columns: Iterable[Column]) -> list[tuple[str, pa.DataType]]:
    return [(column.name, pa.type_for_alias(column.type)) for column in columns]


def schema(table: str) -> pa.Schema:
    """Return the Arrow schema of a table."""
    return pa.schema(_fields(TABLE[table].columns))


_EXECUTION = pa.schema(
    [
        ("seconds", pa.float64()),
        ("step_seconds", pa.list_(pa.float64())),
        ("steps", pa.list_(pa.struct(_fields(ACCOUNTING_COLUMNS)))),
    ]
)


class Columns:
    """The columns of a manifest's tables: each method makes those of one, a block at a time."""

    def __init__(self, manifest: Manifest) -> None:
        """Know who and what is in each scenario."""
        scenarios = manifest.scenarios.values()
        self._manifest = manifest
        self._numbers = {name: number for number, name in enumerate(manifest.scenarios)}
        self._ids = pa.array(manifest.scenarios, pa.string())
        self._hashes = pa.array([scenario.scenario_hash for scenario in scenarios], pa.string())
        self._people, self._first_person = _joined([one.people for one in scenarios])
        self._exits, self._first_exit = _joined([one.map.exits for one in scenarios])

    def episodes(self, block: Counts) -> Arrays:
        """Return a row for each episode."""
        episodes, scenarios, seeds = self._planned(block)
        metrics = _metrics(block)
        resolved = pc.equal(metrics[_UNRESOLVED], 0)
        reason = pc.if_else(resolved, "all_resolved", "max_steps")
        names = self._ids.take(scenarios), self._hashes.take(scenarios)
        return [episodes, *names, seeds, reason, *metrics]

    def people(self, block: Counts) -> Arrays:
        """Return a row for each person of each episode."""
        planned = self._planned(block)
        joined = array("i", b"".join(block.people))
        of, within = _spread(_lengths(block.people, PERSON_WIDTH))
        episodes, scenarios, seeds = (column.take(of) for column in planned)
        row, col, step, fate = (_column(joined, index, PERSON_WIDTH) for index in range(4))
        person = pc.add(self._first_person.take(scenarios), within)
        way = pc.if_else(
            pc.greater_equal(fate, 0), pc.add(self._first_exit.take(scenarios), fate), None
        )
        kind = pc.subtract(pc.min_element_wise(fate, 0), FIRE_SPREAD)
        return [
            episodes,
            self._ids.take(scenarios),
            seeds,
            self._people.take(person),
            _STATUS_OF_FATE.take(kind),
            row,
            col,
            _unless_negative(step),
            self._exits.take(way),
            _CAUSE_OF_FATE.take(kind),
        ]

    def steps(self, block: Counts) -> Arrays:
        """Return a row for the initial state and for each step of each episode."""
        width = len(STEP_COUNTS)
        joined = array("i", b"".join(block.steps))
        of, within = _spread(_lengths(block.steps, width))
        people = _column(array("q", b"".join(block.metrics)), _PEOPLE, len(METRICS)).take(of)
        counts = [_column(joined, index, width) for index in range(width)]
        evacuated, casualties, *_ = counts
        active = pc.subtract(pc.subtract(people, evacuated), casualties)
        return [_numbers(block).take(of), within, active, *counts]

    def execution(self, block: Counts) -> Arrays:
        """Return a row for each episode, and under it one for each of its steps."""
        data = b"\n".join((*block.execution, b""))
        known = pj.read_json(
            pa.BufferReader(data),
            pj.ReadOptions(use_threads=False, block_size=len(data)),
            pj.ParseOptions(explicit_schema=_EXECUTION, unexpected_field_behavior="error"),
        )
        seconds, times, reports = (known[name].combine_chunks() for name in _EXECUTION.names)
        counts = pc.fill_null(pc.list_value_length(times), 0).to_pylist()
        of, within = _spread([count + 1 for count in counts])
        # An episode's own row, which has no step, stands before those of its steps.
        step = pc.if_else(pc.equal(within, 0), None, pc.subtract(within, 1))
        before = pc.subtract(_counted(len(of)), pc.add(of, 1))
        timed = times.flatten().take(pc.if_else(pc.is_null(step), None, before))
        reported = pc.less(step, pc.list_value_length(reports).take(of))
        report = pc.add(reports.offsets.take(of), step)
        return [
            _numbers(block).take(of),
            step,
            pc.coalesce(timed, seconds.take(of)),
            *reports.values.take(pc.if_else(reported, report, None)).flatten(),
        ]

    def failures(self, failures: Sequence[Failure]) -> Arrays:
        """Return a row for each failure."""
        return [
            pa.array([getattr(failure, field.name) for failure in failures], field.type)
            for field in schema("failures")
        ]

    def _planned(self, block: Counts) -> tuple[pa.Array, pa.Array, pa.Array]:
        """Return number, scenario (as its own number) and seed of each episode."""
        scenarios, seeds = array("q"), array("Q")
        for episodes in _ranges(block.episodes):
            for scenario_id, some in self._manifest.runs(episodes):
                scenarios.extend([self._numbers[scenario_id]] * len(some))
                seeds.extend(some)
        return _numbers(block), _as_arrow(scenarios), _as_arrow(seeds)


def _metrics(block: Counts) -> Arrays:
    joined = b"".join(block.metrics)
    integers, floats = array("q", joined), array("d", joined)
    whole = range(len(INTEGER_METRICS))
    return [
        *(_unless_negative(_column(integers, index, len(METRICS))) for index in whole),
        *(
            _unless_nan(_column(floats, index, len(METRICS)))
            for index in range(len(whole), len(METRICS))
        ),
    ]


_TYPES = {"i": pa.int32(), "q": pa.int64(), "Q": pa.uint64(), "d": pa.float64()}


def _as_arrow(values: array[Any]) -> pa.Array:
    return pa.Array.from_buffers(_TYPES[values.typecode], len(values), [None, pa.py_buffer(values)])


def _column(values: array[Any], index: int, width: int) -> pa.Array:
    """Return each `width`-th value from `index` on; small integers become large ones."""
    column = _as_arrow(values[index::width])
    return column.cast(pa.int64()) if values.typecode == "i" else column


def _numbers(block: Counts) -> pa.Array:
    return pa.array(block.episodes, pa.int64())


def _unless_negative(column: pa.Array) -> pa.Array:
    return pc.if_else(pc.less(column, 0), None, column)


def _unless_nan(column: pa.Array) -> pa.Array:
    return pc.if_else(pc.is_nan(column), None, column)


def _joined(lists: Sequence[Sequence[Any]]) -> tuple[pa.Array, pa.Array]:
    """Return the ids of several lists one after the other, and where each list begins."""
    firsts = accumulate(map(len, lists), initial=0)
    ids = [one.id for one in chain.from_iterable(lists)]
    return pa.array(ids, pa.string()), pa.array(firsts, pa.int64())


def _lengths(packed: Sequence[bytes], width: int) -> list[int]:
    return [len(integers) // (width * _INT_BYTES) for integers in packed]


def _spread(lengths: Sequence[int]) -> tuple[pa.Array, pa.Array]:
    """Return for each item of some lists the number of its list, and its own there, from 0."""
    starts = pa.array(accumulate(lengths, initial=0), pa.int32())
    count = starts[-1].as_py()
    of = pc.list_parent_indices(pa.ListArray.from_arrays(starts, pa.nulls(count)))
    return of, pc.subtract(_counted(count), starts.take(of))


def _counted(count: int) -> pa.Array:
    """Return the numbers below `count`."""
    return pc.subtract(pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), count)), 1)


def _ranges(episodes: Sequence[int]) -> Iterator[range]:
    """Yield ascending numbers as ranges."""
    if episodes[-1] - episodes[0] + 1 == len(episodes):
        yield range(episodes[0], episodes[-1] + 1)
        return
    edges = [index for index, (one, other) in enumerate(pairwise(episodes), 1) if other != one + 1]
    for start, stop in pairwise([0, *edges, len(episodes)]):
        yield range(episodes[start], episodes[stop - 1] + 1)
