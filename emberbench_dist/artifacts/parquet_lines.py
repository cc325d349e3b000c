"""Whole columns of the tables, read from the lines of an artifact where there is no ledger."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from emberbench_dist.artifacts.parquet_columns import Arrays, schema
from emberbench_dist.artifacts.tables import METRIC_COLUMNS

_PERSON = {
    "id": pa.string(),
    "status": pa.string(),
    "position": pa.list_(pa.int64()),
    "step": pa.int64(),
    "exit": pa.string(),
    "cause": pa.string(),
}
_EPISODES = schema("episodes")
_PLAIN = [field for field in _EPISODES if field.name not in {one.name for one in METRIC_COLUMNS}]
_LINE = pa.schema(
    [
        *_PLAIN,
        ("metrics", pa.struct([_EPISODES.field(one.name) for one in METRIC_COLUMNS])),
        ("people", pa.list_(pa.struct(list(_PERSON.items())))),
    ]
)


def episodes_of_lines(lines: Sequence[bytes]) -> Arrays:
    """Return the columns of `episodes.parquet`; `ValueError` where lines have another form."""
    read = _read(lines)
    return [*(read[field.name] for field in _PLAIN), *read["metrics"].flatten()]


def people_of_lines(lines: Sequence[bytes]) -> Arrays:
    """Return the columns of `people.parquet`, likewise."""
    read = _read(lines)
    of = pc.list_parent_indices(read["people"])
    person = dict(zip(_PERSON, read["people"].flatten().flatten(), strict=True))
    return [
        *(read[name].take(of) for name in ("episode", "scenario_id", "seed")),
        person["id"],
        person["status"],
        *(pc.list_element(person["position"], place) for place in (0, 1)),
        *(person[name] for name in ("step", "exit", "cause")),
    ]


def _read(lines: Sequence[bytes]) -> dict[str, pa.Array]:
    data = b"\n".join((*lines, b""))
    table = pj.read_json(
        pa.BufferReader(data),
        pj.ReadOptions(use_threads=False, block_size=len(data)),
        pj.ParseOptions(explicit_schema=_LINE, unexpected_field_behavior="ignore"),
    )
    return {name: table[name].combine_chunks() for name in _LINE.names}
