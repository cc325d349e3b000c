"""Every figure of a report as a matplotlib figure, for a paper: frames in, a figure out.

No function touches pyplot or the user's settings; `encode` writes a figure as bytes.
"""

from emberbench_dist.analysis.plots.cost import cumulative
from emberbench_dist.analysis.plots.differences import difference_distribution, differences
from emberbench_dist.analysis.plots.heat import scenario_heat
from emberbench_dist.analysis.plots.maps import place_heat
from emberbench_dist.analysis.plots.movement import movement
from emberbench_dist.analysis.plots.style import encode
from emberbench_dist.analysis.plots.survival import BANDS, survival

__all__ = [
    "BANDS",
    "cumulative",
    "difference_distribution",
    "differences",
    "encode",
    "movement",
    "place_heat",
    "scenario_heat",
    "survival",
]
