"""A small manifest for every test of the runner."""

from __future__ import annotations

import pytest

from emberbench_dist.evaluation.manifest import load_manifest
from manifests import hall, write_manifest


@pytest.fixture(scope="session")
def manifest_path(tmp_path_factory):
    """Write a manifest of 16 episodes: 6 small ones, 3 of 9 columns, 7 more small ones."""
    blocks = [
        (hall("small", people=1, steps=6), [2**64 - 1, 1, 2, 3, 4, 5]),
        (hall("wide", 9, people=2, steps=6), {"first": 2**63, "count": 3}),
        (hall("later", 7, people=1, steps=6), {"first": 0, "count": 7}),
    ]
    return write_manifest(tmp_path_factory.mktemp("input"), blocks)


@pytest.fixture(scope="session")
def manifest(manifest_path):
    """Load it."""
    return load_manifest(manifest_path)
