"""A manifest's document and the seeds in it."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any, Final

from emberbench_dist.authoring.page import page
from emberbench_dist.contract.scenario import MAX_SEED, Scenario
from emberbench_dist.contract.versions import (
    MANIFEST_VERSION,
    METRICS_VERSION,
    OBSERVATION_VERSION,
    SIMULATOR_VERSION,
)
from emberbench_dist.errors import ManifestError

Seeds = list[int] | dict[str, int]

LEAST_SECRET: Final = 16
_SEED = re.compile(r"[0-9]{1,20}")
_SEED_BYTES = 8


def manifest_document(
    name: str,
    description: str,
    scenarios: Mapping[str, Scenario],
    blocks: Iterable[tuple[str, Seeds]],
) -> dict[str, Any]:
    """Return a manifest's document, not yet checked, of `scenarios` by path.

    A block is a scenario id and its seeds: a list, or `first` and `count`.
    """
    return {
        "manifest_version": MANIFEST_VERSION,
        "manifest_id": name,
        "description": description,
        "simulator_version": SIMULATOR_VERSION,
        "observation_version": OBSERVATION_VERSION,
        "metrics_version": METRICS_VERSION,
        "scenarios": [
            {
                "scenario_id": scenario.scenario_id,
                "scenario_hash": scenario.scenario_hash,
                "path": path,
            }
            for path, scenario in scenarios.items()
        ],
        "blocks": [{"scenario_id": scenario_id, "seeds": seeds} for scenario_id, seeds in blocks],
    }


def manifest_page(document: Mapping[str, Any]) -> str:
    """Return a manifest's document as a file, one scenario and one block a line."""
    return page(document, spread=("blocks", "scenarios"))


def parse_seeds(text: str) -> Seeds:
    """Read `1,2,5` or the range `1..1000`, both ends included; else `ManifestError`."""
    first, dots, last = text.partition("..")
    if not dots:
        return [_seed(part, text) for part in text.split(",")]
    low, high = _seed(first, text), _seed(last, text)
    if low > high:
        raise ManifestError(f"seeds {text!r}: {low} is after {high}")
    return {"first": low, "count": high - low + 1}


def _seed(part: str, text: str) -> int:
    seed = int(part) if _SEED.fullmatch(part.strip()) else -1
    if not 0 <= seed <= MAX_SEED:
        raise ManifestError(
            f"seeds {text!r}: {part!r} is no seed; give whole numbers from 0 to 2**64 - 1 "
            "as 1,2,5 or 1..1000"
        )
    return seed


def secret_seeds(secret: bytes, label: str, number: int) -> list[int]:
    """Return `number` different seeds that only who has the secret can foretell.

    Seed i is the first 8 bytes, big-endian, of HMAC-SHA256(secret, "label/i"), i from 0; one that
    was there before is left out. `ManifestError` for a secret of less than 16 bytes.
    """
    if len(secret) < LEAST_SECRET:
        raise ManifestError(
            f"the secret has {len(secret)} bytes; with less than {LEAST_SECRET} "
            "somebody could guess it"
        )
    seeds: dict[int, None] = {}
    indices = count()
    while len(seeds) < number:
        message = f"{label}/{next(indices)}".encode()
        digest = hmac.new(secret, message, hashlib.sha256).digest()
        seeds[int.from_bytes(digest[:_SEED_BYTES], "big")] = None
    return list(seeds)
