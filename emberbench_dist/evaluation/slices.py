"""Slices: part i of n of a manifest, contiguous, to be played anywhere and merged later."""

from __future__ import annotations

import re
from dataclasses import dataclass

from emberbench_dist.errors import EvaluationError


@dataclass(frozen=True, slots=True)
class Slice:
    """Part `part` (from 1) of `parts`."""

    part: int = 1
    parts: int = 1

    @classmethod
    def parse(cls, text: str) -> Slice:
        """Read `3/16`; `EvaluationError` for anything else."""
        found = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
        if not found or not 1 <= int(found[1]) <= int(found[2]):
            raise EvaluationError(f"a slice is PART/PARTS, such as 3/16, not {text!r}")
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        """Write `3/16`."""
        return f"{self.part}/{self.parts}"

    def episodes(self, planned: int) -> range:
        """Return this part's episodes of `planned` ones; all parts together are all of them."""
        return range(planned * (self.part - 1) // self.parts, planned * self.part // self.parts)
