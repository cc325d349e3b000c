"""The observation: all that a decision model sees of a step, and its canonical text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from emberbench_dist.contract.actions import Action
from emberbench_dist.contract.canonical import canonical_json, parse_json
from emberbench_dist.contract.document import MAX_SIDE, Node, Position, class_name
from emberbench_dist.contract.frozen import frozen
from emberbench_dist.contract.versions import OBSERVATION_VERSION
from emberbench_dist.errors import ObservationFormatError


class Status(StrEnum):
    """Where a person stands in the evacuation; only `ACTIVE` people act."""

    ACTIVE = "active"
    EVACUATED = "evacuated"
    CASUALTY = "casualty"


FIRE_MODELS = ("deterministic", "stochastic")
ENTER_FIRE = ("blocked", "casualty")
CONFLICT_RESOLUTIONS = ("lowest_id_wins",)


@dataclass(frozen=True, slots=True)
class Exit:
    """A cell through which people leave."""

    id: str
    position: Position


@dataclass(frozen=True, slots=True)
class GridMap:
    """The static map: size in cells, walls row-major, exits by id."""

    width: int
    height: int
    obstacles: tuple[Position, ...]
    exits: tuple[Exit, ...]

    def __hash__(self) -> int:
        """Hash the cheap parts only: a map keys caches, and may have millions of walls."""
        return hash((self.width, self.height, len(self.obstacles), self.exits))

    def to_dict(self) -> dict[str, Any]:
        """Return the `map` form of scenario and observation."""
        return {
            "width": self.width,
            "height": self.height,
            "obstacles": [list(position) for position in self.obstacles],
            "exits": [{"id": exit.id, "position": list(exit.position)} for exit in self.exits],
        }


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of the episode, as far as a model may know them: all but the future."""

    fire_model: str
    spread_interval: int
    spread_probability: float | None
    exits_flammable: bool
    enter_fire: str
    conflict_resolution: str
    max_steps: int

    def to_dict(self) -> dict[str, Any]:
        """Return the `rules` form of the observation."""
        return {name: getattr(self, name) for name in _RULE_KEYS}


@frozen
class PersonView:
    """One person: id, last position and status."""

    id: str
    position: Position
    status: Status

    def to_dict(self) -> dict[str, Any]:
        """Return the `people` entry of observation and state."""
        return {"id": self.id, "position": list(self.position), "status": self.status.value}


@frozen
class Observation:
    """The model-visible state before a step; people by id, burning cells row-major."""

    step: int
    map: GridMap
    rules: Rules
    people: tuple[PersonView, ...]
    burning: tuple[Position, ...]
    allowed_actions: tuple[Action, ...]

    @property
    def active(self) -> tuple[str, ...]:
        """Return the ids of the active people, in order: exactly these need an action."""
        active = Status.ACTIVE
        return tuple([person.id for person in self.people if person.status is active])

    def to_dict(self) -> dict[str, Any]:
        """Return the dictionary form that is serialised (model interface, section 7)."""
        return {
            "observation_version": OBSERVATION_VERSION,
            "step": self.step,
            "map": self.map.to_dict(),
            "rules": self.rules.to_dict(),
            "people": [person.to_dict() for person in self.people],
            "burning": [list(position) for position in self.burning],
            "allowed_actions": [action.value for action in self.allowed_actions],
        }


_RULE_KEYS = tuple(Rules.__dataclass_fields__)


def serialize_observation(observation: Observation) -> str:
    """Return the canonical JSON text of the observation (section 7)."""
    return canonical_json(observation.to_dict())


def parse_observation(text: str | bytes) -> Observation:
    """Parse the text back; `ObservationFormatError` unless it is the canonical text."""
    if not isinstance(text, str | bytes):
        raise ObservationFormatError(f"observation: must be text, got {class_name(text)}")
    try:
        document = parse_json(text)
    except ValueError as error:
        raise ObservationFormatError(f"observation: {error}") from error
    observation = load_observation(document)
    plain = text if isinstance(text, str) else text.decode()
    if serialize_observation(observation) != plain:
        raise ObservationFormatError(
            "observation: not in canonical form (sorted keys, no white space, ASCII only)"
        )
    return observation


def load_observation(document: Any) -> Observation:
    """Build an observation from a parsed object; `ObservationFormatError` for any other shape."""
    root = Node(document, "observation", ObservationFormatError)
    actions, burning, grid, version, people, rules, step = root.members(
        "allowed_actions", "burning", "map", "observation_version", "people", "rules", "step"
    )
    version.choice((OBSERVATION_VERSION,))
    world = _load_map(grid)
    return Observation(
        step=step.integer(0),
        map=world,
        rules=_load_rules(rules),
        people=_load_people(people, world),
        burning=_canonical_positions(burning, world.width, world.height),
        allowed_actions=_load_allowed(actions),
    )


def _load_map(node: Node) -> GridMap:
    exits, height_node, obstacles, width_node = node.members(
        "exits", "height", "obstacles", "width"
    )
    width, height = width_node.integer(1, MAX_SIDE), height_node.integer(1, MAX_SIDE)
    found = []
    for item in exits.items(least=1):
        name, position = item.members("id", "position")
        found.append(Exit(name.identifier(), position.position(width, height)))
    _require_order(exits, [exit.id for exit in found])
    exits.unique([exit.position for exit in found])
    return GridMap(width, height, _canonical_positions(obstacles, width, height), tuple(found))


def _load_rules(node: Node) -> Rules:
    model, interval, probability, flammable, enter, conflict, limit = node.members(*_RULE_KEYS)
    fire_model = model.choice(FIRE_MODELS)
    if fire_model == "deterministic" and probability.value is not None:
        probability.fail("must be null for the deterministic model")
    return Rules(
        fire_model=fire_model,
        spread_interval=interval.integer(1),
        spread_probability=(
            None if fire_model == "deterministic" else probability.probability(exact=True)
        ),
        exits_flammable=flammable.boolean(),
        enter_fire=enter.choice(ENTER_FIRE),
        conflict_resolution=conflict.choice(CONFLICT_RESOLUTIONS),
        max_steps=limit.integer(1),
    )


def _load_people(node: Node, world: GridMap) -> tuple[PersonView, ...]:
    found = []
    for item in node.items(least=1):
        name, position, status = item.members("id", "position", "status")
        found.append(
            PersonView(
                name.identifier(),
                position.position(world.width, world.height),
                Status(status.choice(tuple(Status))),
            )
        )
    _require_order(node, [person.id for person in found])
    return tuple(found)


def _load_allowed(node: Node) -> tuple[Action, ...]:
    found = [Action(item.choice(tuple(Action))) for item in node.items(least=1)]
    _require_order(node, [list(Action).index(action) for action in found])
    return tuple(found)


def _canonical_positions(node: Node, width: int, height: int) -> tuple[Position, ...]:
    found = [item.position(width, height) for item in node.items()]
    _require_order(node, found)
    return tuple(found)


def _require_order(node: Node, keys: list[Any]) -> None:
    for index in range(1, len(keys)):
        if not keys[index - 1] < keys[index]:
            node.at(index).fail("is out of canonical order, or here twice")
