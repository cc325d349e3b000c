"""Reinforcement learning: train here on the evaluator's own episodes, be evaluated there.

Needs the extra `rl` (pettingzoo, gymnasium, numpy); all but the environment needs numpy alone. Each
name is imported when it is first used.

- `parallel_env`: one scenario as a PettingZoo parallel environment.
- `outcome_reward`: the reward where no other is given.
- `ArrayAgent`: a policy on arrays as an agent of the evaluator.
- `encode`, `flatten`, `PLANES`, `FEATURES`: an observation as arrays.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    """Import a name from its home."""
    if name not in _HOME:
        raise AttributeError(f"module 'emberbench_dist.rl' has no attribute {name!r}")
    value = getattr(import_module(f"emberbench_dist.rl.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(_HOME)
