"""Export: the same tables from the ledger, during a run, and from what is left without a ledger."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from hashlib import sha256

import pytest
from rows import contents, played

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.artifacts.export import export_tables
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.parquet import read_origin, read_table
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.contract.canonical import canonical_json
from emberbench_dist.errors import ArtifactError, LedgerError, RunFolderError
from emberbench_dist.evaluation.manifest import load_manifest
from emberbench_dist.runner.evaluate import evaluate
from manifests import hall, write_manifest

MAX_SEED = 2**64 - 1
DERIVABLE = ["episodes", "people", "steps"]
FILES = {f"{name}.parquet" for name in (*DERIVABLE, "execution")}


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    """Write a manifest of 14 episodes, people with unusual names among them."""
    odd = hall("odd", people=2)
    for person, name in zip(odd["people"], ['"},{"', "é☃\U0001f600"], strict=True):
        person["id"] = name
    blocks = [(odd, [MAX_SEED, 0]), (hall("large", 9, people=7), {"first": 3, "count": 12})]
    return load_manifest(write_manifest(tmp_path_factory.mktemp("input"), blocks))


@pytest.fixture(scope="module")
def complete(tmp_path_factory, manifest):
    """Play it; return the folder."""
    folder = RunFolder(tmp_path_factory.mktemp("complete") / "run")
    evaluate(manifest, Greedy, folder.path)
    return folder


@pytest.fixture
def folder(tmp_path, complete):
    """Return a copy of the run."""
    shutil.copytree(complete.path, tmp_path / "run")
    return RunFolder(tmp_path / "run")


@pytest.fixture
def out(tmp_path):
    """Return an empty folder."""
    folder = RunFolder(tmp_path / "out")
    folder.create()
    return folder


def edited(line, place, value):
    """Return a line in canonical form with another value at a place."""
    document = json.loads(line)
    *above, last = place.split(".")
    parent = document
    for key in above:
        parent = parent[key]
    parent[last] = value
    return canonical_json(document).encode() + b"\n"


def same(folder, other, names):
    """Require the same values in some tables of two folders."""
    for name in names:
        assert read_table(folder.table(name)) == read_table(other.table(name))


def tables(folder):
    """Return the bytes of the tables in a folder."""
    return {name: data for name, data in contents(folder.path).items() if "parquet" in name}


def test_from_the_ledger_the_tables_are_the_same_files(folder, out, complete):
    """Whatever became of the tables, the ledger gives the files that the run wrote."""
    assert export_tables(folder, out) == [*DERIVABLE, "execution"]
    assert tables(out) == tables(complete)
    for name in FILES:
        (folder.path / name).write_bytes(b"damaged")
    export_tables(folder, folder)
    assert tables(folder) == tables(complete)


def test_steps_may_be_left_out(folder, complete):
    """Without steps a table of them goes away: it would be of another time."""
    assert export_tables(folder, folder, steps=False) == ["episodes", "people", "execution"]
    assert tables(folder) == {
        name: data for name, data in tables(complete).items() if name != "steps.parquet"
    }


def test_exporting_changes_nothing_in_the_run(folder, out):
    """Who exports elsewhere leaves every byte of the run as it was."""
    before = contents(folder.path)
    export_tables(folder, out)
    assert contents(folder.path) == before


def test_a_driver_that_commits_is_not_in_the_way(tmp_path, manifest, out):
    """During a run the tables hold what was committed when the export began, and nothing waits."""
    folder = RunFolder(tmp_path / "run")
    folder.create()
    meta = {"manifest_hash": manifest.manifest_hash, "slice": "1/1"}
    with closing(Ledger.create(folder.ledger, meta, manifest.documents())) as driver:
        driver.begin_session("greedy")
        driver._connection.execute("PRAGMA busy_timeout = 0")
        driver.commit(played(manifest, [0, 1, 5]))
        with Ledger.reading(folder.ledger) as reader:
            blocks = reader.counts(reader.committed())
            assert list(next(blocks).episodes) == [0, 1]
            driver.commit(played(manifest, [2, 6]))
            assert [list(block.episodes) for block in blocks] == [[5]]
        export_tables(folder, out)
    assert read_table(out.table("episodes"))["episode"].to_pylist() == [0, 1, 2, 5, 6]
    assert read_origin(out.table("steps")).committed == 5


@pytest.mark.parametrize("given", [True, False])
def test_without_a_ledger_artifact_and_traces_give_the_tables(folder, out, manifest, given):
    """Episodes and people come from the artifact, steps from its traces and the manifest."""
    folder.ledger.unlink()
    known = manifest if given else None
    names = DERIVABLE if given else DERIVABLE[:2]
    assert export_tables(folder, out, steps=given, manifest=known) == names
    assert tables(out).keys() == {f"{name}.parquet" for name in names}
    same(out, folder, names)
    origin, before = (read_origin(one.table("episodes")) for one in (out, folder))
    assert origin.manifest == (before.manifest if given else None)
    assert (origin.manifest_hash, origin.agent_spec) == (before.manifest_hash, "Greedy")
    assert (origin.planned, origin.committed) == (14, 14)


def test_where_no_run_json_tells_the_agent_nobody_does(folder, out):
    """The artifact does not know its agent; without run.json the tables do not either."""
    folder.ledger.unlink()
    folder.run_json.unlink()
    export_tables(folder, out, steps=False)
    assert read_origin(out.table("people")).agent_spec is None


def test_a_built_in_manifest_is_found(tmp_path, out):
    """The artifact of a built-in manifest needs no --manifest."""
    folder = RunFolder(tmp_path / "run")
    evaluate("smoke-v1", Greedy, folder.path)
    folder.ledger.unlink()
    assert export_tables(folder, out) == DERIVABLE
    same(out, folder, DERIVABLE)


@pytest.mark.parametrize("steps", [True, False])
def test_a_failed_run_has_the_tables_of_its_prefix(folder, out, manifest, steps):
    """Without a ledger the tables hold what the artifact holds, also where that is nothing."""
    lines = folder.artifact.read_bytes().splitlines(keepends=True)
    body = lines[0]
    end = edited(edited(lines[-1], "committed", 0), "body_sha256", sha256(body).hexdigest())
    folder.artifact.write_bytes(body + end)
    folder.ledger.unlink()
    export_tables(folder, out, steps=steps, manifest=manifest)
    assert read_table(out.table("episodes")).num_rows == 0


def test_tables_that_cannot_be_derived_stay(folder):
    """Without a ledger nothing gives execution.parquet anew: it is left alone."""
    before = tables(folder)
    folder.ledger.unlink()
    export_tables(folder, folder, steps=False)
    assert tables(folder)["execution.parquet"] == before["execution.parquet"]


def resealed(make):
    """Return how to change the lines of an artifact, and its footer with them."""

    def change(folder):
        *body, end = make(folder.artifact.read_bytes().splitlines(keepends=True))
        digest = sha256(b"".join(body)).hexdigest()
        folder.artifact.write_bytes(b"".join([*body, edited(end, "body_sha256", digest)]))

    return change


def cut(path, size):
    """Cut the end of a file off."""
    path.write_bytes(path.read_bytes()[:-size])


DAMAGES = {
    "cut": (lambda run: cut(run.artifact, 9), r"artifact\.jsonl: is damaged or cut off"),
    "no footer": (lambda run: cut(run.artifact, 900), r"artifact\.jsonl: is damaged or cut off"),
    "empty": (lambda run: run.artifact.write_bytes(b""), r"artifact\.jsonl: is damaged or cut"),
    "byte": (
        lambda run: run.artifact.write_bytes(run.artifact.read_bytes().replace(b"9", b"8", 1)),
        r"artifact\.jsonl: is damaged or cut off",
    ),
    "no header": (
        resealed(lambda lines: [b"[]\n", *lines[1:]]),
        r"artifact\.jsonl: is damaged or cut off",
    ),
    "half a header": (
        resealed(lambda lines: [b'{"kind":"header"}\n', *lines[1:]]),
        r"artifact\.jsonl: is damaged or cut off",
    ),
    "another artifact": (
        resealed(lambda lines: [edited(lines[0], "manifest_hash", "0" * 64), *lines[1:]]),
        r"artifact\.jsonl: is not of manifest test \(",
    ),
    "no traces": (lambda run: run.traces.unlink(), r"traces\.jsonl: cannot be read: No such file"),
    "few traces": (lambda run: cut(run.traces, 90), r"traces\.jsonl: (line \d+: cannot|has fewer)"),
    "trace": (
        lambda run: run.traces.write_bytes(run.traces.read_bytes().replace(b'["', b'["x', 1)),
        r"traces\.jsonl: line 1: cannot be replayed: step 0: the trace has 3 actions for 2",
    ),
    "no trace": (
        lambda run: run.traces.write_bytes(b"[]\n" + run.traces.read_bytes()),
        r"traces\.jsonl: line 1: cannot be replayed",
    ),
    "metric": (
        resealed(lambda lines: [*lines[:3], edited(lines[3], "metrics.moved", 99), *lines[4:]]),
        r"artifact\.jsonl: line 4: is not what its trace gives; `dist-eval verify` says more",
    ),
    "text": (
        resealed(lambda lines: [*lines[:3], edited(lines[3], "metrics.moved", "x"), *lines[4:]]),
        r"artifact\.jsonl: (line 4|its lines cannot be read: )",
    ),
}


@pytest.mark.parametrize(("damage", "told"), DAMAGES.values(), ids=DAMAGES)
def test_damage_is_told_and_changes_no_table(folder, manifest, damage, told):
    """An artifact that is not as it was written is refused by name, and every table stays."""
    before = tables(folder)
    folder.ledger.unlink()
    damage(folder)
    with pytest.raises(ArtifactError, match=told):
        export_tables(folder, folder, manifest=manifest)
    assert tables(folder) == before


def test_steps_need_the_manifest(folder):
    """Without ledger and manifest there are no steps, and the error says what to do."""
    folder.ledger.unlink()
    with pytest.raises(ArtifactError, match=r"steps need the manifest test: give --manifest, or"):
        export_tables(folder, folder)


def test_a_damaged_row_of_the_ledger_changes_no_table(folder):
    """Where a row is damaged, it is named and the tables stay."""
    before = tables(folder)
    with closing(Ledger.open(folder.ledger)) as ledger:
        ledger._connection.execute("UPDATE episodes SET steps = x'' WHERE episode = 11")
    with pytest.raises(LedgerError, match="the row of episode 11 is damaged"):
        export_tables(folder, folder)
    assert tables(folder) == before


def test_another_manifest_is_refused(folder, tmp_path):
    """A manifest that is not the run's is refused, with and without a ledger."""
    other = load_manifest(write_manifest(tmp_path / "other", [(hall("odd"), [1])]))
    with pytest.raises(RunFolderError, match="is not a run of the manifest that was given"):
        export_tables(folder, folder, manifest=other)
    folder.ledger.unlink()
    with pytest.raises(ArtifactError, match="is not of manifest test"):
        export_tables(folder, folder, manifest=other)


def test_where_no_run_is_there_is_nothing_to_export(out):
    """A folder with neither ledger nor artifact is refused, and nothing is made."""
    with pytest.raises(RunFolderError, match=f"^{out.path}: there is no run here$"):
        export_tables(out, out)
    assert contents(out.path) == {}
