"""Repair a damaged ledger: keep every row that is as it was written, drop the rest."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass

from emberbench_dist.artifacts.database import connect, connect_read_only, needs_recovery
from emberbench_dist.artifacts.durable import put_in_place, read_json
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.errors import LedgerError
from emberbench_dist.evaluation.episode import EpisodeResult
from emberbench_dist.evaluation.manifest import Manifest, restore_manifest


@dataclass(frozen=True, slots=True)
class Repaired:
    """How many rows were kept, and which episodes had a damaged one."""

    kept: int
    dropped: list[int]


def repair_ledger(folder: RunFolder, manifest: Manifest | None = None) -> Repaired:
    """Copy the sound rows to a new ledger and put it in place; the old one stays beside it.

    Only rows whose digest agrees are copied, byte for byte; resume plays the others again.
    `manifest` is needed only where the ledger's own copy of it is damaged too.
    """
    if not folder.ledger.is_file():
        raise LedgerError(f"{folder.ledger}: there is no run here")
    connection = connect_read_only(folder.ledger)
    if needs_recovery(connection):
        connection.close()
        connection = connect(folder.ledger)
    beside = folder.path / ".repaired.sqlite"
    beside.unlink(missing_ok=True)
    dropped: list[int] = []
    with closing(Ledger(connection, str(folder.ledger))) as old:
        binding, whole = _inputs(folder, old, manifest)
        with closing(Ledger.create(beside, binding, whole.documents())) as new:
            new.begin_session(binding["agent_spec"])
            kept = new.extend(_sound_rows(old, len(whole), dropped))
            with suppress(LedgerError):
                new.commit([], old.failures())
    damaged = folder.path / "ledger.damaged.sqlite"
    damaged.unlink(missing_ok=True)
    os.link(folder.ledger, damaged)
    put_in_place(beside, folder.ledger)
    return Repaired(kept, dropped)


def _inputs(
    folder: RunFolder, old: Ledger, manifest: Manifest | None
) -> tuple[dict[str, str], Manifest]:
    """Return binding and manifest, from the ledger or from what is left beside it."""
    try:
        binding = old.meta()
    except LedgerError:
        told = read_json(folder.run_json)
        names = ("manifest_id", "manifest_hash", "episodes", "slice", "agent_spec")
        if not all(isinstance(told.get(name), str) for name in names):
            raise
        binding = {name: told[name] for name in names}
    if manifest is None:
        manifest = kept_manifest(old, str(folder.ledger))
    if manifest.manifest_hash != binding["manifest_hash"]:
        raise LedgerError(
            f"{folder.path}: is a run of manifest {binding['manifest_id']} "
            f"({binding['manifest_hash'][:12]}…), not of {manifest.manifest_id}"
        )
    return binding, manifest


def kept_manifest(ledger: Ledger, source: str) -> Manifest:
    """Return the manifest that a ledger keeps."""
    documents = ledger.documents()
    return restore_manifest(documents.pop("manifest"), documents, source=f"{source}: manifest")


def _sound_rows(old: Ledger, episodes: int, dropped: list[int]) -> Iterator[EpisodeResult]:
    """Yield the sound rows, one by one, since a damaged page ends any longer query."""
    for episode in range(episodes):
        try:
            result = old.result(episode)
        except LedgerError:
            dropped.append(episode)
            continue
        if result is not None:
            yield result
