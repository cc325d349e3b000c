"""The small episodes on which an agent is checked: each has something that agents trip over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from emberbench_dist.contract.scenario import Scenario, parse_scenario


@dataclass(frozen=True, slots=True)
class Trial:
    """A small episode, and what it is there for."""

    name: str
    purpose: str
    scenario: Scenario
    seed: int = 1


def _scenario(
    name: str,
    rows: list[str],
    people: list[str],
    *,
    probability: float | None = None,
    interval: int = 1,
    enter_fire: str = "casualty",
    max_steps: int,
) -> Scenario:
    """Read a drawing: `.` floor, `#` wall, `*` fire, `E` an exit, `a`, `b`, ... the `people`."""
    cells = [(mark, [row, col]) for row, line in enumerate(rows) for col, mark in enumerate(line)]
    exits = [place for mark, place in cells if mark == "E"]
    places = [place for mark, place in sorted(cells) if mark.islower()]
    document: dict[str, Any] = {
        "schema_version": "1.0",
        "scenario_id": name,
        "description": "",
        "development_seed": 0,
        "map": {
            "width": len(rows[0]),
            "height": len(rows),
            "obstacles": [place for mark, place in cells if mark == "#"],
            "exits": [{"id": f"E{n}", "position": place} for n, place in enumerate(exits, 1)],
        },
        "people": [{"id": id, "position": place} for id, place in zip(people, places, strict=True)],
        "fire": {
            "model": "deterministic" if probability is None else "stochastic",
            "ignitions": [place for mark, place in cells if mark == "*"],
            "spread_interval": interval,
            "spread_probability": probability,
            "exits_flammable": True,
        },
        "movement": {"enter_fire": enter_fire, "conflict_resolution": "lowest_id_wins"},
        "termination": {"max_steps": max_steps},
    }
    return parse_scenario(document, source=f"trial {name}")


# Nobody knows how an agent plays, so what must happen does whatever it does: P3 of the first is
# lost in step 1 while P4 plays on, and on the islands every move leads out.
TRIALS = (
    Trial(
        "busy-room",
        "people leave and one is lost midway, another is walled in for good",
        _scenario(
            "busy-room",
            ["E.a..bE", "#######", "*c#d..."],
            ["P1", "P2", "P3", "P4"],
            max_steps=8,
        ),
    ),
    Trial(
        "one-person",
        "the smallest map with one person, without fire",
        _scenario("one-person", ["aE"], ["P1"], max_steps=3),
    ),
    Trial(
        "islands",
        "every move leaves by an exit, so the active people become fewer",
        _scenario("islands", ["#E#E#E#", "EaEbEcE", "#E#E#E#"], ["P1", "P2", "P3"], max_steps=4),
    ),
    Trial(
        "spreading-fire",
        "fire that spreads by chance and blocks, under the largest seed",
        _scenario(
            "spreading-fire",
            ["..a.E", ".*.b.", "c...#"],
            ["P1", "P2", "P3"],
            probability=0.5,
            enter_fire="blocked",
            max_steps=8,
        ),
        seed=2**64 - 1,
    ),
    Trial(
        "burning-exit",
        "the only exit burns, the person is trapped and then lost",
        _scenario("burning-exit", ["E*.a.."], ["P1"], interval=2, max_steps=10),
    ),
    Trial(
        "unusual-ids",
        "ids with quotes, spaces, other scripts, and that look like something else",
        _scenario(
            "unusual-ids",
            ["a.b.c", "..E..", "d.e.f"],
            ['Zoë "Z" O\'Neil', "人", "P 1", "null", "0", "\\n"],
            max_steps=4,
        ),
    ),
    Trial(
        "too-short",
        "the steps are over before anybody can be out",
        _scenario("too-short", ["a...E", "b...E"], ["P2", "P10"], max_steps=2),
    ),
)
