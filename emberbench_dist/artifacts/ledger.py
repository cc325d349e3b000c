"""The ledger: committed episodes in one SQLite file, the only state of a run.

One transaction a commit, durable when it returns (rollback journal, `synchronous=FULL`, so it
also holds on disks where shared memory does not). Committed rows are never changed. Pending is
planned minus committed, so resume has no state of its own.
"""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import copyfile
from typing import Any

from emberbench_dist.artifacts.run_folder import sync_folder
from emberbench_dist.errors import DiskFullError, LedgerError, RunFolderError
from emberbench_dist.evaluation.episode import EpisodeResult, Failure, sealed
from emberbench_dist.evaluation.metrics import INTEGER_METRICS, SUMMED_METRICS, Metrics, totals

APPLICATION_ID = 0x454D4252  # "EMBR"
SCHEMA_VERSION = 1
_BUSY_SECONDS = 60.0
_COLUMNS = ", ".join(INTEGER_METRICS)
_SCHEMA = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE episodes (
    episode INTEGER PRIMARY KEY, line BLOB NOT NULL, trace BLOB NOT NULL,
    {", ".join(f"{name} INTEGER" for name in INTEGER_METRICS)},
    execution BLOB NOT NULL, digest BLOB NOT NULL
) STRICT;
CREATE TABLE failures (
    episode INTEGER PRIMARY KEY, scenario_id TEXT NOT NULL, seed TEXT NOT NULL, step INTEGER,
    kind TEXT NOT NULL, type TEXT NOT NULL, message TEXT NOT NULL, traceback TEXT NOT NULL
) STRICT;
CREATE TABLE crashes (episode INTEGER PRIMARY KEY, count INTEGER NOT NULL) STRICT;
CREATE TABLE sessions (
    session INTEGER PRIMARY KEY, started REAL NOT NULL, updated REAL NOT NULL,
    committed INTEGER NOT NULL
) STRICT;
"""
_INSERT = f"""
INSERT INTO episodes (episode, line, trace, {_COLUMNS}, execution, digest)
VALUES ({", ".join("?" * (len(INTEGER_METRICS) + 5))})
ON CONFLICT (episode) DO NOTHING
"""  # noqa: S608 - column names are constants


class Ledger:
    """One run's ledger, open for its driver or, `read_only`, for anybody."""

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        """Wrap an open connection; use `create`, `open` or `reading`."""
        self._connection = connection
        self._name = name
        self._session: int | None = None

    @classmethod
    def create(cls, path: Path | None, meta: dict[str, str]) -> Ledger:
        """Create a ledger with its binding (`manifest_hash`, ...); None is one in memory."""
        if path is None:
            return cls(_new_database(None, meta), "ledger in memory")
        # A file under the final name is whole: a crash in between leaves only what is beside.
        beside = path.with_name(f".{path.name}.partial")
        beside.unlink(missing_ok=True)
        cls(_new_database(beside, meta), str(beside)).close()
        beside.replace(path)
        sync_folder(path.parent)
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> Ledger:
        """Open an existing ledger for its driver; `LedgerError` unless it is one of ours."""
        if not path.is_file():
            raise LedgerError(f"{path}: there is no run here")
        ledger = cls(_connect(path), str(path))
        ledger._require_ours()
        return ledger

    @classmethod
    @contextmanager
    def reading(cls, path: Path) -> Iterator[Ledger]:
        """Open a ledger without writing a byte, also during a run and after a crash."""
        if not path.is_file():
            raise LedgerError(f"{path}: there is no run here")
        with tempfile.TemporaryDirectory() as scratch:
            ledger = cls(_connect_read_only(path), str(path))
            try:
                ledger._require_ours()
            except sqlite3.OperationalError:
                # A driver died within a commit: what it left is rolled back, in a copy.
                ledger.close()
                copy = Path(scratch) / path.name
                copyfile(path, copy)
                copyfile(f"{path}-journal", f"{copy}-journal")
                ledger = cls(_connect(copy), str(path))
                ledger._require_ours()
            try:
                yield ledger
            finally:
                ledger.close()

    def close(self) -> None:
        """Close the file; a driver's leaves no journal beside it."""
        with suppress(sqlite3.Error):
            self._connection.execute("PRAGMA journal_mode = DELETE")
        self._connection.close()

    def meta(self) -> dict[str, str]:
        """Return what the run is bound to."""
        return dict(self._rows("SELECT key, value FROM meta"))

    def begin_session(self, agent_spec: str) -> None:
        """Open a driver's session, and note the agent that plays in it."""
        now = time.time()
        with self._transaction():
            self._connection.execute(
                "INSERT OR REPLACE INTO meta VALUES ('agent_spec', ?)", (agent_spec,)
            )
            cursor = self._connection.execute(
                "INSERT INTO sessions (started, updated, committed) VALUES (?, ?, 0)", (now, now)
            )
        self._session = cursor.lastrowid

    def commit(self, results: Iterable[EpisodeResult]) -> int:
        """Make results durable in one transaction; return how many were new."""
        rows = [(r.episode, r.line, r.trace, *r.metrics, r.execution, r.digest) for r in results]
        with self._transaction():
            new = self._connection.executemany(_INSERT, rows).rowcount
            self._connection.executemany(
                "DELETE FROM failures WHERE episode = ?", [row[:1] for row in rows]
            )
            self._connection.execute(
                "UPDATE sessions SET committed = committed + ?, updated = ? WHERE session = ?",
                (new, time.time(), self._session),
            )
        return new

    def record_failure(self, failure: Failure) -> None:
        """Keep what is known of a failed episode; it stays pending."""
        with self._transaction():
            self._connection.execute(
                "INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    failure.episode,
                    failure.scenario_id,
                    str(failure.seed),
                    failure.step,
                    failure.kind,
                    failure.type,
                    failure.message,
                    failure.traceback,
                ),
            )

    def record_crash(self, episode: int) -> None:
        """Count one worker that died while it played only this episode."""
        with self._transaction():
            self._connection.execute(
                "INSERT INTO crashes VALUES (?, 1) "
                "ON CONFLICT (episode) DO UPDATE SET count = count + 1",
                (episode,),
            )

    def failures(self) -> list[Failure]:
        """Return the failed episodes, lowest first."""
        return [
            Failure(row[0], row[1], int(row[2]), *row[3:])
            for row in self._rows("SELECT * FROM failures ORDER BY episode")
        ]

    def crashes(self) -> dict[int, int]:
        """Return how many workers died with each episode, where any did."""
        return dict(self._rows("SELECT episode, count FROM crashes"))

    def sessions(self) -> list[tuple[float, float, int]]:
        """Return (started, updated, committed) of each session, in order."""
        return list(self._rows("SELECT started, updated, committed FROM sessions ORDER BY session"))

    def committed(self) -> list[range]:
        """Return the committed episodes as ascending ranges."""
        islands = self._rows(
            "SELECT MIN(episode), MAX(episode) + 1 FROM (SELECT episode, "
            "episode - ROW_NUMBER() OVER (ORDER BY episode) AS island FROM episodes) "
            "GROUP BY island ORDER BY 1"
        )
        return [range(first, stop) for first, stop in islands]

    def prefix(self) -> int:
        """Return how many episodes are committed without a gap from 0."""
        ranges = self.committed()
        return ranges[0].stop if ranges and ranges[0].start == 0 else 0

    def lines(self, stop: int) -> Iterator[tuple[bytes, bytes]]:
        """Yield artifact line and trace line of each committed episode below `stop`, in order."""
        yield from self._rows(
            "SELECT line, trace FROM episodes WHERE episode < ? ORDER BY episode", (stop,)
        )

    def results(self) -> Iterator[EpisodeResult]:
        """Yield every committed episode, in order."""
        for episode, line, trace, *metrics, execution, digest in self._rows(
            f"SELECT episode, line, trace, {_COLUMNS}, execution, digest "  # noqa: S608 - constant
            "FROM episodes ORDER BY episode"
        ):
            yield EpisodeResult(episode, line, trace, tuple(metrics), execution, digest)

    def totals(self, stop: int) -> Metrics:
        """Return the footer's totals over the committed episodes below `stop`."""
        (sums,) = self._rows(
            f"SELECT {', '.join(f'SUM({name})' for name in SUMMED_METRICS)}, COUNT(*) "  # noqa: S608
            "FROM episodes WHERE episode < ?",
            (stop,),
        )
        *values, count = sums
        pairs = self._rows("SELECT evacuated, people FROM episodes WHERE episode < ?", (stop,))
        rates = (evacuated / people for evacuated, people in pairs)
        named = dict(zip(SUMMED_METRICS, (value or 0 for value in values), strict=True))
        return totals(named, rates, count)

    def check(self) -> None:
        """Audit the file and every row; `LedgerError` names the first that is not as written."""
        for (answer,) in self._rows("PRAGMA integrity_check"):
            if answer != "ok":
                raise LedgerError(f"{self._name}: the database is damaged: {answer}")
        count = 0
        for row in self.results():
            count += 1
            expected = sealed(row.episode, row.line, row.trace, row.metrics, row.execution)
            if expected.digest != row.digest:
                raise LedgerError(f"{self._name}: the row of episode {row.episode} is damaged")
        counted = sum(committed for _, _, committed in self.sessions())
        if counted != count:
            raise LedgerError(
                f"{self._name}: holds {count} episodes, but its sessions committed {counted}"
            )

    def _rows(self, query: str, values: tuple[Any, ...] = ()) -> Iterator[Any]:
        with self._guarded():
            yield from self._connection.execute(query, values)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Take the write lock first; all or nothing."""
        with self._guarded():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise _explained(self._name, error) from error

    def _require_ours(self) -> None:
        try:
            (application,) = self._connection.execute("PRAGMA application_id").fetchone()
            (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and "readonly" in str(error):
                raise
            raise _explained(self._name, error) from error
        if application != APPLICATION_ID:
            raise LedgerError(f"{self._name}: is not a ledger of dist-eval")
        if version != SCHEMA_VERSION:
            raise LedgerError(
                f"{self._name}: has schema {version}; this program reads schema {SCHEMA_VERSION}"
            )


def _explained(name: str, error: sqlite3.Error) -> RunFolderError:
    """Return our error for one of the database's."""
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
        return DiskFullError(f"{name}: the disk is full; make room and go on with --resume")
    if isinstance(error, sqlite3.OperationalError):
        return LedgerError(f"{name}: cannot be read or written: {error}")
    return LedgerError(f"{name}: is damaged or no ledger: {error}")


def _new_database(path: Path | None, meta: dict[str, str]) -> sqlite3.Connection:
    connection = _connect(path)
    try:
        connection.executescript(
            f"BEGIN IMMEDIATE; PRAGMA application_id = {APPLICATION_ID};"
            f"PRAGMA user_version = {SCHEMA_VERSION}; {_SCHEMA}"
        )
        connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        connection.close()
        raise _explained(str(path), error) from error
    return connection


def _connect(path: Path | None) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path or ":memory:", timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA journal_mode = TRUNCATE")
        connection.execute("PRAGMA synchronous = FULL")
    except sqlite3.Error as error:
        connection.close()
        raise _explained(str(path), error) from error
    return connection


def _connect_read_only(path: Path) -> sqlite3.Connection:
    address = path.resolve().as_uri() + "?mode=ro"
    return sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
