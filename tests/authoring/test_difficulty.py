"""How hard a scenario is: what is measured, by example and against a plain re-computation."""

from __future__ import annotations

from math import inf, isinf

import pytest
from hypothesis import given, settings
from oracle import neighbours
from strategies import scenario_documents
from worlds import scenario

from emberbench_dist.authoring.difficulty import Difficulty, measure
from emberbench_dist.contract.scenario import parse_scenario

HALL = """
# E1 # # # #
# a  b c * .
# d  . . . E2
"""

BEYOND = 101  # no fire that spreads in every fourth step takes so long over 25 cells


def measured(drawing, **rules):
    """Return what is measured of a drawing."""
    return measure(scenario(drawing, **rules))


@pytest.mark.parametrize(
    ("drawing", "rules", "lead"),
    [
        # The cell beside burns after step 1, that of `a` after step 2: they leave in step 2.
        ("E1 . a . *", {}, 1),
        # Fire is in their cell after step 1, when they have left it; it follows them out.
        ("E1 . a *", {}, 0),
        # The exit burns after step 4; somebody who gets there in step 4 is out.
        ("a . E1 . . . *", {}, 2),
        ("a . E1 . . . *", {"interval": 3}, 10),
        # They are before the exit after step 2, when it burns since step 1, 2 or 3.
        ("a . . E1 \n # # * #", {}, -2),
        ("a . . E1 \n # # * #", {"interval": 2}, -1),
        ("a . . E1 \n # # * #", {"interval": 3}, 0),
        # Of two ways that are equally short one is open longer; both are a shortest path.
        (". . E1 \n a # . \n * . .", {}, 0),
        # An exit that does not burn cannot be lost; the way to it can.
        ("a E1 *", {"exits_flammable": False}, None),
        ("a E1 *", {"exits_flammable": True}, 0),
        # Fire behind a wall, fire that never spreads, no fire.
        ("a . E1 # *", {}, None),
        ("a . E1 . *", {"probability": 0.0}, None),
        ("a . E1", {}, None),
    ],
)
def test_the_lead_of_one_person(drawing, rules, lead):
    """Who waits so many steps outruns the worst fire, who waits one more does not."""
    found = measured(drawing, **rules)
    assert (found.least_lead, found.median_lead) == (lead, lead)


@pytest.mark.parametrize(
    ("rules", "late", "difficulty"),
    [
        ({}, 1, "medium"),
        ({"probability": 0.5}, 1, "medium"),
        ({"probability": 0.25}, 0, "easy"),
        ({"max_steps": 2}, 2, "hard"),
    ],
)
def test_a_small_hall(rules, late, difficulty):
    """Every number of a hall with two exits, counted by hand.

    All are nearest to E1, `c` to both, and leave in the order a b d c. `c` has to go at once, and
    has to wait for a step, unless the usual fire takes two steps to the next cell.
    """
    assert measured(HALL, **rules) == Difficulty(
        shortest_evacuation=3,
        exit_capacity=3,
        nearest_exits=4,
        least_lead=0,
        median_lead=1,
        late=late,
        difficulty=difficulty,
    )


def test_a_crowd_is_bound_by_its_exits():
    """Ten people at one exit need ten steps, at two exits five, however near they are."""
    crowd = " ".join("abcdefghij")
    one = measured(f"E1 {crowd}")
    two = measured(f"E1 {crowd} E2")
    assert (one.shortest_evacuation, one.exit_capacity, one.nearest_exits) == (10, 10, 10)
    assert (two.shortest_evacuation, two.exit_capacity, two.nearest_exits) == (5, 5, 5)
    uneven = measured("E1 a b c d . . . . . E2 \n # e f # # # # # # # #")
    assert (uneven.shortest_evacuation, uneven.exit_capacity, uneven.nearest_exits) == (4, 4, 6)


def test_somebody_without_a_path_is_late():
    """Then no plan gets everybody out, and nobody can tell how long that takes."""
    assert measured("a # E1 b") == Difficulty(None, None, None, None, None, 1, "hard")
    burning = measured("E1* a", exits_flammable=True)
    assert burning == Difficulty(None, None, None, None, None, 1, "hard")


@settings(max_examples=200)
@given(scenario_documents(max_side=5, max_limit=30))
def test_every_number_is_what_a_plain_count_gives(document):
    """Distances, queues and fires, each computed step by step, agree with what is measured."""
    assert measure(parse_scenario(document)) == plainly_measured(document)


def plainly_measured(document):
    """Measure a scenario's document without haste: one exit, one person, one step at a time."""
    people = sorted(document["people"], key=lambda item: item["id"])
    exits = sorted(document["map"]["exits"], key=lambda item: item["id"])
    burning = {tuple(cell) for cell in document["fire"]["ignitions"]}
    doors = [tuple(exit["position"]) for exit in exits]
    away = [spread({door} - burning, floor(document) - burning) for door in doors]
    starts = [tuple(person["position"]) for person in people]
    chosen = [
        min(
            ((field[start], number) for number, field in enumerate(away) if start in field),
            default=None,
        )
        for start in starts
    ]
    outs = queued(chosen)
    worst, usual = fires(document, burning, set(doors))
    nearest = spread(set(doors) - burning, floor(document) - burning)
    leads = [lead(start, nearest, worst, doors) for start in starts]
    late = sum(
        outs[index] is None
        or outs[index] > document["termination"]["max_steps"]
        or lead(start, nearest, usual, doors) < outs[index] - chosen[index][0]
        for index, start in enumerate(starts)
    )
    lost = None in chosen
    ordered = sorted(leads)
    return Difficulty(
        None if lost else max(steps for steps, _ in chosen),
        None if lost else pooled([steps for steps, _ in chosen], len(set(doors) - burning)),
        None if lost else max(outs),
        told(ordered[0]),
        told(ordered[(len(ordered) - 1) // 2]),
        late,
        ["easy", "medium", "hard", "hard", "hard"][4 * late // len(people)],
    )


def told(lead):
    """Return a number of steps, or None for never."""
    return None if isinf(lead) else lead


def floor(document):
    """Return the cells that are no walls."""
    world = document["map"]
    cells = {(row, col) for row in range(world["height"]) for col in range(world["width"])}
    return cells - {tuple(cell) for cell in world["obstacles"]}


def spread(front, cells):
    """Return how many steps each cell is from the front, through `cells`."""
    reached, steps = dict.fromkeys(front, 0), 0
    while front:
        steps += 1
        front = {near for cell in front for near in neighbours(cell)} & cells - reached.keys()
        reached |= dict.fromkeys(front, steps)
    return reached


def queued(chosen):
    """Return when each is out if in each step every exit takes the first who is there."""
    outs, step = [None] * len(chosen), 0
    while any(out is None and choice for out, choice in zip(outs, chosen, strict=True)):
        step += 1
        for exit in {choice[1] for choice in chosen if choice}:
            waiting = [
                (choice[0], index)
                for index, choice in enumerate(chosen)
                if choice and outs[index] is None and choice[1] == exit and choice[0] <= step
            ]
            if waiting:
                outs[min(waiting)[1]] = step
    return outs


def pooled(distances, exits):
    """Return when all are out if any exits take those who came that far."""
    left, step = sorted(distances), 0
    while left:
        step += 1
        there = sum(steps <= step for steps in left)
        del left[: min(there, exits)]
    return step


def fires(document, burning, doors):
    """Return the step in which each cell ignites in the worst fire, and in the usual one."""
    fire = document["fire"]
    fuel = floor(document) - (set() if fire["exits_flammable"] else doors)
    chance = fire["spread_probability"]
    spreads = dict.fromkeys(burning, 0) if chance == 0 else spread(burning, fuel)
    pace = fire["spread_interval"]
    usual = min(pace * (1 + 1 / (chance or 1)) / 2, 2**31)
    return (
        {cell: number * pace for cell, number in spreads.items()},
        {cell: int(number * usual) for cell, number in spreads.items()},
    )


def lead(start, nearest, fire, doors):
    """Return the longest wait after which some shortest path is still open all the way."""
    if start not in nearest:
        return -inf
    longest = next(w for w in range(BEYOND, -26, -1) if gets_out(start, w, nearest, fire, doors))
    return inf if longest == BEYOND else longest


def gets_out(start, wait, nearest, fire, doors):
    """Say whether somebody who sets off after `wait` steps gets out on a shortest path."""
    front, step = {start}, wait
    while front:
        front = {cell for cell in front if cell not in fire or fire[cell] > step - (cell in doors)}
        if front & set(doors):
            return True
        step += 1
        front = {
            near
            for cell in front
            for near in neighbours(cell)
            if nearest.get(near, inf) < nearest[cell]
        }
    return False
