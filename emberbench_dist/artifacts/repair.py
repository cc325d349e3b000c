"""Repair a damaged ledger: keep every row that is as it was written, drop the rest.

Rows are read from a copy whose first page is that of a new ledger: header and schema, which are
always the same. Where the way to a page is damaged, it is read alone. So a row is lost only where
it is damaged itself, or the page that it is on.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile
from typing import Any

from emberbench_dist.artifacts.database import (
    connect,
    connect_read_only,
    disconnect,
    explaining,
    forget,
)
from emberbench_dist.artifacts.durable import put_in_place, read_json, unwritable
from emberbench_dist.artifacts.ledger import SELECT_ROWS, Ledger
from emberbench_dist.artifacts.pages import each_leaf, renew_first_page
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.errors import EmberBenchError, EvaluationError, LedgerError
from emberbench_dist.evaluation.episode import EpisodeResult
from emberbench_dist.evaluation.manifest import Manifest, restore_manifest
from emberbench_dist.evaluation.slices import Slice

_BINDING = ("manifest_id", "manifest_hash", "episodes", "slice", "agent_spec")
_CODE = ("agent_code",)  # may be missing


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
    beside, copy = folder.path / ".repaired.sqlite", folder.path / ".damaged.sqlite"
    forget(beside)
    try:
        _copy(folder.ledger, copy)
        with closing(Ledger(connect_read_only(copy), str(folder.ledger))) as old:
            binding, whole = _inputs(folder, old, manifest)
            with closing(Ledger.create(beside, binding, whole.documents())) as new:
                new.begin_session(binding["agent_spec"])
                repaired = _salvage(_Rows(copy, binding, len(whole)), old, new)
        _keep_damaged(folder.ledger)
        put_in_place(beside, folder.ledger)
    except OSError as error:
        raise unwritable(folder.ledger, error) from error
    finally:
        forget(beside)
        forget(copy)
    return repaired


def _copy(damaged: Path, copy: Path) -> None:
    """Copy a ledger, roll back what a dying driver left, and renew the head."""
    journal = Path(f"{damaged}-journal")
    forget(copy)
    copyfile(damaged, copy)
    if journal.exists():
        copyfile(journal, f"{copy}-journal")
        with suppress(LedgerError):
            disconnect(connect(copy))
        Path(f"{copy}-journal").unlink(missing_ok=True)
    renew_first_page(copy)


def _salvage(rows: _Rows, old: Ledger, new: Ledger) -> Repaired:
    try:
        committed = sum(count for _, _, count in old.sessions())
    except LedgerError:
        committed = -1
    kept = new.extend(rows.together())
    if kept != committed:
        kept += new.extend(rows.page_by_page())
    dropped = [episode for episode in sorted(rows.damaged) if new.result(episode) is None]
    with suppress(LedgerError, ValueError):  # a damaged seed is no number
        new.commit([], old.failures())
    with suppress(LedgerError):
        new.record_crash(None, old.lost_attempts())
    return Repaired(kept, dropped, max(0, committed - kept - len(dropped)))


def _keep_damaged(ledger: Path) -> None:
    """Keep a ledger and its journal under another name; a journal must not meet a new ledger."""
    kept, journal = ledger.with_name("ledger.damaged.sqlite"), Path(f"{ledger}-journal")
    forget(kept)
    os.link(ledger, kept)
    if journal.exists():
        journal.replace(f"{kept}-journal")


class _Rows:
    """The rows of a damaged table; `damaged` are the episodes of those that are not sound."""

    def __init__(self, path: Path, binding: dict[str, str], episodes: int) -> None:
        self._path = path
        self._planned = Slice.parse(binding["slice"]).episodes(episodes)
        self.damaged: set[int] = set()

    def together(self) -> Iterator[EpisodeResult]:
        """Yield the sound rows of the table, up to a page that cannot be read."""
        with (
            suppress(LedgerError),
            closing(connect_read_only(self._path)) as connection,
            explaining(str(self._path)),
        ):
            for row in connection.execute(SELECT_ROWS):
                yield from self._checked(EpisodeResult(*row))

    def page_by_page(self) -> Iterator[EpisodeResult]:
        """Yield the sound rows of every page of the file, whether the table leads to it or not."""
        for _ in each_leaf(self._path, "episodes"):
            yield from self.together()

    def _checked(self, row: EpisodeResult) -> Iterator[EpisodeResult]:
        # A row of another table has no such last part.
        if row.episode not in self._planned or not isinstance(row.trace, bytes):
            return
        if row.is_sound():
            yield row
        else:
            self.damaged.add(row.episode)


def _inputs(
    folder: RunFolder, old: Ledger, manifest: Manifest | None
) -> tuple[dict[str, str], Manifest]:
    """Return binding and manifest, from the ledger or from what is left beside it."""
    whole = manifest or _restored(old, str(folder.ledger))
    for known in (_meta(old), read_json(folder.run_json)):
        if _is_binding(known) and known["manifest_hash"] == whole.manifest_hash:
            code = {name: known[name] for name in _CODE if isinstance(known.get(name), str)}
            return {name: known[name] for name in _BINDING} | code, whole
    raise LedgerError(
        f"{folder.path}: neither its ledger nor its run.json says that it is a run of manifest "
        f"{whole.manifest_id} ({whole.manifest_hash[:12]}…)"
    )


def _meta(ledger: Ledger) -> dict[str, Any]:
    try:
        return ledger.meta()
    except LedgerError:
        return {}


def _is_binding(known: dict[str, Any]) -> bool:
    try:
        Slice.parse(known["slice"])
    except (EvaluationError, KeyError, TypeError):
        return False
    return all(isinstance(known.get(name), str) for name in _BINDING)


def kept_manifest(ledger: Ledger, source: str) -> Manifest:
    """Return the manifest that a ledger keeps; `LedgerError` unless it is the run's."""
    manifest = _restored(ledger, source)
    if manifest.manifest_hash != ledger.meta()["manifest_hash"]:
        raise LedgerError(
            f"{source}: its copy of the manifest is not that of the run; "
            "`dist-eval repair --manifest` replaces it"
        )
    return manifest


def _restored(ledger: Ledger, source: str) -> Manifest:
    try:
        documents = ledger.documents()
        return restore_manifest(documents.pop("manifest"), documents, source="manifest")
    except (EmberBenchError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise LedgerError(
            f"{source}: its copy of the manifest cannot be used: {error}; "
            "`dist-eval repair --manifest` replaces it"
        ) from error
