"""Movement validation and the four collision rules (contract: phases 3 and 4)."""

from __future__ import annotations

from collections.abc import Sequence
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


# What stops a move, by the terrain of its target: FLOOR, EXIT, BURNING, WALL, BOUNDARY.
_STOPPED_BY = {
    "casualty": (None, None, None, Outcome.BLOCKED_WALL, Outcome.BLOCKED_BOUNDARY),
    "blocked": (
        None,
        None,
        Outcome.BLOCKED_FIRE,
        Outcome.BLOCKED_WALL,
        Outcome.BLOCKED_BOUNDARY,
    ),
}


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
    offsets = grid.offsets
    targets = [cell + offsets[action] for cell, action in zip(cells, actions, strict=True)]
    outcomes, movers = _validate(terrain, enter_fire, cells, targets)
    if movers:
        _collide(cells, targets, movers, outcomes)
    moved = Outcome.MOVED
    return outcomes, [
        target if outcome is moved else cell
        for target, outcome, cell in zip(targets, outcomes, cells, strict=True)
    ]


def _validate(
    terrain: bytearray, enter_fire: str, cells: Sequence[Cell], targets: list[Cell]
) -> tuple[list[Outcome], list[int]]:
    """Phase 3: settle those who do not move; return the indices of those who try."""
    stopped_by = _STOPPED_BY[enter_fire]
    stayed, undecided = Outcome.STAYED, Outcome.BLOCKED_CYCLE
    outcomes, movers = [], []
    for index, target in enumerate(targets):
        if target == cells[index]:
            outcomes.append(stayed)
            continue
        stopped = stopped_by[terrain[target]]
        if stopped is None:
            movers.append(index)
            # Rule 4: a mover that no other rule settles is part of a cycle.
            stopped = undecided
        outcomes.append(stopped)
    return outcomes, movers


def _collide(
    cells: Sequence[Cell], targets: list[Cell], movers: list[int], outcomes: list[Outcome]
) -> None:
    """Phase 4: settle the movers, in place."""
    occupied, conflict = Outcome.BLOCKED_OCCUPIED, Outcome.BLOCKED_CONFLICT
    moving_from = {cells[index] for index in movers}
    taken = set(cells)
    winner: dict[Cell, int] = {}
    losers: list[int] = []
    for index in movers:
        target = targets[index]
        if target in taken and target not in moving_from:
            outcomes[index] = occupied  # rule 1
            losers.append(index)
        elif target in winner:
            outcomes[index] = conflict  # rule 2
            losers.append(index)
        else:
            winner[target] = index
    # Rule 3: a chain moves up behind a leader with an empty target, or piles up on a loser.
    for target, leader in winner.items():
        if target not in taken:
            outcomes[leader] = Outcome.MOVED
            _settle_chain(winner, cells, leader, Outcome.MOVED, outcomes)
    for loser in losers:
        _settle_chain(winner, cells, loser, occupied, outcomes)


def _settle_chain(
    winner: dict[Cell, int],
    cells: Sequence[Cell],
    head: int,
    outcome: Outcome,
    outcomes: list[Outcome],
) -> None:
    """Give `outcome` to everybody queued behind `head`."""
    follower = winner.get(cells[head])
    while follower is not None:
        outcomes[follower] = outcome
        follower = winner.get(cells[follower])
