"""Loading a run's episodes against pyarrow and pandas alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow.parquet as pq
from recorded import Recorded, document

from benchmarks.processes import call, new_folder
from benchmarks.rows import Benchmark, Row, Sample, Scale, at_most, seconds
from emberbench_dist.analysis.frames import load_episodes

_COLUMNS = ["scenario_id", "seed", "evacuated", "steps", "evacuation_rate"]
_SCENARIOS, _PEOPLE, _TIMES = 100, 50, 5


def load(folder: str) -> float:
    """Load some columns of a run; return the median seconds."""
    return _seconds(lambda: load_episodes(folder, _COLUMNS))


def read(folder: str) -> float:
    """Read the same columns into a frame with nothing around it; return the median seconds."""
    path = Path(folder) / "episodes.parquet"
    return _seconds(lambda: pq.read_table(path, columns=_COLUMNS).to_pandas())


def _seconds(work: Callable[[], object]) -> float:
    work()  # loads what is loaded at the first use
    return median(seconds(work) for _ in range(_TIMES))


@cache
def _run(count: int) -> Path:
    seeds = {
        f"scenario-{one}": {"first": 0, "count": count // _SCENARIOS} for one in range(_SCENARIOS)
    }
    evacuated = np.random.default_rng(0).binomial(_PEOPLE, 0.6, count)
    metrics = {"evacuated": evacuated, "evacuation_rate": evacuated / _PEOPLE}
    recorded = Recorded(document(seeds), np.arange(count), metrics)
    return recorded.write(new_folder("recorded") / "run")


def loading(scale: Scale) -> tuple[Sample]:
    """Load five columns of many episodes."""
    folder = _run(scale.of(10**6, 10**6, 1000))
    return (Sample(call("analysis:load", folder).value, call("analysis:read", folder).value),)


BENCHMARKS = (
    Benchmark(
        loading,
        (
            Row(
                "load-episodes",
                "load_episodes, 5 columns of 10^6 episodes",
                "pyarrow to pandas, the same columns",
                "s",
                at_most(1.3),
            ),
        ),
    ),
)
