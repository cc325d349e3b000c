"""The episodes behind the golden files: a drawing, its rules, a seed and scripted actions.

An entry of a script is one step, as in `a> b.` (see `worlds.actions`): exactly the people who are
active then. Every script plays its episode to the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from worlds import document

from emberbench_dist.contract.scenario import Scenario, parse_scenario


@dataclass(frozen=True)
class Case:
    """One scripted episode; `name` is its scenario id and the name of its golden file."""

    name: str
    drawing: str
    rules: dict[str, Any]
    seed: int
    script: tuple[str, ...]

    @property
    def scenario(self) -> Scenario:
        """Return the checked scenario of the drawing."""
        return parse_scenario(document(self.drawing, scenario_id=self.name, **self.rules))


CASES = (
    # Rule 3: a chain piles up behind somebody who stays, then follows its leader out.
    Case(
        name="chain-to-exit",
        drawing="a b c . E",
        rules={"max_steps": 6},
        seed=0,
        script=("a> b> c.", "a> b> c>", "a> b> c>", "a> b>", "a>"),
    ),
    # Rule 1 and phase 3: held by who stays, by a wall, by the boundary, by fire.
    Case(
        name="occupied-by-non-movers",
        drawing="""
            c d . # E1
            a b # e f
            h g * . i
        """,
        rules={"enter_fire": "blocked", "interval": 9, "max_steps": 3},
        seed=1,
        script=(
            "a> b. c> d^ e< f. g> h> i<",
            "a^ b> c. d> e> f> g^ h. i<",
            "a> b^ c< d< e. f^ g< h^ i^",
        ),
    ),
    # Rule 2: the lowest id by code point wins; a loser is not re-awarded a cell.
    Case(
        name="conflict-lowest-id",
        drawing="""
            . P2 . E .
            P10 . P3 a Z
            . P1 b w .
        """,
        rules={"max_steps": 3},
        seed=2,
        script=(
            "P1^ P10> P2v P3< Z^ a> b> w.",
            "P1^ P10> P2> P3^ Z< a. b> w^",
            "P1> P10> P2> P3> a^ b^ w<",
        ),
    ),
    # Rule 4: a swap, a rotation of four, and a rotation that a conflict breaks.
    Case(
        name="cycles",
        drawing="""
            a b . c d .
            . . . f e .
            i g h . . E
        """,
        rules={"max_steps": 3},
        seed=3,
        script=(
            "a> b< c> dv e< f^ g> h< i>",
            "a> b> c> dv e< f^ g> h> i>",
            "a> b> c. d> e> fv g> h> i>",
        ),
    ),
    # Deterministic fire, people who may enter it, exits that burn: every way to be resolved.
    Case(
        name="fire-and-exits-deterministic-casualty-flammable",
        drawing="""
            E1 . b . # .
            .  # # . * E2
            a  . . . . c
            d  . . # . .
        """,
        rules={"max_steps": 12},
        seed=4,
        script=("a^ b< c^ d>", "a^ b< d^", "b< d<", "d>"),
    ),
    # Who enters a burning exit dies there; who is on an igniting cell dies of the spread.
    Case(
        name="burning-exit-casualty",
        drawing="""
            a E1* b . E2
            . .   . c .
        """,
        rules={"interval": 2, "max_steps": 8},
        seed=5,
        script=("a> b. c>", "b. c^"),
    ),
    # The same exit with `blocked`: it refuses, and traps who has no other.
    Case(
        name="burning-exit-blocked",
        drawing="""
            a E1* b . E2
            # #   # . .
        """,
        rules={"enter_fire": "blocked", "interval": 4, "max_steps": 8},
        seed=6,
        script=("a> b<", "a> b>", "a. b>", "a<"),
    ),
    # Exits that cannot burn let people out from the middle of a fire.
    Case(
        name="fireproof-exit-deterministic-blocked",
        drawing="""
            . * .
            * E a
            . . b
            . . c
        """,
        rules={"enter_fire": "blocked", "exits_flammable": False, "interval": 3, "max_steps": 7},
        seed=2**64 - 1,
        script=("a< b^ cv", "b< c^", "c^", "c^", "c<"),
    ),
    # Stochastic fire on every second step, exits that cannot burn, ids beyond ASCII.
    Case(
        name="stochastic-interval-blocked-fireproof",
        drawing="""
            é . . . # . E1 .
            . # . . . . .  .
            . . * . P2 . . 😀
            . . . . # P10 . .
            E2 . Ж . . . . *
        """,
        rules={
            "probability": 0.3,
            "interval": 2,
            "enter_fire": "blocked",
            "exits_flammable": False,
            "max_steps": 8,
        },
        seed=7,
        script=(
            "P10v P2< é< Ж^ 😀<",
            "P10^ P2^ év Ж< 😀v",
            "P10v P2v év Жv 😀<",
            "P10< P2. é< Ж> 😀^",
            "P10^ P2v év Ж. 😀<",
            "P10v P2. é. Ж< 😀<",
            "P10< P2. év Жv",
            "P10> P2v Ж<",
        ),
    ),
    # Stochastic fire on every step among a crowd, exits that burn.
    Case(
        name="stochastic-crowd-casualty-flammable",
        drawing="""
            E1 . . . # . . .
            . a b . . . c E2
            . # . . * . d .
            . e . . . # # .
            f . . g . . . h
            . . # # i . . .
            . j . . k . # .
            . . l . . . m E3
        """,
        rules={"probability": 0.5, "max_steps": 10},
        seed=2**63 + 11,
        script=(
            "a. b^ cv d< e> f. g. hv iv j> kv l> m>",
            "av b. c^ d< e^ f. g> h^ i< j< k^ l.",
            "a> b< c> e^ f. h^ i> jv k> l>",
            "a> b. ev fv h> i< j^ k< l^",
            "b^ e. f^ h. i> j< k. l^",
            "b> ev f. h< i^ j< kv lv",
            "e< f. h. i> j> l<",
            "e> f. h< j. l^",
            "f^ j> l>",
            "j<",
        ),
    ),
    # p = 0 draws for every edge and burns nothing; `max_steps` leaves people unresolved.
    Case(
        name="probability-zero",
        drawing="""
            . * . . E
            a . # b .
            . . # . .
        """,
        rules={"probability": 0.0, "max_steps": 3},
        seed=8,
        script=("a^ b>", "a> b<", "b."),
    ),
    # p = 1 burns like the deterministic model, and draws; the last step resolves everybody.
    Case(
        name="probability-one",
        drawing="""
            * . . . E
            . . # b .
            . a # . .
        """,
        rules={"probability": 1.0, "interval": 2, "max_steps": 4},
        seed=9,
        script=("a> b^", "a> b>", "a.", "a."),
    ),
)
