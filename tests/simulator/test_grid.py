"""Geometry as numbers and bitboards."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Oracle
from strategies import scenario_documents
from worlds import scenario

from emberbench_dist.contract.actions import Action
from emberbench_dist.contract.scenario import parse_scenario
from emberbench_dist.simulator.grid import (
    BOUNDARY,
    EXIT,
    FLOOR,
    WALL,
    _neighbours,
    board,
    cells_of,
    flood,
    grid_of,
)

DRAWING = """
    a # E
    . . .
"""


def test_terrain():
    """Each row has a boundary cell right of it, and a boundary row lies below the last."""
    grid = grid_of(scenario(DRAWING).map)
    assert list(grid.terrain) == [
        *(FLOOR, WALL, EXIT, BOUNDARY),
        *(FLOOR, FLOOR, FLOOR, BOUNDARY),
        *(BOUNDARY, BOUNDARY, BOUNDARY, BOUNDARY),
    ]
    assert grid.exits == {2: "E"}
    assert cells_of(grid.open_cells) == [0, 2, 4, 5, 6]


def test_cell_and_back():
    """`cell` numbers positions row-major, and `divmod` by the stride leads back."""
    grid = grid_of(scenario(DRAWING).map)
    positions = [(row, col) for row in range(2) for col in range(3)]
    cells = [grid.cell(position) for position in positions]
    assert cells == sorted(cells)
    assert [divmod(cell, grid.stride) for cell in cells] == positions


def test_offsets_lead_to_the_neighbours():
    """An offset leads to the cell that the direction names; off the grid, to a boundary cell."""
    grid = grid_of(scenario(DRAWING).map)
    middle = grid.cell((0, 1))
    assert {action: divmod(middle + by, 4) for action, by in grid.offsets.items()} == {
        Action.STAY: (0, 1),
        Action.NORTH: (-1, 1),
        Action.SOUTH: (1, 1),
        Action.EAST: (0, 2),
        Action.WEST: (0, 0),
    }
    for position, action in [
        ((0, 0), Action.NORTH),
        ((0, 2), Action.NORTH),
        ((1, 0), Action.SOUTH),
        ((1, 2), Action.SOUTH),
        ((0, 0), Action.WEST),
        ((1, 0), Action.WEST),
        ((0, 2), Action.EAST),
        ((1, 2), Action.EAST),
    ]:
        assert grid.terrain[grid.cell(position) + grid.offsets[action]] == BOUNDARY


def test_one_map_has_one_grid():
    """Equal maps share their geometry; maps that differ in a single wall do not."""
    assert grid_of(scenario(DRAWING).map) is grid_of(scenario(DRAWING).map)
    moved = DRAWING.replace("# E", ". E").replace(". . .", ". # .")
    assert grid_of(scenario(moved).map) is not grid_of(scenario(DRAWING).map)


@given(st.sets(st.integers(0, 5000)))
def test_board(cells):
    """A board holds exactly its cells, and gives them back in order."""
    bits = board(cells)
    assert {cell for cell in range(bits.bit_length()) if bits >> cell & 1} == cells
    assert cells_of(bits) == sorted(cells)


def test_flood_stops_at_walls_and_edges():
    """A flood fills what is connected, and does not run from one row's end into the next."""
    drawing = """
        . . # E
        # # # .
        a . . #
    """
    grid = grid_of(scenario(drawing).map)
    reached = flood(board([grid.cell((0, 3))]), grid.open_cells, grid)
    assert {divmod(cell, grid.stride) for cell in cells_of(reached)} == {(0, 3), (1, 3)}


def test_flood_from_nothing():
    """No open seed, nothing reached."""
    grid = grid_of(scenario(DRAWING).map)
    assert flood(0, grid.open_cells, grid) == 0
    assert flood(board([1]), grid.open_cells, grid) == 0


@settings(max_examples=100, deadline=None)
@given(document=scenario_documents())
def test_flood_is_a_search(document):
    """A flood from the exits reaches what a plain search over cells reaches."""
    scenario = parse_scenario(document)
    plain = Oracle(scenario.to_dict(), 0)
    grid = grid_of(scenario.map)
    open_cells = grid.open_cells & ~board(grid.cell(cell) for cell in plain.burning)
    found = flood(board(grid.exits), open_cells, grid)
    assert {divmod(cell, grid.stride) for cell in cells_of(found)} == plain.reached()
    winding = replace(grid, neighbours=_neighbours(grid))
    assert flood(board(grid.exits), open_cells, winding) == found


def corridor(rows):
    """Draw one corridor that goes to and fro, with the exit at its start."""
    width = 2 * rows
    walls = ["#" * (width - 1) + ".", "." + "#" * (width - 1)]
    lines = ["." * width if row % 2 == 0 else walls[row // 2 % 2] for row in range(2 * rows)]
    return drawn("aE" + lines[0][2:], *lines[1:])


def drawn(*lines):
    """Return a drawing whose cells have one letter each."""
    return "\n".join(" ".join(line) for line in lines)


def test_only_maps_that_wind_get_neighbours():
    """A long corridor is searched cell by cell; a hall of the same size is flooded by rounds."""
    winding = grid_of(scenario(corridor(32)).map)
    hall = grid_of(scenario(drawn("aE" + "." * 62, *["." * 64] * 63)).map)
    assert not hall.neighbours
    assert winding.neighbours[0] == [1]
    assert winding.neighbours[63] == [62, 63 + winding.stride]
    assert flood(winding.exit_cells, winding.open_cells, winding) == winding.open_cells
    reached = flood(winding.exit_cells, winding.open_cells & ~board([63]), winding)
    assert cells_of(reached) == list(range(63))
