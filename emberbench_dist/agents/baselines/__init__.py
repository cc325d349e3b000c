"""The built-in agents."""

from emberbench_dist.agents.baselines.fire_aware import FireAware
from emberbench_dist.agents.baselines.flow import Flow
from emberbench_dist.agents.baselines.greedy import Greedy
from emberbench_dist.agents.baselines.lookahead import Lookahead
from emberbench_dist.agents.baselines.plain import Counting, Shuffle, Stay
from emberbench_dist.agents.baselines.reserve import Reserve

__all__ = ["Counting", "FireAware", "Flow", "Greedy", "Lookahead", "Reserve", "Shuffle", "Stay"]
