"""Packed counts: every value comes back, and totals of packed metrics are exact."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emberbench_dist.evaluation.metrics import (
    FLOAT_METRICS,
    INTEGER_METRICS,
    METRICS,
    SUMMED_METRICS,
    totals,
)
from emberbench_dist.evaluation.packing import (
    Totals,
    pack_metrics,
    pack_people,
    pack_steps,
    unpack_metrics,
)

whole = st.integers(0, 2**40)
rates = st.fractions(0, 1).map(float)
metrics = st.fixed_dictionaries(
    dict.fromkeys(INTEGER_METRICS, whole)
    | dict.fromkeys(FLOAT_METRICS, rates)
    | {"people": st.integers(1, 5000)}
    | {"last_evacuation_step": st.none() | whole, "mean_evacuation_step": st.none() | rates}
)


@given(metrics)
def test_metrics_come_back(known):
    """Packed and unpacked, the metrics are what they were, also where there is none."""
    packed = pack_metrics(known)
    assert len(packed) == 8 * len(METRICS)
    assert unpack_metrics(packed) == known


@given(st.lists(metrics, max_size=8), st.integers(0, 8))
def test_totals_of_packed_metrics_are_those_of_the_metrics(rows, cut):
    """However the episodes are cut into blocks, sums and mean are exact."""
    found = Totals()
    for block in (rows[:cut], rows[cut:]):
        found.add([pack_metrics(row) for row in block])
    sums = {name: sum(row[name] for row in rows) for name in SUMMED_METRICS}
    assert found.episodes == len(rows)
    assert found.totals() == totals(sums, [row["evacuation_rate"] for row in rows], len(rows))


@pytest.mark.parametrize(
    ("person", "numbers"),
    [
        ({"step": 3, "exit": "E2", "cause": None}, (3, 1)),
        ({"step": None, "exit": None, "cause": None}, (-1, -1)),
        ({"step": 7, "exit": None, "cause": "entered_fire"}, (7, -2)),
        ({"step": 1, "exit": None, "cause": "fire_spread"}, (1, -3)),
    ],
)
def test_a_person_is_place_step_and_fate(person, numbers):
    """Four numbers tell what an artifact line tells of a person but for the id."""
    packed = pack_people([{"position": [5, 2047], **person}] * 2, {"E1": 0, "E2": 1})
    assert packed == struct.pack("<4i", 5, 2047, *numbers) * 2


def test_steps_are_their_counts():
    """Counts are packed one after the other, four bytes each."""
    assert pack_steps([1, 2, 2**31 - 1]) == struct.pack("<3i", 1, 2, 2**31 - 1)
