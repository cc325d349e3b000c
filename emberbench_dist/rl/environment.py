"""One scenario as a PettingZoo parallel environment, played as the evaluator plays it."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gymnasium import spaces
from numpy import float32, uint8
from pettingzoo import ParallelEnv

from emberbench_dist.contract.document import shown
from emberbench_dist.contract.rng import SplitMix64, stream_seed
from emberbench_dist.contract.scenario import MAX_SEED, Scenario, load_scenario
from emberbench_dist.errors import EvaluationError, SimulationError
from emberbench_dist.evaluation.suites import find_scenario
from emberbench_dist.rl.encoding import ACTIONS, FEATURES, PLANES, encode, form_of, read_action
from emberbench_dist.rl.rendering import as_image, as_text
from emberbench_dist.simulator.simulator import Simulator
from emberbench_dist.simulator.state import StepRecord

Reward = Callable[[StepRecord], Mapping[str, float]]
Info = dict[str, Any]

EPISODES = "rl-episodes"  # the stream of episode seeds


def outcome_reward(record: StepRecord) -> dict[str, float]:
    """Return +1 for each who got out in this step, and -1 for each who was lost."""
    out = dict.fromkeys([evacuation.id for evacuation in record.evacuations], 1.0)
    return out | dict.fromkeys([casualty.id for casualty in record.casualties], -1.0)


class EvacuationEnv(ParallelEnv[str, Any, int]):
    """Every person of a scenario is an agent; a step of all is a step of the simulator.

    An agent terminates when it is evacuated or lost; whoever is left at `max_steps` is truncated.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - PettingZoo declares it so
        "name": "emberbench_v1",
        "render_modes": ["human", "rgb_array", "ansi"],
        "render_fps": 4,
        "is_parallelizable": True,
    }

    def __init__(
        self,
        scenario: Scenario | str | Path,
        seed: int = 0,
        *,
        observations: str = "dict",
        reward: Reward = outcome_reward,
        render_mode: str | None = None,
    ) -> None:
        """Set up a scenario (a value, a file, or a built-in one by its id) for `reset`.

        `seed` is where episode seeds come from; `observations` is `dict` or `array`; `reward` maps
        a step's record to what each person gets, 0 for those it leaves out. Raises `ScenarioError`
        where there is no such scenario, `EvaluationError` for any other setting.
        """
        if render_mode not in (None, *self.metadata["render_modes"]):
            modes = ", ".join(self.metadata["render_modes"])
            raise EvaluationError(f"render_mode must be {modes} or None, got {render_mode!r}")
        if not isinstance(scenario, Scenario):
            scenario = load_scenario(find_scenario(scenario))
        self.render_mode = render_mode
        self.possible_agents = [person.id for person in scenario.people]
        self.agents: list[str] = []
        self._scenario, self._reward, self._form = scenario, reward, form_of(observations)
        self._seeds = SplitMix64(stream_seed(_seed(seed), EPISODES))
        self._simulator: Simulator | None = None
        self.episode_seed: int | None = None
        self._observation_space = _space(scenario, observations)
        self._action_spaces = {
            agent: spaces.Discrete(len(ACTIONS)) for agent in self.possible_agents
        }

    def observation_space(self, agent: str) -> spaces.Space[Any]:  # noqa: ARG002 - the interface has it
        """Return the space that all agents share."""
        return self._observation_space

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the agent's actions: 0 to 4 for stay, north, south, east, west."""
        return self._action_spaces[agent]

    def reset(
        self,
        seed: int | None = None,
        options: Info | None = None,  # noqa: ARG002 - the interface has it
    ) -> tuple[dict[str, Any], dict[str, Info]]:
        """Begin the episode of this seed, or of the next one of the constructor's stream.

        There are no `options`. Raises `EvaluationError` for a seed of another type or size.
        """
        episode_seed = self._seeds.next_u64() if seed is None else _seed(seed)
        self._simulator = Simulator(self._scenario, episode_seed)
        self.episode_seed = episode_seed
        self.agents = [*self.possible_agents]
        return self._views(self.agents)

    def step(
        self, actions: Mapping[str, int]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Info]]:
        """Play one step: an action for each of `agents`, and for nobody else.

        Raises `InvalidActionError`, with nothing changed, for other actions, and
        `SimulationError` before the first `reset` and after the end.
        """
        simulator = self._playing()
        record = simulator.step({agent: read_action(agent, actions[agent]) for agent in actions})
        acted, left = record.active, set(simulator.active)
        self.agents = [] if record.state.terminated else [*simulator.active]
        observations, infos = self._views(acted)
        rewards = self._reward(record)
        return (
            observations,
            {agent: float(rewards.get(agent, 0)) for agent in acted},
            {agent: agent not in left for agent in acted},
            {agent: agent in left and record.state.terminated for agent in acted},
            infos,
        )

    def render(self) -> Any:
        """Return a picture or text of the state, as `render_mode` says; `human` prints the text."""
        if self.render_mode is None:
            raise EvaluationError("nothing to render: give parallel_env a render_mode")
        observation = self._playing().observe()
        if self.render_mode == "rgb_array":
            return as_image(observation)
        text = as_text(observation)
        if self.render_mode == "ansi":
            return text
        sys.stdout.write(f"{text}\n")
        return None

    def close(self) -> None:
        """Hold nothing that would have to be released."""

    def _playing(self) -> Simulator:
        if self._simulator is None:
            raise SimulationError("no episode has begun; call reset() first")
        return self._simulator

    def _views(self, people: list[str] | tuple[str, ...]) -> tuple[dict[str, Any], dict[str, Info]]:
        """Return observations and infos of these people."""
        views = encode(self._playing().observe(), people)
        infos = {person: {"action_mask": arrays["action_mask"]} for person, arrays in views.items()}
        return {person: self._form(arrays) for person, arrays in views.items()}, infos


parallel_env = EvacuationEnv  # as PettingZoo calls the maker of an environment


def _space(scenario: Scenario, observations: str) -> spaces.Space[Any]:
    planes = (len(PLANES), scenario.map.height, scenario.map.width)
    parts: dict[str, spaces.Space[Any]] = {
        "observation": spaces.Box(0, 1, planes, uint8),
        "features": spaces.Box(0, 1, (len(FEATURES),), float32),
        "action_mask": spaces.MultiBinary(len(ACTIONS)),
    }
    if observations == "dict":
        return spaces.Dict(parts)
    size = planes[0] * planes[1] * planes[2] + len(FEATURES)
    return spaces.Box(0, 1, (size,), float32)


def _seed(seed: Any) -> int:
    """Read a seed of any integer type, numpy's too."""
    try:
        number = operator.index(seed)
    except TypeError:
        number = -1
    if not 0 <= number <= MAX_SEED:
        raise EvaluationError(f"a seed is an integer from 0 to 2**64 - 1, got {shown(seed)}")
    return number
