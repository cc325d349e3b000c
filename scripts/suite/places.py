"""The designed places: what burns in them, and how."""

from __future__ import annotations

from dataclasses import dataclass

from suite import layouts as draw


@dataclass(frozen=True, kw_only=True)
class Place:
    """One scenario as it is designed; a `probability` of None makes fire deterministic."""

    name: str
    description: str
    drawing: str
    probability: float | None
    interval: int
    exits_flammable: bool
    enter_fire: str
    max_steps: int


def places() -> list[Place]:
    """Return every place of the suite, in the suite's order."""
    return [*_small_places(), *_medium_places(), *_large_places()]


def _small_places() -> list[Place]:
    return [
        Place(
            name="corridor",
            description="Two people in a corridor of five cells race the fire to its only exit.",
            drawing=draw.CORRIDOR,
            probability=0.25,
            interval=1,
            exits_flammable=True,
            enter_fire="casualty",
            max_steps=30,
        ),
        Place(
            name="corridor-branch",
            description="Fire in a corridor threatens to close two side branches before the "
            "people in them have come out.",
            drawing=draw.CORRIDOR_BRANCH,
            probability=0.2,
            interval=1,
            exits_flammable=False,
            enter_fire="blocked",
            max_steps=60,
        ),
        Place(
            name="flat",
            description="A family flat with one front door, and a kitchen fire beside the only "
            "hallway.",
            drawing=draw.FLAT,
            probability=0.6,
            interval=2,
            exits_flammable=False,
            enter_fire="casualty",
            max_steps=60,
        ),
        Place(
            name="rooms",
            description="Four rooms on two crossing corridors, each with two doors: one of "
            "them may lead towards the fire.",
            drawing=draw.ROOMS,
            probability=0.5,
            interval=1,
            exits_flammable=True,
            enter_fire="blocked",
            max_steps=60,
        ),
        Place(
            name="lobby",
            description="The nearest exit of a crowded room burns from a step that can be "
            "foreseen, and whoever heads for it too late has to turn round.",
            drawing=draw.lobby(),
            probability=None,
            interval=2,
            exits_flammable=True,
            enter_fire="casualty",
            max_steps=80,
        ),
    ]


def _medium_places() -> list[Place]:
    return [
        Place(
            name="hall-door",
            description="A crowded hall empties through one door of one cell, at one person a "
            "step, while fire sweeps in from the far wall.",
            drawing=draw.hall_door(),
            probability=None,
            interval=4,
            exits_flammable=False,
            enter_fire="blocked",
            max_steps=90,
        ),
        Place(
            name="hall-pillars",
            description="A hall of pillars whose crowd stands near two of four exits, all of "
            "which burn once the fire gets there.",
            drawing=draw.hall_pillars(),
            probability=0.35,
            interval=1,
            exits_flammable=True,
            enter_fire="blocked",
            max_steps=80,
        ),
        Place(
            name="plaza",
            description="An open square with eight exits and four slow fires, one of them in "
            "the middle of the crowd.",
            drawing=draw.plaza(),
            probability=0.15,
            interval=1,
            exits_flammable=True,
            enter_fire="casualty",
            max_steps=100,
        ),
        Place(
            name="store",
            description="The only ways to the fireproof exits are two gaps in a wall, with "
            "fire on both sides of it.",
            drawing=draw.store(),
            probability=0.45,
            interval=2,
            exits_flammable=False,
            enter_fire="casualty",
            max_steps=100,
        ),
        Place(
            name="maze",
            description="A maze with few loops, where fire cuts the shortest ways out and "
            "some ends are dead.",
            drawing=draw.maze(),
            probability=0.6,
            interval=1,
            exits_flammable=False,
            enter_fire="blocked",
            max_steps=150,
        ),
        Place(
            name="platform",
            description="A long underground platform with one stair at each end and one in "
            "the middle, next to a burning kiosk.",
            drawing=draw.platform(),
            probability=0.3,
            interval=1,
            exits_flammable=True,
            enter_fire="casualty",
            max_steps=100,
        ),
    ]


def _large_places() -> list[Place]:
    return [
        Place(
            name="school",
            description="Eight full classrooms share one corridor with an exit at each end, "
            "and the fire starts in the corridor.",
            drawing=draw.school(),
            probability=0.4,
            interval=2,
            exits_flammable=False,
            enter_fire="blocked",
            max_steps=100,
        ),
        Place(
            name="office",
            description="An office floor with two corridors, cross passages and four stairs; "
            "one fire is in an office, the other in a corridor.",
            drawing=draw.office(),
            probability=0.3,
            interval=1,
            exits_flammable=True,
            enter_fire="blocked",
            max_steps=120,
        ),
        Place(
            name="auditorium",
            description="Rows of seats empty sideways into three aisles, and these through "
            "three doors, while the stage burns.",
            drawing=draw.auditorium(),
            probability=0.4,
            interval=1,
            exits_flammable=False,
            enter_fire="casualty",
            max_steps=150,
        ),
        Place(
            name="warehouse",
            description="Long aisles between racks with dock doors on one side only, and fire "
            "in the cross aisle and at the docks.",
            drawing=draw.warehouse(),
            probability=0.4,
            interval=3,
            exits_flammable=True,
            enter_fire="blocked",
            max_steps=200,
        ),
        Place(
            name="expo",
            description="A trade fair of 64 by 64 cells with 150 visitors among booths, eight "
            "exits and four fires.",
            drawing=draw.expo(),
            probability=0.6,
            interval=2,
            exits_flammable=True,
            enter_fire="casualty",
            max_steps=120,
        ),
    ]


def tiny_places() -> list[Place]:
    """Return the places of the stress suite, of a few cells and a few steps."""
    return [
        Place(
            name="hallway",
            description="One person who has to pass a fire at once, or never.",
            drawing=draw.HALLWAY,
            probability=0.5,
            interval=1,
            exits_flammable=False,
            enter_fire="blocked",
            max_steps=8,
        ),
        Place(
            name="landing",
            description="Three people at one exit, of whom the fire may get the last.",
            drawing=draw.LANDING,
            probability=0.6,
            interval=1,
            exits_flammable=True,
            enter_fire="casualty",
            max_steps=8,
        ),
        Place(
            name="corner",
            description="Two people at a corner, with fire on the inside of it.",
            drawing=draw.CORNER,
            probability=0.3,
            interval=1,
            exits_flammable=True,
            enter_fire="blocked",
            max_steps=8,
        ),
        Place(
            name="closet",
            description="Two people who have to pass a fire that spreads in every second step.",
            drawing=draw.CLOSET,
            probability=None,
            interval=2,
            exits_flammable=True,
            enter_fire="casualty",
            max_steps=8,
        ),
    ]
