"""The canonical result: `artifact.jsonl` and `traces.jsonl`, written from the ledger.

Both hold the committed prefix: episodes 0, 1, 2, ... up to the first that is not committed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from os import SEEK_END
from pathlib import Path
from typing import Any, BinaryIO

from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.contract.canonical import canonical_json
from emberbench_dist.contract.versions import (
    ARTIFACT_VERSION,
    METRICS_VERSION,
    OBSERVATION_VERSION,
    SCENARIO_SCHEMA_VERSION,
    SIMULATOR_VERSION,
)
from emberbench_dist.errors import ArtifactError
from emberbench_dist.evaluation.manifest import Manifest
from emberbench_dist.evaluation.metrics import Metrics
from emberbench_dist.evaluation.packing import Totals

_FOOTER_BYTES = 4096  # more than any footer has


@dataclass(frozen=True, slots=True)
class Summary:
    """What an artifact holds: episodes planned and committed (the prefix), and their totals."""

    episodes: int
    committed: int
    totals: Metrics

    @property
    def complete(self) -> bool:
        """Say whether the prefix is the whole manifest."""
        return self.committed == self.episodes


def header(manifest: Manifest) -> dict[str, Any]:
    """Return the artifact's first line: what was run, never who or where."""
    return {
        "kind": "header",
        "artifact_version": ARTIFACT_VERSION,
        "manifest_id": manifest.manifest_id,
        "manifest_hash": manifest.manifest_hash,
        "episodes": len(manifest),
        "schema_version": SCENARIO_SCHEMA_VERSION,
        "simulator_version": SIMULATOR_VERSION,
        "observation_version": OBSERVATION_VERSION,
        "metrics_version": METRICS_VERSION,
    }


def footer(body_sha256: str, committed: int, episodes: int, totals: Metrics) -> dict[str, Any]:
    """Return the artifact's last line."""
    return {
        "kind": "footer",
        "body_sha256": body_sha256,
        "committed": committed,
        "complete": committed == episodes,
        "totals": totals,
    }


def read_summary(manifest: Manifest, artifact: Path) -> Summary:
    """Return what a complete artifact of a manifest holds, by its footer."""
    with artifact.open("rb") as file:
        file.seek(-min(_FOOTER_BYTES, artifact.stat().st_size), SEEK_END)
        end = json.loads(file.read().splitlines()[-1])
    return Summary(len(manifest), end["committed"], end["totals"])


def require_sound(artifact: Path) -> tuple[dict[str, Any], int]:
    """Return header and number of episodes of an artifact; `ArtifactError` unless it is sound.

    It is what its footer says: one pass, without a look at what the lines mean.
    """
    body, count, last = sha256(), -1, b""
    with reading(artifact) as file:
        first = file.readline()
        file.seek(0)
        for line in file:
            body.update(last)
            last = line
            count += 1
    try:
        head, end = json.loads(first), json.loads(last)
        sound = end["body_sha256"] == body.hexdigest() and end["committed"] == count - 1
        sound = sound and canonical_json(end).encode() + b"\n" == last
        sound = sound and head.keys() >= {"manifest_id", "manifest_hash", "episodes"}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        sound = False
    if not sound:
        raise ArtifactError(f"{artifact}: is damaged or cut off: it is not what its footer says")
    return head, count - 1


@contextmanager
def reading(path: Path) -> Iterator[BinaryIO]:
    """Open a result to read it; `ArtifactError` where that cannot be."""
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise ArtifactError(f"{path}: cannot be read: {error.strerror}") from error


def write_artifact(
    manifest: Manifest, ledger: Ledger, artifact: BinaryIO, traces: BinaryIO
) -> Summary:
    """Write both files in one pass over the prefix, in bounded memory; return what they hold."""
    prefix = ledger.prefix()
    body = sha256()
    start = canonical_json(header(manifest)).encode() + b"\n"
    body.update(start)
    artifact.write(start)
    totals = Totals()
    for block in ledger.lines(prefix):
        lines = b"\n".join((*block.lines, b""))
        body.update(lines)
        artifact.write(lines)
        traces.write(b"\n".join((*block.traces, b"")))
        totals.add(block.metrics)
    summary = Summary(len(manifest), prefix, totals.totals())
    end = footer(body.hexdigest(), prefix, len(manifest), summary.totals)
    artifact.write(canonical_json(end).encode() + b"\n")
    return summary
