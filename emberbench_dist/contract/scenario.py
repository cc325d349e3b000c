"""The scenario: a world without a seed, checked rule by rule and normalised."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from emberbench_dist.contract.canonical import canonical_json, parse_json, sha256_hex
from emberbench_dist.contract.document import MAX_SIDE, Node, Position
from emberbench_dist.contract.observation import (
    CONFLICT_RESOLUTIONS,
    ENTER_FIRE,
    FIRE_MODELS,
    Exit,
    GridMap,
    Rules,
)
from emberbench_dist.contract.survey import Survey
from emberbench_dist.contract.versions import SCENARIO_SCHEMA_VERSION
from emberbench_dist.errors import ScenarioError

SCENARIO_ID = r"[A-Za-z0-9._-]{1,128}"
MAX_SEED = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Person:
    """A person at the start."""

    id: str
    position: Position


@dataclass(frozen=True, eq=False)
class Scenario:
    """A checked, normalised scenario document; equal when the normalised documents are."""

    scenario_id: str
    description: str
    development_seed: int
    map: GridMap
    people: tuple[Person, ...]
    ignitions: tuple[Position, ...]
    rules: Rules

    @cached_property
    def scenario_hash(self) -> str:
        """Return the hash of the normalised document, all keys included."""
        return sha256_hex(canonical_json(self.to_dict()))

    def __eq__(self, other: object) -> bool:
        """Compare by content."""
        return isinstance(other, Scenario) and self.scenario_hash == other.scenario_hash

    def __hash__(self) -> int:
        """Hash by content."""
        return hash(self.scenario_hash)

    def to_dict(self) -> dict[str, Any]:
        """Return the normalised document."""
        rules = self.rules
        return {
            "schema_version": SCENARIO_SCHEMA_VERSION,
            "scenario_id": self.scenario_id,
            "description": self.description,
            "development_seed": self.development_seed,
            "map": self.map.to_dict(),
            "people": [
                {"id": person.id, "position": list(person.position)} for person in self.people
            ],
            "fire": {
                "model": rules.fire_model,
                "ignitions": [list(position) for position in self.ignitions],
                "spread_interval": rules.spread_interval,
                "spread_probability": rules.spread_probability,
                "exits_flammable": rules.exits_flammable,
            },
            "movement": {
                "enter_fire": rules.enter_fire,
                "conflict_resolution": rules.conflict_resolution,
            },
            "termination": {"max_steps": rules.max_steps},
        }


def load_scenario(path: str | Path) -> Scenario:
    """Read a scenario file; `ScenarioError` names the file, the place in it and the rule."""
    return parse_scenario(read_document(path), source=str(path))


def read_document(path: str | Path) -> Any:
    """Return the JSON value of a scenario file; `ScenarioError` where there is none."""
    try:
        return parse_json(Path(path).read_bytes())
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ScenarioError(f"{path}: {error}") from error


def parse_scenario(document: dict[str, Any], *, source: str = "scenario") -> Scenario:
    """Check a parsed scenario document against every rule; return it normalised."""
    return _parse(Node(document, source, ScenarioError))


def broken_rules(document: object) -> list[str]:
    """Return every rule that a parsed document breaks, each with its place; empty for a scenario.

    They are found by the one reader of scenarios, with nothing after a broken value blamed on it.
    """
    survey = Survey.of(document)
    _parse(survey)
    return survey.findings


def _parse(root: Node) -> Scenario:
    version, name, description, seed, grid, people, fire, movement, termination = root.members(
        "schema_version",
        "scenario_id",
        "description",
        "development_seed",
        "map",
        "people",
        "fire",
        "movement",
        "termination",
    )
    version.choice((SCENARIO_SCHEMA_VERSION,))
    world = _parse_map(grid)
    ignitions, rules = _parse_rules(fire, movement, termination, world)
    return Scenario(
        scenario_id=name.match(SCENARIO_ID),
        description=description.text(),
        development_seed=seed.integer(0, MAX_SEED),
        map=world,
        people=_parse_people(people, world, ignitions),
        ignitions=ignitions,
        rules=rules,
    )


def _parse_map(node: Node) -> GridMap:
    width_node, height_node, obstacle_list, exit_list = node.members(
        "width", "height", "obstacles", "exits"
    )
    width, height = width_node.integer(1, MAX_SIDE), height_node.integer(1, MAX_SIDE)
    obstacles = obstacle_list.positions(width, height)
    placed = _parse_placed(exit_list, width, height, {"an obstacle": set(obstacles)})
    return GridMap(width, height, obstacles, tuple(Exit(*item) for item in placed))


def _parse_people(
    node: Node, world: GridMap, ignitions: tuple[Position, ...]
) -> tuple[Person, ...]:
    taken = {
        "an obstacle": set(world.obstacles),
        "an exit": {exit.position for exit in world.exits},
        "an ignition cell": set(ignitions),
    }
    placed = _parse_placed(node, world.width, world.height, taken)
    return tuple(Person(*item) for item in placed)


def _parse_placed(
    node: Node, width: int, height: int, taken: Mapping[str, Collection[Position]]
) -> list[tuple[str, Position]]:
    """Read a list of {id, position}, away from the `taken` cells; return it by id."""
    names, positions = [], []
    for item in node.items(least=1):
        name, place = item.members("id", "position")
        position = place.position(width, height)
        for what, cells in taken.items():
            if position in cells:
                place.breaks(f"{list(position)} is on {what}")
        names.append(name.identifier())
        positions.append(position)
    node.unique(names, "id")
    node.unique(positions)
    return sorted(zip(names, positions, strict=True))


def _parse_rules(
    fire: Node, movement: Node, termination: Node, world: GridMap
) -> tuple[tuple[Position, ...], Rules]:
    model_node, ignition_list, interval, probability, flammable_node = fire.members(
        "model", "ignitions", "spread_interval", "spread_probability", "exits_flammable"
    )
    enter_fire, conflict_resolution = movement.members("enter_fire", "conflict_resolution")
    (max_steps,) = termination.members("max_steps")
    model, flammable = model_node.choice(FIRE_MODELS), flammable_node.boolean()
    rules = Rules(
        fire_model=model,
        spread_interval=interval.integer(1),
        spread_probability=_parse_probability(probability, model),
        exits_flammable=flammable,
        enter_fire=enter_fire.choice(ENTER_FIRE),
        conflict_resolution=conflict_resolution.choice(CONFLICT_RESOLUTIONS),
        max_steps=max_steps.integer(1),
    )
    return _parse_ignitions(ignition_list, world, flammable=flammable), rules


def _parse_probability(node: Node, model: str) -> float | None:
    if model == "deterministic":
        if node.value is not None:
            node.breaks("must be null for the deterministic model")
        return None
    if node.value is None and model != "stochastic":  # a survey, to which the model is unknown
        return None
    return node.probability()


def _parse_ignitions(node: Node, world: GridMap, *, flammable: bool) -> tuple[Position, ...]:
    positions = node.positions(world.width, world.height)
    walls = set(world.obstacles)
    exits = {exit.position for exit in world.exits}
    for item in node.items():
        position = item.position(world.width, world.height)
        if position in walls:
            item.breaks(f"{list(position)} is on an obstacle")
        if position in exits and not flammable:
            item.breaks(f"{list(position)} is on an exit, and exits_flammable is false")
    return positions
