"""The ledger's database: one SQLite file, its schema, and how it is opened."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from shutil import copyfile

from emberbench_dist.errors import DiskFullError, LedgerError, RunFolderError

Connection = sqlite3.Connection

APPLICATION_ID = 0x454D4252  # "EMBR"
SCHEMA_VERSION = 3
_BUSY_SECONDS = 60.0
_HEADER_BYTES = 100
_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE documents (name TEXT PRIMARY KEY, body BLOB NOT NULL) STRICT;
CREATE TABLE episodes (
    episode INTEGER PRIMARY KEY, digest BLOB NOT NULL, metrics BLOB NOT NULL,
    people BLOB NOT NULL, steps BLOB NOT NULL, execution BLOB NOT NULL,
    line BLOB NOT NULL, trace BLOB NOT NULL
) STRICT;
CREATE INDEX numbers ON episodes (episode);
CREATE TABLE files (
    name TEXT PRIMARY KEY, size INTEGER NOT NULL, modified INTEGER NOT NULL,
    committed INTEGER NOT NULL
) STRICT;
CREATE TABLE failures (
    episode INTEGER PRIMARY KEY, scenario_id TEXT NOT NULL, seed TEXT NOT NULL, step INTEGER,
    kind TEXT NOT NULL, type TEXT NOT NULL, message TEXT NOT NULL, traceback TEXT NOT NULL,
    attempts INTEGER NOT NULL
) STRICT;
CREATE TABLE crashes (episode INTEGER PRIMARY KEY, count INTEGER NOT NULL) STRICT;
CREATE TABLE lost (
    attempt INTEGER PRIMARY KEY, episode INTEGER NOT NULL, reason TEXT NOT NULL,
    execution BLOB NOT NULL
) STRICT;
CREATE TABLE sessions (
    session INTEGER PRIMARY KEY, started REAL NOT NULL, updated REAL NOT NULL,
    committed INTEGER NOT NULL, spent TEXT NOT NULL
) STRICT;
"""


def create_database(
    path: Path | None, meta: Mapping[str, str], documents: Mapping[str, bytes]
) -> Connection:
    """Create the schema with a run's binding in one transaction; None is a database in memory."""
    connection = connect(path)
    try:
        with explaining(str(path)):
            connection.executescript(
                f"BEGIN IMMEDIATE; PRAGMA application_id = {APPLICATION_ID};"
                f"PRAGMA user_version = {SCHEMA_VERSION}; {_SCHEMA}"
            )
            connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
            connection.executemany("INSERT INTO documents VALUES (?, ?)", documents.items())
            connection.execute("COMMIT")
    except RunFolderError:
        connection.close()
        if path is not None:
            forget(path)
        raise
    return connection


def connect(path: Path | None) -> Connection:
    """Open a database for writing: rollback journal, every commit synced to the disk.

    Where the last writer did not close it, its pages are checked: `LedgerError` unless they fit
    together. Elsewhere a page is checked when it is read, and a row by its digest.
    """
    unclean = path is not None and Path(f"{path}-journal").exists()
    with explaining(str(path)):
        connection = sqlite3.connect(
            path or ":memory:", timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
    try:
        with explaining(str(path)):
            connection.execute("PRAGMA journal_mode = TRUNCATE")
            connection.execute("PRAGMA synchronous = FULL")
            if unclean:
                _require_fitting_pages(connection, path)
    except RunFolderError:
        connection.close()
        raise
    return connection


def _require_fitting_pages(connection: Connection, path: Path | None) -> None:
    (answer,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if answer != "ok":
        told = " ".join(answer.split())
        raise LedgerError(f"{path}: is damaged, `dist-eval repair` keeps what is sound: {told}")


def new_content() -> bytes:
    """Return the bytes of a ledger in which nothing is; its first page is that of every ledger."""
    with closing(create_database(None, {}, {})) as connection:
        return connection.serialize()


def root_page(path: Path, table: str) -> int:
    """Return the number of the page where a table begins, from 1."""
    with closing(connect_read_only(path)) as connection, explaining(str(path)):
        query = "SELECT rootpage FROM sqlite_schema WHERE name = ?"
        (root,) = connection.execute(query, (table,)).fetchone()
    return int(root)


def disconnect(connection: Connection) -> None:
    """Close a database; a writer leaves no journal beside it."""
    # Of a damaged schema even the error may not be a text.
    with suppress(sqlite3.Error, UnicodeDecodeError):
        connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()


def forget(path: Path) -> None:
    """Remove a database that was not finished; its journal would spoil the next of that name."""
    for part in (path, Path(f"{path}-journal")):
        part.unlink(missing_ok=True)


def connect_read_only(path: Path) -> Connection:
    """Open a database without the means to change it."""
    address = path.resolve().as_uri() + "?mode=ro"
    with explaining(str(path)):
        return sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)


@contextmanager
def recovered(path: Path) -> Iterator[Connection]:
    """Open a database for reading; what a dying driver left is rolled back, in a copy."""
    with ExitStack() as stack:
        connection = connect_read_only(path)
        if _needs_recovery(connection):
            connection.close()
            copy = Path(stack.enter_context(tempfile.TemporaryDirectory())) / path.name
            copyfile(path, copy)
            copyfile(f"{path}-journal", f"{copy}-journal")
            connection = connect(copy)
        stack.callback(disconnect, connection)
        yield connection


def _needs_recovery(connection: Connection) -> bool:
    """Say whether a driver died within a commit, which only a writer can roll back."""
    try:
        connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.OperationalError as error:
        return error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_READONLY
    except sqlite3.Error:
        pass
    return False


def require_ours(path: Path) -> None:
    """Raise `LedgerError` unless the file is a ledger of this schema.

    Reads the file's header itself: opening a foreign database might already change it.
    """
    if not path.is_file():
        raise LedgerError(f"{path}: there is no run here")
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
    except OSError as error:
        raise LedgerError(f"{path}: cannot be read: {error.strerror}") from error
    if header and (len(header) < _HEADER_BYTES or not header.startswith(b"SQLite format 3\0")):
        raise LedgerError(f"{path}: is damaged or no ledger: it does not begin as a database does")
    version = int.from_bytes(header[60:64], "big")
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise LedgerError(f"{path}: is not a ledger of dist-eval")
    if version != SCHEMA_VERSION:
        raise LedgerError(
            f"{path}: has schema {version}; this program reads schema {SCHEMA_VERSION}"
        )


@contextmanager
def explaining(name: str) -> Iterator[None]:
    """Turn the database's errors into ours."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
            text = f"{name}: the disk is full; make room and go on with --resume"
            raise DiskFullError(text) from error
        raise LedgerError(f"{name}: cannot be read or written: {error}") from error
    except (sqlite3.Error, ValueError) as error:  # text or JSON that is none
        raise LedgerError(f"{name}: is damaged or no ledger: {error}") from error
