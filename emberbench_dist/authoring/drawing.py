"""A scenario as rows of characters, one a cell, and back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from emberbench_dist.contract.document import Position
from emberbench_dist.contract.observation import Exit, GridMap, Rules
from emberbench_dist.contract.scenario import Person, Scenario
from emberbench_dist.errors import MapError

WALL: Final = "#"
FLOOR: Final = "."
EXIT: Final = "E"
PERSON: Final = "P"
FIRE: Final = "*"
BURNING_EXIT: Final = "X"
MEANINGS = {
    WALL: "wall",
    FLOOR: "floor",
    EXIT: "exit",
    PERSON: "person",
    FIRE: "fire",
    BURNING_EXIT: "exit that burns from the start",
}


def read_drawing(text: str, source: str) -> list[str]:
    """Return the rows of a drawing without the blank lines around it.

    `MapError` names line and column of a character that means nothing, and of rows that are not
    equally long.
    """
    lines = [line.rstrip(" \t") for line in re.split(r"\r\n|\r|\n", text)]
    drawn = [number for number, line in enumerate(lines) if line]
    if not drawn:
        raise MapError(f"{source}: there is no drawing in it")
    first, last = drawn[0], drawn[-1]
    width = len(lines[first])
    for number, line in enumerate(lines[first : last + 1], start=first + 1):
        for column, symbol in enumerate(line, start=1):
            if symbol not in MEANINGS:
                known = ", ".join(f"{key} {meaning}" for key, meaning in MEANINGS.items())
                raise MapError(
                    f"{source}: line {number}, column {column}: {symbol!r} means nothing; "
                    f"there are {known}"
                )
        if len(line) != width:
            raise MapError(
                f"{source}: line {number}, column {min(len(line), width) + 1}: the row has "
                f"{len(line)} cells, but the first has {width}"
            )
    return lines[first : last + 1]


def document(
    rows: Sequence[str], rules: Rules, *, scenario_id: str, description: str, seed: int
) -> dict[str, Any]:
    """Return the scenario document of a drawing, not yet checked.

    Ids count in reading order, from P1 and E1. `seed` is its development seed.
    """
    cells: dict[str, list[Position]] = {symbol: [] for symbol in MEANINGS}
    for row, line in enumerate(rows):
        for col, symbol in enumerate(line):
            cells[symbol].append((row, col))
    exits = sorted(cells[EXIT] + cells[BURNING_EXIT])
    return Scenario(
        scenario_id=scenario_id,
        description=description,
        development_seed=seed,
        map=GridMap(
            width=len(rows[0]),
            height=len(rows),
            obstacles=tuple(cells[WALL]),
            exits=tuple(Exit(f"E{number}", at) for number, at in enumerate(exits, start=1)),
        ),
        people=tuple(Person(f"P{number}", at) for number, at in enumerate(cells[PERSON], start=1)),
        ignitions=tuple(sorted(cells[FIRE] + cells[BURNING_EXIT])),
        rules=rules,
    ).to_dict()


def draw(scenario: Scenario) -> list[str]:
    """Return the rows of a scenario: its drawing without ids and rules."""
    world = scenario.map
    cells = [[FLOOR] * world.width for _ in range(world.height)]
    exits = {exit.position for exit in world.exits}
    placed = [
        *((position, WALL) for position in world.obstacles),
        *((position, EXIT) for position in exits),
        *((person.position, PERSON) for person in scenario.people),
        *((at, BURNING_EXIT if at in exits else FIRE) for at in scenario.ignitions),
    ]
    for (row, col), symbol in placed:
        cells[row][col] = symbol
    return ["".join(line) for line in cells]
