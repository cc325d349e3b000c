"""Hypothesis strategies for values of the contract."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

FLOOR, WALL, FIRE, EXIT, BURNING_EXIT, PERSON = ".", "#", "*", "E", "B", "P"

seeds = st.integers(0, 2**64 - 1)
probabilities = st.sampled_from([0.0, 0.3, 0.5, 1.0]) | st.floats(0, 1)
# Ids that sort unlike numbers, unlike lower case, and beyond ASCII; else any that are allowed.
identifiers = st.sampled_from(["P1", "P10", "P2", "p1", "a b", '"', "é", "Ж", "\U0001f600"]) | (
    st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=64)
)
action_values = st.sampled_from(["stay", "north", "south", "east", "west"])


@st.composite
def scenario_documents(draw: st.DrawFn, *, max_side: int = 9, max_limit: int = 8) -> dict[str, Any]:
    """Draw a valid scenario document of 2 to `max_side`**2 cells, its lists in any order."""
    flammable = draw(st.booleans())
    width, cells = draw(_layouts(max_side))
    if not flammable:
        cells = [EXIT if kind == BURNING_EXIT else kind for kind in cells]
    places: dict[str, list[list[int]]] = {kind: [] for kind in (WALL, FIRE, EXIT, PERSON)}
    for index, kind in enumerate(cells):
        for name in (EXIT, FIRE) if kind == BURNING_EXIT else (kind,):
            places.setdefault(name, []).append(list(divmod(index, width)))
    model = draw(st.sampled_from(["deterministic", "stochastic"]))
    return {
        "schema_version": "1.0",
        "scenario_id": draw(st.from_regex(r"[A-Za-z0-9._-]{1,9}", fullmatch=True)),
        "description": draw(st.text(max_size=9)),
        "development_seed": draw(seeds),
        "map": {
            "width": width,
            "height": len(cells) // width,
            "obstacles": places[WALL],
            "exits": draw(_placed(places[EXIT])),
        },
        "people": draw(_placed(places[PERSON])),
        "fire": {
            "model": model,
            "ignitions": draw(st.permutations(places[FIRE])),
            "spread_interval": draw(st.integers(1, 4)),
            "spread_probability": draw(probabilities) if model == "stochastic" else None,
            "exits_flammable": flammable,
        },
        "movement": {
            "enter_fire": draw(st.sampled_from(["blocked", "casualty"])),
            "conflict_resolution": "lowest_id_wins",
        },
        "termination": {"max_steps": draw(st.integers(1, max_limit))},
    }


@st.composite
def _layouts(draw: st.DrawFn, max_side: int) -> tuple[int, list[str]]:
    """Draw a width and one kind per cell, row-major, with at least one exit and one person."""
    width = draw(st.integers(1, max_side))
    height = draw(st.integers(1 if width > 1 else 2, max_side))
    kind = st.sampled_from([FLOOR] * 6 + [PERSON] * 4 + [WALL] * 2 + [EXIT, BURNING_EXIT, FIRE])
    cells = draw(st.lists(kind, min_size=width * height, max_size=width * height))
    exit_at, person_at = draw(
        st.lists(st.integers(0, len(cells) - 1), min_size=2, max_size=2, unique=True)
    )
    cells[person_at] = PERSON
    if EXIT not in cells and BURNING_EXIT not in cells:
        cells[exit_at] = EXIT
    return width, cells


@st.composite
def _placed(draw: st.DrawFn, positions: list[list[int]]) -> list[dict[str, Any]]:
    """Give each position an id of its own."""
    count = len(positions)
    names = draw(st.lists(identifiers, min_size=count, max_size=count, unique=True))
    return [
        {"id": name, "position": position} for name, position in zip(names, positions, strict=True)
    ]
