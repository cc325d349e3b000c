"""Static geometry of a map, made once and shared by every episode on it.

A cell is one integer: `row * stride + col` with `stride = width + 1`. The extra column right
of each row and the extra row at the bottom are boundary, so a neighbour is an addition, and a
step off the grid (also to a negative index, which Python reads from the end) is a lookup.
The same integer is the cell's bit in a bitboard: a whole grid as one Python integer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from emberbench_dist.contract.actions import Action
from emberbench_dist.contract.document import Position
from emberbench_dist.contract.observation import GridMap

Cell = int

FLOOR: Final = 0
EXIT: Final = 1
BURNING: Final = 2
WALL: Final = 3
BOUNDARY: Final = 4


@dataclass(frozen=True, slots=True)
class Grid:
    """Geometry of one map: terrain and exits per cell, bitboards of both, move offsets."""

    stride: int
    terrain: bytes
    exits: dict[Cell, str]
    exit_cells: int
    open_cells: int
    offsets: dict[Action, int]

    def cell(self, position: Position) -> Cell:
        """Return the cell at [row, col]; `divmod(cell, stride)` is the way back."""
        return position[0] * self.stride + position[1]


@lru_cache(maxsize=64)
def grid_of(world: GridMap) -> Grid:
    """Return the geometry of a map, shared by all that ask for it."""
    stride = world.width + 1
    row = bytes([FLOOR]) * world.width + bytes([BOUNDARY])
    terrain = bytearray(row * world.height + bytes([BOUNDARY]) * stride)
    for row_index, col in world.obstacles:
        terrain[row_index * stride + col] = WALL
    exits = {exit.position[0] * stride + exit.position[1]: exit.id for exit in world.exits}
    for cell in exits:
        terrain[cell] = EXIT
    return Grid(
        stride=stride,
        terrain=bytes(terrain),
        exits=exits,
        exit_cells=board(exits),
        open_cells=board(cell for cell, kind in enumerate(terrain) if kind < WALL),
        offsets={
            Action.STAY: 0,
            Action.NORTH: -stride,
            Action.SOUTH: stride,
            Action.EAST: 1,
            Action.WEST: -1,
        },
    )


def board(cells: Iterable[Cell]) -> int:
    """Return the bitboard of some cells."""
    found = sorted(cells)
    if not found:
        return 0
    packed = bytearray(found[-1] // 8 + 1)
    for cell in found:
        packed[cell >> 3] |= 1 << (cell & 7)
    return int.from_bytes(packed, "little")


def flood(seeds: int, open_cells: int, stride: int) -> int:
    """Return all cells reached from `seeds` through `open_cells`, both bitboards.

    One round per unit of distance, whichever the number of cells.
    """
    frontier = seeds & open_cells
    left = open_cells ^ frontier
    while frontier:
        frontier = left & (frontier << 1 | frontier >> 1 | frontier << stride | frontier >> stride)
        left ^= frontier
    return open_cells ^ left
