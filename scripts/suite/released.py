"""What the released manifests hold. Once released, nothing here is edited: see docs/suite.md."""

from __future__ import annotations

from typing import Any

from emberbench_dist.authoring.plan import Seeds
from emberbench_dist.contract.scenario import MAX_SEED
from suite.generate import Wish

PUBLIC_SEEDS: Seeds = {"first": 1, "count": 20}
# Seeds that a float, or a signed or 32-bit integer, would spoil.
_WIDE_SEEDS = [
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
_LAST_SEEDS: Seeds = {"first": MAX_SEED - 19, "count": 20}
PUBLIC_EXCEPTIONS: dict[str, Seeds] = {"corridor": _WIDE_SEEDS, "platform": _LAST_SEEDS}
SMOKE_SEEDS: dict[str, Seeds] = {
    "corridor": [1, 2, 2**63, MAX_SEED],
    "corridor-branch": {"first": 1, "count": 4},
    "flat": {"first": 1, "count": 4},
    "rooms": {"first": 1, "count": 4},
    "lobby": {"first": 1, "count": 3},
}
LARGE_SEEDS: Seeds = {"first": 1, "count": 5}
STRESS_SEEDS: Seeds = {"first": 1, "count": 25_000}


def _rules(
    interval: int, probability: float | None, into_fire: str, *, exits_burn: bool
) -> dict[str, Any]:
    """Return rules for a wish; without a probability fire is certain to spread."""
    fire = (
        {"fire_model": "deterministic"}
        if probability is None
        else {
            "fire_model": "stochastic",
            "spread_probability": probability,
        }
    )
    return fire | {
        "spread_interval": interval,
        "enter_fire": into_fire,
        "exits_flammable": exits_burn,
    }


def _wish(family: str, size: int, seed: int, rules: dict[str, Any], **counts: Any) -> Wish:
    return Wish(family=family, size=size, seed=seed, rules=rules, **counts)


PUBLIC = (
    _wish("office", 16, 5, _rules(2, None, "casualty", exits_burn=True)),
    _wish("random", 16, 8, _rules(1, 0.5, "casualty", exits_burn=False)),
    _wish("maze", 32, 6, _rules(1, 0.5, "blocked", exits_burn=True)),
    _wish("hall", 32, 2, _rules(1, 0.3, "casualty", exits_burn=True)),
    _wish("mall", 32, 8, _rules(3, None, "blocked", exits_burn=False)),
    _wish("office", 32, 7, _rules(2, 0.6, "casualty", exits_burn=True)),
    _wish("stadium", 32, 8, _rules(1, 0.4, "blocked", exits_burn=False)),
    _wish("rooms", 64, 4, _rules(2, 0.5, "casualty", exits_burn=True)),
    _wish("maze", 64, 5, _rules(3, None, "casualty", exits_burn=True)),
    _wish("random", 64, 1, _rules(1, 0.3, "blocked", exits_burn=True)),
    _wish("mall", 64, 5, _rules(1, 0.6, "casualty", exits_burn=True)),
    _wish("stadium", 64, 2, _rules(2, None, "blocked", exits_burn=True)),
    _wish("hall", 128, 1, _rules(2, 0.6, "blocked", exits_burn=True), people=100),
    _wish(
        *("mall", 128, 4, _rules(2, 0.6, "casualty", exits_burn=True)),
        people=100,
        ignitions=8,
    ),
    _wish(
        *("office", 128, 2, _rules(2, 0.6, "blocked", exits_burn=True)),
        people=100,
        ignitions=8,
    ),
    _wish(
        *("office", 256, 1, _rules(4, 0.8, "casualty", exits_burn=False)),
        people=60,
        exits=5,
        ignitions=20,
    ),
)

_CROWD = {"people": 1000, "exits": 12, "ignitions": 12}
LARGE = (
    _wish("rooms", 256, 1, _rules(2, 0.5, "casualty", exits_burn=True), **_CROWD),
    _wish("office", 256, 2, _rules(2, None, "blocked", exits_burn=False), **_CROWD),
    _wish("stadium", 256, 1, _rules(1, 0.3, "blocked", exits_burn=True), **_CROWD),
    _wish("mall", 256, 2, _rules(2, 0.6, "casualty", exits_burn=True), **_CROWD),
)
