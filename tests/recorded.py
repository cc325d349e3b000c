"""Run folders with tables of any numbers, written without playing: what an analysis reads."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from emberbench_dist.artifacts.parquet import Origin, _metadata
from emberbench_dist.artifacts.tables import TABLE
from emberbench_dist.evaluation.slices import Slice

_COUNTS = {"people": 10, "steps": 20}


def document(seeds: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest document: scenario ids with their seeds, as in a block."""
    return {
        "manifest_id": "made",
        "scenarios": [
            {"scenario_id": name, "scenario_hash": sha256(name.encode()).hexdigest()}
            for name in seeds
        ],
        "blocks": [{"scenario_id": name, "seeds": some} for name, some in seeds.items()],
    }


@dataclass
class Recorded:
    """A run to be written: its manifest, its committed episodes, and their metrics by name."""

    manifest: dict[str, Any]
    committed: np.ndarray
    metrics: dict[str, Any] = field(default_factory=dict)
    slice: str = "1/1"

    def write(self, folder: Path, *, agent: str = "somebody") -> Path:
        """Write `run.json` and `episodes.parquet`; return the folder."""
        folder.mkdir(parents=True)
        (folder / "run.json").write_text(json.dumps({"agent_spec": agent}))
        self._write("episodes", folder, self._episodes())
        return folder

    def write_people(self, folder: Path, out: np.ndarray) -> None:
        """Write `people.parquet`: row e of `out` tells which people of episode e got out."""
        episodes, people = out.shape
        numbers = np.repeat(self.committed, people)
        self._write(
            "people",
            folder,
            {
                "episode": numbers,
                "id": [f"P{place}" for place in range(people)] * episodes,
                "status": np.where(out, "evacuated", "casualty").ravel(),
            },
        )

    def _episodes(self) -> dict[str, Any]:
        rate = np.asarray(self.metrics.get("evacuation_rate", np.full(len(self.committed), 0.5)))
        return {
            "episode": self.committed,
            **{name: np.full(len(self.committed), count) for name, count in _COUNTS.items()},
            "evacuation_rate": rate,
            **self.metrics,
        }

    def _write(self, table: str, folder: Path, columns: dict[str, Any]) -> None:
        declared = TABLE[table].columns
        schema = pa.schema([(one.name, pa.type_for_alias(one.type)) for one in declared])
        rows = len(columns["episode"])
        arrays = [
            pa.array(columns[one.name], one.type, from_pandas=True)
            if one.name in columns
            else pa.nulls(rows, one.type)
            for one in schema
        ]
        pq.write_table(
            pa.Table.from_arrays(arrays, schema=schema.with_metadata(_metadata(self._origin()))),
            folder / f"{table}.parquet",
        )

    def _origin(self) -> Origin:
        text = json.dumps(self.manifest).encode()
        total = sum(
            seeds["count"] if isinstance(seeds := block["seeds"], dict) else len(seeds)
            for block in self.manifest["blocks"]
        )
        return Origin(
            manifest_id=self.manifest["manifest_id"],
            manifest_hash=sha256(text).hexdigest(),
            agent_spec="somebody",
            slice=self.slice,
            planned=len(Slice.parse(self.slice).episodes(total)),
            committed=len(self.committed),
            manifest=text,
        )
