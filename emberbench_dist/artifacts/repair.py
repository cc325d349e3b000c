"""Repair a damaged ledger: keep every row that is as it was written, drop the rest.

Rows are read from a copy whose first page is that of a new ledger. Header and schema stand there,
always the same, so damage to them, or a file that was cut short, costs no row of another page.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile
from typing import Any

from emberbench_dist.artifacts.database import (
    Connection,
    connect,
    connect_read_only,
    disconnect,
    explaining,
    first_page,
    forget,
)
from emberbench_dist.artifacts.durable import put_in_place, read_json, unwritable
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.errors import EmberBenchError, LedgerError
from emberbench_dist.evaluation.episode import EpisodeResult, Failure, seal
from emberbench_dist.evaluation.manifest import Manifest, restore_manifest
from emberbench_dist.evaluation.metrics import METRICS
from emberbench_dist.evaluation.slices import Slice

_BINDING = ("manifest_id", "manifest_hash", "episodes", "slice", "agent_spec")
_ROWS = f"SELECT episode, line, trace, {', '.join(METRICS)}, execution, digest FROM episodes"  # noqa: S608 - constants


@dataclass(frozen=True, slots=True)
class Repaired:
    """How many rows were kept, which episodes had a damaged one, and how many left no trace."""

    kept: int
    dropped: list[int]
    lost: int


def repair_ledger(folder: RunFolder, manifest: Manifest | None = None) -> Repaired:
    """Copy the sound rows to a new ledger and put it in place; the old one stays beside it.

    Only rows whose digest agrees are copied, byte for byte; resume plays the others again.
    `manifest` is needed only where the ledger's own copy of it is damaged too.
    """
    if not folder.ledger.is_file():
        raise LedgerError(f"{folder.ledger}: there is no run here")
    beside = folder.path / ".repaired.sqlite"
    forget(beside)
    try:
        with _readable(folder.ledger) as connection:
            old = Ledger(connection, str(folder.ledger))
            binding, whole = _inputs(folder, old, manifest)
            with closing(Ledger.create(beside, binding, whole.documents())) as new:
                new.begin_session(binding["agent_spec"])
                repaired = _salvage(_Rows(connection, whole, binding["slice"]), old, new)
        _keep_damaged(folder.ledger)
        put_in_place(beside, folder.ledger)
    except OSError as error:
        raise unwritable(folder.ledger, error) from error
    finally:
        forget(beside)
    return repaired


@contextmanager
def _readable(damaged: Path) -> Iterator[Connection]:
    """Open a copy of a ledger: rolled back where a driver died in a commit, its head renewed."""
    copy, journal = damaged.with_name(".damaged.sqlite"), Path(f"{damaged}-journal")
    with ExitStack() as stack:
        forget(copy)
        stack.callback(forget, copy)
        copyfile(damaged, copy)
        if journal.exists():
            copyfile(journal, f"{copy}-journal")
            with suppress(LedgerError):
                disconnect(connect(copy))
            Path(f"{copy}-journal").unlink(missing_ok=True)
        with copy.open("r+b") as file:
            head = first_page(copy.stat().st_size)
            file.write(head)
            file.truncate(-(-copy.stat().st_size // len(head)) * len(head))
        yield stack.enter_context(closing(connect_read_only(copy)))


def _keep_damaged(ledger: Path) -> None:
    """Keep a ledger and its journal under another name; a journal must not meet a new ledger."""
    kept = ledger.with_name("ledger.damaged.sqlite")
    forget(kept)
    os.link(ledger, kept)
    journal = Path(f"{ledger}-journal")
    if journal.exists():
        journal.replace(f"{kept}-journal")


def _salvage(rows: _Rows, old: Ledger, new: Ledger) -> Repaired:
    kept = new.extend(iter(rows))
    dropped = [episode for episode in sorted(rows.damaged) if new.result(episode) is None]
    counted = 0
    with suppress(LedgerError, TypeError):
        counted = sum(committed for _, _, committed in old.sessions())
    with suppress(LedgerError):
        new.commit([], rows.sound_failures(old, new))
    return Repaired(kept, dropped, max(0, counted - kept - len(dropped)))


class _Rows:
    """The sound rows of a damaged table, each at least once; `damaged` are the others."""

    def __init__(self, connection: Connection, manifest: Manifest, part: str) -> None:
        self._connection = connection
        self._manifest = manifest
        self._planned = Slice.parse(part).episodes(len(manifest))
        self.damaged: set[int] = set()

    def __iter__(self) -> Iterator[EpisodeResult]:
        """Read from both ends, then by number: a damaged page ends any query that meets it."""
        if (yield from self._scan(f"{_ROWS} ORDER BY episode")):
            return
        yield from self._scan(f"{_ROWS} ORDER BY episode DESC")
        for episode in self._planned:
            if not (yield from self._scan(f"{_ROWS} WHERE episode = {episode}")):
                self.damaged.add(episode)

    def _scan(self, query: str) -> Generator[EpisodeResult, None, bool]:
        """Yield what is sound; return whether the query came to its end."""
        try:
            with explaining("a damaged page"):
                for row in self._connection.execute(query):
                    yield from self._sound(*row)
        except LedgerError:
            return False
        return True

    def _sound(
        self, episode: int, line: bytes, trace: bytes, *rest: Any
    ) -> Iterator[EpisodeResult]:
        *metrics, execution, digest = rest
        if episode not in self._planned:
            return
        result = EpisodeResult(episode, line, trace, tuple(metrics), execution, digest)
        with suppress(TypeError):  # a part may even have another type
            if seal(episode, line, trace, result.metrics, execution) == digest:
                yield result
                return
        self.damaged.add(episode)

    def sound_failures(self, old: Ledger, new: Ledger) -> Iterator[Failure]:
        """Yield the failures that fit the manifest and are still open."""
        with suppress(LedgerError, TypeError, ValueError):
            for failure in old.failures():
                if failure.episode in self._planned and new.result(failure.episode) is None:
                    episode = self._manifest.episode(failure.episode)
                    if (episode.scenario_id, episode.seed) == (failure.scenario_id, failure.seed):
                        yield failure


def _inputs(
    folder: RunFolder, old: Ledger, manifest: Manifest | None
) -> tuple[dict[str, str], Manifest]:
    """Return binding and manifest, from the ledger or from what is left beside it."""
    source = str(folder.ledger)
    whole = manifest or _restored(old, source)
    try:
        known = kept_binding(old, source)
    except LedgerError:
        known = read_json(folder.run_json)
        if not _is_binding(known):
            raise
    if known["manifest_hash"] != whole.manifest_hash:
        raise LedgerError(
            f"{folder.path}: is a run of manifest {known['manifest_id']} "
            f"({known['manifest_hash'][:12]}…), not of {whole.manifest_id}"
        )
    return {name: known[name] for name in _BINDING}, whole


def kept_binding(ledger: Ledger, source: str) -> dict[str, str]:
    """Return what a ledger's run is bound to."""
    known = ledger.meta()
    if not _is_binding(known):
        raise LedgerError(f"{source}: is damaged: it does not say what it is a run of")
    return known


def _is_binding(known: dict[str, Any]) -> bool:
    return all(isinstance(known.get(name), str) for name in _BINDING)


def kept_manifest(ledger: Ledger, source: str) -> Manifest:
    """Return the manifest that a ledger keeps; `LedgerError` unless it is the run's."""
    manifest = _restored(ledger, source)
    if manifest.manifest_hash != kept_binding(ledger, source)["manifest_hash"]:
        raise LedgerError(f"{source}: is damaged: its copy of the manifest is not the run's")
    return manifest


def _restored(ledger: Ledger, source: str) -> Manifest:
    documents = ledger.documents()
    try:
        if not all(isinstance(body, bytes) for body in documents.values()):
            raise TypeError("it has lost its type")
        return restore_manifest(documents.pop("manifest"), documents, source="manifest")
    except (EmberBenchError, KeyError, TypeError, ValueError) as error:
        raise LedgerError(
            f"{source}: its copy of the manifest cannot be used: {error}; "
            "`dist-eval repair --manifest` replaces it"
        ) from error
