"""The built-in agents."""

from emberbench_dist.agents.baselines.greedy import Greedy
from emberbench_dist.agents.baselines.plain import Counting, Shuffle, Stay

__all__ = ["Counting", "Greedy", "Shuffle", "Stay"]
