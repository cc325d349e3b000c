"""What a reference folder holds beside the artifact, made from the artifact."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from math import fsum
from pathlib import Path
from typing import Any

from emberbench_dist.artifacts.artifact import footer, header
from emberbench_dist.contract.canonical import canonical_json
from emberbench_dist.contract.versions import (
    ARTIFACT_VERSION,
    METRICS_VERSION,
    OBSERVATION_VERSION,
    SIMULATOR_VERSION,
)
from emberbench_dist.evaluation.manifest import Manifest
from emberbench_dist.evaluation.packing import Totals, pack_metrics


def page(document: dict[str, Any]) -> str:
    """Return a document for people to read, the same text each time."""
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def origin(manifest: Manifest, name: str, artifact: bytes) -> dict[str, Any]:
    """Return what `run.json` says: who played what, and nothing of the machine."""
    end = json.loads(artifact.splitlines()[-1])
    return {
        "agent_spec": name,
        "manifest_id": manifest.manifest_id,
        "manifest_hash": manifest.manifest_hash,
        "episodes": len(manifest),
        "committed": end["committed"],
        "complete": end["complete"],
        "versions": {
            "simulator": SIMULATOR_VERSION,
            "observation": OBSERVATION_VERSION,
            "metrics": METRICS_VERSION,
            "artifact": ARTIFACT_VERSION,
        },
    }


def summary(artifact: bytes, traces_sha256: str) -> dict[str, Any]:
    """Return what an artifact comes to."""
    _, *lines, end = map(json.loads, artifact.splitlines())
    rates: dict[str, list[float]] = {}
    for line in lines:
        rates.setdefault(line["scenario_id"], []).append(line["metrics"]["evacuation_rate"])
    return {
        "artifact_sha256": sha256(artifact).hexdigest(),
        "traces_sha256": traces_sha256,
        "committed": end["committed"],
        "totals": end["totals"],
        "mean_evacuation_rate": {name: fsum(found) / len(found) for name, found in rates.items()},
    }


def framed(manifest: Manifest, artifact: bytes) -> bytes:
    """Return the artifact that a manifest and the lines of an artifact give."""
    lines = artifact.splitlines(keepends=True)[1:-1]
    body = b"".join([canonical_json(header(manifest)).encode(), b"\n", *lines])
    totals = Totals()
    totals.add([pack_metrics(json.loads(line)["metrics"]) for line in lines])
    end = footer(sha256(body).hexdigest(), len(lines), len(manifest), totals.totals())
    return b"".join([body, canonical_json(end).encode(), b"\n"])


def folder_faults(manifest: Manifest, name: str, folder: Path) -> Iterator[str]:
    """Yield what is wrong with a baseline's folder by itself."""
    try:
        artifact = (folder / "artifact.jsonl").read_bytes()
        told = {kind: (folder / f"{kind}.json").read_text() for kind in ("summary", "run")}
    except OSError as error:
        yield f"{error.filename}: cannot be read: {error.strerror}"
        return
    if artifact != framed(manifest, artifact):
        yield f"{folder}/artifact.jsonl: is not what its lines give under the manifest"
        return
    expected = {
        "summary": summary(artifact, json.loads(told["summary"])["traces_sha256"]),
        "run": origin(manifest, name, artifact),
    }
    for kind, document in expected.items():
        if told[kind] != page(document):
            yield f"{folder}/{kind}.json: is not what the artifact gives"
