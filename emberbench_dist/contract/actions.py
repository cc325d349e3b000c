"""Actions: what a model may return, how it is checked, and its external payload."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from itertools import repeat
from operator import is_
from typing import TYPE_CHECKING, Any, NoReturn, TypeGuard

from emberbench_dist.contract.canonical import canonical_json, parse_json
from emberbench_dist.contract.document import Node, class_name, shown
from emberbench_dist.contract.versions import ACTION_SCHEMA_VERSION
from emberbench_dist.errors import InvalidActionError, ModelOutputError

if TYPE_CHECKING:
    from emberbench_dist.contract.observation import Observation


class Action(StrEnum):
    """One person's action of one step; north is row - 1, west is col - 1."""

    STAY = "stay"
    NORTH = "north"
    SOUTH = "south"
    EAST = "east"
    WEST = "west"


ActionValue = Action | str
ActionOutput = Mapping[str, ActionValue]

ALLOWED_ACTIONS: tuple[Action, ...] = tuple(Action)
_BY_VALUE: dict[str, Action] = {action.value: action for action in Action}
# Types are compared by identity: a foreign class may claim to equal `str`, and so may its class.
_TEXT, _ACTION = repeat(str), repeat(Action)


def read_actions(active: tuple[str, ...], output: object) -> list[Action]:
    """Return one action per person of `active`, in that order.

    The one reading of model output that the simulator and the interface share.
    Raises `InvalidActionError` unless `output` is a mapping with exactly one entry per active
    person, each an `Action` or its string value (contract: Phase order, 2).
    """
    if (
        type(output) is dict
        and len(output) == len(active)
        and all(map(is_, map(type, output), _TEXT))
        and (
            all(map(is_, map(type, output.values()), _TEXT))
            or all(map(is_, map(type, output.values()), _ACTION))
        )
    ):
        try:
            return [_BY_VALUE[output[person]] for person in active]
        except KeyError:
            pass
    return _read_slowly(active, output)


def _read_slowly(active: tuple[str, ...], output: Any) -> list[Action]:
    """Do the same for any mapping, and say what is wrong."""
    if not issubclass(type(output), Mapping):
        raise InvalidActionError(
            f"actions must be a mapping of person id to action, got {class_name(output)}"
        )
    expected = set(active)
    found: dict[str, Action] = {}
    for key, value in output.items():
        if not _is_text(key):
            raise InvalidActionError(f"person ids must be text, got {_named(key)}")
        person = str.__str__(key)
        if person not in expected:
            raise InvalidActionError(f"{shown(person)} is not an active person")
        if person in found:
            raise InvalidActionError(f"{shown(person)} has more than one action")
        found[person] = _read_action(person, value)
    for person in active:
        if person not in found:
            raise InvalidActionError(f"no action for the active person {shown(person)}")
    return [found[person] for person in active]


def _read_action(person: str, value: object) -> Action:
    action = _BY_VALUE.get(str.__str__(value)) if _is_text(value) else None
    if action is None:
        options = ", ".join(_BY_VALUE)
        raise InvalidActionError(
            f"the action of {shown(person)} must be one of {options}; got {_named(value)}"
        )
    return action


def _is_text(value: object) -> TypeGuard[str]:
    """Say whether a value is a string; unlike `isinstance`, do not ask the value."""
    return issubclass(type(value), str)


def _named(value: object) -> str:
    """Name a value of any type without running its code."""
    if value is None or type(value) in (bool, int, float):
        return shown(value)
    return shown(str.__str__(value)) if _is_text(value) else class_name(value)


def check_actions(observation: Observation, output: object) -> dict[str, Action]:
    """Check model output against the observation it answers; return a new plain dict.

    Raises `ModelOutputError` ("step <n>: ...") whose cause is the simulator's own
    `InvalidActionError` (model interface, sections 2 and 6).
    """
    return dict(zip(observation.active, check_choices(observation, output), strict=True))


def check_choices(observation: Observation, output: object) -> list[Action]:
    """Do as `check_actions`; return one action per active person, in id order."""
    try:
        choices = read_actions(observation.active, output)
        if observation.allowed_actions is not ALLOWED_ACTIONS:
            _require_allowed(observation, choices)
    except InvalidActionError as error:
        raise ModelOutputError(f"step {observation.step}: {error}") from error
    return choices


def _require_allowed(observation: Observation, choices: list[Action]) -> None:
    for person, action in zip(observation.active, choices, strict=True):
        if action not in observation.allowed_actions:
            raise InvalidActionError(f"{action.value!r} is not allowed here ({shown(person)})")


def serialize_actions(observation: Observation, output: object) -> str:
    """Return the canonical payload of one step of model output, checked first (section 8)."""
    return canonical_json(
        {
            "action_schema_version": ACTION_SCHEMA_VERSION,
            "actions": check_actions(observation, output),
            "step": observation.step,
        }
    )


def parse_actions(observation: Observation, text: str | bytes) -> dict[str, Action]:
    """Parse a payload that answers `observation`; return a new plain dict (section 8).

    Raises `ModelOutputError` ("step <n>: ...") unless the text is the canonical payload for
    exactly this step and these active people.
    """

    def refuse(rule: str) -> NoReturn:
        raise ModelOutputError(f"step {observation.step}: action payload {rule}")

    if not isinstance(text, str | bytes):
        refuse(f"must be text, got {class_name(text)}")
    try:
        payload: Any = parse_json(text)
    except ValueError as error:
        refuse(str(error))
    node = Node(payload, f"step {observation.step}: action payload", ModelOutputError)
    version, actions, step = node.members("action_schema_version", "actions", "step")
    version.choice((ACTION_SCHEMA_VERSION,))
    if type(step.value) is not int or step.value != observation.step:
        step.fail(f"must be {observation.step}, got {shown(step.value)}")
    for _, action in actions.entries():
        action.text()
    checked = check_actions(observation, actions.value)
    plain = text if isinstance(text, str) else text.decode()
    if serialize_actions(observation, checked) != plain:
        refuse("is not in canonical form (sorted keys, no white space, ASCII only)")
    return checked
