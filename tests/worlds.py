"""Worlds for tests: drawn as text, or random from a seed; standard library and package only."""

from __future__ import annotations

import random
from typing import Any

from emberbench_dist.contract.scenario import Scenario, parse_scenario
from emberbench_dist.simulator.simulator import Simulator

ARROWS = {".": "stay", "^": "north", "v": "south", ">": "east", "<": "west"}


def document(
    drawing: str,
    *,
    probability: float | None = None,
    interval: int = 1,
    exits_flammable: bool = True,
    enter_fire: str = "casualty",
    max_steps: int = 100,
    scenario_id: str = "drawn",
) -> dict[str, Any]:
    """Return the scenario document of a drawing.

    A line is a row, a word is a cell: `.` floor, `#` wall, `*` fire, `E...` an exit,
    `E...*` an exit that burns, anything else a person's id. Without a `probability` the fire
    is deterministic.
    """
    rows = [line.split() for line in drawing.strip().splitlines()]
    assert len({len(row) for row in rows}) == 1, "the rows of a drawing are equally long"
    cells = [(word, [i, j]) for i, row in enumerate(rows) for j, word in enumerate(row)]
    exits = [_placed(word.rstrip("*"), at) for word, at in cells if word.startswith("E")]
    people = [_placed(word, at) for word, at in cells if word[0] not in ".#*E"]
    return {
        "schema_version": "1.0",
        "scenario_id": scenario_id,
        "description": "",
        "development_seed": 0,
        "map": {
            "width": len(rows[0]),
            "height": len(rows),
            "obstacles": [at for word, at in cells if word == "#"],
            "exits": exits,
        },
        "people": people,
        "fire": {
            "model": "deterministic" if probability is None else "stochastic",
            "ignitions": [at for word, at in cells if word.endswith("*")],
            "spread_interval": interval,
            "spread_probability": probability,
            "exits_flammable": exits_flammable,
        },
        "movement": {"enter_fire": enter_fire, "conflict_resolution": "lowest_id_wins"},
        "termination": {"max_steps": max_steps},
    }


def _placed(id: str, position: list[int]) -> dict[str, Any]:
    return {"id": id, "position": position}


def scenario(drawing: str, **rules: Any) -> Scenario:
    """Return the scenario of a drawing."""
    return parse_scenario(document(drawing, **rules))


def simulator(drawing: str, seed: int = 1, **rules: Any) -> Simulator:
    """Return a simulator at step 0 of a drawing."""
    return Simulator(scenario(drawing, **rules), seed)


def actions(text: str) -> dict[str, str]:
    """Read `a> b.` as: a goes east, b stays (`^ v < >` and `.`)."""
    return {word[:-1]: ARROWS[word[-1]] for word in text.split()}


def random_document(
    rng: random.Random,
    size: int,
    people: int,
    *,
    probability: float | None = 0.3,
    interval: int = 1,
    enter_fire: str = "casualty",
    max_steps: int = 60,
) -> dict[str, Any]:
    """Return a square world: one cell in five a wall, four exits, one fire, people anywhere."""
    cells = [[row, col] for row in range(size) for col in range(size)]
    rng.shuffle(cells)
    walls, free = cells[: len(cells) // 5], cells[len(cells) // 5 :]
    world = document("E x", probability=probability, interval=interval, enter_fire=enter_fire)
    exits = [_placed(f"E{index}", cell) for index, cell in enumerate(free[:4])]
    world["map"] = {"width": size, "height": size, "obstacles": walls, "exits": exits}
    world["fire"]["ignitions"] = free[4:5]
    world["people"] = [_placed(f"P{index}", cell) for index, cell in enumerate(free[5:][:people])]
    world["termination"] = {"max_steps": max_steps}
    return world


def random_actions(rng: random.Random, active: tuple[str, ...]) -> dict[str, str]:
    """Return any action for each of these people."""
    return {person: rng.choice(tuple(ARROWS.values())) for person in active}
