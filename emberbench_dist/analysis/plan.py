"""Which episodes a run plans, as columns: the manifest's blocks, with no object an episode."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

Index = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Plan:
    """Some episodes of a manifest document, by number; each column is made when it is asked for."""

    document: dict[str, Any]
    episodes: range

    def column(self, name: str, rows: Index | None = None) -> Any:
        """Return `episode`, `scenario_id`, `scenario_hash` or `seed`, of all rows or of some."""
        if name == "episode":
            return _some(np.arange(self.episodes.start, self.episodes.stop), rows)
        if name == "seed":
            return _some(np.concatenate([_seeds(block, part) for block, part in self._cut()]), rows)
        known = [entry[name] for entry in self.document["scenarios"]]
        different = list(dict.fromkeys(known))
        codes = np.array([different.index(text) for text in known])
        codes = codes.astype(np.min_scalar_type(-len(known)))
        return pd.Categorical.from_codes(_some(codes[self._scenarios()], rows), pd.Index(different))

    def _scenarios(self) -> Index:
        number = {
            entry["scenario_id"]: place for place, entry in enumerate(self.document["scenarios"])
        }
        cut = [(number[block["scenario_id"]], len(part)) for block, part in self._cut()]
        return np.repeat(*np.array(cut).T)

    def _cut(self) -> Iterator[tuple[dict[str, Any], range]]:
        """Yield each block with the part of its seeds that these episodes have."""
        start, stop = self.episodes.start, self.episodes.stop
        for block in self.document["blocks"]:
            part = range(max(start, 0), min(stop, block_size(block)))
            if part:
                yield block, part
            start, stop = start - block_size(block), stop - block_size(block)


def block_size(block: dict[str, Any]) -> int:
    """Return the number of a block's seeds."""
    seeds = block["seeds"]
    return int(seeds["count"]) if isinstance(seeds, dict) else len(seeds)


def _seeds(block: dict[str, Any], part: range) -> npt.NDArray[np.uint64]:
    seeds = block["seeds"]
    if isinstance(seeds, list):
        return np.array(seeds[part.start : part.stop], np.uint64)
    return np.uint64(seeds["first"] + part.start) + np.arange(len(part), dtype=np.uint64)


def _some(values: Any, rows: Index | None) -> Any:
    return values if rows is None else values[rows]
