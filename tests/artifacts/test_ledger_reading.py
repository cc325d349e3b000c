"""Opening and reading ledgers: only ours, never changed by a reader, also in the worst moment."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from damage import die_in_a_commit
from rows import contents, synthetic

from emberbench_dist.artifacts.database import APPLICATION_ID, SCHEMA_VERSION
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.errors import LedgerError

TESTS = Path(__file__).parents[1]
# Every other episode, so that a later commit has to write over old pages.
EPISODES = range(0, 60, 2)
COMMITTED = [range(episode, episode + 1) for episode in EPISODES]

# A driver that is in the middle of a transaction until its input ends.
STAY_IN_A_COMMIT = """
import sys
from pathlib import Path
from emberbench_dist.artifacts.ledger import Ledger

ledger = Ledger.open(Path(sys.argv[1]))
with ledger._transaction():
    ledger._connection.execute("DELETE FROM episodes")
    print("inside", flush=True)
    sys.stdin.read()
print(ledger._connection.execute("SELECT COUNT(*) FROM episodes").fetchone()[0], flush=True)
"""


@pytest.fixture
def path(tmp_path):
    """Create a closed ledger of some episodes."""
    path = tmp_path / "ledger.sqlite"
    with closing(Ledger.create(path, {"manifest_id": "test"})) as ledger:
        ledger.begin_session("greedy")
        ledger.commit([synthetic(episode, "x" * 2000) for episode in EPISODES])
    return path


def start(script, path):
    """Start a driver in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", script, path],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def a_database(path, *, application=0, version=0, journal="delete"):
    """Make a database that is somebody else's, or of another time."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal}")
        connection.execute(f"PRAGMA application_id = {application}")
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("CREATE TABLE episodes (episode INTEGER)")
        connection.commit()


def opened(path):
    """Open a ledger as a driver does."""
    Ledger.open(path).close()


def read(path):
    """Open a ledger as a reader does."""
    with Ledger.reading(path):
        pass


FOREIGN = {
    "text": (lambda path: path.write_bytes(b"no database at all\n" * 100), "damaged or no ledger"),
    "short": (lambda path: path.write_bytes(b"SQLite"), "damaged or no ledger"),
    "empty": (lambda path: path.write_bytes(b""), "is not a ledger of dist-eval"),
    "other": (a_database, "is not a ledger of dist-eval"),
    "wal": (lambda path: a_database(path, journal="wal"), "is not a ledger of dist-eval"),
    "version": (
        lambda path: a_database(path, version=SCHEMA_VERSION),
        "is not a ledger of dist-eval",
    ),
    "newer": (
        lambda path: a_database(path, application=APPLICATION_ID, version=SCHEMA_VERSION + 1),
        f"has schema {SCHEMA_VERSION + 1}; this program reads schema {SCHEMA_VERSION}",
    ),
    "older": (
        lambda path: a_database(path, application=APPLICATION_ID, version=SCHEMA_VERSION - 1),
        f"has schema {SCHEMA_VERSION - 1}; ",
    ),
}


@pytest.mark.parametrize("use", [opened, read])
@pytest.mark.parametrize(("make", "words"), FOREIGN.values(), ids=FOREIGN)
def test_what_is_no_ledger_is_refused_and_left_alone(tmp_path, use, make, words):
    """A file that is not ours, or of another schema, is refused by name; no byte of it changes."""
    path = tmp_path / "ledger.sqlite"
    make(path)
    before = contents(tmp_path)
    with pytest.raises(LedgerError) as caught:
        use(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert words in str(caught.value)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("use", [opened, read])
def test_where_no_file_is_no_run_is(tmp_path, use):
    """Neither a missing file nor a folder is a run, and none is made by asking."""
    for path in (tmp_path / "ledger.sqlite", tmp_path):
        with pytest.raises(LedgerError, match="there is no run here"):
            use(path)
    assert contents(tmp_path) == {}


@pytest.mark.parametrize("use", [opened, read])
def test_a_ledger_that_may_not_be_read_is_told(foreign_folder, unprivileged, use):
    """Where the system refuses to open the file the error names it."""
    path = foreign_folder / "ledger.sqlite"
    path.touch()
    path.chmod(0)
    with unprivileged(), pytest.raises(LedgerError, match=r"ledger\.sqlite: cannot be read"):
        use(path)


def test_a_ledger_that_may_not_be_made_is_told(foreign_folder, unprivileged):
    """Where the system refuses to make the file the error names it."""
    with unprivileged(), pytest.raises(LedgerError, match=r"ledger\.sqlite.*: cannot be"):
        Ledger.create(foreign_folder / "ledger.sqlite", {})


def test_opening_reading_and_closing_change_no_byte(tmp_path, path):
    """Looking at a ledger leaves it as it was, whoever looks."""
    before = contents(tmp_path)
    with Ledger.reading(path) as ledger:
        assert ledger.committed() == COMMITTED
        ledger.check()
        assert contents(tmp_path) == before
    with closing(Ledger.open(path)) as ledger:
        assert ledger.committed() == COMMITTED
    assert contents(tmp_path) == before


def test_a_reader_cannot_write(path):
    """A ledger that was opened to read refuses a commit."""
    with Ledger.reading(path) as ledger, pytest.raises(LedgerError, match="readonly"):
        ledger.commit([synthetic(40)])


def test_anybody_may_read_what_nobody_else_may_write(path, foreign_folder, unprivileged):
    """A run in somebody else's folder can be read without the right to write there."""
    place = foreign_folder / "ledger.sqlite"
    place.write_bytes(path.read_bytes())
    place.chmod(0o444)
    with unprivileged(), Ledger.reading(place) as ledger:
        assert ledger.committed() == COMMITTED
    assert contents(foreign_folder).keys() == {"ledger.sqlite"}


def test_reading_within_a_transaction_sees_what_is_committed(tmp_path, path):
    """While a driver is in the middle of a transaction a reader sees the state before it."""
    with start(STAY_IN_A_COMMIT, path) as driver:
        assert driver.stdout.readline() == "inside\n"
        before = contents(tmp_path)
        assert before["ledger.sqlite-journal"]
        with Ledger.reading(path) as ledger:
            assert ledger.committed() == COMMITTED
            ledger.check()
        assert contents(tmp_path) == before
        told, _ = driver.communicate(timeout=60)
    assert (driver.returncode, told) == (0, "0\n")


def test_a_reader_stands_in_no_drivers_way(path):
    """A driver commits while a reader has the ledger open, and the reader sees it next time."""
    with (
        Ledger.reading(path) as reader,
        closing(Ledger.open(path)) as driver,
    ):
        assert reader.prefix() == 1
        driver.begin_session("greedy")
        driver.commit([synthetic(1)])
        assert reader.prefix() == 3


@pytest.fixture
def crashed(path):
    """Leave the ledger as a driver that was killed within a commit leaves it."""
    clean = path.read_bytes()
    # What the test is about: the file holds half a commit, and the journal how to undo it.
    assert die_in_a_commit(path)
    assert path.read_bytes()[: len(clean)] != clean
    return path


def test_a_crashed_ledger_is_read_without_changing_a_byte(tmp_path, crashed):
    """After a kill within a commit a reader sees what was committed and repairs nothing."""
    before = contents(tmp_path)
    for _ in range(2):
        with Ledger.reading(crashed) as ledger:
            ledger.check()
            assert ledger.committed() == COMMITTED
            assert [count for _, _, count in ledger.sessions()] == [30, 0]
        assert contents(tmp_path) == before


def test_a_crashed_ledger_goes_on_with_its_next_driver(tmp_path, crashed):
    """The next driver has all that was committed, nothing of the half, and can commit."""
    with closing(Ledger.open(crashed)) as ledger:
        ledger.check()
        assert ledger.committed() == COMMITTED
        ledger.begin_session("greedy")
        assert ledger.commit([synthetic(1)]) == 1
        ledger.check()
    assert contents(tmp_path).keys() == {"ledger.sqlite"}


def test_anybody_may_read_a_crashed_run_of_somebody_else(crashed, foreign_folder, unprivileged):
    """A crashed run in a folder that a reader may not write can be read all the same."""
    for part in ("ledger.sqlite", "ledger.sqlite-journal"):
        (foreign_folder / part).write_bytes(crashed.with_name(part).read_bytes())
        (foreign_folder / part).chmod(0o444)
    before = contents(foreign_folder)
    with unprivileged(), Ledger.reading(foreign_folder / "ledger.sqlite") as ledger:
        assert ledger.committed() == COMMITTED
    assert contents(foreign_folder) == before
