"""The manifest as it is loaded: its episodes, its hash, its memory."""

from __future__ import annotations

import json
import tracemalloc

import plain_formats
import pytest
from builders import edited
from hypothesis import given
from hypothesis import strategies as st

from emberbench_dist.contract.scenario import parse_scenario
from emberbench_dist.errors import ManifestError
from emberbench_dist.evaluation.manifest import Episode, load_manifest
from manifests import hall, write_manifest

LAST = 2**64 - 1
ONE, TWO = hall("one"), hall("two", 8)
BLOCKS = [
    (ONE, [3, 1, LAST]),
    (TWO, {"first": 0, "count": 4}),
    (ONE, {"first": 4, "count": 2}),
]


@pytest.fixture
def path(tmp_path):
    """Write the manifest that the tests change."""
    return write_manifest(tmp_path, BLOCKS)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Write it once for the properties, which change only the manifest file."""
    return write_manifest(tmp_path_factory.mktemp("manifest"), BLOCKS)


def document_of(path):
    """Return the document of a manifest file."""
    return json.loads(path.read_text())


def load(path, document):
    """Write a document as a manifest and load it."""
    path.write_text(json.dumps(document))
    return load_manifest(path)


def with_blocks(path, *blocks):
    """Return the manifest document with other blocks: (scenario id, seeds)."""
    listed = [{"scenario_id": name, "seeds": seeds} for name, seeds in blocks]
    return document_of(path) | {"blocks": listed}


# What is loaded


def test_a_manifest_is_what_its_file_says(path):
    """Id, description and scenarios are there, and each episode under its number."""
    manifest = load_manifest(str(path))
    assert (manifest.manifest_id, manifest.description) == ("test", "Made by a test.")
    assert manifest.scenarios == {"one": parse_scenario(ONE), "two": parse_scenario(TWO)}
    assert [manifest.episode(index) for index in range(len(manifest))] == [
        Episode(0, "one", 3),
        Episode(1, "one", 1),
        Episode(2, "one", 18446744073709551615),
        Episode(3, "two", 0),
        Episode(4, "two", 1),
        Episode(5, "two", 2),
        Episode(6, "two", 3),
        Episode(7, "one", 4),
        Episode(8, "one", 5),
    ]
    assert {type(manifest.episode(index).seed) for index in range(9)} == {int}


@pytest.mark.parametrize("index", [-1, 9, 10, 2**64, -(2**64)])
def test_there_is_no_other_episode(path, index):
    """A number outside of the manifest is an error that tells the numbers there are."""
    expected = f"manifest test: there is no episode {index}; they are 0 to 8"
    with pytest.raises(ManifestError) as caught:
        load_manifest(path).episode(index)
    assert str(caught.value) == expected


seed_values = st.integers(0, 30) | st.integers(LAST - 30, LAST)
ranges = st.builds(
    lambda first, count: {"first": first, "count": count}, seed_values, st.integers(1, 6)
)
block_lists = st.lists(
    st.tuples(
        st.sampled_from(["one", "two"]), st.lists(seed_values, min_size=1, max_size=5) | ranges
    ),
    min_size=1,
    max_size=5,
)


@given(blocks=block_lists)
def test_numbering_agrees_with_a_plain_expansion(shared, blocks):
    """Any blocks give block order, then seed order, or are refused: twice a pair, or too far."""
    document = with_blocks(shared, *blocks)
    episodes = plain_formats.planned(document)
    target = shared.with_name("numbering.json")
    if len(set(episodes)) < len(episodes) or max(seed for _, seed in episodes) > LAST:
        with pytest.raises(ManifestError):
            load(target, document)
        return
    manifest = load(target, document)
    assert len(manifest) == len(episodes)
    assert [manifest.episode(index) for index in range(len(manifest))] == [
        Episode(index, *episode) for index, episode in enumerate(episodes)
    ]


@given(st.integers(0, 9), st.integers(0, 9))
def test_runs_of_episodes_are_its_episodes(shared, first, stop):
    """Consecutive episodes, taken a block at a time, are those that are found one by one."""
    manifest = load_manifest(shared)
    runs = list(manifest.runs(range(first, stop)))
    found = [(scenario_id, seed) for scenario_id, seeds in runs for seed in seeds]
    one_by_one = map(manifest.episode, range(first, stop))
    assert found == [(episode.scenario_id, episode.seed) for episode in one_by_one]
    assert all(seeds for _, seeds in runs)


def test_a_listed_scenario_needs_no_episode(path):
    """A scenario without a block is loaded and played in no episode."""
    manifest = load(path, with_blocks(path, ("two", [1])))
    assert (len(manifest), set(manifest.scenarios)) == (1, {"one", "two"})


# The hash


def test_the_hash_is_that_of_the_canonical_document(path):
    """It is the SHA-256 of the canonical JSON without description and paths."""
    assert load_manifest(path).manifest_hash == plain_formats.manifest_hash(document_of(path))


def test_the_hash_depends_on_no_description_path_or_layout(path):
    """Another description, folder or order of keys in the file is the same manifest."""
    document, expected = document_of(path), load_manifest(path).manifest_hash
    (path.parent / "elsewhere").mkdir()
    for entry in document["scenarios"]:
        moved = entry["path"].replace("scenarios", "elsewhere")
        (path.parent / entry["path"]).rename(path.parent / moved)
        entry["path"] = moved
    document["description"] = "Naïve \ud800"
    turned = dict(reversed(document.items()))
    path.write_text(json.dumps(turned, indent=7))
    assert load_manifest(path).manifest_hash == expected


def test_the_hash_depends_on_everything_else(path):
    """Another id, order or form of the same seeds, or another scenario, is another manifest."""
    document = document_of(path)
    turned = {key: document[key][::-1] for key in ("scenarios", "blocks")}
    variants = [
        document,
        document | {"manifest_id": "other"},
        document | {"scenarios": turned["scenarios"]},
        document | {"blocks": turned["blocks"]},
        edited(document, "blocks.0.seeds", [1, 3, LAST]),
        edited(document, "blocks.2.seeds", [4, 5]),
        edited(document, "blocks.2.seeds", {"first": 4, "count": 1}),
    ]
    hashes = [load(path, variant).manifest_hash for variant in variants]
    assert hashes == [plain_formats.manifest_hash(variant) for variant in variants]
    assert len(set(hashes)) == len(variants)


# Size


def test_as_many_episodes_as_have_numbers(path):
    """The longest manifest has 2**63 - 1 episodes; one more is refused, in one block or in two."""
    half = {"first": 2**62, "count": 2**62}
    manifest = load(path, with_blocks(path, ("one", half), ("two", half | {"count": 2**62 - 1})))
    last = 2**63 - 2
    assert manifest.episode(last) == Episode(last, "two", 2**63 - 2)
    for blocks in ([("one", half), ("two", half)], [("one", {"first": 1, "count": 2**63})]):
        with pytest.raises(ManifestError, match="episodes"):
            load(path, with_blocks(path, *blocks))


def test_ten_million_episodes_take_a_few_megabytes(path):
    """Nothing is expanded: neither a huge range, nor when its last episode is looked up."""
    document = with_blocks(path, ("one", [5]), ("two", {"first": 1, "count": 10**7}), ("one", [6]))
    path.write_text(json.dumps(document))
    load_manifest(path)
    tracemalloc.start()
    try:
        manifest = load_manifest(path)
        last, _ = manifest.episode(10**7), manifest.episode(10**7 + 1)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (len(manifest), last) == (10**7 + 2, Episode(10**7, "two", 10**7))
    assert peak < 8 * 2**20


def test_a_list_of_seeds_is_held_compactly(path):
    """A hundred thousand listed seeds take eight bytes each once they are loaded."""
    path.write_text(json.dumps(with_blocks(path, ("one", list(range(LAST - 10**5, LAST))))))
    tracemalloc.start()
    try:
        manifest = load_manifest(path)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert manifest.episode(10**5 - 1).seed == LAST - 1
    assert held < 2 * 2**20
