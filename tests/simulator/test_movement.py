"""Movement validation and collisions, rule by rule (contract: phases 3 to 5, Collisions)."""

from __future__ import annotations

from itertools import permutations

import pytest
from worlds import actions, simulator

OFFSETS = {"^": (-1, 0), "v": (1, 0), "<": (0, -1), ">": (0, 1)}


def play(drawing, acts, **rules):
    """Play one step; return its outcomes by person, and where everybody is after it."""
    record = simulator(drawing, **rules).step(actions(acts))
    outcomes = {movement.id: movement.outcome.value for movement in record.movements}
    return outcomes, {person.id: person.position for person in record.state.people}


def outcomes(drawing, acts, **rules):
    """Play one step; return its outcomes by person."""
    return play(drawing, acts, **rules)[0]


# Phase 3: movement validation


def test_stay():
    """`stay` gives `stayed`, in the same cell."""
    assert play("a . E", "a.") == ({"a": "stayed"}, {"a": (0, 0)})


@pytest.mark.parametrize(
    ("arrow", "target"), [("^", (0, 1)), ("v", (2, 1)), ("<", (1, 0)), (">", (1, 2))]
)
def test_directions(arrow, target):
    """North is row - 1, south row + 1, west col - 1, east col + 1."""
    drawing = """
        . . . .
        . a . .
        . . . E
    """
    assert play(drawing, f"a{arrow}") == ({"a": "moved"}, {"a": target})


def drawing_with(height, width, **placed):
    """Draw an empty world with these people and exits placed in it."""
    cells = [["."] * width for _ in range(height)]
    for name, (row, col) in placed.items():
        cells[row][col] = name
    return "\n".join(" ".join(row) for row in cells)


def edge_moves(height, width):
    """Yield each cell and each move from it that leaves the grid."""
    for row in range(height):
        for col in range(width):
            for arrow, (down, right) in OFFSETS.items():
                if not (0 <= row + down < height and 0 <= col + right < width):
                    yield row, col, arrow


@pytest.mark.parametrize(("row", "col", "arrow"), list(edge_moves(3, 4)))
def test_no_move_leaves_or_wraps_around_the_grid(row, col, arrow):
    """Any move off any edge gives `blocked_boundary`, in the same cell: no edge has a far side."""
    drawing = drawing_with(3, 4, a=(row, col), E=(1, 1))
    assert play(drawing, f"a{arrow}") == ({"a": "blocked_boundary"}, {"a": (row, col)})


@pytest.mark.parametrize(
    ("drawing", "arrow"),
    [
        ("a E", "^"),
        ("a E", "v"),
        ("a E", "<"),
        ("E a", ">"),
        ("a\nE", "<"),
        ("a\nE", ">"),
        ("a\nE", "^"),
        ("E\na", "v"),
    ],
)
def test_edges_of_a_corridor(drawing, arrow):
    """In a corridor one cell wide, both sides and both ends are boundary."""
    assert outcomes(drawing, f"a{arrow}") == {"a": "blocked_boundary"}


def test_wall():
    """A move into an obstacle gives `blocked_wall`."""
    assert play("a # E", "a>") == ({"a": "blocked_wall"}, {"a": (0, 0)})


def test_fire_blocks():
    """With `enter_fire = "blocked"` a move into a burning cell gives `blocked_fire`."""
    world = simulator("a * . E", enter_fire="blocked", interval=9)
    record = world.step(actions("a>"))
    assert [movement.outcome.value for movement in record.movements] == ["blocked_fire"]
    assert record.state.people[0].to_dict() == {"id": "a", "position": [0, 0], "status": "active"}


def test_fire_admits():
    """With `enter_fire = "casualty"` the move happens: the person dies in the burning cell."""
    record = simulator("a * . E", enter_fire="casualty", interval=9).step(actions("a>"))
    assert [movement.outcome.value for movement in record.movements] == ["moved"]
    assert record.state.people[0].to_dict() == {"id": "a", "position": [0, 1], "status": "casualty"}


def test_validation_knows_only_fire_from_before_the_step():
    """A cell that ignites in this step does not refuse the move into it: the person dies there."""
    record = simulator("a . * E", enter_fire="blocked").step(actions("a>"))
    assert record.movements[0].outcome.value == "moved"
    assert [casualty.cause.value for casualty in record.casualties] == ["fire_spread"]


# Rule 1: occupied by a non-mover


@pytest.mark.parametrize(
    ("drawing", "acts", "why"),
    [
        ("a b . E", "a> b.", "stayed"),
        ("E . a b", "a> b>", "blocked_boundary"),
        ("a b # E", "a> b>", "blocked_wall"),
        ("a b * E", "a> b>", "blocked_fire"),
    ],
)
def test_target_held_by_a_non_mover(drawing, acts, why):
    """A target whose holder stays, or was stopped in phase 3, gives `blocked_occupied`."""
    rules = {"enter_fire": "blocked", "interval": 9}
    assert outcomes(drawing, acts, **rules) == {"a": "blocked_occupied", "b": why}


def test_occupied_comes_before_conflict():
    """Of two who target a non-mover's cell both are `blocked_occupied`; there is no winner."""
    assert outcomes("a c b . E", "a> b< c.") == {
        "a": "blocked_occupied",
        "b": "blocked_occupied",
        "c": "stayed",
    }


# Rule 2: same target


def test_lowest_id_wins():
    """Of two movers to one empty cell the lowest id moves; the other is `blocked_conflict`."""
    assert play("b . a E", "a< b>") == (
        {"a": "moved", "b": "blocked_conflict"},
        {"a": (0, 1), "b": (0, 0)},
    )


def test_four_movers_to_one_cell():
    """Of four movers to one cell exactly one moves."""
    drawing = """
        . d . .
        c . b .
        . a . E
    """
    assert outcomes(drawing, "a^ b< c> dv") == {
        "a": "moved",
        "b": "blocked_conflict",
        "c": "blocked_conflict",
        "d": "blocked_conflict",
    }


@pytest.mark.parametrize(
    ("low", "high"), [("P10", "P2"), ("Z", "a"), ("a", "é"), ("P", "P1"), ("\uffee", "\U0001f600")]
)
def test_ids_sort_by_code_point(low, high):
    """`P10` is lower than `P2`: ids compare as plain strings by code point, on either side."""
    expected = {low: "moved", high: "blocked_conflict"}
    assert outcomes(f"{low} . {high} E", f"{low}> {high}<") == expected
    assert outcomes(f"{high} . {low} E", f"{high}> {low}<") == expected


def test_loser_is_not_awarded_the_cell_of_a_winner_that_fails():
    """Conflicts are decided on intent: a's win keeps c out although a itself cannot move."""
    drawing = """
        . c . E
        a b w .
    """
    assert outcomes(drawing, "a> b> cv w.") == {
        "a": "blocked_occupied",
        "b": "blocked_occupied",
        "c": "blocked_conflict",
        "w": "stayed",
    }


def test_loser_is_not_awarded_the_cell_of_a_cycle():
    """A conflict lost against a member of a cycle stays a conflict; the cycle stays blocked."""
    assert outcomes("a b c . E", "a> b< c<") == {
        "a": "blocked_cycle",
        "b": "blocked_cycle",
        "c": "blocked_conflict",
    }


def test_conflict_for_a_cell_that_is_being_left():
    """Two may compete for a cell whose holder leaves: the lowest id follows, the other waits."""
    drawing = """
        . c . . E
        b a . . .
    """
    assert outcomes(drawing, "a> b> cv") == {
        "a": "moved",
        "b": "moved",
        "c": "blocked_conflict",
    }


# Rule 3: chains


def test_chain_of_two():
    """In `a b . E` both move east in one step."""
    assert play("a b . E", "a> b>") == (
        {"a": "moved", "b": "moved"},
        {"a": (0, 1), "b": (0, 2)},
    )


def test_chain_of_six_in_any_id_order_and_around_a_corner():
    """A chain moves as one, whatever its ids and its shape."""
    drawing = """
        d a f
        E # b
        . c e
    """
    everybody = "d> a> fv bv e< c<"
    assert set(outcomes(drawing, everybody).values()) == {"moved"}


@pytest.mark.parametrize(
    ("drawing", "last", "why"),
    [
        ("a b c d E", "d.", "stayed"),
        ("a b c d # E", "d>", "blocked_wall"),
        ("E a b c d", "d>", "blocked_boundary"),
    ],
)
def test_chain_that_ends_at_a_person_who_does_not_move(drawing, last, why):
    """Every mover of such a chain is `blocked_occupied`, however far behind."""
    found = outcomes(drawing, f"a> b> c> {last}")
    assert found.pop("d") == why
    assert found == dict.fromkeys("abc", "blocked_occupied")


def test_pile_up_on_a_conflict_loser():
    """Who queues behind a conflict's loser is `blocked_occupied`; behind its winner, `moved`."""
    assert outcomes("d c b . a e f E", "a< b> c> d> e< f<") == {
        "a": "moved",
        "b": "blocked_conflict",
        "c": "blocked_occupied",
        "d": "blocked_occupied",
        "e": "moved",
        "f": "moved",
    }


def test_chain_through_an_exit():
    """An exit is a normal cell for movement: a chain moves up into it."""
    assert play("a b E", "a> b>") == (
        {"a": "moved", "b": "moved"},
        {"a": (0, 1), "b": (0, 2)},
    )


def test_chain_into_a_burning_cell():
    """A chain also moves up behind somebody who walks into fire."""
    record = simulator("a b * E", interval=9).step(actions("a> b>"))
    assert {movement.id: movement.outcome.value for movement in record.movements} == {
        "a": "moved",
        "b": "moved",
    }
    assert [casualty.id for casualty in record.casualties] == ["b"]


# Rule 4: cycles


def test_swap():
    """A swap is never allowed: both are `blocked_cycle`."""
    assert play("a b E", "a> b<") == (
        {"a": "blocked_cycle", "b": "blocked_cycle"},
        {"a": (0, 0), "b": (0, 1)},
    )


@pytest.mark.parametrize(
    ("drawing", "acts"),
    [
        ("a b . \n d c E", "a> bv c< d^"),
        ("a b c . \n f e d E", "a> b> cv d< e< f^"),
        ("a b c . \n h # d . \n g f e E", "a> b> cv dv e< f< g^ h^"),
    ],
)
def test_rotation(drawing, acts):
    """Longer rotations are `blocked_cycle` too, for every member."""
    assert set(outcomes(drawing, acts).values()) == {"blocked_cycle"}


def test_two_cycles_at_once():
    """Cycles are told apart from chains elsewhere in the same step."""
    assert outcomes("a b . c d . e f . E", "a> b< c> d< e> f>") == {
        "a": "blocked_cycle",
        "b": "blocked_cycle",
        "c": "blocked_cycle",
        "d": "blocked_cycle",
        "e": "moved",
        "f": "moved",
    }


def test_conflict_breaks_a_cycle():
    """A lower id that wins a member's cell leaves a chain that ends at the conflict's loser."""
    assert outcomes("a b c . E", "a> b> c<") == {
        "a": "blocked_occupied",
        "b": "blocked_occupied",
        "c": "blocked_conflict",
    }


# Exits, resolved people, order


def test_two_people_to_one_exit():
    """Two people who target one exit are a normal conflict: one leaves per step."""
    world = simulator("b E a")
    first = world.step(actions("a< b>"))
    assert [evacuation.to_dict() for evacuation in first.evacuations] == [{"id": "a", "exit": "E"}]
    assert first.movements[1].outcome.value == "blocked_conflict"
    second = world.step(actions("b>"))
    assert [evacuation.to_dict() for evacuation in second.evacuations] == [{"id": "b", "exit": "E"}]


def test_evacuated_person_frees_the_exit():
    """People leave in phase 6, so a queue passes one exit, one person a step."""
    world = simulator("c b a E")
    left = [
        [evacuation.id for evacuation in world.step(actions(acts)).evacuations]
        for acts in ("a> b> c>", "b> c>", "c>")
    ]
    assert left == [["a"], ["b"], ["c"]]
    assert {person.position for person in world.state.people} == {(0, 3)}


def test_casualty_frees_the_cell():
    """A casualty keeps its position but not the cell: the next one walks into the same fire."""
    world = simulator("b a * E", interval=9)
    for acts in ("a> b.", "b>"):
        world.step(actions(acts))
    assert world.step(actions("b>")).movements[0].outcome.value == "moved"
    assert [person.position for person in world.state.people] == [(0, 2), (0, 2)]


def test_outcome_is_independent_of_the_mapping_order():
    """Every order of the same actions gives the same record."""
    drawing = """
        . c . E
        a b d .
    """
    entries = list(actions("a> b> cv d>").items())
    records = {simulator(drawing).step(dict(order)) for order in permutations(entries)}
    assert len(records) == 1


def test_one_movement_per_active_person_by_id():
    """Movements come by id, one per active person, where `to` equals `from` unless it moved."""
    record = simulator("P2 P1 . P10 # E").step(actions("P1> P2. P10>"))
    assert [movement.to_dict() for movement in record.movements] == [
        {"id": "P1", "outcome": "moved", "from": [0, 1], "to": [0, 2]},
        {"id": "P10", "outcome": "blocked_wall", "from": [0, 3], "to": [0, 3]},
        {"id": "P2", "outcome": "stayed", "from": [0, 0], "to": [0, 0]},
    ]
