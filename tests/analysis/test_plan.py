"""The planned episodes as columns are those that the manifest names one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded import document

from emberbench_dist import load_manifest
from emberbench_dist.analysis.plan import Plan
from manifests import hall, write_manifest

SEEDS = st.integers(0, 2**64 - 1)
LISTED = st.lists(SEEDS, min_size=1, max_size=5)
RANGES = st.builds(
    lambda first, count: {"first": first, "count": count},
    st.integers(0, 2**64 - 10),
    st.integers(1, 9),
)


@given(st.lists(LISTED | RANGES, min_size=1, max_size=5), st.data())
def test_columns_of_any_part_are_those_of_the_blocks(seeds, data):
    """Scenario and seed of each episode are as block by block, also in the middle of blocks."""
    plan = document({f"s{number}": some for number, some in enumerate(seeds)})
    expected = [
        (block["scenario_id"], seed)
        for block in plan["blocks"]
        for seed in (
            range(block["seeds"]["first"], block["seeds"]["first"] + block["seeds"]["count"])
            if isinstance(block["seeds"], dict)
            else block["seeds"]
        )
    ]
    start = data.draw(st.integers(0, len(expected) - 1))
    stop = data.draw(st.integers(start + 1, len(expected)))
    part = Plan(plan, range(start, stop))
    found = zip(part.column("scenario_id"), part.column("seed").tolist(), strict=True)
    assert list(found) == expected[start:stop]
    assert part.column("seed").dtype == np.uint64
    assert part.column("episode").tolist() == list(range(start, stop))


def test_columns_agree_with_the_manifest(tmp_path):
    """A real manifest, whose scenarios come again in later blocks, gives its own episodes."""
    one, two = hall("one"), hall("two", 8)
    path = write_manifest(
        tmp_path, [(one, [7, 2**64 - 1]), (two, {"first": 3, "count": 4}), (one, [1])]
    )
    manifest = load_manifest(path)
    plan = Plan(_document(manifest), range(len(manifest)))
    hashes = plan.column("scenario_hash")
    for episode in map(manifest.episode, range(len(manifest))):
        row = episode.index
        assert plan.column("scenario_id")[row] == episode.scenario_id
        assert int(plan.column("seed")[row]) == episode.seed
        assert hashes[row] == manifest.scenarios[episode.scenario_id].scenario_hash


def _document(manifest):
    import json

    return json.loads(manifest.documents()["manifest"])


@pytest.mark.parametrize("name", ["episode", "scenario_id", "scenario_hash", "seed"])
def test_some_rows_are_those_of_the_column(name):
    """Rows asked for by place are taken from the whole column, in any order."""
    plan = Plan(document({"a": [5, 6], "b": {"first": 1, "count": 3}}), range(1, 5))
    rows = np.array([3, 0, 0])
    whole = list(plan.column(name))
    assert list(plan.column(name, rows)) == [whole[row] for row in rows]
