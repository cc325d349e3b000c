"""Merge: what fits becomes the run of one machine, byte for byte; what does not fit is named."""

from __future__ import annotations

import re
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import contents, failure, played

from emberbench_dist.agents.baselines import Stay
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.merge import merge_ledgers
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.errors import LedgerError, RunFolderError
from emberbench_dist.evaluation.accounting import Spent, execution_record
from emberbench_dist.evaluation.manifest import load_manifest
from manifests import hall, write_manifest

COUNT = 9


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    """Load a manifest of nine episodes."""
    blocks = [(hall("one", people=2), {"first": 1, "count": COUNT})]
    return load_manifest(write_manifest(tmp_path_factory.mktemp("input"), blocks))


@pytest.fixture(scope="module")
def results(manifest):
    """Play every episode once."""
    return played(manifest, range(COUNT))


@pytest.fixture
def part(tmp_path, manifest, results):
    """Return a function that makes a folder whose ledger holds some episodes."""

    def make(name, episodes, rows=results, failures=(), of=manifest, **meta):
        folder = RunFolder(tmp_path / name)
        folder.create()
        binding = {
            "manifest_id": of.manifest_id,
            "manifest_hash": of.manifest_hash,
            "episodes": str(len(of)),
            "slice": "1/2",
            "agent_spec": "greedy",
        }
        with closing(Ledger.create(folder.ledger, binding | meta, of.documents())) as ledger:
            ledger.begin_session((binding | meta)["agent_spec"])
            ledger.commit([rows[episode] for episode in episodes], failures)
        return folder

    return make


@pytest.fixture
def out(tmp_path):
    """Return an empty folder to merge into."""
    folder = RunFolder(tmp_path / "out")
    folder.create()
    return folder


def merged(out):
    """Return the rows of a merged ledger, which is sound and alone."""
    assert contents(out.path).keys() == {"ledger.sqlite"}
    with Ledger.reading(out.ledger) as ledger:
        ledger.check()
        return list(ledger.results())


def refused(out, parts, told, kind=RunFolderError, **options):
    """Require that a merge is refused with these words, and leaves every folder as it was."""
    before = [contents(part.path) for part in parts]
    with pytest.raises(kind, match=told):
        merge_ledgers(out, parts, **options)
    assert contents(out.path) == {}
    assert [contents(part.path) for part in parts] == before


def test_parts_become_the_whole(part, out, results, manifest):
    """Rows come over as they are, in order, under the binding of the whole manifest."""
    parts = [part("b", range(4, COUNT)), part("a", range(4))]
    before = [contents(each.path) for each in parts]
    merge_ledgers(out, parts)
    assert merged(out) == results
    with Ledger.reading(out.ledger) as ledger:
        assert ledger.meta() == {
            "manifest_id": "test",
            "manifest_hash": manifest.manifest_hash,
            "episodes": str(COUNT),
            "slice": "1/1",
            "agent_spec": "greedy",
        }
        assert ledger.documents() == manifest.documents()
        assert [count for _, _, count in ledger.sessions()] == [COUNT]
    assert [contents(each.path) for each in parts] == before


@given(st.lists(st.sets(st.integers(0, COUNT - 1)), min_size=1, max_size=4))
def test_any_parts_that_cover_the_manifest(tmp_path_factory, manifest, results, holdings):
    """However episodes lie in the parts, overlapping or not: all there is comes over, once."""
    room = tmp_path_factory.mktemp("parts")
    parts, out = [], RunFolder(room / "out")
    out.create()
    for number, episodes in enumerate([*holdings, set(range(COUNT)) - set().union(*holdings)]):
        folder = RunFolder(room / f"{number}")
        folder.create()
        meta = {
            "manifest_id": "test",
            "manifest_hash": manifest.manifest_hash,
            "episodes": str(COUNT),
            "slice": "1/1",
            "agent_spec": "greedy",
        }
        with closing(Ledger.create(folder.ledger, meta, manifest.documents())) as ledger:
            ledger.begin_session("greedy")
            ledger.commit([results[episode] for episode in episodes])
        parts.append(folder)
    merge_ledgers(out, parts)
    assert merged(out) == results


def test_equal_rows_may_be_in_several_parts(part, out, results):
    """What two parts have alike is there once; the same folder may even be given twice."""
    both = part("a", range(6)), part("b", range(3, COUNT))
    merge_ledgers(out, [*both, *both])
    assert merged(out) == results


def test_only_what_was_played_must_be_equal(part, out, manifest, results):
    """Times differ from machine to machine: of equal results the first one is kept."""
    again = played(manifest, range(COUNT))
    assert [row.execution for row in again] != [row.execution for row in results]
    merge_ledgers(out, [part("a", range(6)), part("b", range(COUNT), again)])
    assert merged(out) == [*results[:6], *again[6:]]


def test_different_rows_are_refused_by_name(part, out, manifest):
    """Two different results of one episode are named with both folders."""
    other = played(manifest, range(COUNT), Stay)
    parts = [part("a", range(5)), part("b", range(4, COUNT), other)]
    told = (
        f"^episode 4 has one result in {parts[0].path} and another in {parts[1].path}: "
        "the agent is not deterministic, or not the same$"
    )
    refused(out, parts, told)
    refused(out, parts, told, partial=True)


def test_another_manifest_is_refused_by_name(part, out, tmp_path):
    """A part of another manifest is named with both hashes, also where it fits by number."""
    other = load_manifest(write_manifest(tmp_path / "other", [(hall("one", people=2), [1, 2])]))
    parts = [part("a", range(4)), part("b", [0, 1], of=other)]
    told = f"^{parts[1].path}: has manifest_hash {other.manifest_hash}, but {parts[0].path} has "
    refused(out, parts, told)


def test_another_agent_is_refused_by_name(part, out):
    """A part that another agent played is named with both agents."""
    parts = [part("a", range(4)), part("b", range(4, COUNT), agent_spec="stay")]
    told = f"^{parts[1].path}: has agent_spec stay, but {parts[0].path} has greedy; they are not"
    refused(out, parts, told)


@pytest.mark.parametrize(("code", "kept"), [("{1}", "{1}"), ("{2}", None)])
def test_the_code_of_all_parts_is_that_of_the_whole(part, out, code, kept):
    """What is known of the agent's code comes over where it is one."""
    merge_ledgers(
        out, [part("a", range(4), agent_code="{1}"), part("b", range(4, COUNT), agent_code=code)]
    )
    with Ledger.reading(out.ledger) as ledger:
        assert ledger.meta().get("agent_code") == kept


@pytest.mark.parametrize(("hole", "first"), [({0}, 0), ({3, 4}, 3), ({8}, 8), (set(range(9)), 0)])
def test_a_missing_episode_is_refused_by_name(part, out, results, hole, first):
    """The first episode that no part has is named; with `partial` the others come over."""
    there = [episode for episode in range(COUNT) if episode not in hole]
    parts = [part("a", there[::2]), part("b", there[1::2])]
    refused(out, parts, f"^episode {first} is in none of the folders; .* --partial$")
    merge_ledgers(out, parts, partial=True)
    assert merged(out) == [results[episode] for episode in there]


@pytest.mark.parametrize("name", ["ledger.sqlite", "artifact.jsonl"])
def test_a_folder_with_a_run_is_refused(part, out, name):
    """Where a run is already, or what is left of one, nothing is merged and nothing lost."""
    (out.path / name).write_bytes(b"precious")
    with pytest.raises(RunFolderError, match=f"^{out.path}: already holds a run; choose another"):
        merge_ledgers(out, [part("a", range(COUNT))])
    assert contents(out.path) == {name: b"precious"}


def test_no_part_is_merged_into_itself(part):
    """A part is never the folder that is merged into."""
    folder = part("a", range(COUNT))
    before = contents(folder.path)
    with pytest.raises(RunFolderError, match="already holds a run"):
        merge_ledgers(folder, [folder])
    assert contents(folder.path) == before


def test_open_failures_come_over(part, out):
    """What failed in one part is told, unless another part has it; it stays to be played."""
    known = [
        failure(number, scenario_id="one", seed=number + 1, execution=execution_record(1.5))
        for number in (2, 5)
    ]
    parts = [part("a", [0, 1, 3], failures=known), part("b", [2, 4])]
    merge_ledgers(out, parts, partial=True)
    with Ledger.reading(out.ledger) as ledger:
        assert ledger.failures() == known[1:]
        assert ledger.lost() == Spent(attempts=2, seconds=3.0)
        assert ledger.spent().attempts == 5
        assert ledger.committed() == [range(5)]


def test_a_part_without_a_run_is_refused(part, out, tmp_path):
    """A folder that holds no ledger is named."""
    with pytest.raises(LedgerError, match=f"^{tmp_path}/b/ledger.sqlite: there is no run here$"):
        merge_ledgers(out, [part("a", range(COUNT)), RunFolder(tmp_path / "b")])
    assert contents(out.path) == {}


DAMAGES = {
    "row": (
        "UPDATE episodes SET steps = x'77' WHERE episode = 6",
        "the row of episode 6 is damaged",
    ),
    "binding": ("DELETE FROM meta", "what the run is bound to is damaged"),
}


@pytest.mark.parametrize(("damage", "told"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_part_is_refused_by_name(part, out, damage, told):
    """A part that is not as it was written is named, and nothing of the others is kept."""
    parts = [part("a", range(4)), part("b", range(4, COUNT))]
    with closing(Ledger.open(parts[1].ledger)) as ledger:
        ledger._connection.execute(damage)
    refused(out, parts, f"^{re.escape(str(parts[1].ledger))}: {told}", LedgerError)


def test_a_damaged_manifest_is_refused_by_name(part, out):
    """The copy of the manifest that is to be kept must be that of the run."""
    parts = [part("a", range(4)), part("b", range(4, COUNT))]
    with closing(Ledger.open(parts[0].ledger)) as ledger:
        ledger._connection.execute("UPDATE documents SET body = x'7B'")
    refused(out, parts, "a/ledger.sqlite: its copy of the manifest cannot be used", LedgerError)


def test_what_a_dead_merge_left_is_in_nobodys_way(part, out, results):
    """Half a merge of a process that died, with its journal, does not spoil the next one."""
    for name in (".merged.sqlite", "..merged.sqlite.partial"):
        (out.path / name).write_bytes(b"half a ledger" * 1000)
        (out.path / f"{name}-journal").write_bytes(bytes.fromhex("d9d505f920a163d7") + bytes(5000))
    merge_ledgers(out, [part("a", range(COUNT))])
    assert merged(out) == results
