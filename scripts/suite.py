"""Write the built-in suite: every scenario file and both manifests, the same bytes each time.

With `--check`, compare with what is there instead, and name the first difference.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection
from itertools import zip_longest
from pathlib import Path
from typing import Any

from suite_places import Place, places

from emberbench_dist.contract import versions
from emberbench_dist.contract.canonical import canonical_json
from emberbench_dist.contract.scenario import MAX_SEED, Scenario, parse_scenario

MANIFESTS = Path(__file__).resolve().parent.parent / "manifests"

PUBLIC_SEEDS = {"first": 1, "count": 20}
# Seeds that a float, or a signed or 32-bit integer, would spoil.
WIDE_SEEDS = [
    *range(10),
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**32,
    2**53 - 1,
    2**53 + 1,
    2**63 - 1,
    2**63,
    MAX_SEED - 1,
    MAX_SEED,
]
LAST_SEEDS = {"first": MAX_SEED - 19, "count": 20}
PUBLIC_EXCEPTIONS = {"corridor": WIDE_SEEDS, "platform": LAST_SEEDS}
SMOKE_SEEDS = {
    "corridor": [1, 2, 2**63, MAX_SEED],
    "corridor-branch": {"first": 1, "count": 4},
    "flat": {"first": 1, "count": 4},
    "rooms": {"first": 1, "count": 4},
    "lobby": {"first": 1, "count": 3},
}


def main() -> int:
    """Write or check the suite; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument("--out", type=Path, default=MANIFESTS, help="default: %(default)s")
    options = parser.parse_args()
    files = suite_files()
    if options.check:
        return check(options.out, files)
    (options.out / "scenarios").mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (options.out / name).write_bytes(text.encode())
    return 0


def check(folder: Path, files: dict[str, str]) -> int:
    """Return 1, and name the file and line, at the first difference from `files`."""
    for name, text in files.items():
        path = folder / name
        if not path.is_file():
            print(f"{path}: is missing", file=sys.stderr)
            return 1
        found = path.read_bytes()
        if found != text.encode():
            line = first_difference(found, text.encode())
            print(f"{path}: line {line} is not what the suite says", file=sys.stderr)
            return 1
    return 0


def first_difference(found: bytes, expected: bytes) -> int:
    """Return the number, from 1, of the first line that differs."""
    lines = zip_longest(found.split(b"\n"), expected.split(b"\n"))
    return next(number for number, (a, b) in enumerate(lines, start=1) if a != b)


def suite_files() -> dict[str, str]:
    """Return the text of every file of the suite under its path in the folder."""
    scenarios = {
        place.name: parse_scenario(document(place, number), source=place.name)
        for number, place in enumerate(places(), start=1)
    }
    files = {path_of(item): page(item.to_dict()) for item in scenarios.values()}
    public = manifest(
        "public-v1",
        "The public suite: places from a corridor of five cells to a trade fair of 64 by 64, "
        "each under twenty seeds.",
        {name: PUBLIC_EXCEPTIONS.get(name, PUBLIC_SEEDS) for name in scenarios},
        scenarios,
    )
    smoke = manifest(
        "smoke-v1",
        "A few small places of the public suite, to try an agent or an installation in a moment.",
        SMOKE_SEEDS,
        scenarios,
    )
    for item in (public, smoke):
        files[f"{item['manifest_id']}.json"] = page(item, spread=("blocks", "scenarios"))
    return files


def path_of(scenario: Scenario) -> str:
    """Return where a scenario's file is, from the manifests' folder."""
    return f"scenarios/{scenario.scenario_id}.json"


def document(place: Place, number: int) -> dict[str, Any]:
    """Return the scenario document of a place; ids count in reading order."""
    lines = place.drawing.split()
    cells: dict[str, list[list[int]]] = {symbol: [] for symbol in "#.EP*"}
    for row, line in enumerate(lines):
        for col, symbol in enumerate(line):
            cells[symbol].append([row, col])
    width, height = len(lines[0]), len(lines)
    return {
        "schema_version": versions.SCENARIO_SCHEMA_VERSION,
        "scenario_id": f"{place.name}-{width}x{height}",
        "description": place.description,
        "development_seed": number,
        "map": {
            "width": width,
            "height": height,
            "obstacles": cells["#"],
            "exits": numbered("E", cells["E"]),
        },
        "people": numbered("P", cells["P"]),
        "fire": {
            "model": "deterministic" if place.probability is None else "stochastic",
            "ignitions": cells["*"],
            "spread_interval": place.interval,
            "spread_probability": place.probability,
            "exits_flammable": place.exits_flammable,
        },
        "movement": {"enter_fire": place.enter_fire, "conflict_resolution": "lowest_id_wins"},
        "termination": {"max_steps": place.max_steps},
    }


def numbered(letter: str, positions: list[list[int]]) -> list[dict[str, Any]]:
    """Return placed things with ids such as P1, P2, …, P10."""
    return [
        {"id": f"{letter}{number}", "position": position}
        for number, position in enumerate(positions, start=1)
    ]


def manifest(
    name: str, description: str, seeds: dict[str, Any], scenarios: dict[str, Scenario]
) -> dict[str, Any]:
    """Return the manifest document of one block for each place in `seeds`."""
    return {
        "manifest_version": versions.MANIFEST_VERSION,
        "manifest_id": name,
        "description": description,
        "simulator_version": versions.SIMULATOR_VERSION,
        "observation_version": versions.OBSERVATION_VERSION,
        "metrics_version": versions.METRICS_VERSION,
        "scenarios": [
            {
                "scenario_id": scenarios[place].scenario_id,
                "scenario_hash": scenarios[place].scenario_hash,
                "path": path_of(scenarios[place]),
            }
            for place in seeds
        ],
        "blocks": [
            {"scenario_id": scenarios[place].scenario_id, "seeds": chosen}
            for place, chosen in seeds.items()
        ],
    }


def page(value: dict[str, Any], spread: Collection[str] = ()) -> str:
    """Return a document with one key a line, and one item a line in the lists under `spread`."""
    lines = []
    for key in sorted(value):
        text = canonical_json(value[key])
        if key in spread:
            items = ",\n  ".join(canonical_json(item) for item in value[key])
            text = f"[\n  {items}\n ]"
        lines.append(f' "{key}":{text}')
    return "{\n" + ",\n".join(lines) + "\n}\n"
