"""From a policy on arrays to an agent of the evaluator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emberbench_dist.contract.actions import Action
from emberbench_dist.contract.observation import Observation
from emberbench_dist.rl.encoding import Mask, encode, form_of, read_action

Policy = Callable[[Any, Mask], int]


class ArrayAgent:
    """Act for everybody by a policy that sees what it saw in training."""

    def __init__(self, policy: Policy, *, observations: str = "dict") -> None:
        """Ask `policy(observation, action_mask)` for the index of each person's action.

        `observations` is the form that the environment had: `dict` or `array`.
        """
        self._policy = policy
        self._form = form_of(observations)

    def act(self, observation: Observation) -> dict[str, Action]:
        """Return the policy's action for each active person; `InvalidActionError` for none."""
        return {
            person: read_action(person, self._policy(self._form(arrays), arrays["action_mask"]))
            for person, arrays in encode(observation, observation.active).items()
        }
