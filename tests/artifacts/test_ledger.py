"""The ledger: created whole, opened only if ours, committed all or nothing, added up exactly."""

from __future__ import annotations

import math
import os
import sqlite3
from contextlib import closing
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import contents, failure, synthetic

from emberbench_dist.artifacts.database import APPLICATION_ID, SCHEMA_VERSION
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.errors import DiskFullError, LedgerError
from emberbench_dist.evaluation.metrics import INTEGER_METRICS
from emberbench_dist.evaluation.packing import unpack_metrics

META = {"manifest_id": "test", "manifest_hash": "0" * 64, "episodes": "9", "agent_spec": "stay"}
AGENT = "greedy"

episode_sets = st.sets(st.integers(0, 12) | st.integers(0, 2**62), max_size=12)
counts = st.integers(0, 2**40)


@pytest.fixture
def path(tmp_path):
    """Return where the ledger of a test lies."""
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(path):
    """Create a ledger in a file, in its first session."""
    with closing(Ledger.create(path, META)) as ledger:
        ledger.begin_session(AGENT)
        yield ledger


def in_memory(episodes=(), **metrics):
    """Return a ledger in memory that holds some episodes."""
    ledger = Ledger.create(None, META)
    ledger.begin_session(AGENT)
    ledger.commit([synthetic(episode, **metrics) for episode in episodes])
    return ledger


def raw(path, query):
    """Return the rows of a query, past the ledger."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def test_a_new_ledger_is_one_whole_file_with_our_marks(tmp_path, path):
    """A ledger names its program and schema, and leaves nothing beside the file."""
    Ledger.create(path, META).close()
    assert contents(tmp_path).keys() == {"ledger.sqlite"}
    assert raw(path, "PRAGMA application_id") == [(APPLICATION_ID,)]
    assert APPLICATION_ID.to_bytes(4, "big") == b"EMBR"
    assert raw(path, "PRAGMA user_version") == [(SCHEMA_VERSION,)]
    strict = raw(path, "SELECT name, strict FROM pragma_table_list WHERE schema = 'main'")
    assert {name for name, is_strict in strict if is_strict} == {
        *("meta", "documents", "episodes", "failures", "crashes", "sessions", "files", "lost")
    }


def test_the_binding_reads_back(ledger, path):
    """What a run is bound to is kept; the agent is the one of the latest session."""
    assert ledger.meta() == META | {"agent_spec": AGENT}
    with Ledger.reading(path) as reader:
        assert reader.meta() == META | {"agent_spec": AGENT}


def test_what_died_while_it_was_made_is_made_again(tmp_path, path):
    """Half a new ledger of a dead driver is in nobody's way."""
    (tmp_path / ".ledger.sqlite.partial").write_bytes(b"half a ledger")
    (tmp_path / ".ledger.sqlite.partial-journal").write_bytes(b"half a journal")
    with closing(Ledger.create(path, META)) as ledger:
        ledger.check()
        assert ledger.meta() == META
    assert contents(tmp_path).keys() == {"ledger.sqlite"}


def test_commits_are_durable_when_they_return(ledger):
    """The disk is synced at every commit, with a journal that network disks can do as well."""
    assert ledger._connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert ledger._connection.execute("PRAGMA journal_mode").fetchone() == ("truncate",)


def test_closing_leaves_one_file(tmp_path, ledger):
    """A folder of a finished run holds no journal."""
    ledger.commit([synthetic(0)])
    ledger.close()
    assert contents(tmp_path).keys() == {"ledger.sqlite"}


def test_another_connection_sees_a_commit_at_once(ledger, path):
    """What `commit` returned for is in the file."""
    assert ledger.commit([synthetic(3), synthetic(1)]) == 2
    assert raw(path, "SELECT episode FROM episodes ORDER BY 1") == [(1,), (3,)]


def test_results_read_back_as_they_were(ledger):
    """Every part of a result survives, whatever its bytes, in manifest order."""
    odd = synthetic(7, variant="\x00\ud800é", last_evacuation_step=None, steps=2**62)
    ledger.commit([odd, synthetic(2)])
    assert list(ledger.results()) == [synthetic(2), odd]


def test_the_first_row_of_an_episode_stays(ledger):
    """A second result of an episode changes nothing and is not counted."""
    assert ledger.commit([synthetic(1, "first")]) == 1
    assert ledger.commit([synthetic(1, "second"), synthetic(2), synthetic(2, "again")]) == 1
    assert list(ledger.results()) == [synthetic(1, "first"), synthetic(2)]
    ledger.check()


def test_an_empty_commit_is_nothing(ledger):
    """Committing no result counts as none."""
    assert ledger.commit([]) == 0
    ledger.check()


def test_results_that_fail_to_come_leave_nothing(ledger):
    """An error among the results leaves the ledger as it was, ready to go on."""

    def broken():
        yield synthetic(0)
        raise KeyError

    with pytest.raises(KeyError):
        ledger.commit(broken())
    assert ledger.committed() == []
    assert ledger.commit([synthetic(0)]) == 1


def test_a_commit_is_all_or_nothing(ledger):
    """A row that the database refuses takes the rows before it, and its session's count, along."""
    broken = synthetic(1)._replace(line=None)
    ledger.commit([], [failure(0)])
    with pytest.raises(LedgerError, match="NOT NULL"):
        ledger.commit([synthetic(0), broken])
    assert ledger.committed() == []
    assert ledger.failures() == [failure(0)]
    assert [count for _, _, count in ledger.sessions()] == [0]
    assert ledger.commit([synthetic(0)]) == 1
    ledger.check()


def test_a_transaction_takes_the_write_lock_first(ledger, path):
    """Where somebody else writes, nothing of a transaction is begun."""
    begun = []

    def write():
        with ledger._transaction():
            begun.append(True)

    ledger._connection.execute("PRAGMA busy_timeout = 0")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="cannot be read or written: database is locked"):
            write()
    assert not begun
    write()
    assert begun


def test_a_full_disk_is_told_as_one_and_loses_nothing(ledger):
    """Where the file cannot grow the error says so, and the commit succeeds once there is room."""
    ledger.commit([synthetic(0)])
    (pages,) = ledger._connection.execute("PRAGMA page_count").fetchone()
    ledger._connection.execute(f"PRAGMA max_page_count = {pages}")
    many = [synthetic(episode, "x" * 1000) for episode in range(1, 50)]
    with pytest.raises(DiskFullError, match=r"ledger\.sqlite: the disk is full; .* --resume"):
        ledger.commit(many)
    assert list(ledger.results()) == [synthetic(0)]
    ledger._connection.execute("PRAGMA max_page_count = 10000")
    assert ledger.commit(many) == 49
    ledger.check()


@pytest.mark.parametrize(
    "known",
    [
        failure(0),
        failure(2**40, seed=2**64 - 1, step=None, kind="crash", message="", traceback=""),
        failure(1, scenario_id="x", message="a\x00b\n'\"é\U0001f600", traceback="t" * 20_000),
    ],
)
def test_failures_read_back(ledger, known):
    """All that is known of a failure is kept, the largest seed and odd text too."""
    ledger.commit([], [known])
    assert ledger.failures() == [known]


def test_failures_are_told_lowest_first_and_latest_only(ledger):
    """Each failed episode is there once, as it failed last, with the number of attempts."""
    for episode in (9, 2, 5):
        ledger.commit([], [failure(episode)])
    ledger.commit([], [failure(5, message="again")])
    assert ledger.failures() == [failure(2), failure(5, message="again", attempts=2), failure(9)]
    assert ledger.committed() == []


def test_a_committed_episode_is_no_failure(ledger):
    """Once an episode is committed its failure is history; others stay."""
    for episode in (1, 2, 3):
        ledger.commit([], [failure(episode)])
    ledger.commit([synthetic(2), synthetic(4)])
    assert ledger.failures() == [failure(1), failure(3)]


def test_crashes_are_counted_per_episode(ledger, path):
    """Each death of a worker counts for its episode, also in later sessions."""
    for episode in (4, 2, 4):
        ledger.record_crash(episode)
    ledger.close()
    with closing(Ledger.open(path)) as again:
        again.record_crash(4)
        assert again.crashes() == {2: 1, 4: 3}


def test_each_session_counts_its_own_commits(path):
    """Sessions add up to the committed episodes, and times do not run backwards."""
    with closing(Ledger.create(path, META)) as first:
        first.begin_session("stay")
        first.commit([synthetic(0), synthetic(1)])
        first.commit([synthetic(1), synthetic(5)])
    with closing(Ledger.open(path)) as second:
        second.begin_session("greedy")
        second.begin_session("shuffle")
        second.commit([synthetic(6)])
        assert [count for _, _, count in second.sessions()] == [3, 0, 1]
        assert all(started <= updated for started, updated, _ in second.sessions())
        assert second.meta()["agent_spec"] == "shuffle"
        second.check()


def test_files_are_known_while_nobody_touches_them_and_nothing_is_committed(ledger, tmp_path):
    """Files are as they were noted only with the same names, sizes, times and episodes."""
    one, two, absent = (tmp_path / name for name in ("one", "two", "absent"))
    one.write_text("1")
    assert not ledger.knows_files([one])
    ledger.note_files([one, absent])
    assert ledger.knows_files([one])
    assert ledger.knows_files([absent, one])
    two.write_text("2")
    assert not ledger.knows_files([one, two])
    ledger.note_files([one, two])
    assert not ledger.knows_files([one])
    assert ledger.knows_files([two, one])
    os.utime(two, ns=(0, 0))
    assert not ledger.knows_files([one, two])
    ledger.note_files([one, two])
    ledger.commit([synthetic(0)])
    assert not ledger.knows_files([one, two])
    ledger.note_files([one, two])
    two.unlink()
    assert not ledger.knows_files([one, two])


@given(episode_sets, st.integers(0, 14))
def test_committed_ranges_are_the_set(episodes, stop):
    """Ranges, prefix, lines and results say the same as a set of episodes does."""
    with closing(in_memory(episodes)) as ledger:
        ranges = ledger.committed()
        assert [episode for span in ranges for episode in span] == sorted(episodes)
        gaps = [later.start - earlier.stop for earlier, later in pairwise(ranges)]
        assert all(span for span in ranges)
        assert all(gap > 0 for gap in gaps)
        assert ledger.prefix() == next(n for n in range(14) if n not in episodes)
        below = [synthetic(episode) for episode in sorted(episodes) if episode < stop]
        assert list(ledger.results(stop)) == below
        assert list(ledger.results()) == [synthetic(episode) for episode in sorted(episodes)]
        ledger.check()


@given(
    st.lists(st.tuples(st.integers(1, 5000), st.floats(0, 1), counts, counts), max_size=12),
    st.randoms(),
    st.integers(0, 14),
)
def test_totals_are_exact_sums(drawn, rng, stop):
    """Totals are the exact sums and once-rounded means of the episodes below `stop`."""
    rows = [
        synthetic(
            episode,
            people=people,
            evacuated=int(people * share),
            moved=moved,
            burned_cells=burned,
            last_evacuation_step=rng.choice([None, 3]),
        )
        for episode, (people, share, moved, burned) in enumerate(drawn)
    ]
    with closing(in_memory()) as ledger:
        ledger.commit(rng.sample(rows, len(rows)))
        totals = ledger.totals(stop)
    counted = [unpack_metrics(row.metrics) for row in rows[:stop]]
    means = {name: totals.pop(name) for name in ("evacuation_rate", "mean_episode_evacuation_rate")}
    assert totals == {
        name: sum(row[name] for row in counted)
        for name in INTEGER_METRICS
        if name != "last_evacuation_step"
    }
    if not counted:
        assert means == {"evacuation_rate": None, "mean_episode_evacuation_rate": None}
        return
    exact = Fraction(totals["evacuated"], totals["people"])
    assert means["evacuation_rate"] == float(exact)
    rates = [float(Fraction(row["evacuated"], row["people"])) for row in counted]
    assert means["mean_episode_evacuation_rate"] == math.fsum(rates) / len(rates)
