"""Write the built-in suite: every scenario file and both manifests, the same bytes each time.

With `--check`, compare with what is there instead, and name the first difference.
"""

from __future__ import annotations

import argparse
import sys
from itertools import zip_longest
from pathlib import Path
from typing import Any

from suite_places import Place, places

from emberbench_dist.authoring.drawing import document
from emberbench_dist.authoring.page import page
from emberbench_dist.authoring.plan import manifest_document, manifest_page
from emberbench_dist.contract.observation import Rules
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
        place.name: scenario_of(place, number) for number, place in enumerate(places(), start=1)
    }
    files = {path_of(item): page(item.to_dict()) for item in scenarios.values()}
    files["public-v1.json"] = manifest(
        "public-v1",
        "The public suite: places from a corridor of five cells to a trade fair of 64 by 64, "
        "each under twenty seeds.",
        {name: PUBLIC_EXCEPTIONS.get(name, PUBLIC_SEEDS) for name in scenarios},
        scenarios,
    )
    files["smoke-v1.json"] = manifest(
        "smoke-v1",
        "A few small places of the public suite, to try an agent or an installation in a moment.",
        SMOKE_SEEDS,
        scenarios,
    )
    return files


def path_of(scenario: Scenario) -> str:
    """Return where a scenario's file is, from the manifests' folder."""
    return f"scenarios/{scenario.scenario_id}.json"


def scenario_of(place: Place, number: int) -> Scenario:
    """Return the scenario of a place."""
    rows = place.drawing.split()
    rules = Rules(
        fire_model="deterministic" if place.probability is None else "stochastic",
        spread_interval=place.interval,
        spread_probability=place.probability,
        exits_flammable=place.exits_flammable,
        enter_fire=place.enter_fire,
        conflict_resolution="lowest_id_wins",
        max_steps=place.max_steps,
    )
    name = f"{place.name}-{len(rows[0])}x{len(rows)}"
    return parse_scenario(
        document(rows, rules, scenario_id=name, description=place.description, seed=number),
        source=place.name,
    )


def manifest(
    name: str, description: str, seeds: dict[str, Any], scenarios: dict[str, Scenario]
) -> str:
    """Return the manifest of one block for each place in `seeds`."""
    blocks = [(scenarios[place].scenario_id, chosen) for place, chosen in seeds.items()]
    listed = {path_of(scenarios[place]): scenarios[place] for place in seeds}
    return manifest_page(manifest_document(name, description, listed, blocks))
