"""Reinforcement learning: train here on the evaluator's own episodes, be evaluated there.

Needs the extra `rl` (pettingzoo, gymnasium, numpy); all but the environment needs numpy alone. Each
name is imported when it is first used.

- `parallel_env`: one scenario as a PettingZoo parallel environment.
- `outcome_reward`: the reward where no other is given.
- `ArrayAgent`: a policy on arrays as an agent of the evaluator.
- `encode`, `flatten`, `PLANES`, `FEATURES`: an observation as arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from emberbench_dist.lazy import names_of

if TYPE_CHECKING:
    from emberbench_dist.rl.agent import ArrayAgent
    from emberbench_dist.rl.encoding import FEATURES, PLANES, encode, flatten
    from emberbench_dist.rl.environment import outcome_reward, parallel_env

_HOME = {
    "FEATURES": "encoding",
    "PLANES": "encoding",
    "ArrayAgent": "agent",
    "encode": "encoding",
    "flatten": "encoding",
    "outcome_reward": "environment",
    "parallel_env": "environment",
}

__all__ = [  # noqa: PLE0604 - the keys are the names
    *_HOME
]

__getattr__, __dir__ = names_of(__name__, _HOME)
