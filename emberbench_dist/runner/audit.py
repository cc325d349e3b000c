"""Play committed episodes again, each in a process of its own, and compare."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.contract.rng import SplitMix64
from emberbench_dist.evaluation.episode import EpisodeResult, Failure
from emberbench_dist.evaluation.manifest import Manifest
from emberbench_dist.runner.pool import OpenPool, spread


@dataclass(frozen=True, slots=True)
class Deviation:
    """An episode that came out otherwise than it is committed, and how."""

    episode: int
    difference: str


def audit(
    manifest: Manifest,
    ledger: Ledger,
    episodes: list[int],
    open_pool: OpenPool,
    report: Callable[[int], None] = lambda _: None,
) -> list[Deviation]:
    """Play `episodes` again and return those that deviate, lowest first.

    An agent whose results depend on chance, time or the episodes it played before is found so.
    """
    deviations, done = list[Deviation](), 0
    with open_pool() as pool:
        batches = ([manifest.episode(episode)] for episode in episodes)
        for (outcome,) in spread(pool, batches, window=1):
            committed = ledger.result(outcome.episode)
            difference = _difference(committed, outcome) if committed else "its row is gone"
            if difference:
                deviations.append(Deviation(outcome.episode, difference))
            done += 1
            report(done)
    return sorted(deviations, key=lambda deviation: deviation.episode)


def sample(ledger: Ledger, count: int, seed: int) -> list[int]:
    """Return `count` committed episodes (all where there are fewer), chosen by `seed`."""
    spans = ledger.committed()
    committed = sum(map(len, spans))
    rng, ranks = SplitMix64(seed), set[int]()
    while len(ranks) < min(count, committed):
        ranks.add(rng.next_u64() % committed)
    return [_nth(spans, rank) for rank in sorted(ranks)]


def _nth(spans: list[range], rank: int) -> int:
    for span in spans:
        if rank < len(span):
            return span[rank]
        rank -= len(span)
    raise IndexError(rank)


def _difference(committed: EpisodeResult, outcome: EpisodeResult | Failure) -> str:
    if isinstance(outcome, Failure):
        return f"this time it failed: {outcome}"
    before, now = (json.loads(result.trace)["actions"] for result in (committed, outcome))
    for step, (old, new) in enumerate(zip(before, now, strict=False)):
        if old != new:
            return f"other actions from step {step} on: {old!r} is committed, now {new!r}"
    if len(before) != len(now) or committed.line != outcome.line:
        return "other results"
    return ""
