"""The counts of an episode as packed numbers, which whole columns can be read from unparsed.

Little-endian; an integer that is none is -1, a float that is none is not a number.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from struct import Struct, pack
from typing import Any

from emberbench_dist.evaluation.metrics import (
    FLOAT_METRICS,
    INTEGER_METRICS,
    METRICS,
    SUMMED_METRICS,
    Metrics,
    totals,
)

# A person is its last row and column, the step of its end, and a fate: the number of the exit
# that it took, or one of these.
PERSON_WIDTH = 4
ACTIVE, ENTERED_FIRE, FIRE_SPREAD = -1, -2, -3
_RATE = METRICS.index("evacuation_rate")
_CAUSES = {None: ACTIVE, "entered_fire": ENTERED_FIRE, "fire_spread": FIRE_SPREAD}
_METRICS = Struct(f"<{len(INTEGER_METRICS)}q{len(FLOAT_METRICS)}d")
_NOTHING = (*(-1 for _ in INTEGER_METRICS), *(math.nan for _ in FLOAT_METRICS))


def pack_metrics(metrics: Metrics) -> bytes:
    """Return the metrics in the order of `METRICS`, 8 bytes each."""
    values = [metrics[name] for name in METRICS]
    if None in values:
        known = zip(values, _NOTHING, strict=True)
        values = [nothing if value is None else value for value, nothing in known]
    return _METRICS.pack(*values)


def unpack_metrics(packed: bytes) -> Metrics:
    """Return the metrics by name."""
    values = _METRICS.unpack(packed)
    return {
        name: None if value == -1 or math.isnan(value) else value
        for name, value in zip(METRICS, values, strict=True)
    }


def pack_people(people: Iterable[Mapping[str, Any]], exits: Mapping[str, int]) -> bytes:
    """Return an artifact's `people` without their ids, 4 bytes a number; `exits` numbers them."""
    numbers = list[int]()
    for person in people:
        way, step = person["exit"], person["step"]
        fate = _CAUSES[person["cause"]] if way is None else exits[way]
        numbers += (*person["position"], -1 if step is None else step, fate)
    return pack(f"<{len(numbers)}i", *numbers)


def pack_steps(counts: list[int]) -> bytes:
    """Return what a tally counted at each step, 4 bytes a number."""
    return pack(f"<{len(counts)}i", *counts)


class Totals:
    """A footer's totals, added up from packed metrics in any order."""

    def __init__(self) -> None:
        """Start at nothing."""
        self.episodes = 0
        self._sums = dict.fromkeys(SUMMED_METRICS, 0)
        # There are few different ones: people are few beside episodes.
        self._rates = Counter[float]()

    def add(self, packed: Sequence[bytes]) -> None:
        """Take the metrics of some episodes in."""
        joined = b"".join(packed)
        integers = array("q", joined)
        for index, name in enumerate(INTEGER_METRICS):
            if name in self._sums:
                self._sums[name] += sum(integers[index :: len(METRICS)])
        self._rates.update(array("d", joined)[_RATE :: len(METRICS)])
        self.episodes += len(packed)

    def totals(self) -> Metrics:
        """Return the totals by name."""
        return totals(self._sums, self._rates.elements(), self.episodes)
