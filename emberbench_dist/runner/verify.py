"""Verify an artifact with its traces, without the agent that made it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from emberbench_dist.artifacts.artifact import footer, header
from emberbench_dist.contract.canonical import canonical_json
from emberbench_dist.errors import ArtifactError
from emberbench_dist.evaluation.manifest import Manifest
from emberbench_dist.evaluation.packing import Totals
from emberbench_dist.evaluation.verify import Claim, Verdict
from emberbench_dist.runner.pool import OpenPool, spread

_BATCH = 50


@dataclass(frozen=True, slots=True)
class Verified:
    """An artifact that is what its traces give: episodes it holds, and whether that is all."""

    episodes: int
    complete: bool
    sha256: str


def verify_files(
    manifest: Manifest,
    artifact: Path,
    traces: Path,
    open_pool: OpenPool,
    report: Callable[[int], None] = lambda _: None,
) -> Verified:
    """Replay every trace and compare header, lines and footer byte for byte.

    `report` is told how many episodes are verified. Raises `ArtifactError` with the first place
    that differs.
    """
    try:
        with artifact.open("rb") as lines, traces.open("rb") as trace_lines:
            reading = _Reading(manifest, artifact, traces, lines, trace_lines)
            reading.require_header()
            verdicts = _Verdicts(reading, report)
            with open_pool() as pool:
                for answers in spread(pool, reading.batches()):
                    verdicts.take(answers)
            return verdicts.conclude()
    except OSError as error:
        raise ArtifactError(f"{error.filename}: cannot be read: {error.strerror}") from error


class _Reading:
    """The two files, read side by side once."""

    def __init__(
        self,
        manifest: Manifest,
        artifact: Path,
        traces: Path,
        lines: BinaryIO,
        trace_lines: BinaryIO,
    ) -> None:
        self.manifest = manifest
        self.artifact = artifact
        self.count = 0
        self.footer = b""
        self.broken = ""
        self.body = sha256()
        self._traces = traces
        self._lines = lines
        self._trace_lines = trace_lines

    def require_header(self) -> None:
        line = self._lines.readline()
        if line != canonical_json(header(self.manifest)).encode() + b"\n":
            raise ArtifactError(
                f"{self.artifact}: line 1: is not the header of manifest "
                f"{self.manifest.manifest_id} under this version"
            )
        self.body.update(line)

    def batches(self) -> Iterator[list[Claim]]:
        claims = self._claims()
        while batch := list(islice(claims, _BATCH)):
            yield batch

    def _claims(self) -> Iterator[Claim]:
        """Yield each episode line with its trace line; keep the footer, or what ends it before."""
        for line in self._lines:
            if not line.startswith(b'{"episode":'):
                self.footer = line
                break
            trace = self._trace_lines.readline()
            self.broken = self._fault(line, trace)
            if self.broken:
                return
            self.body.update(line)
            yield Claim(self.manifest.episode(self.count), line[:-1], trace[:-1])
            self.count += 1
        if self._lines.readline():
            self.broken = f"{self.artifact}: line {self.count + 2}: is no episode and not the last"
        elif self._trace_lines.readline():
            self.broken = f"{self._traces}: line {self.count + 1}: the artifact has no such episode"

    def _fault(self, line: bytes, trace: bytes) -> str:
        if self.count >= len(self.manifest):
            return f"{self.artifact}: line {self.count + 2}: the manifest has fewer episodes"
        if not line.endswith(b"\n"):
            return f"{self.artifact}: line {self.count + 2}: is cut off"
        if not trace.endswith(b"\n"):
            return f"{self._traces}: line {self.count + 1}: is missing or cut off"
        return ""


class _Verdicts:
    """What the workers found, and the sums that the footer must have."""

    def __init__(self, reading: _Reading, report: Callable[[int], None]) -> None:
        self._reading = reading
        self._report = report
        self._done = 0
        self._wrong: Verdict | None = None
        self._totals = Totals()

    def take(self, verdicts: list[Verdict]) -> None:
        for verdict in verdicts:
            if verdict.wrong and (self._wrong is None or verdict.episode < self._wrong.episode):
                self._wrong = verdict
        self._totals.add([verdict.metrics for verdict in verdicts if not verdict.wrong])
        self._done += len(verdicts)
        self._report(self._done)

    def conclude(self) -> Verified:
        reading, wrong = self._reading, self._wrong
        if wrong is not None:
            raise ArtifactError(
                f"{reading.artifact}: line {wrong.episode + 2} (episode {wrong.episode}): "
                f"{wrong.wrong}"
            )
        if reading.broken:
            raise ArtifactError(reading.broken)
        expected = footer(
            reading.body.hexdigest(),
            reading.count,
            len(reading.manifest),
            self._totals.totals(),
        )
        if reading.footer != canonical_json(expected).encode() + b"\n":
            rule = _wrong_key(reading.footer, expected)
            raise ArtifactError(f"{reading.artifact}: line {reading.count + 2}: {rule}")
        whole = reading.body.copy()
        whole.update(reading.footer)
        return Verified(reading.count, bool(expected["complete"]), whole.hexdigest())


def _wrong_key(line: bytes, expected: dict[str, object]) -> str:
    try:
        found = json.loads(line)
        keys = [key for key in sorted(expected) if found.get(key) != expected[key]]
    except (ValueError, AttributeError, RecursionError):
        return "is not a footer"
    return f"the footer is wrong in {', '.join(keys)}" if keys else "the footer is not canonical"
