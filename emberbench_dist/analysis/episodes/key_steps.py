"""Which steps tell the story of an episode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from emberbench_dist.analysis.episodes.playback import Playback, fire_of


def key_steps(plays: Sequence[Playback], limit: int = 12) -> dict[int, str]:
    """Return at most `limit` (7 or more) steps in order, each with a caption.

    They are the start, the end, the first of everything, and between these the steps that part
    all evacuations and casualties into equal shares.
    """
    last = max(play.steps for play in plays)
    reasons: dict[int, list[str]] = {0: ["start"]}
    for step, reason in sorted(_firsts(plays)):
        reasons.setdefault(step, []).append(reason)
    reasons.setdefault(last, []).append("end")
    for step in _parting(plays, limit - len(reasons)):
        reasons.setdefault(step, [])
    return {
        step: ": ".join(filter(None, (f"step {step}", ", ".join(reasons[step]))))
        for step in sorted(reasons)
    }


def _firsts(plays: Sequence[Playback]) -> Iterator[tuple[int, str]]:
    """Yield the first step of each kind of event, over all plays."""
    kinds = {
        "the fire spreads": [step for step in fire_of(plays).values() if step],
        "the first is out": [step for play in plays for step, _ in play.evacuated.values()],
        "the first is lost": [step for play in plays for step, _ in play.lost.values()],
        "the first is trapped": [step for play in plays for step in play.trapped.values()],
    }
    for reason, steps in kinds.items():
        if steps:
            yield min(steps), reason


def _parting(plays: Sequence[Playback], count: int) -> Iterator[int]:
    """Yield up to `count` steps between which equally many people got out or were lost."""
    ends = sorted(
        step for play in plays for ends in (play.evacuated, play.lost) for step, _ in ends.values()
    )
    for part in range(1, count + 1):
        if ends:
            yield ends[len(ends) * part // (count + 1)]
