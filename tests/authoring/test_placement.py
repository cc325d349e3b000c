"""Placement: a way out for everybody, exits on the rim and apart, the same for the same seed."""

from __future__ import annotations

import random

import pytest

from emberbench_dist.authoring.placement import place, regions
from emberbench_dist.errors import MapError

HALL = ["." * 40] * 30
# Two parts: four cells, and the rest.
PARTED = [
    "..#.....",
    "..#.....",
    "###.....",
    "#.......",
    "#.......",
    "#.......",
    "########",
]
PINNED = (((0, 4), (5, 1)), ((0, 5), (3, 4), (4, 6)), ((4, 3),))


def test_the_connected_parts_are_found():
    """Cells are connected by their sides alone, and by no way around the edge of the map."""
    found = [sorted(part) for part in regions([".#.", "#.#", "..#"])]
    assert found == [[(0, 0)], [(0, 2)], [(1, 1), (2, 0), (2, 1)]]
    with pytest.raises(MapError, match="the map has no floor"):
        list(regions(["##"]))


@pytest.mark.parametrize("seed", range(10))
def test_all_of_it_is_placed_on_the_largest_part(seed):
    """Exits, people and fire share no cell, and stand on the largest part of the floor."""
    placed = place(PARTED, seed=seed, exits=3, people=9, ignitions=2)
    cells = [*placed.exits, *placed.people, *placed.ignitions]
    assert len(set(cells)) == len(cells) == 14
    assert set(cells) <= set(max(regions(PARTED), key=len))
    assert placed.region == 36
    assert placed == place(PARTED, seed=seed, exits=3, people=9, ignitions=2)
    assert sorted("".join(placed.drawn_on(PARTED))) == sorted(
        "EEEPPPPPPPPP**" + "." * 26 + "#" * 16
    )


def test_the_seed_makes_the_choice():
    """Another seed is another choice of each kind, also one that a float would spoil."""
    some = [place(HALL, seed=seed) for seed in (0, 1, 2**63, 2**64 - 2, 2**64 - 1)]
    for kind in ("exits", "people", "ignitions"):
        assert len({getattr(placed, kind) for placed in some}) == len(some)


def test_the_choice_stays():
    """What a seed chooses is for ever, for scenarios are made again from it."""
    placed = place(PARTED, seed=7, exits=2, people=3, ignitions=1)
    assert (placed.exits, placed.people, placed.ignitions) == PINNED


@pytest.mark.parametrize("seed", range(10))
def test_exits_are_on_the_rim_and_apart(seed):
    """Four exits of a hall stand on its edge, at least a side's half from each other."""
    exits = place(HALL, seed=seed, exits=4).exits
    assert all(row in (0, 29) or col in (0, 39) for row, col in exits)
    apart = [abs(a[0] - b[0]) + abs(a[1] - b[1]) for a in exits for b in exits if a < b]
    assert min(apart) >= 20


def test_exits_are_nearest_to_the_rim_where_the_rim_is_wall():
    """Where the edge is wall, exits stand on the outermost floor of the part in use."""
    inner = ["########", "########", "##....##", "##....##", "##....##", "########"]
    exits = place(inner, seed=0, exits=10, people=1, ignitions=0).exits
    assert set(exits) == {(row, col) for row in (2, 3, 4) for col in range(2, 6)} - {(3, 3), (3, 4)}


def test_people_stand_on_the_starts():
    """People are the first starts with a way out; exits and fire keep away from all starts."""
    starts = [(3, 3), (0, 0), (1, 5), (4, 4), (5, 5)]
    placed = place(PARTED, seed=1, people=3, starts=starts)
    assert placed.people == ((1, 5), (3, 3), (4, 4))
    assert placed.left_out == 1
    assert not set(starts) & set(placed.exits)
    assert place(PARTED, seed=1, starts=starts).people == ((1, 5), (3, 3), (4, 4), (5, 5))


def test_the_part_with_the_starts_is_in_use():
    """Starts in a smaller part of the floor bring exits and fire there."""
    placed = place(PARTED, seed=1, exits=1, starts=[(0, 0), (1, 1)])
    assert placed.region == 4
    assert placed.people == ((0, 0), (1, 1))


def test_where_every_cell_is_a_start_some_become_exits():
    """A map full of starts still gets its exits, and who stood there is left out."""
    cells = [(0, col) for col in range(16)]
    placed = place(["." * 16], seed=1, starts=cells)
    assert len(placed.exits) == 2
    assert len(placed.people) == 14
    assert placed.left_out == 2
    assert placed.ignitions == ()


@pytest.mark.parametrize(
    ("rows", "counts"),
    [(["." * 2], (1, 1, 0)), (["." * 3], (1, 1, 1)), (["." * 16], (2, 4, 1)), (HALL, (4, 20, 1))],
)
def test_a_small_map_gets_less(rows, counts):
    """With nothing said, the numbers fit the map."""
    placed = place(rows, seed=3)
    assert (len(placed.exits), len(placed.people), len(placed.ignitions)) == counts


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ({"exits": 37}, "there is no room for 37 exits: there are 36 cells in the largest part"),
        ({"exits": 6, "people": 31}, "no room for 31 people: there are 30 free cells"),
        ({"exits": 6, "people": 29, "ignitions": 2}, "no room for 2 ignitions: there are 1 free"),
        ({"exits": 36}, "no room for 9 people: there are 0 free cells"),
        ({"starts": [(4, 4)], "people": 2}, "no room for 2 people: there are 1 starts with a path"),
    ],
)
def test_too_much_is_refused(wanted, told):
    """What does not fit is an error that says how much would."""
    with pytest.raises(MapError, match=told):
        place(PARTED, seed=0, **wanted)


@pytest.mark.parametrize("seed", range(15))
def test_everybody_has_a_path_to_an_exit(seed):
    """On any map, each person is connected to an exit."""
    rng = random.Random(seed)
    rows = ["".join(rng.choice("..#") for _ in range(20)) for _ in range(20)]
    placed = place(rows, seed=seed)
    for person in placed.people:
        (part,) = [part for part in regions(rows) if person in part]
        assert set(placed.exits) & set(part)
