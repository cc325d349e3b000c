"""What comes after a run: load it, compare agents on the same seeds, see where they differ.

Needs the extra `analysis` (pandas, scipy, matplotlib), but no Ray. Each name is imported when it
is first used.

- `load_episodes`, `load_people`, `load_steps`, `load_execution`: run folders as typed frames.
- `find_runs`, `Run`: what is known of run folders before any table is read.
- `compare`, `Comparison`: runs of one manifest, pair by pair, as values, a document or a frame.
- `rates`, `scores`, `performance_profile`: scores over the episodes of each run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from emberbench_dist.lazy import names_of

if TYPE_CHECKING:
    from emberbench_dist.analysis.frames import (
        load_episodes,
        load_execution,
        load_people,
        load_steps,
    )
    from emberbench_dist.analysis.runs import Run, find_runs
    from emberbench_dist.analysis.statistics.aggregate import performance_profile, rates, scores
    from emberbench_dist.analysis.statistics.comparing import compare
    from emberbench_dist.analysis.statistics.comparison import Comparison

_HOME = {
    "Comparison": "statistics.comparison",
    "Run": "runs",
    "compare": "statistics.comparing",
    "find_runs": "runs",
    "load_episodes": "frames",
    "load_execution": "frames",
    "load_people": "frames",
    "load_steps": "frames",
    "performance_profile": "statistics.aggregate",
    "rates": "statistics.aggregate",
    "scores": "statistics.aggregate",
}

__all__ = [  # noqa: PLE0604 - the keys are the names
    *_HOME
]

__getattr__, __dir__ = names_of(__name__, _HOME)
