"""The designed places of the suite, each a drawing: by hand, or by a few lines of code."""

from __future__ import annotations

from emberbench_dist.contract.rng import SplitMix64
from suite.canvas import Canvas, canvas_of, enclosed, paint

CORRIDOR = "*E.PP"

CORRIDOR_BRANCH = """
###############
E..P....*..P..E
#####.###.#####
#####.###.#####
#####P###P#####
#####P###P#####
###############
"""

FLAT = """
##############
#P..#..P.#...#
#...#....#.P.#
#.P.#....#...#
##.####.###.##
#............E
##.#####.#####
#....#...*.P.#
#.PP.#.......#
##############
"""

ROOMS = """
########E#######
#..P...#.#.....#
#......#.#..P..#
#.P....#.#.....#
#...........P..#
#.P..P.#.#..P..#
#......#.#.....#
####.###.###.###
E..............#
######.#.#.#####
#.P....#.#.....#
#...P*.#.#..P..#
#..............#
#......#.#...P.#
#.P....#.#.....#
################
"""

LOBBY = """
###########E############
#........#....#.......*#
#.::.....#....#.:::::::#
#.:::..........::::::::E
#.:::....#....#::::::::#
#.:::....#....#::::::::#
####.#####....######.###
#......................#
#.......::.............#
#.......::........:::..#
#..........##.....:::..#
E..........##..........#
########################
"""

STORE = """
##########################
#::::::::::::::::::::::::#
#::::::::::::::::::::::::#
#:::##:::##::::::##:::##:#
#:::##:::##::::::##:::##:#
#::::::::::::::::::::::::#
#...........***..........#
###..################..###
#........................#
#............*...........#
#........................#
#E##########EE##########E#
"""

HALLWAY = """
E...
##*P
"""

LANDING = """
EP.*
.PP.
"""

CORNER = """
E.P
.*P
"""

CLOSET = """
E..P
##.P
##*#
"""


def crowd(canvas: Canvas, count: int, seed: int) -> str:
    """Put `count` people on random `:` cells; return the drawing."""
    rng = SplitMix64(seed)
    free = [
        (row, col)
        for row, line in enumerate(canvas)
        for col, symbol in enumerate(line)
        if symbol == ":"
    ]
    for _ in range(count):
        row, col = free.pop(rng.next_u64() % len(free))
        canvas[row][col] = "P"
    return "\n".join("".join(line) for line in canvas).replace(":", ".")


def lobby() -> str:
    """Fill the lobby's right room more than the rest of it."""
    return crowd(canvas_of(LOBBY), 36, seed=12)


def store() -> str:
    """Put shoppers between the shelves."""
    return crowd(canvas_of(STORE), 40, seed=6)


def hall_door() -> str:
    """Draw a hall, a wall with one door, and a foyer with two exits."""
    canvas = enclosed(22, 16, ":")
    paint(canvas, ".", range(11, 15), range(1, 21))
    paint(canvas, "#", [11], range(1, 21))
    paint(canvas, ".", [11], [10])
    paint(canvas, "*", [1], range(7, 14))
    paint(canvas, "E", [15], [5, 16])
    return crowd(canvas, 48, seed=1)


def hall_pillars() -> str:
    """Draw a square hall with a pillar every third cell, its crowd in the west half."""
    canvas = enclosed(24, 24, ".")
    paint(canvas, ":", range(2, 22), range(1, 13))
    paint(canvas, "#", range(3, 22, 3), range(3, 22, 3))
    paint(canvas, "*", [11], [5, 14])
    paint(canvas, "E", [0, 23], [4, 20])
    return crowd(canvas, 80, seed=2)


def plaza() -> str:
    """Draw an open square with two exits a side, the crowd in front of a burning stage."""
    canvas = enclosed(28, 28, ".")
    paint(canvas, ":", range(3, 19), range(3, 19))
    paint(canvas, "*", [1, 12], [12])
    paint(canvas, "*", [14, 22], [24])
    paint(canvas, "E", [0, 27], [7, 20])
    paint(canvas, "E", [7, 20], [0, 27])
    return crowd(canvas, 110, seed=3)


def maze() -> str:
    """Carve a maze cell by cell, then open a few more walls to make loops."""
    canvas = [["#"] * 33 for _ in range(23)]
    rng = SplitMix64(4)
    canvas[1][1] = ":"
    trail = [(1, 1)]
    while trail:
        ways = _uncarved(canvas, *trail[-1])
        if not ways:
            trail.pop()
            continue
        (row, col), (to_row, to_col) = trail[-1], ways[rng.next_u64() % len(ways)]
        paint(canvas, ":", [(row + to_row) // 2], [(col + to_col) // 2])
        paint(canvas, ":", [to_row], [to_col])
        trail.append((to_row, to_col))
    paint(canvas, ".", range(4, 20, 6), range(5, 32, 8))
    paint(canvas, "E", [0, 22], [1, 31])
    paint(canvas, "*", [3], [25])
    paint(canvas, "*", [7], [11])
    return crowd(canvas, 30, seed=4)


def _uncarved(canvas: Canvas, row: int, col: int) -> list[tuple[int, int]]:
    around = [(row - 2, col), (row, col - 2), (row, col + 2), (row + 2, col)]
    return [
        (r, c)
        for r, c in around
        if 0 < r < len(canvas) and 0 < c < len(canvas[0]) and canvas[r][c] == "#"
    ]


def platform() -> str:
    """Draw a long platform with benches, a stair at each end and one in the middle."""
    canvas = enclosed(56, 9, ":")
    paint(canvas, "#", [4], [c for c in range(4, 52) if c % 6 < 3])
    paint(canvas, "E", [0], [28])
    paint(canvas, "E", [4], [0, 55])
    paint(canvas, "*", [3], [33])
    return crowd(canvas, 60, seed=5)


def school() -> str:
    """Draw four classrooms on each side of a corridor."""
    canvas = enclosed(41, 19, ":")
    paint(canvas, ".", range(8, 11), range(1, 40))
    paint(canvas, "#", range(1, 18), [10, 20, 30])
    paint(canvas, "#", [7, 11], range(41))
    paint(canvas, ".", range(8, 11), [10, 20, 30])
    paint(canvas, ".", [7, 11], [8, 18, 22, 32])
    paint(canvas, "E", [9], [0, 40])
    paint(canvas, "*", [9], [25])
    return crowd(canvas, 72, seed=7)


def office() -> str:
    """Draw three bands of offices, two corridors between them, and passages across."""
    canvas = enclosed(43, 27, ":")
    paint(canvas, "#", range(1, 26), range(7, 42, 7))
    for corridor in (8, 17):
        paint(canvas, "#", [corridor - 1, corridor + 2], range(43))
        paint(canvas, ".", [corridor, corridor + 1], range(1, 42))
        paint(canvas, ".", [corridor - 1, corridor + 2], range(3, 42, 7))
        paint(canvas, "E", [corridor], [0, 42])
    paint(canvas, ".", range(11, 16), [7, 35])
    paint(canvas, ".", [10, 16], [7, 35])
    paint(canvas, "*", [13], [24])
    paint(canvas, "*", [9], [12])
    return crowd(canvas, 60, seed=8)


def auditorium() -> str:
    """Draw a stage, two blocks of seat rows, three aisles and exits at the back."""
    canvas = enclosed(41, 27, ".")
    seats = [*range(3, 19), *range(22, 38)]
    paint(canvas, "#", range(6, 23, 2), seats)
    paint(canvas, ":", range(7, 22, 2), seats)
    paint(canvas, "E", [26], [1, 39])
    paint(canvas, "E", [4], [0])
    paint(canvas, "*", [2], range(4, 9))
    return crowd(canvas, 120, seed=9)


def warehouse() -> str:
    """Draw racks with two cross aisles, and dock doors along the south wall."""
    canvas = enclosed(48, 32, ".")
    paint(canvas, ":", range(1, 28), range(1, 47))
    paint(canvas, "#", range(3, 14), [c for c in range(2, 46) if c % 4 in (2, 3)])
    paint(canvas, "#", range(16, 27), [c for c in range(2, 46) if c % 4 in (2, 3)])
    paint(canvas, "*", [14, 28], [12, 36])
    paint(canvas, "E", [31], [6, 23, 41])
    return crowd(canvas, 70, seed=10)


def expo() -> str:
    """Draw a fair: square booths open to the north, two exits a side, four fires."""
    canvas = enclosed(64, 64, ":")
    for row in range(4, 58, 6):
        for col in range(4, 58, 6):
            paint(canvas, "#", range(row, row + 4), [col, col + 3])
            paint(canvas, "#", [row + 3], range(col, col + 4))
    paint(canvas, "*", [15, 45], [20, 50])
    paint(canvas, "E", [0, 63], [15, 48])
    paint(canvas, "E", [15, 48], [0, 63])
    return crowd(canvas, 150, seed=11)
