"""An observation as arrays: what a policy gets, the same in training and in evaluation."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emberbench_dist.contract.actions import Action
from emberbench_dist.contract.document import Position, shown
from emberbench_dist.contract.observation import GridMap, Observation, PersonView, Status
from emberbench_dist.errors import EvaluationError, InvalidActionError

Arrays = dict[str, NDArray[Any]]
Mask = NDArray[np.int8]

PLANES: Final = ("wall", "exit", "burning", "other", "self")
WALL, EXIT, BURNING, OTHER, SELF = range(len(PLANES))
FEATURES: Final = (
    "row / height",
    "col / width",
    "step / max_steps",
    "active / people",
    "spread_probability",
    "1 / spread_interval",
    "exits_flammable",
    "fire can be entered",
)
# An action is its index here; each leads one cell away.
ACTIONS: Final = tuple(Action)
_MOVES: Final = {
    Action.STAY: (0, 0),
    Action.NORTH: (-1, 0),
    Action.SOUTH: (1, 0),
    Action.EAST: (0, 1),
    Action.WEST: (0, -1),
}


def encode(observation: Observation, people: Iterable[str]) -> dict[str, Arrays]:
    """Return the arrays of each of these people, by id.

    - `observation`: uint8, (5, height, width), 0 or 1: a plane for each of `PLANES`.
    - `features`: float32, (8,), from 0 to 1: `FEATURES`.
    - `action_mask`: int8, (5,): 1 unless the move is sure to be refused.

    Whoever is no longer active is on no plane, and may only stay.
    """
    planes, features = planes_of(observation), _features(observation)
    free = _free(observation, planes)
    at = {person.id: person for person in observation.people}
    return {
        person: {
            "observation": _own_planes(planes, at[person]),
            "features": _own_features(features, observation.map, at[person].position),
            "action_mask": _mask(observation, free, at[person]),
        }
        for person in people
    }


def flatten(arrays: Arrays) -> NDArray[np.float32]:
    """Return planes, row-major, then features as one vector: float32, (5 * height * width + 8,)."""
    return np.concatenate((arrays["observation"].ravel(), arrays["features"]), dtype=np.float32)


def read_action(person: str, index: Any) -> Action:
    """Return the action of an index of any integer type, else raise `InvalidActionError`."""
    try:
        return ACTIONS[range(len(ACTIONS)).index(operator.index(index))]
    except (TypeError, ValueError) as error:
        raise InvalidActionError(
            f"the action of {shown(person)} must be 0 to {len(ACTIONS) - 1} "
            f"({', '.join(ACTIONS)}), got {shown(index)}"
        ) from error


_FORMS: Final[dict[str, Callable[[Arrays], Any]]] = {
    "dict": lambda arrays: arrays,
    "array": flatten,
}


def form_of(name: str) -> Callable[[Arrays], Any]:
    """Return what makes an observation `dict` or `array`; `EvaluationError` for another name."""
    if name not in _FORMS:
        raise EvaluationError(f"observations must be {' or '.join(_FORMS)}, got {name!r}")
    return _FORMS[name]


def planes_of(observation: Observation) -> NDArray[np.uint8]:
    """Return the planes as nobody in particular sees them: all who are active are `other`."""
    planes = _map_planes(observation.map).copy()
    _mark(planes[BURNING], observation.burning)
    active = [person.position for person in observation.people if person.status is Status.ACTIVE]
    _mark(planes[OTHER], active)
    return planes


@lru_cache(maxsize=64)
def _map_planes(world: GridMap) -> NDArray[np.uint8]:
    planes = np.zeros((len(PLANES), world.height, world.width), np.uint8)
    _mark(planes[WALL], world.obstacles)
    _mark(planes[EXIT], [exit.position for exit in world.exits])
    return planes


def _mark(plane: NDArray[np.uint8], positions: Iterable[Position]) -> None:
    rows, cols = np.array([*positions], np.intp).reshape(-1, 2).T
    plane[rows, cols] = 1


def _features(observation: Observation) -> NDArray[np.float32]:
    rules, people = observation.rules, observation.people
    certain = rules.spread_probability is None
    return np.array(
        [
            0,
            0,
            observation.step / rules.max_steps,
            len(observation.active) / len(people),
            1 if certain else rules.spread_probability,
            1 / rules.spread_interval,
            rules.exits_flammable,
            rules.enter_fire == "casualty",
        ],
        np.float32,
    )


def _free(observation: Observation, planes: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return where people may try to go, with the boundary around: (height + 2, width + 2)."""
    shut = planes[WALL] > 0
    if observation.rules.enter_fire == "blocked":
        shut |= planes[BURNING] > 0
    return np.pad(~shut, 1)


def _own_planes(planes: NDArray[np.uint8], person: PersonView) -> NDArray[np.uint8]:
    own = planes.copy()
    if person.status is Status.ACTIVE:
        own[(OTHER, *person.position)] = 0
        own[(SELF, *person.position)] = 1
    return own


def _own_features(
    features: NDArray[np.float32], world: GridMap, position: Position
) -> NDArray[np.float32]:
    own = features.copy()
    own[:2] = position[0] / world.height, position[1] / world.width
    return own


def _mask(observation: Observation, free: NDArray[np.bool_], person: PersonView) -> Mask:
    if person.status is not Status.ACTIVE:
        return np.array([action is Action.STAY for action in ACTIONS], np.int8)
    row, col = person.position
    allowed = [
        action in observation.allowed_actions and free[row + 1 + south, col + 1 + east]
        for action, (south, east) in _MOVES.items()
    ]
    return np.array(allowed, np.int8)
