"""Merge the slices of a run into the run that one machine would have made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from heapq import merge as in_order
from itertools import groupby, repeat

from emberbench_dist.artifacts.database import forget
from emberbench_dist.artifacts.durable import put_in_place
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.repair import kept_manifest
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.errors import RunFolderError
from emberbench_dist.evaluation.episode import EpisodeResult


def merge_ledgers(out: RunFolder, parts: Sequence[RunFolder], *, partial: bool = False) -> None:
    """Create `out`'s ledger with the committed episodes of all `parts`, byte for byte.

    `RunFolderError` names what does not fit: another manifest or agent, two different rows for
    one episode, or, unless `partial`, an episode that no part has. Then `out` has no ledger.
    """
    if out.ledger.exists() or out.artifact.exists():
        raise RunFolderError(f"{out.path}: already holds a run; choose another folder")
    beside = out.path / ".merged.sqlite"
    with ExitStack() as stack:
        forget(beside)
        stack.callback(forget, beside)
        ledgers = [stack.enter_context(Ledger.reading(part.ledger)) for part in parts]
        binding = _common_binding(parts, ledgers)
        manifest = kept_manifest(ledgers[0], str(parts[0].ledger))
        with closing(Ledger.create(beside, binding, manifest.documents())) as merged:
            merged.begin_session(binding["agent_spec"])
            rows = _merged(parts, ledgers)
            merged.extend(_without_gaps(rows, len(manifest), partial=partial))
            failures = [failure for ledger in ledgers for failure in ledger.failures()]
            merged.commit([], [one for one in failures if merged.result(one.episode) is None])
            merged.record_crash(None, [one for ledger in ledgers for one in ledger.lost_attempts()])
        put_in_place(beside, out.ledger)


def _common_binding(parts: Sequence[RunFolder], ledgers: Sequence[Ledger]) -> dict[str, str]:
    """Return what all parts are bound to, as the whole of the manifest."""
    first, *others = [ledger.meta() for ledger in ledgers]
    for part, other in zip(parts[1:], others, strict=True):
        for key in ("manifest_hash", "agent_spec"):
            if other[key] != first[key]:
                raise RunFolderError(
                    f"{part.path}: has {key} {other[key]}, "
                    f"but {parts[0].path} has {first[key]}; they are not parts of one run"
                )
    # Of parts that were played with different code, none is that of the whole.
    if any(other.get("agent_code") != first.get("agent_code") for other in others):
        first.pop("agent_code", None)
    return {**first, "slice": "1/1"}


def _merged(parts: Sequence[RunFolder], ledgers: Sequence[Ledger]) -> Iterator[EpisodeResult]:
    """Yield one row an episode, in order; rows of one episode must say the same."""
    named = [
        zip(repeat(part), ledger.results(), strict=False)
        for part, ledger in zip(parts, ledgers, strict=True)
    ]
    in_turn = in_order(*named, key=lambda row: row[1].episode)
    for episode, group in groupby(in_turn, key=lambda row: row[1].episode):
        (first, kept), *again = group
        for part, other in again:
            if (other.line, other.trace) != (kept.line, kept.trace):
                raise RunFolderError(
                    f"episode {episode} has one result in {first.path} and another in "
                    f"{part.path}: the agent is not deterministic, or not the same"
                )
        yield kept


def _without_gaps(
    rows: Iterator[EpisodeResult], episodes: int, *, partial: bool
) -> Iterator[EpisodeResult]:
    expected = 0
    for row in rows:
        if row.episode != expected and not partial:
            break
        expected = row.episode + 1
        yield row
    if expected != episodes and not partial:
        raise RunFolderError(
            f"episode {expected} is in none of the folders; finish that slice, or merge what "
            "there is with --partial"
        )
