"""Repair: after any damage the sound rows are kept as they were, and resume plays the others."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing

import pytest
from commands import folder_in_memory
from damage import COUNT, PAGE, ROWS, Run, damages, die_in_a_commit, edit, rows
from rows import contents, failure

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.repair import Repaired, kept_manifest, repair_ledger
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.errors import LedgerError, RunFolderError
from emberbench_dist.evaluation.manifest import load_manifest
from emberbench_dist.evaluation.slices import Slice
from emberbench_dist.runner.evaluate import in_process
from emberbench_dist.runner.run import Plan, run
from manifests import hall, write_manifest


@pytest.fixture(scope="module")
def whole():
    """Play a run that every test damages in its own way."""
    with folder_in_memory() as room:
        yield Run(room)


def repaired(folder, manifest=None):
    """Repair a folder; require that what is kept is as it was, and that nothing else is there."""
    damaged = (folder / "ledger.sqlite").read_bytes()
    done = repair_ledger(RunFolder(folder), manifest)
    assert (folder / "ledger.damaged.sqlite").read_bytes() == damaged
    assert not [name for name in contents(folder) if name.startswith(".") or "journal" in name]
    return done


@pytest.mark.parametrize("seed", range(24))
def test_any_damage_is_found_and_repaired(whole, seed):
    """Whatever happens to the file: it reads as it was, or as an error; repair saves the rest."""
    for name, content in damages(random.Random(seed), whole.content):
        folder = whole.copy(content)
        try:
            assert rows(folder) == whole.rows, name
        except LedgerError as error:
            assert str(folder / "ledger.sqlite") in str(error)  # noqa: PT017 - one of two good ends
        try:
            whole.require_resumed(folder, 0)
        except RunFolderError as error:
            assert str(folder) in str(error), name  # noqa: PT017 - one of two good ends
        folder = whole.copy(content)
        try:
            done = repaired(folder)
        except LedgerError:
            done = repaired(folder, whole.manifest)
        kept = rows(folder)
        assert kept.items() <= whole.rows.items(), name
        assert len(kept) == done.kept
        assert not kept.keys() & set(done.dropped)
        assert done.lost <= COUNT - len(kept) - len(done.dropped)
        whole.require_resumed(folder, COUNT - len(kept))


@pytest.mark.parametrize(
    ("place", "new"),
    [
        (0, b"X"),
        (0, bytes(PAGE)),
        (16, b"\x20\x00"),
        (18, b"\x02\x02"),
        (28, b"\x00\x00\x00\x02"),
        (47, b"\x08"),
        (100, bytes(PAGE - 100)),
    ],
    ids=["magic", "page", "page size", "journal mode", "page count", "format", "schema"],
)
def test_damage_to_the_head_costs_no_row(whole, place, new):
    """Header and schema are known: whatever happened to them, every row is kept."""
    folder = whole.copy(whole.changed(place, new))
    assert repaired(folder) == Repaired(COUNT, [], 0)
    assert rows(folder) == whole.rows
    whole.require_resumed(folder, 0)


@pytest.mark.parametrize("pages", [1, 2])
def test_a_file_that_was_cut_short_costs_only_what_was_cut(whole, pages):
    """A file without its end keeps every row before it, and says how many are gone."""
    folder = whole.copy(whole.content[: -pages * PAGE])
    done = repaired(folder)
    assert COUNT - ROWS * pages <= done.kept < COUNT
    assert done.kept + len(done.dropped) + done.lost == COUNT
    whole.require_resumed(folder, COUNT - done.kept)


def test_where_the_way_to_the_rows_is_lost_they_are_found(whole):
    """The page that leads to all pages of rows may be gone: every row is kept."""
    with closing(sqlite3.connect(whole.path / "ledger.sqlite")) as connection:
        query = "SELECT rootpage FROM sqlite_schema WHERE name = 'episodes'"
        ((root,),) = connection.execute(query)
    assert whole.content[(root - 1) * PAGE] == 5, "it leads to other pages"
    folder = whole.copy(whole.changed((root - 1) * PAGE, bytes(PAGE)))
    assert repaired(folder) == Repaired(COUNT, [], 0)
    assert rows(folder) == whole.rows


def test_damaged_rows_are_named_and_played_again(whole):
    """Rows that are not as written are dropped by name, others stay; resume plays just those."""
    content = whole.content
    for episode in (7, 31, 59):
        line = whole.rows[episode].line
        assert content.count(line[:150]) == 1
        content = content.replace(line[:150], line[:149] + b"!")
    folder = whole.copy(content)
    assert repaired(folder) == Repaired(COUNT - 3, [7, 31, 59], 0)
    assert rows(folder).keys() == whole.rows.keys() - {7, 31, 59}
    whole.require_resumed(folder, 3)
    assert {name: row for name, row in rows(folder).items() if name not in (7, 31, 59)} == {
        name: row for name, row in whole.rows.items() if name not in (7, 31, 59)
    }


@pytest.mark.parametrize("value", [b"\x00", b"\x01", b"\x07", b"\x0d", b"\xff"])
def test_a_part_that_lost_its_type_is_damage(whole, value):
    """Where a byte says of what type the parts of a row are, its change costs that row alone."""
    line = whole.rows[12].line
    start = whole.content.index(line)
    for place in range(start - 40, start):
        folder = whole.copy(whole.changed(place, value))
        done = repair_ledger(RunFolder(folder))
        assert rows(folder).items() <= whole.rows.items()
        assert done.kept >= COUNT - ROWS, "at most the rows of one page"


def test_a_row_that_vanished_is_counted(whole):
    """A row that left no trace is not named, but told of."""
    folder = whole.copy()
    edit(folder, "DELETE FROM episodes WHERE episode = 9")
    assert repaired(folder) == Repaired(COUNT - 1, [], 1)
    whole.require_resumed(folder, 1)


def test_a_row_that_moved_beyond_the_plan_is_damage(whole):
    """A row under a number that is not planned is never played around: it is an error."""
    folder = whole.copy()
    edit(folder, "UPDATE episodes SET episode = 63 WHERE episode = 59")
    with pytest.raises(LedgerError, match=r"ledger\.sqlite: "):
        whole.require_resumed(folder, 1)
    assert repaired(folder) == Repaired(COUNT - 1, [], 1)
    whole.require_resumed(folder, 1)


def test_repair_of_a_sound_ledger_changes_nothing_that_counts(whole):
    """Repair where nothing is damaged keeps rows, binding and failures."""
    folder = whole.copy()
    edit(folder, "DELETE FROM episodes WHERE episode = 9", "UPDATE sessions SET committed = 59")
    with closing(Ledger.open(folder / "ledger.sqlite")) as ledger:
        ledger.begin_session("other")
        ledger.commit([], [failure(9)])
        before = ledger.meta(), ledger.failures(), list(ledger.results())
    assert repaired(folder) == Repaired(COUNT - 1, [], 0)
    with Ledger.reading(folder / "ledger.sqlite") as ledger:
        assert (ledger.meta(), ledger.failures(), list(ledger.results())) == before
        assert ledger.documents() == whole.manifest.documents()


def test_repair_keeps_the_slice(whole):
    """Of a slice only its own rows are kept or named, and it stays that slice."""
    folder = whole.room / "slice"
    plan = Plan(whole.manifest, "greedy", RunFolder(folder), slice=Slice(2, 4), steps=False)
    run(plan, in_process(whole.manifest, Greedy, folder=plan.folder))
    edit(
        folder,
        "UPDATE episodes SET episode = 3 WHERE episode = 20",
        "UPDATE episodes SET steps = x'77' WHERE episode = 25",
    )
    assert repaired(folder) == Repaired(13, [25], 1)
    with Ledger.reading(folder / "ledger.sqlite") as ledger:
        assert ledger.meta()["slice"] == "2/4"
        assert ledger.committed() == [range(15, 20), range(21, 25), range(26, 30)]


META_DAMAGES = {
    "gone": "DELETE FROM meta",
    "a key": "UPDATE meta SET key = 'manifest_hasi' WHERE key = 'manifest_hash'",
    "the hash": "UPDATE meta SET value = '1' || substr(value, 2) WHERE key = 'manifest_hash'",
    "the slice": "UPDATE meta SET value = '1/!' WHERE key = 'slice'",
}


@pytest.mark.parametrize("damage", META_DAMAGES.values(), ids=META_DAMAGES)
def test_where_the_binding_is_damaged_run_json_has_it(whole, damage):
    """What a run is bound to is taken from run.json where the ledger does not tell it any more."""
    folder = whole.copy()
    edit(folder, damage)
    assert repaired(folder) == Repaired(COUNT, [], 0)
    with (
        Ledger.reading(folder / "ledger.sqlite") as new,
        Ledger.reading(whole.path / "ledger.sqlite") as old,
    ):
        assert new.meta() == old.meta()
    whole.require_resumed(folder, 0)


@pytest.mark.parametrize("content", [None, b"", b"{}", b'{"manifest_hash": 7}', b"[" * 5000])
def test_where_nothing_tells_the_binding_repair_says_so(whole, content):
    """Without a binding nothing is repaired and nothing changes."""
    folder = whole.copy()
    edit(folder, "DELETE FROM meta")
    (folder / "run.json").unlink()
    if content is not None:
        (folder / "run.json").write_bytes(content)
    before = contents(folder)
    for manifest in (None, whole.manifest):
        with pytest.raises(LedgerError, match=f"{folder}: neither its ledger nor its run.json"):
            repair_ledger(RunFolder(folder), manifest)
    assert contents(folder) == before


DOCUMENT_DAMAGES = {
    "gone": "DELETE FROM documents",
    "a name": "UPDATE documents SET name = 'manifesu' WHERE name = 'manifest'",
    "a path": "UPDATE documents SET name = 'other' WHERE name LIKE '%one.json'",
    "no text": "UPDATE documents SET body = x'FF'",
    "no JSON": "UPDATE documents SET body = x'7B' WHERE name = 'manifest'",
    "no scenario": "UPDATE documents SET body = x'7B' WHERE name LIKE '%two.json'",
    "another scenario": "UPDATE documents SET body = replace(body, '0.3', '0.4')"
    " WHERE name LIKE '%two.json'",
}


@pytest.mark.parametrize("damage", DOCUMENT_DAMAGES.values(), ids=DOCUMENT_DAMAGES)
def test_where_the_manifest_is_damaged_it_must_be_given(whole, damage, tmp_path):
    """A ledger whose copy of the manifest is damaged says so; with the manifest it is repaired."""
    folder = whole.copy()
    edit(
        folder,
        damage.replace("replace(body", "CAST(replace(body").replace("'0.4')", "'0.4') AS BLOB)"),
    )
    with pytest.raises(LedgerError, match=r"ledger\.sqlite: its copy .* repair --manifest"):
        repair_ledger(RunFolder(folder))
    other = load_manifest(write_manifest(tmp_path, [(hall("one"), [1])]))
    with pytest.raises(LedgerError, match="says that it is a run of manifest test"):
        repair_ledger(RunFolder(folder), other)
    assert repaired(folder, whole.manifest) == Repaired(COUNT, [], 0)
    with Ledger.reading(folder / "ledger.sqlite") as ledger:
        assert kept_manifest(ledger, "it").manifest_hash == whole.manifest.manifest_hash
    whole.require_resumed(folder, 0)


@pytest.mark.parametrize("damage", ["the hash", "a key"])
def test_a_damaged_binding_is_no_binding(whole, damage):
    """A binding of which a part was changed or is gone is refused, and so is the manifest by it."""
    folder = whole.copy()
    edit(folder, META_DAMAGES[damage])
    with (
        Ledger.reading(folder / "ledger.sqlite") as ledger,
        pytest.raises(LedgerError, match="what the run is bound to is damaged"),
    ):
        kept_manifest(ledger, "the ledger")


def test_another_manifest_is_not_the_runs(tmp_path):
    """A copy of the manifest that is sound, but not what the run is bound to, is refused."""
    other = load_manifest(write_manifest(tmp_path, [(hall("one"), [1])]))
    with (
        closing(Ledger.create(None, {"manifest_hash": "f"}, other.documents())) as ledger,
        pytest.raises(LedgerError, match=r"^it: its copy of the manifest is not that of the run; "),
    ):
        kept_manifest(ledger, "it")
    with (
        closing(Ledger.create(None, {"manifest_hash": other.manifest_hash}, {})) as ledger,
        pytest.raises(LedgerError, match=r"^it: its copy of the manifest cannot be used: "),
    ):
        kept_manifest(ledger, "it")


@pytest.mark.parametrize("place", [None, 5, 3000])
def test_what_a_dying_driver_left_is_rolled_back_first(whole, place):
    """A damaged ledger of a driver that died within a commit keeps all that was committed."""
    folder = whole.copy()
    path = folder / "ledger.sqlite"
    journal = die_in_a_commit(path)
    assert journal
    if place is not None:
        content = bytearray(path.read_bytes())
        content[place] ^= 0xFF
        path.write_bytes(content)
    damaged = path.read_bytes()
    done = repair_ledger(RunFolder(folder))
    assert (done.kept, done.dropped) == (COUNT, [])
    assert (folder / "ledger.damaged.sqlite").read_bytes() == damaged
    assert (folder / "ledger.damaged.sqlite-journal").read_bytes() == journal
    assert not (folder / "ledger.sqlite-journal").exists()
    assert rows(folder) == whole.rows
    whole.require_resumed(folder, 0)


def test_what_a_dead_repair_left_is_in_nobodys_way(whole):
    """Half a repair of a process that died, with its journal, does not spoil the next one."""
    folder = whole.copy()
    for name in (".repaired.sqlite", ".damaged.sqlite", "..repaired.sqlite.partial"):
        (folder / name).write_bytes(b"half a ledger" * 1000)
        (folder / f"{name}-journal").write_bytes(bytes.fromhex("d9d505f920a163d7") + bytes(5000))
    assert repaired(folder) == Repaired(COUNT, [], 0)
    assert rows(folder) == whole.rows


def test_repair_needs_a_ledger(tmp_path):
    """Where no run is nothing is repaired, and nothing is made."""
    with pytest.raises(LedgerError, match=r"ledger\.sqlite: there is no run here"):
        repair_ledger(RunFolder(tmp_path))
    assert contents(tmp_path) == {}


@pytest.mark.parametrize("content", [None, b"", b"{", b"[1]", b"null", b"\xff\xfe", b"[" * 100_000])
def test_resume_needs_no_run_json(whole, content):
    """A run whose run.json is missing or garbage is resumed; its data is not touched."""
    folder = whole.copy()
    (folder / "run.json").unlink()
    if content is not None:
        (folder / "run.json").write_bytes(content)
    whole.require_resumed(folder, 0)
    assert rows(folder) == whole.rows
    assert b'"outcome": "complete"' in (folder / "run.json").read_bytes()
