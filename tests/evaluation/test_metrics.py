"""The metrics: small episodes counted by hand, and any episode counted anew from its record."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction

import plain_formats
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import scenario_documents, seeds
from worlds import actions, random_actions, scenario

from emberbench_dist.contract.scenario import parse_scenario
from emberbench_dist.evaluation.metrics import (
    FLOAT_METRICS,
    INTEGER_METRICS,
    SUMMED_METRICS,
    Tally,
    totals,
)
from emberbench_dist.simulator.record import record_episode
from emberbench_dist.simulator.simulator import Simulator

NAMES = {
    *("people", "evacuated", "casualties", "casualties_entered_fire", "casualties_fire_spread"),
    *("unresolved", "trapped_at_end", "ever_trapped", "steps", "person_steps", "moved", "stayed"),
    *("blocked_boundary", "blocked_wall", "blocked_fire", "blocked_occupied", "blocked_conflict"),
    *("blocked_cycle", "burned_cells", "last_evacuation_step"),
    *("evacuation_rate", "casualty_rate", "mean_evacuation_step"),
}
NONE_OF_IT = {
    **dict.fromkeys(NAMES, 0),
    "last_evacuation_step": None,
    "evacuation_rate": 0.0,
    "casualty_rate": 0.0,
    "mean_evacuation_step": None,
}


def played(drawing, *script, **rules):
    """Play a script from a drawing; return the metrics."""
    world = scenario(drawing, **rules)
    simulator = Simulator(world, 1)
    tally = Tally(simulator.state)
    for line in script:
        tally.add(simulator.step(actions(line)))
    assert simulator.state.terminated
    return tally.metrics(world)


EPISODES = {
    "one-walks-out": (
        ("a . E", "a>", "a>"),
        {},
        (
            "people 1, evacuated 1, steps 2, person_steps 2, moved 2, last_evacuation_step 2, "
            "mean_evacuation_step 2.0, evacuation_rate 1.0"
        ),
    ),
    "fire-comes-to-one-who-is-trapped": (
        ("a . * E", "a.", "a."),
        {},
        (
            "people 1, casualties 1, casualties_fire_spread 1, casualty_rate 1.0, steps 2, "
            "person_steps 2, stayed 2, burned_cells 4, ever_trapped 1"
        ),
    ),
    "one-walks-into-fire": (
        ("a * E", "a>"),
        {"interval": 9},
        (
            "people 1, casualties 1, casualties_entered_fire 1, casualty_rate 1.0, steps 1, "
            "person_steps 1, moved 1, burned_cells 1, ever_trapped 1"
        ),
    ),
    "a-burning-exit-lets-nobody-out": (
        ("a E1* . E2", "a>"),
        {"interval": 9},
        (
            "people 1, casualties 1, casualties_entered_fire 1, casualty_rate 1.0, steps 1, "
            "person_steps 1, moved 1, burned_cells 1, ever_trapped 1"
        ),
    ),
    "out-in-the-step-in-which-the-exit-ignites": (
        ("a E *", "a>"),
        {},
        (
            "people 1, evacuated 1, steps 1, person_steps 1, moved 1, burned_cells 2, "
            "last_evacuation_step 1, mean_evacuation_step 1.0, evacuation_rate 1.0"
        ),
    ),
    "time-runs-out-for-one-who-is-walled-in": (
        ("a # E", "a.", "a^"),
        {"max_steps": 2},
        (
            "people 1, unresolved 1, trapped_at_end 1, ever_trapped 1, steps 2, person_steps 2, "
            "stayed 1, blocked_boundary 1"
        ),
    ),
    "three-leave-in-steps-1-2-and-4": (
        ("a E b c", "a> b. c.", "b< c.", "c<", "c<"),
        {},
        (
            "people 3, evacuated 3, steps 4, person_steps 7, moved 4, stayed 3, "
            "last_evacuation_step 4, mean_evacuation_step 2.3333333333333335, evacuation_rate 1.0"
        ),
    ),
    "one-of-each-fate": (
        ("a * b E c # d", "a> b> c. d.", "c. d."),
        {"interval": 9, "max_steps": 2},
        (
            "people 4, evacuated 1, casualties 1, casualties_entered_fire 1, unresolved 2, "
            "trapped_at_end 1, ever_trapped 2, burned_cells 1, steps 2, person_steps 6, moved 2, "
            "stayed 4, last_evacuation_step 1, mean_evacuation_step 1.0, evacuation_rate 0.25, "
            "casualty_rate 0.25"
        ),
    ),
    "both-causes": (
        ("a * b . . c E", "a> b. c.", "c."),
        {"exits_flammable": False, "max_steps": 2},
        (
            "people 3, casualties 2, casualties_entered_fire 1, casualties_fire_spread 1, "
            "unresolved 1, ever_trapped 1, steps 2, person_steps 4, moved 1, stayed 3, "
            "burned_cells 4, casualty_rate 0.6666666666666666"
        ),
    ),
}


@pytest.mark.parametrize("name", EPISODES)
def test_metrics_of_an_episode_counted_by_hand(name):
    """Every metric, and no other, has the value and type that counting by hand gives."""
    (drawing, *script), rules, counted = EPISODES[name]
    found = played(drawing, *script, **rules)
    pairs = (pair.split(" ") for pair in counted.split(", "))
    expected = NONE_OF_IT | {metric: json.loads(value) for metric, value in pairs}
    assert plain_formats.canonical(found) == plain_formats.canonical(expected)


OUTCOMES = {
    "moved": (("a . E", "a>"), {"moved": 1}),
    "stayed": (("a . E", "a."), {"stayed": 1}),
    "boundary": (("a . E", "a^"), {"blocked_boundary": 1}),
    "wall": (("a # E", "a>"), {"blocked_wall": 1}),
    "fire": (("a * E", "a>"), {"blocked_fire": 1}),
    "occupied": (("a b E", "a> b."), {"blocked_occupied": 1, "stayed": 1}),
    "conflict": (("a . b E", "a> b<"), {"blocked_conflict": 1, "moved": 1}),
    "cycle": (("a b E", "a> b<"), {"blocked_cycle": 2}),
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_each_outcome_is_counted_under_its_name(name):
    """One step with one kind of outcome counts there and nowhere else."""
    (drawing, line), expected = OUTCOMES[name]
    found = played(drawing, line, enter_fire="blocked", interval=9, max_steps=1)
    counted = {outcome: found[outcome] for outcome in plain_formats.OUTCOMES if found[outcome]}
    assert counted == expected


def test_ever_trapped_counts_the_initial_snapshot_and_each_person_once():
    """Who is trapped from the start, for several steps, counts once; who gets trapped, too."""
    found = played("a # b . . * E", "a. b.", "a. b.", interval=2, max_steps=2)
    assert (found["ever_trapped"], found["trapped_at_end"]) == (2, 2)


def test_the_names_are_exactly_the_contracts():
    """The lists of names are those of the contract, without a name twice."""
    assert set(INTEGER_METRICS) | set(FLOAT_METRICS) == NAMES
    assert len(INTEGER_METRICS) + len(FLOAT_METRICS) == len(NAMES)
    assert set(FLOAT_METRICS) == {"evacuation_rate", "casualty_rate", "mean_evacuation_step"}
    assert set(SUMMED_METRICS) == set(INTEGER_METRICS) - {"last_evacuation_step"}


@given(document=scenario_documents(), seed=seeds, choices=st.integers())
def test_metrics_agree_with_the_run_record(document, seed, choices):
    """Whatever happens, the metrics are those counted from the run record, type for type."""
    world, rng = parse_scenario(document), random.Random(choices)
    record = record_episode(world, seed, lambda seen: random_actions(rng, seen.active))
    tally = Tally(record.initial_state)
    for step in record.steps:
        tally.add(step)
    expected = plain_formats.metrics(record.to_dict())
    assert json.dumps(tally.metrics(world), sort_keys=True) == json.dumps(expected, sort_keys=True)
    fates = [
        {**person.to_dict(), "step": step, "exit": exit, "cause": cause}
        for person, step, exit, cause in tally.fates()
    ]
    assert fates == plain_formats.people(record.to_dict())


# Rates and totals


def is_nearest(value, exact):
    """Say whether no other float is nearer to an exact fraction."""
    others = (math.nextafter(value, -math.inf), math.nextafter(value, math.inf))
    off = abs(Fraction(value) - exact)
    return all(off <= abs(Fraction(other) - exact) for other in others)


sums = st.fixed_dictionaries(dict.fromkeys(SUMMED_METRICS, st.integers(0, 2**80)))
rates = st.lists(st.floats(0, 1), min_size=1, max_size=30)


# Made so that rounding both before they are divided gives another float.
@example(
    found=dict.fromkeys(SUMMED_METRICS, 72757217426062276),
    people=665254580340503029,
)
@given(found=sums, people=st.integers(1, 2**80))
def test_the_overall_rate_is_correctly_rounded(found, people):
    """Beyond 2**53 too, the rate is the float nearest to evacuated / people."""
    found |= {"people": people, "evacuated": min(found["evacuated"], people)}
    rate = totals(found, [0.5], 1)["evacuation_rate"]
    assert is_nearest(rate, Fraction(found["evacuated"], people))


@given(rates=rates, order=st.randoms())
def test_the_mean_rate_depends_on_no_order(rates, order):
    """Rates in any order give the exact sum, rounded once, divided once."""
    found = dict.fromkeys(SUMMED_METRICS, 1)
    mean = totals(found, iter(rates), len(rates))["mean_episode_evacuation_rate"]
    assert mean == float(sum(map(Fraction, rates))) / len(rates)
    order.shuffle(rates)
    assert totals(found, rates, len(rates))["mean_episode_evacuation_rate"] == mean


def test_totals_by_hand():
    """Sums pass through; 1/10 ten times is exactly a tenth in the mean, whatever the addition."""
    found = dict(zip(SUMMED_METRICS, range(1, 100), strict=False)) | {"people": 3, "evacuated": 2}
    assert totals(found, [0.1] * 10, 10) == {
        **found,
        "evacuation_rate": 0.6666666666666666,
        "mean_episode_evacuation_rate": 0.1,
    }
    assert sum([0.1] * 10) / 10 != 0.1


def test_totals_of_nothing():
    """Without a single episode the rates are null, not a division by zero."""
    found = dict.fromkeys(SUMMED_METRICS, 0)
    expected = {"evacuation_rate": None, "mean_episode_evacuation_rate": None}
    assert totals(found, [], 0) == found | expected


@pytest.mark.parametrize(
    ("lost", "people", "rate"),
    [(1, 3, 0.3333333333333333), (2, 3, 0.6666666666666666), (5, 7, 0.7142857142857143)],
)
def test_casualty_rate_is_correctly_rounded(lost, people, rate):
    """In a row beside the fire, those up to the wall are lost, one a step."""
    names = [f"p{number}" for number in range(people)]
    drawing = " ".join(["*", *names[:lost], "#", *names[lost:], "E"])
    script = [" ".join(f"{name}." for name in names[step:]) for step in range(lost)]
    found = played(drawing, *script, max_steps=lost)
    assert (found["casualties"], found["casualty_rate"]) == (lost, rate)
