"""Static geometry of a map, made once and shared by every episode on it.

A cell is one integer: `row * stride + col` with `stride = width + 1`. The extra column right
of each row and the extra row at the bottom are boundary, so a neighbour is an addition, and a
step off the grid (also to a negative index, which Python reads from the end) is a lookup.
The same integer is the cell's bit in a bitboard: a whole grid as one Python integer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import compress, count
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


_AS_FLAGS = str.maketrans("01", "\0\1")
_AS_DIGITS = bytes.maketrans(b"\0\1", b"01")
_PATIENCE: Final = 8
_FOREVER: Final = 2**62


@dataclass(frozen=True, slots=True)
class Grid:
    """Geometry of one map: terrain and exits per cell, bitboards of both, move offsets.

    `neighbours` has the open cells beside each cell, on maps that wind so much that floods
    need them; elsewhere it is empty.
    """

    stride: int
    terrain: bytes
    exits: dict[Cell, str]
    exit_cells: int
    open_cells: int
    offsets: dict[Action, int]
    neighbours: Sequence[Sequence[Cell]] = ()

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
    grid = Grid(
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
    return replace(grid, neighbours=_neighbours(grid)) if _winds(grid) else grid


def _winds(grid: Grid) -> bool:
    """Say whether a flood from the exits takes more rounds than a search is worth."""
    cells, bits = grid.open_cells.bit_count(), len(grid.terrain)
    # As measured, in units of 20 ps: a search, its cells and bits; a round, and its bits.
    worth = (250_000 + 6000 * cells + 1000 * bits) // (20_000 + 3 * bits)
    frontier, _ = _rounds(grid.exit_cells, grid.open_cells, grid.stride, worth)
    return bool(frontier)


def _neighbours(grid: Grid) -> Sequence[Sequence[Cell]]:
    terrain, stride = grid.terrain, grid.stride
    return [
        [
            near
            for near in (cell - stride, cell - 1, cell + 1, cell + stride)
            if near >= 0 and terrain[near] < WALL
        ]
        if kind < WALL
        else ()
        for cell, kind in enumerate(terrain)
    ]


def board(cells: Iterable[Cell]) -> int:
    """Return the bitboard of some cells."""
    found = sorted(cells)
    if not found:
        return 0
    packed = bytearray(found[-1] // 8 + 1)
    for cell in found:
        packed[cell >> 3] |= 1 << (cell & 7)
    return int.from_bytes(packed, "little")


def cells_of(bits: int) -> list[Cell]:
    """Return the cells of a bitboard, in order."""
    if not bits:
        return []
    first = (bits & -bits).bit_length() - 1
    return list(compress(count(first), _flags(bits >> first)))


def _flags(bits: int) -> bytes:
    """Return a byte for each cell: 1 where the bit is set, else 0."""
    return format(bits, "b")[::-1].translate(_AS_FLAGS).encode()


def flood(seeds: int, open_cells: int, grid: Grid) -> int:
    """Return all cells reached from `seeds` through `open_cells`, both bitboards.

    By rounds over the whole board, one for each unit of distance, whichever the number of
    cells. On a map that winds only a few of them: a search then looks at each cell once.
    """
    patience = _PATIENCE if grid.neighbours else _FOREVER
    frontier, left = _rounds(seeds, open_cells, grid.stride, patience)
    return open_cells ^ (_search(frontier, left, grid) if frontier else left)


def _rounds(seeds: int, open_cells: int, stride: int, limit: int) -> tuple[int, int]:
    """Flood for `limit` rounds; return the frontier, and what was not reached."""
    frontier = seeds & open_cells
    left = open_cells ^ frontier
    for _ in range(limit):
        if not frontier:
            break
        frontier = left & (frontier << 1 | frontier >> 1 | frontier << stride | frontier >> stride)
        left ^= frontier
    return frontier, left


def _search(frontier: int, left: int, grid: Grid) -> int:
    """Flood on from a frontier, cell by cell; return what was not reached."""
    neighbours, found = grid.neighbours, cells_of(frontier)
    unseen = bytearray(_flags(left | 1 << len(grid.terrain)))
    for cell in found:
        for near in neighbours[cell]:
            if unseen[near]:
                unseen[near] = 0
                found.append(near)
    return int(unseen[-2::-1].translate(_AS_DIGITS), 2)
