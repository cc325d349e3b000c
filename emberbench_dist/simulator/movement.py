"""Movement validation and the four collision rules (contract: phases 3 and 4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum

from emberbench_dist.contract.actions import Action
from emberbench_dist.simulator.grid import Cell, Grid


class Outcome(StrEnum):
    """What became of one person's action."""

    STAYED = "stayed"
    MOVED = "moved"
    BLOCKED_BOUNDARY = "blocked_boundary"
    BLOCKED_WALL = "blocked_wall"
    BLOCKED_FIRE = "blocked_fire"
    BLOCKED_OCCUPIED = "blocked_occupied"
    BLOCKED_CONFLICT = "blocked_conflict"
    BLOCKED_CYCLE = "blocked_cycle"


_STAYED, _MOVED = Outcome.STAYED, Outcome.MOVED
# What comes of a move, by the terrain of its target: FLOOR, EXIT, BURNING, WALL, BOUNDARY.
_ONTO = {
    "casualty": (_MOVED, _MOVED, _MOVED, Outcome.BLOCKED_WALL, Outcome.BLOCKED_BOUNDARY),
    "blocked": (
        _MOVED,
        _MOVED,
        Outcome.BLOCKED_FIRE,
        Outcome.BLOCKED_WALL,
        Outcome.BLOCKED_BOUNDARY,
    ),
}


Mover = tuple[int, Cell, Cell]  # index, cell, target


def resolve_moves(
    grid: Grid,
    terrain: bytearray,
    enter_fire: str,
    cells: Sequence[Cell],
    actions: Sequence[Action],
) -> tuple[list[Outcome], list[Cell]]:
    """Return each active person's outcome and cell after the step.

    `cells` and `actions` are parallel, in id order, so that "the lowest id wins" is "the first
    to claim wins".
    """
    offsets, onto, moved = grid.offsets, _ONTO[enter_fire], _MOVED
    outcomes: list[Outcome] = []
    after: list[Cell] = []
    for cell, action in zip(cells, actions, strict=True):
        target = cell + offsets[action]
        outcome = onto[terrain[target]] if target != cell else _STAYED
        outcomes.append(outcome)
        after.append(target if outcome is moved else cell)
    # Where all targets are different and were empty, nobody meets.
    if len({*cells, *after}) < len(cells) + outcomes.count(moved):
        movers = [
            (index, cells[index], after[index])
            for index, outcome in enumerate(outcomes)
            if outcome is moved
        ]
        for (index, cell, _), outcome in _collide(cells, movers):
            outcomes[index], after[index] = outcome, cell
    return outcomes, after


def _collide(cells: Sequence[Cell], movers: list[Mover]) -> Iterator[tuple[Mover, Outcome]]:
    """Phase 4: yield the movers that do not move, with their outcomes."""
    taken, moving_from = set(cells), {cell for _, cell, _ in movers}
    winners: dict[Cell, Mover] = {}
    losers: list[Mover] = []
    for mover in movers:
        target = mover[2]
        if target in taken and target not in moving_from:
            yield mover, Outcome.BLOCKED_OCCUPIED  # rule 1
        elif target in winners:
            yield mover, Outcome.BLOCKED_CONFLICT  # rule 2
        else:
            winners[target] = mover
            continue
        losers.append(mover)
    # Rule 3: a chain piles up behind a loser, or moves up behind a leader with an empty target.
    for loser in losers:
        for mover in _behind(loser, winners):
            yield mover, Outcome.BLOCKED_OCCUPIED
    for target in [target for target in winners if target not in moving_from]:
        list(_behind(winners.pop(target), winners))
    # Rule 4: whom no other rule settles is part of a cycle.
    for mover in winners.values():
        yield mover, Outcome.BLOCKED_CYCLE


def _behind(mover: Mover, winners: dict[Cell, Mover]) -> Iterator[Mover]:
    """Take the queue behind a mover out of the winners, and yield it."""
    follower = winners.pop(mover[1], None)
    while follower is not None:
        yield follower
        follower = winners.pop(follower[1], None)
