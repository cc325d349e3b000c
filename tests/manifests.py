"""Functions that write manifests, and the agents that worker processes import by SPEC."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from emberbench_dist.contract.scenario import parse_scenario


def hall(scenario_id: str, width: int = 6, *, people: int = 3, steps: int = 12) -> dict[str, Any]:
    """Return a hall of `width` x 4 with one exit, one fire and some people."""
    places = [[row, col] for col in range(width - 2) for row in range(4)]
    return {
        "schema_version": "1.0",
        "scenario_id": scenario_id,
        "description": "A hall.",
        "development_seed": 1,
        "map": {
            "width": width,
            "height": 4,
            "obstacles": [[1, width - 2]],
            "exits": [{"id": "E1", "position": [0, width - 1]}],
        },
        "people": [
            {"id": f"P{number}", "position": place}
            for number, place in enumerate(places[1 : people + 1])
        ],
        "fire": {
            "model": "stochastic",
            "ignitions": [[3, width - 1]],
            "spread_interval": 1,
            "spread_probability": 0.3,
            "exits_flammable": True,
        },
        "movement": {"enter_fire": "casualty", "conflict_resolution": "lowest_id_wins"},
        "termination": {"max_steps": steps},
    }


def write_manifest(folder: Path, blocks: list[tuple[dict[str, Any], Any]]) -> Path:
    """Write scenarios and a manifest of (scenario document, seeds) blocks; return its path."""
    (folder / "scenarios").mkdir(parents=True, exist_ok=True)
    entries = {}
    for document, _ in blocks:
        name = document["scenario_id"]
        path = folder / "scenarios" / f"{name}.json"
        path.write_text(json.dumps(document))
        entries[name] = {
            "scenario_id": name,
            "scenario_hash": parse_scenario(document).scenario_hash,
            "path": f"scenarios/{name}.json",
        }
    manifest = {
        "manifest_version": "1.0",
        "manifest_id": "test",
        "description": "Made by a test.",
        "simulator_version": "0.2.0",
        "observation_version": "1.0",
        "metrics_version": "1.0",
        "scenarios": list(entries.values()),
        "blocks": [
            {"scenario_id": document["scenario_id"], "seeds": seeds} for document, seeds in blocks
        ],
    }
    path = folder / "manifest.json"
    path.write_text(json.dumps(manifest))
    return path
