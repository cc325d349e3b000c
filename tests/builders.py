"""Plain functions that build the documents and values which many tests start from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from functools import reduce
from operator import getitem
from typing import Any

from hypothesis import strategies as st

from emberbench_dist.contract.actions import ALLOWED_ACTIONS, Action
from emberbench_dist.contract.observation import (
    Exit,
    GridMap,
    Observation,
    PersonView,
    Rules,
    Status,
)

REMOVED = object()

CORRIDOR_TEXT = """
{"schema_version":"1.0","scenario_id":"corridor-5x1","description":"One corridor, one exit.",
 "development_seed":7,
 "map":{"width":5,"height":1,"obstacles":[],"exits":[{"id":"E1","position":[0,4]}]},
 "people":[{"id":"Pa","position":[0,0]}],
 "fire":{"model":"stochastic","ignitions":[[0,3]],"spread_interval":1,"spread_probability":0.5,"exits_flammable":true},
 "movement":{"enter_fire":"casualty","conflict_resolution":"lowest_id_wins"},
 "termination":{"max_steps":100}}
"""

OBSERVATION_TEXT = (
    '{"allowed_actions":["stay","north","south","east","west"],"burning":[[0,3]],'
    '"map":{"exits":[{"id":"E1","position":[0,4]}],"height":1,"obstacles":[],"width":5},'
    '"observation_version":"1.0",'
    '"people":[{"id":"Pa","position":[0,0],"status":"active"}],'
    '"rules":{"conflict_resolution":"lowest_id_wins","enter_fire":"casualty",'
    '"exits_flammable":true,"fire_model":"deterministic","max_steps":100,'
    '"spread_interval":1,"spread_probability":null},"step":0}'
)


def corridor() -> dict[str, Any]:
    """Return the scenario document that the contract shows, fresh."""
    return json.loads(CORRIDOR_TEXT)


def crossroads() -> dict[str, Any]:
    """Return a 5x5 scenario document with several of everything, its lists out of order."""
    document = corridor()
    document["scenario_id"] = "crossroads-5x5"
    document["map"] = {
        "width": 5,
        "height": 5,
        "obstacles": [[3, 1], [1, 3], [1, 1]],
        "exits": [
            {"id": "E2", "position": [0, 2]},
            {"id": "E10", "position": [4, 2]},
            {"id": "E1", "position": [2, 4]},
        ],
    }
    document["people"] = [
        {"id": "P2", "position": [2, 1]},
        {"id": "Pé", "position": [2, 3]},
        {"id": "P10", "position": [3, 3]},
    ]
    document["fire"]["ignitions"] = [[4, 0], [0, 4], [0, 0]]
    return document


def observation_document() -> dict[str, Any]:
    """Return the observation that the model interface shows, as a fresh document."""
    return json.loads(OBSERVATION_TEXT)


def observation(
    *active: str,
    evacuated: tuple[str, ...] = (),
    casualties: tuple[str, ...] = (),
    step: int = 3,
    allowed_actions: tuple[Action, ...] = ALLOWED_ACTIONS,
) -> Observation:
    """Return an observation of these people, side by side in one row under a row of exits."""
    statuses = {
        **dict.fromkeys(active, Status.ACTIVE),
        **dict.fromkeys(evacuated, Status.EVACUATED),
        **dict.fromkeys(casualties, Status.CASUALTY),
    }
    people = [
        PersonView(name, (1, col), statuses[name]) for col, name in enumerate(sorted(statuses))
    ]
    return Observation(
        step=step,
        map=GridMap(max(len(people), 1), 2, (), (Exit("E1", (0, 0)),)),
        rules=Rules("deterministic", 1, None, True, "casualty", "lowest_id_wins", 100),
        people=tuple(people),
        burning=(),
        allowed_actions=allowed_actions,
    )


def edited(document: Any, place: str, value: Any) -> Any:
    """Return a copy with `value` at a place such as `map.exits.0.id`; `REMOVED` deletes it."""
    if not place:
        return value
    *above, last = _keys(place)
    copy = deepcopy(document)
    parent = reduce(getitem, above, copy)
    if value is REMOVED:
        del parent[last]
    else:
        parent[last] = value
    return copy


def places(document: Any, above: str = "") -> Iterator[str]:
    """Yield every place of a document in the notation of `edited`, the root (`""`) first."""
    yield above
    if not isinstance(document, dict | list):
        return
    members = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in members:
        yield from places(value, f"{above}.{key}" if above else str(key))


def json_path(place: str) -> str:
    """Return a place of `edited` in the notation of error messages: `$.map.exits[0].id`."""
    keys = place.split(".") if place else []
    return "$" + "".join(f"[{key}]" if key.isdigit() else f".{key}" for key in keys)


def violations(places: list[str], values: list[Any], rule: str) -> list[tuple[str, Any, str, str]]:
    """Return table rows (place, value, path of the error, rule): each value at each place."""
    return [(place, value, json_path(place), rule) for place in places for value in values]


def absences(document: Any, objects: list[str]) -> list[tuple[str, Any, str, str]]:
    """Return the same rows for each key that could miss, or be too many, in these objects."""
    rows = []
    for place in objects:
        members = reduce(getitem, _keys(place), document)
        rows += [
            (f"{place}.{key}".lstrip("."), REMOVED, json_path(place), f"missing key {key!r}")
            for key in members
        ]
        rows.append((f"{place}.extra".lstrip("."), 1, json_path(place), "unknown key 'extra'"))
    return rows


def _keys(place: str) -> list[str | int]:
    return [int(key) if key.isdigit() else key for key in place.split(".")] if place else []


def case_id(value: Any) -> str:
    """Return a short test id for any value, also for one that cannot be printed."""
    try:
        return re.sub(" at 0x[0-9a-f]+", "", ascii(value))[:40]
    except (ValueError, RuntimeError):
        return type(value).__name__


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-3, max_value=5)
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4)
    | st.sampled_from(["1.0", "E1", "Pa", "active", "stochastic", "deterministic", "stay"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
