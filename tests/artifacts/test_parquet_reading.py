"""Reading Parquet tables: values, the run that a table is of, and what is refused."""

from __future__ import annotations

import json
from contextlib import closing

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rows import played

from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.parquet import Origin, read_origin, read_table, write_tables
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.errors import ArtifactError
from emberbench_dist.evaluation.manifest import load_manifest
from manifests import hall, write_manifest


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Write a manifest of 8 episodes."""
    blocks = [(hall("small"), {"first": 1, "count": 8})]
    return write_manifest(tmp_path_factory.mktemp("input"), blocks)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, path):
    """Write the tables of the second half of it, one episode missing."""
    manifest, folder = load_manifest(path), RunFolder(tmp_path_factory.mktemp("run"))
    meta = {"agent_spec": "greedy", "slice": "2/2"}
    with closing(Ledger.create(None, meta)) as ledger:
        ledger.begin_session("greedy")
        ledger.commit(played(manifest, [4, 5, 7]))
        write_tables(manifest, ledger, folder)
    return folder


@pytest.mark.parametrize("name", ["episodes", "people", "steps", "execution"])
def test_every_table_tells_which_run_it_is_of(folder, path, name):
    """Whoever has one table knows manifest, agent, slice, and what was planned and committed."""
    manifest = load_manifest(path)
    assert read_origin(folder.table(name)) == Origin(
        manifest_id="test",
        manifest_hash=manifest.manifest_hash,
        agent_spec="greedy",
        slice="2/2",
        planned=4,
        committed=3,
        manifest=path.read_bytes(),
    )


def test_the_origin_can_be_read_without_this_package(folder, path):
    """The metadata are JSON under a documented key, and the manifest as it was read."""
    metadata = pq.read_metadata(folder.table("episodes")).metadata
    manifest = load_manifest(path)
    assert json.loads(metadata[b"emberbench_dist"]) == {
        "format_version": "1.0",
        "manifest_id": "test",
        "manifest_hash": manifest.manifest_hash,
        "agent_spec": "greedy",
        "slice": "2/2",
        "planned": 4,
        "committed": 3,
    }
    assert metadata[b"emberbench_dist.manifest"] == path.read_bytes()


def test_a_table_is_read_whole_or_by_columns(folder):
    """Columns come in the order asked for, with the types of the file."""
    whole = read_table(folder.table("episodes"))
    assert whole["episode"].to_pylist() == [4, 5, 7]
    some = read_table(folder.table("episodes"), ["seed", "episode"])
    assert some.schema.names == ["seed", "episode"]
    assert some["seed"].type == pa.uint64()
    assert some["episode"] == whole["episode"]


@pytest.mark.parametrize("read", [read_table, read_origin])
@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "there is no such table; `dist-eval export` writes it"),
        (b"", "cannot be read, `dist-eval export` writes it anew"),
        (b"PAR1 and so on", "cannot be read, `dist-eval export` writes it anew"),
    ],
)
def test_what_is_no_table_is_refused_by_name(tmp_path, read, content, told):
    """A table that is missing or damaged is an error that says what to do."""
    path = tmp_path / "episodes.parquet"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ArtifactError, match=f"^{path}: {told}"):
        read(path)


def test_a_column_that_is_not_there_is_refused_by_name(folder):
    """Asking for a column that the table does not have is an error that names it."""
    with pytest.raises(ArtifactError, match=r"episodes\.parquet: .*no such column: wealth"):
        read_table(folder.table("episodes"), ["wealth"])


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ({}, "does not tell which run it is of"),
        ({"emberbench_dist": "7"}, "does not tell which run it is of"),
        ({"emberbench_dist": "{"}, "does not tell which run it is of"),
        ({"emberbench_dist": '{"format_version": "1.0"}'}, "does not tell which run it is of"),
        ({"emberbench_dist": '{"format_version": "9"}'}, "has format 9; this program reads 1.0"),
    ],
)
def test_a_table_that_is_not_ours_is_refused(tmp_path, metadata, told):
    """A table without its origin, or of another format, is refused by name."""
    path = tmp_path / "episodes.parquet"
    pq.write_table(pa.table({"episode": [1]}).replace_schema_metadata(metadata), path)
    with pytest.raises(ArtifactError, match=f"^{path}: {told}"):
        read_origin(path)
