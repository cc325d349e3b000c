"""The Parquet tables against pyarrow alone, which has the same columns in memory already."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.processes import call, new_folder
from benchmarks.rows import Benchmark, Row, Sample, Scale, at_most, seconds
from benchmarks.synthetic import finished_run
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.parquet import Origin, batches, write_files, write_tables
from emberbench_dist.artifacts.parquet_columns import Columns
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.evaluation.manifest import load_manifest

_ROW_GROUP = 50_000
_NOBODY = Origin("", "", None, "1/1", 0, 0, None)


def write(path: str, run_folder: str, out: str, steps: str) -> float:
    """Write `steps.parquet` alone, or all tables but that; return the seconds."""
    manifest, folder = load_manifest(path), RunFolder(Path(run_folder))
    target = RunFolder(Path(out))
    with Ledger.reading(folder.ledger) as ledger:
        if not steps:
            return seconds(partial(write_tables, manifest, ledger, target, steps=False))
        maker = {"steps": Columns(manifest).steps}
        blocks, origin = (
            batches(ledger.counts(ledger.committed())),
            Origin("", "", None, "1/1", 0, 0, None),
        )
        return seconds(lambda: write_files(target, maker, blocks, origin))


def rewrite(folder: str) -> float:
    """Read every table of a folder into memory, and write it again; return those seconds."""
    taken = 0.0
    for path in sorted(Path(folder).glob("*.parquet")):
        table = pq.read_table(path)
        write_again = partial(
            pq.write_table,
            table,
            path.with_suffix(".again"),
            compression="zstd",
            compression_level=3,
            row_group_size=_ROW_GROUP,
        )
        taken += seconds(write_again)
    return taken


def episode_tables(scale: Scale) -> tuple[Sample, ...]:
    """Write the tables of many episodes, and of a tenth of them for their memory."""
    many, few = scale.of(10**6, 10**5, 500), scale.of(10**5, 10**4, 50)
    out = new_folder("tables")
    spent = call("tables:write", *finished_run(many), out, "")
    plain = call("tables:rewrite", out)
    less = call("tables:write", *finished_run(few), new_folder("tables"), "")
    return Sample(spent.value, plain.value), Sample(spent.peak_mib, less.peak_mib)


def step_table(scale: Scale) -> tuple[Sample]:
    """Write `steps.parquet`, which has the most rows."""
    out = new_folder("steps")
    spent = call("tables:write", *finished_run(scale.of(10**5, 10**4, 50)), out, "steps")
    return (Sample(spent.value, call("tables:rewrite", out).value),)


BENCHMARKS = (
    Benchmark(
        episode_tables,
        (
            Row(
                "tables",
                "episodes, people and execution tables of 10^6 episodes",
                "pyarrow, from memory",
                "s",
                at_most(3),
            ),
            Row("tables-memory", "their peak with 10^6 episodes", "with 10^5", "MiB", at_most(1.2)),
        ),
        (Scale.FULL, Scale.TINY),
    ),
    Benchmark(
        step_table,
        (
            Row(
                "steps-table",
                "steps table of 10^5 episodes",
                "pyarrow, from memory",
                "s",
                at_most(3),
            ),
        ),
        (Scale.FULL, Scale.TINY),
    ),
)
