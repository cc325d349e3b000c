"""The formats of an evaluation, written plainly: what the evaluation layer is tested against.

Everything is counted anew from run record documents; it imports nothing of the package.
"""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from typing import Any

CODES = {"stay": ".", "north": "n", "south": "s", "east": "e", "west": "w"}
OUTCOMES = (
    *("moved", "stayed", "blocked_boundary", "blocked_wall"),
    *("blocked_fire", "blocked_occupied", "blocked_conflict", "blocked_cycle"),
)


def canonical(value: Any) -> bytes:
    """Return canonical JSON."""
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )
    return text.encode()


def digest(data: bytes) -> str:
    """Return the SHA-256, in lower-case hex."""
    return hashlib.sha256(data).hexdigest()


def manifest_hash(document: dict[str, Any]) -> str:
    """Return the hash of a manifest document."""
    kept = json.loads(json.dumps(document))
    del kept["description"]
    for entry in kept["scenarios"]:
        del entry["path"]
    return digest(canonical(kept))


def planned(document: dict[str, Any]) -> list[tuple[str, int]]:
    """Return (scenario id, seed) of every episode of a manifest document, in order."""
    episodes = []
    for block in document["blocks"]:
        seeds = block["seeds"]
        if isinstance(seeds, dict):
            seeds = [seeds["first"] + offset for offset in range(seeds["count"])]
        episodes += [(block["scenario_id"], seed) for seed in seeds]
    return episodes


def ratio(numerator: int, denominator: int) -> float | None:
    """Return the nearest float, None where there is nothing to divide by."""
    return float(Fraction(numerator, denominator)) if denominator else None


def metrics(record: dict[str, Any]) -> dict[str, Any]:
    """Return the metrics of a run record."""
    steps = record["steps"]
    states = [record["initial_state"], *(step["state"] for step in steps)]
    end = states[-1]
    statuses = [person["status"] for person in end["people"]]
    causes = [casualty["cause"] for step in steps for casualty in step["casualties"]]
    outcomes = [movement["outcome"] for step in steps for movement in step["movements"]]
    leaving = [step["step"] for step in steps for _ in step["evacuations"]]
    people = len(statuses)
    return {
        "people": people,
        "evacuated": statuses.count("evacuated"),
        "casualties": statuses.count("casualty"),
        "casualties_entered_fire": causes.count("entered_fire"),
        "casualties_fire_spread": causes.count("fire_spread"),
        "unresolved": statuses.count("active"),
        "trapped_at_end": len(end["trapped"]),
        "ever_trapped": len({person for state in states for person in state["trapped"]}),
        "steps": len(steps),
        "person_steps": sum(len(step["actions"]) for step in steps),
        **{outcome: outcomes.count(outcome) for outcome in OUTCOMES},
        "burned_cells": len(end["burning"]),
        "last_evacuation_step": leaving[-1] if leaving else None,
        "evacuation_rate": ratio(statuses.count("evacuated"), people),
        "casualty_rate": ratio(statuses.count("casualty"), people),
        "mean_evacuation_step": ratio(sum(leaving), len(leaving)),
    }


def people(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the `people` entries of a run record."""
    entries = {
        person["id"]: {**person, "step": None, "exit": None, "cause": None}
        for person in record["steps"][-1]["state"]["people"]
    }
    for step in record["steps"]:
        for event in step["evacuations"] + step["casualties"]:
            entries[event["id"]] |= {**event, "step": step["step"]}
    return [entries[name] for name in sorted(entries)]


def trace(record: dict[str, Any]) -> list[str]:
    """Return the actions of a run record as trace codes."""
    return [
        "".join(CODES[step["actions"][person]] for person in sorted(step["actions"]))
        for step in record["steps"]
    ]


def episode_line(index: int, record: dict[str, Any]) -> dict[str, Any]:
    """Return the artifact's line of an episode, as a document."""
    end = record["steps"][-1]["state"]
    return {
        "kind": "episode",
        "episode": index,
        "scenario_id": record["header"]["scenario_id"],
        "scenario_hash": record["header"]["scenario_hash"],
        "seed": record["header"]["seed"],
        "termination_reason": end["termination_reason"],
        "metrics": metrics(record),
        "people": people(record),
        "trace_sha256": digest(canonical({"actions": trace(record)})),
        "final_state_sha256": digest(canonical(end)),
    }


def totals(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the footer's totals of the metrics of several episodes."""
    names = [
        *("people", "evacuated", "casualties", "casualties_entered_fire"),
        *("casualties_fire_spread", "unresolved", "trapped_at_end", "ever_trapped"),
        *("steps", "person_steps", *OUTCOMES, "burned_cells"),
    ]
    sums = {name: sum(metric[name] for metric in found) for name in names}
    rates = sum(Fraction(metric["evacuation_rate"]) for metric in found)
    return {
        **sums,
        "evacuation_rate": ratio(sums["evacuated"], sums["people"]),
        "mean_episode_evacuation_rate": float(rates) / len(found) if found else None,
    }


def artifact(document: dict[str, Any], records: list[dict[str, Any]]) -> bytes:
    """Return the artifact of a manifest document whose first episodes are `records`."""
    episodes = len(planned(document))
    header = {
        "kind": "header",
        "artifact_version": "1.0",
        "manifest_id": document["manifest_id"],
        "manifest_hash": manifest_hash(document),
        "episodes": episodes,
        "schema_version": "1.0",
        "simulator_version": "0.2.0",
        "observation_version": "1.0",
        "metrics_version": "1.0",
    }
    lines = [episode_line(index, record) for index, record in enumerate(records)]
    body = b"".join(canonical(line) + b"\n" for line in (header, *lines))
    footer = {
        "kind": "footer",
        "body_sha256": digest(body),
        "committed": len(records),
        "complete": len(records) == episodes,
        "totals": totals([line["metrics"] for line in lines]),
    }
    return body + canonical(footer) + b"\n"


def traces(records: list[dict[str, Any]]) -> bytes:
    """Return the traces file of some episodes."""
    return b"".join(
        canonical({"actions": trace(record), "episode": index}) + b"\n"
        for index, record in enumerate(records)
    )
