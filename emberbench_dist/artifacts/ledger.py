"""The ledger: committed episodes in one SQLite file, the only state of a run.

One transaction a commit, durable when it returns (rollback journal, `synchronous=FULL`, so it
also holds on disks where shared memory does not). Committed rows are never changed. Pending is
planned minus committed, so resume has no state of its own. Each row is sealed by a digest.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice, pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from emberbench_dist.artifacts import durable
from emberbench_dist.artifacts.database import (
    Connection,
    connect,
    create_database,
    disconnect,
    explaining,
    recovered,
    require_ours,
)
from emberbench_dist.contract.canonical import canonical_json, sha256_hex
from emberbench_dist.errors import LedgerError
from emberbench_dist.evaluation.accounting import LostAttempt, Spent
from emberbench_dist.evaluation.episode import HALF, EpisodeResult, Failure, seals
from emberbench_dist.evaluation.metrics import Metrics
from emberbench_dist.evaluation.packing import Totals

_FAILURE = ("episode", "scenario_id", "seed", "step", "kind", "type", "message", "traceback")
_CHUNK = 1000
_META_DIGEST = "digest"
_COLUMNS = ", ".join(EpisodeResult._fields)
_MARKS = ", ".join("?" * len(EpisodeResult._fields))
_INSERT = f"INSERT INTO episodes ({_COLUMNS}) VALUES ({_MARKS}) ON CONFLICT (episode) DO NOTHING"  # noqa: S608 - constants
SELECT_ROWS = f"SELECT {_COLUMNS} FROM episodes"  # noqa: S608 - constants
_FORGET_FAILURE = "DELETE FROM failures WHERE episode = ?"
_INSERT_LOST = "INSERT INTO lost (episode, reason, execution) VALUES (?, ?, ?)"
_EVERY = 2**63 - 1


class Counts(NamedTuple):
    """What the tables need of some episodes: columns with the parts of their results."""

    episodes: Sequence[int]
    metrics: Sequence[bytes]
    people: Sequence[bytes]
    steps: Sequence[bytes]
    execution: Sequence[bytes]


class Lines(NamedTuple):
    """What the artifact needs of some episodes, likewise."""

    lines: Sequence[bytes]
    traces: Sequence[bytes]
    metrics: Sequence[bytes]


class Ledger:
    """One run's ledger, open for its driver or, by `reading`, for anybody."""

    def __init__(self, connection: Connection, name: str) -> None:
        """Wrap an open connection; use `create`, `open` or `reading`."""
        self._connection = connection
        self._name = name
        self._session: int | None = None
        self._spent = Spent()

    @classmethod
    def create(
        cls,
        path: Path | None,
        meta: Mapping[str, str],
        documents: Mapping[str, bytes] = MappingProxyType({}),
    ) -> Ledger:
        """Create a ledger with its binding and inputs; None is one in memory.

        `meta` has `manifest_hash` and the like, `documents` the manifest and its scenarios.
        """
        if path is None:
            return cls(create_database(None, _sealed_meta(meta), documents), "ledger in memory")
        # A file under the final name is whole: a crash in between leaves only what is beside.
        beside = path.with_name(f".{path.name}.partial")
        beside.unlink(missing_ok=True)
        cls(create_database(beside, _sealed_meta(meta), documents), str(beside)).close()
        durable.put_in_place(beside, path)
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> Ledger:
        """Open an existing ledger for its driver; `LedgerError` unless it is one of ours."""
        require_ours(path)
        return cls(connect(path), str(path))

    @classmethod
    @contextmanager
    def reading(cls, path: Path) -> Iterator[Ledger]:
        """Open a ledger without writing a byte, also during a run and after a crash."""
        require_ours(path)
        with recovered(path) as connection:
            yield cls(connection, str(path))

    def close(self) -> None:
        """Close the file; a driver's leaves no journal beside it."""
        disconnect(self._connection)

    def meta(self) -> dict[str, str]:
        """Return what the run is bound to; `LedgerError` where it is not as written."""
        known = dict(self._rows("SELECT key, value FROM meta"))
        digest = known.pop(_META_DIGEST, None)
        texts = all(isinstance(part, str) for pair in known.items() for part in pair)
        if not texts or _sealed_meta(known)[_META_DIGEST] != digest:
            raise LedgerError(
                f"{self._name}: what the run is bound to is damaged; `dist-eval repair` restores it"
            )
        return known

    def documents(self) -> dict[str, bytes]:
        """Return the manifest (`manifest`) and its scenarios (by path), as they were read."""
        return dict(self._rows("SELECT name, body FROM documents"))

    def begin_session(self, agent_spec: str, **more: str) -> None:
        """Open a driver's session; note the agent that plays in it, and more of its binding."""
        now, meta = time.time(), _sealed_meta({**self.meta(), "agent_spec": agent_spec, **more})
        with self._transaction("session"):
            self._connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", meta.items())
            cursor = self._connection.execute(
                "INSERT INTO sessions (started, updated, committed, spent) VALUES (?, ?, 0, ?)",
                (now, now, Spent().to_json()),
            )
        self._session, self._spent = cursor.lastrowid, Spent()

    def commit(self, results: Iterable[EpisodeResult], failures: Iterable[Failure] = ()) -> int:
        """Make results and failures durable in one transaction; return how many were new.

        A failed episode stays pending; its failure goes when it is committed.
        """
        rows = list(results)
        with self._transaction("commit"):
            new = self._insert(rows)
            self._connection.executemany(_FORGET_FAILURE, [row[:1] for row in rows])
            for failure in failures:
                self._record(failure)
            spent = self._spent + Spent.of(row.execution for row in new)
            self._connection.execute(
                "UPDATE sessions SET committed = committed + ?, updated = ?, spent = ? "
                "WHERE session = ?",
                (len(new), time.time(), spent.to_json(), self._session),
            )
        self._spent = spent
        return len(new)

    def _insert(self, rows: list[EpisodeResult]) -> list[EpisodeResult]:
        """Insert rows; return those that were new: nearly always all of them."""
        self._connection.execute("SAVEPOINT all_new")
        if self._connection.executemany(_INSERT, rows).rowcount == len(rows):
            return rows
        self._connection.execute("ROLLBACK TO all_new")
        return [row for row in rows if self._connection.execute(_INSERT, row).rowcount]

    def extend(self, results: Iterator[EpisodeResult]) -> int:
        """Commit any number of results, some at a time; return how many were new."""
        new = 0
        while chunk := list(islice(results, _CHUNK)):
            new += self.commit(chunk)
        return new

    def _record(self, failure: Failure) -> None:
        known = {name: getattr(failure, name) for name in _FAILURE} | {"seed": str(failure.seed)}
        self._connection.execute(
            "INSERT INTO failures VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1) "
            "ON CONFLICT (episode) DO UPDATE SET step = excluded.step, kind = excluded.kind, "
            "type = excluded.type, message = excluded.message, "
            "traceback = excluded.traceback, attempts = attempts + 1",
            tuple(known.values()),
        )
        if failure.execution:
            lost = LostAttempt(failure.episode, "failed", failure.execution)
            self._connection.execute(_INSERT_LOST, lost)

    def record_crash(self, episode: int | None, lost: Iterable[LostAttempt] = ()) -> None:
        """Count one worker that died, playing only this episode, and what was lost with it."""
        with self._transaction("crash"):
            self._connection.executemany(
                "INSERT INTO crashes VALUES (?, 1) "
                "ON CONFLICT (episode) DO UPDATE SET count = count + 1",
                [] if episode is None else [(episode,)],
            )
            self._connection.executemany(_INSERT_LOST, lost)

    def failures(self) -> list[Failure]:
        """Return the failed episodes, lowest first."""
        return [
            Failure(row[0], row[1], int(row[2]), *row[3:])
            for row in self._rows("SELECT * FROM failures ORDER BY episode")
        ]

    def crashes(self) -> dict[int, int]:
        """Return how many workers died with each episode, where any did."""
        return dict(self._rows("SELECT episode, count FROM crashes"))

    def lost_attempts(self) -> list[LostAttempt]:
        """Return the attempts that brought no result, as they were lost."""
        rows = self._rows("SELECT episode, reason, execution FROM lost ORDER BY attempt")
        return [LostAttempt(*row) for row in rows]

    def lost(self) -> Spent:
        """Return what they have cost, as far as that is known."""
        with explaining(self._name):
            return Spent.of(attempt.execution for attempt in self.lost_attempts())

    def spent(self) -> Spent:
        """Return what the committed episodes have cost, each counted once."""
        texts = [text for (text,) in self._rows("SELECT spent FROM sessions ORDER BY session")]
        with explaining(self._name):
            return sum(map(Spent.from_json, texts), Spent())

    def sessions(self) -> list[tuple[float, float, int]]:
        """Return (started, updated, committed) of each session, in order."""
        rows = list(self._rows("SELECT started, updated, committed FROM sessions ORDER BY session"))
        if not all(isinstance(count, int) for _, _, count in rows):
            raise LedgerError(f"{self._name}: the rows of its sessions are damaged")
        return rows

    def committed(self) -> list[range]:
        """Return the committed episodes as ascending ranges.

        `LedgerError` where they are not those that the sessions have counted.
        """
        rows = list(
            self._rows(
                "SELECT counted, first, stop, held "
                "FROM (SELECT TOTAL(committed) AS counted FROM sessions) LEFT JOIN "
                "(SELECT MIN(episode) AS first, MAX(episode) + 1 AS stop, COUNT(*) AS held FROM "
                "(SELECT episode, episode - ROW_NUMBER() OVER (ORDER BY episode) AS island "
                "FROM episodes INDEXED BY numbers) GROUP BY island) ORDER BY first"
            )
        )
        counted, spans = rows[0][0], [range(*row[1:3]) for row in rows if row[3]]
        held = sum(row[3] or 0 for row in rows)
        apart = all(one.stop < other.start for one, other in pairwise(spans))
        if not held == counted == sum(map(len, spans)) or not apart:
            raise LedgerError(
                f"{self._name}: holds {held} episodes, but its sessions committed {counted:.0f}, "
                "each once; `dist-eval repair` keeps what is sound"
            )
        return spans

    def prefix(self) -> int:
        """Return how many episodes are committed without a gap from 0."""
        ranges = self.committed()
        return ranges[0].stop if ranges and ranges[0].start == 0 else 0

    def results(self, stop: int = _EVERY) -> Iterator[EpisodeResult]:
        """Yield every committed episode below `stop`, in order, each checked against its digest."""
        for rows in self._blocks(_COLUMNS, _below(self.committed(), stop)):
            for row in rows:
                yield self._checked(row)

    def result(self, episode: int) -> EpisodeResult | None:
        """Return one committed episode."""
        rows = list(self._rows(f"{SELECT_ROWS} WHERE episode = ?", (episode,)))
        return self._checked(rows[0]) if rows else None

    def lines(self, stop: int) -> Iterator[Lines]:
        """Yield what the artifact needs of the episodes below `stop`, all committed, checked.

        Some at a time; the other half of each row is not read.
        """
        for rows in self._blocks("episode, digest, line, trace, metrics", [range(stop)]):
            episodes, digests, *columns = zip(*rows, strict=True)
            self._require_sealed(episodes, columns, digests, slice(HALF))
            yield Lines(*columns)

    def counts(self, committed: list[range]) -> Iterator[Counts]:
        """Yield what the tables need of episodes that are committed, in order, checked.

        Some at a time; the other half of each row is not read.
        """
        half = "episode, digest, metrics, people, steps, execution"
        for rows in self._blocks(half, committed):
            episodes, digests, *columns = zip(*rows, strict=True)
            self._require_sealed(episodes, columns, digests, slice(HALF, None))
            yield Counts(episodes, *columns)

    def totals(self, stop: int = _EVERY) -> Metrics:
        """Return the footer's totals over the committed episodes below `stop`."""
        found = Totals()
        for block in self.counts(_below(self.committed(), stop)):
            found.add(block.metrics)
        return found.totals()

    def note_files(self, files: Iterable[Path]) -> None:
        """Note that these files, and no others, hold what is committed now."""
        notes = self._notes(files)
        with self._transaction("files"):
            self._connection.execute("DELETE FROM files")
            self._connection.executemany("INSERT INTO files VALUES (?, ?, ?, ?)", notes)

    def knows_files(self, files: Iterable[Path]) -> bool:
        """Say whether these are the files noted, none touched and nothing committed since."""
        known = self._rows("SELECT name, size, modified, committed FROM files")
        return sorted(known) == sorted(self._notes(files))

    def _notes(self, files: Iterable[Path]) -> list[tuple[str, int, int, int]]:
        committed = sum(count for _, _, count in self.sessions())
        states = [(path.name, path.stat()) for path in files if path.exists()]
        return [(name, one.st_size, one.st_mtime_ns, committed) for name, one in states]

    def check(self) -> None:
        """Audit the file and every row; `LedgerError` names the first that is not as written."""
        for (answer,) in self._rows("PRAGMA integrity_check"):
            if answer != "ok":
                told = " ".join(str(answer).split())
                raise LedgerError(f"{self._name}: the database is damaged: {told}")
        for read in (self.sessions, self.spent, self.lost):
            read()
        for _ in self.results():
            pass

    def _checked(self, row: tuple[Any, ...]) -> EpisodeResult:
        result = EpisodeResult(*row)
        if not result.is_sound():
            raise self._damaged(result.episode)
        return result

    def _require_sealed(self, episodes: Any, columns: Any, digests: Any, half: slice) -> None:
        """Name the first episode of which a part is not as it was sealed."""
        try:
            if seals(episodes, *columns) == [digest[half] for digest in digests]:
                return
        except TypeError:  # a damaged part may have lost its type
            pass
        for episode in episodes:
            self.result(episode)
        raise self._damaged(episodes[0])

    def _damaged(self, episode: int) -> LedgerError:
        return LedgerError(
            f"{self._name}: the row of episode {episode} is damaged; "
            "`dist-eval repair` drops it, and resume plays it again"
        )

    def _blocks(self, columns: str, committed: list[range]) -> Iterator[list[Any]]:
        """Yield the rows of committed episodes, in order, some at a time.

        Each statement is short: a driver that wants to commit waits for no reader.
        """
        query = (
            f"SELECT {columns} FROM episodes NOT INDEXED "  # noqa: S608 - constants
            "WHERE episode >= ? AND episode < ? ORDER BY episode"
        )
        for span in committed:
            for start in range(span.start, span.stop, _CHUNK):
                end = min(start + _CHUNK, span.stop)
                with explaining(self._name):
                    rows = self._connection.execute(query, (start, end)).fetchall()
                if [row[0] for row in rows] != [*range(start, end)]:
                    raise LedgerError(
                        f"{self._name}: is damaged: of the episodes {start} to {end - 1} not all "
                        "can be read; `dist-eval repair` keeps what is sound"
                    )
                yield rows

    def _rows(self, query: str, values: tuple[Any, ...] = ()) -> Iterator[Any]:
        with explaining(self._name):
            # Not `yield from`: that would close the cursor late, after its connection.
            for row in self._connection.execute(query, values):  # noqa: UP028
                yield row

    @contextmanager
    def _transaction(self, name: str = "write") -> Iterator[None]:
        """Take the write lock first; all or nothing."""
        with explaining(self._name):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                durable.crash_point(f"{name} written")
                self._connection.execute("COMMIT")
                durable.crash_point(f"{name} committed")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise


def _below(spans: list[range], stop: int) -> list[range]:
    return [range(span.start, min(span.stop, stop)) for span in spans]


def _sealed_meta(meta: Mapping[str, str]) -> dict[str, str]:
    """Return a binding with its own digest, which tells when a part of it is damaged."""
    return {**meta, _META_DIGEST: sha256_hex(canonical_json(dict(meta)))}
