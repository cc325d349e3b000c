"""Fire, sentence by sentence (contract: Fire, Stochastic fire, Randomness)."""

from __future__ import annotations

import hashlib
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import PlainSplitMix64
from strategies import scenario_documents, seeds
from worlds import document, random_actions, scenario, simulator

from emberbench_dist.contract.scenario import parse_scenario
from emberbench_dist.simulator.simulator import Simulator

GAMMA = 0x9E3779B97F4A7C15
GAMMA_INVERSE = pow(GAMMA, -1, 2**64)


def draws_between(before, after):
    """Return how many draws lead from one state to another: each adds GAMMA, modulo 2**64."""
    return (after.rng_state.fire - before.rng_state.fire) * GAMMA_INVERSE % 2**64


def play_out(world, choose=None):
    """Play an episode to its end; return its records. By default everybody stays."""
    records = []
    while not world.state.terminated:
        active = world.observe().active
        records.append(world.step(choose(active) if choose else dict.fromkeys(active, "stay")))
    return records


def ignitions(drawing, **rules):
    """Return what ignites in each step of an episode in which everybody stays."""
    return [record.ignitions for record in play_out(simulator(drawing, **rules))]


def frontier(document, burning):
    """Return (candidate, source) edges in canonical order, by the contract's definition."""
    world = document["map"]
    exits = [] if document["fire"]["exits_flammable"] else world["exits"]
    fireproof = world["obstacles"] + [exit["position"] for exit in exits]
    burning = sorted(burning)
    return [
        ((row, col), source)
        for row in range(world["height"])
        for col in range(world["width"])
        if (row, col) not in burning and [row, col] not in fireproof
        for source in burning
        if abs(row - source[0]) + abs(col - source[1]) == 1
    ]


# Where fire goes


def test_deterministic_fire_ignites_every_flammable_neighbour():
    """Fire spreads to the four neighbours of burning cells, never across a diagonal."""
    drawing = """
        . . . . #
        . . * . #
        . . . . #
        # # # # a
        E . . . .
    """
    assert ignitions(drawing, max_steps=3) == [
        ((0, 2), (1, 1), (1, 3), (2, 2)),
        ((0, 1), (0, 3), (1, 0), (2, 1), (2, 3)),
        ((0, 0), (2, 0)),
    ]


def test_walls_never_burn_and_stop_fire():
    """Fire neither ignites a wall nor passes through one."""
    assert ignitions("* # . a E", max_steps=4) == [(), (), (), ()]


def test_fire_does_not_wrap_around_the_grid():
    """Fire at each edge reaches neither the next row's other end nor the opposite side."""
    drawing = """
        . # * # .
        # # # # #
        * # a # *
        # # # # #
        . # * # E
    """
    assert ignitions(drawing, max_steps=3) == [(), (), ()]


def test_fire_in_the_corners_spreads_inwards_only():
    """A burning corner has two neighbours."""
    drawing = """
        * . # . *
        . # a # .
        * . E . *
    """
    first = ignitions(drawing, exits_flammable=False, max_steps=1)[0]
    assert first == ((0, 1), (0, 3), (1, 0), (1, 4), (2, 1), (2, 3))


def test_people_do_not_block_fire():
    """Fire takes the cell in which somebody stands, and goes on from there."""
    assert ignitions("* a . E", max_steps=2) == [((0, 1),)]
    assert ignitions("* a . b E", max_steps=2) == [((0, 1),), ((0, 2),)]


def test_cells_burn_forever():
    """The burning set only grows: nothing burns out."""
    records = play_out(simulator("* . . # a E", max_steps=6))
    burning = [record.state.burning for record in records]
    assert burning[:2] == [((0, 0), (0, 1)), ((0, 0), (0, 1), (0, 2))]
    assert burning[2:] == [burning[1]] * 4


def test_flammable_exit_burns_and_passes_fire_on():
    """With `exits_flammable` an exit ignites like floor and spreads like floor."""
    assert ignitions("* E . a . E2", max_steps=2) == [((0, 1),), ((0, 2),)]


def test_exit_that_is_not_flammable_never_burns_and_stops_fire():
    """Without `exits_flammable` fire neither ignites an exit nor passes through one."""
    assert ignitions("* E . a", exits_flammable=False, max_steps=3) == [(), (), ()]


def test_exit_that_is_not_flammable_takes_no_draw():
    """An exit that is not flammable is no candidate, so it has no edge."""
    records = play_out(simulator("* E . a", exits_flammable=False, probability=0.5, max_steps=2))
    assert [record.state.rng_state for record in records] == [
        simulator("* E . a").state.rng_state
    ] * 2


@pytest.mark.parametrize("interval", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("probability", [None, 1.0])
def test_spread_interval(interval, probability):
    """Fire spreads exactly on the steps that the interval divides."""
    drawing = "* . . . . . . . . . . . # a E"
    rules = {"interval": interval, "probability": probability, "max_steps": 9}
    spread_on = [bool(ignited) for ignited in ignitions(drawing, **rules)]
    assert spread_on == [step % interval == 0 for step in range(1, 10)]


# Stochastic fire


def test_draw_order():
    """Candidates are row-major, sources row-major, every edge is drawn: checked draw by draw."""
    drawing = """
        . * . # a
        * . * # E
    """
    edges = [(0, 0), (0, 0), (0, 2), (0, 2), (1, 1), (1, 1), (1, 1)]
    seen = set()
    for seed in range(100):
        world = simulator(drawing, seed, probability=0.4)
        plain = PlainSplitMix64(world.state.rng_state.fire)
        successes = [candidate for candidate in edges if plain.bernoulli(0.4)]
        record = world.step({"a": "stay"})
        assert record.ignitions == tuple(sorted(set(successes)))
        assert record.state.rng_state.fire == plain.state
        seen.add(record.ignitions)
    assert len(seen) == 8


@settings(max_examples=150, deadline=None)
@given(document=scenario_documents(), seed=seeds)
def test_draw_consumption(document, seed):
    """Every recorded step advances the stream by its frontier's edges, or not at all."""
    scenario = parse_scenario(document)
    world = Simulator(scenario, seed)
    before, rules = world.state, scenario.rules
    for record in play_out(world):
        spread = rules.fire_model == "stochastic" and record.step % rules.spread_interval == 0
        edges = len(frontier(document, before.burning)) if spread else 0
        assert draws_between(before, record.state) == edges
        before = record.state


@pytest.mark.parametrize("probability", [0.0, 0.5, 1.0])
def test_draws_do_not_depend_on_success(probability):
    """The first step of one fire draws once per edge for p = 0, 0.5 and 1 alike."""
    drawing = """
        . * . # a
        * . * # E
    """
    world = simulator(drawing, probability=probability)
    before = world.state
    assert draws_between(before, world.step({"a": "stay"}).state) == 7


@pytest.mark.parametrize("probability", [0.0, 0.5, 1.0])
def test_no_candidate_no_draw(probability):
    """Without a frontier, and without a fire, nothing is drawn."""
    for drawing in ("* # a E", "a . . E"):
        world = simulator(drawing, probability=probability, max_steps=3)
        before = world.state
        assert draws_between(before, play_out(world)[-1].state) == 0


def test_deterministic_fire_never_draws():
    """The deterministic model leaves the stream where seeding put it."""
    world = simulator("* . . . a E", max_steps=3)
    before = world.state.rng_state
    assert {record.state.rng_state for record in play_out(world)} == {before}


@settings(max_examples=100, deadline=None)
@given(document=scenario_documents(), seed=seeds)
def test_certain_spread_is_deterministic_fire(document, seed):
    """With p = 1 the same cells ignite, and the same people die, as in the deterministic model."""
    runs = []
    for model, probability in (("deterministic", None), ("stochastic", 1.0)):
        fire = {**document["fire"], "model": model, "spread_probability": probability}
        world = Simulator(parse_scenario({**document, "fire": fire}), seed)
        runs.append([(record.ignitions, record.casualties) for record in play_out(world)])
    assert runs[0] == runs[1]


@settings(max_examples=50, deadline=None)
@given(document=scenario_documents(), seed=seeds)
def test_impossible_spread(document, seed):
    """With p = 0 nothing ever ignites."""
    fire = {**document["fire"], "model": "stochastic", "spread_probability": 0.0}
    world = Simulator(parse_scenario({**document, "fire": fire}), seed)
    assert {record.ignitions for record in play_out(world)} == {()}


@pytest.mark.parametrize("sources", [1, 2, 3, 4])
def test_probability_of_ignition(sources):
    """A candidate with k edges ignites with 1 - (1 - p)**k: over 2000 seeds, within 4 sigma."""
    drawing = ["# . # . a", ". c . # E", "# . # # #"]
    around = [(0, 1), (1, 0), (1, 2), (2, 1)]
    cells = [row.replace("c", ".").split() for row in drawing]
    for row, col in around:
        cells[row][col] = "*" if (row, col) in around[:sources] else "#"
    world = scenario("\n".join(" ".join(row) for row in cells), probability=0.3)
    hits = sum(
        (1, 1) in Simulator(world, seed).step({"a": "stay"}).ignitions for seed in range(2000)
    )
    expected = 1 - 0.7**sources
    assert abs(hits - 2000 * expected) < 4 * math.sqrt(2000 * expected * (1 - expected))


def test_probability_is_compared_exactly():
    """`u / 2**53 < p`: p equal to a draw fails, the next float above it succeeds."""
    world = simulator("* . # a E", probability=0.5)
    u = PlainSplitMix64(world.state.rng_state.fire).next_u64() >> 11
    exact = u / 2**53
    above = math.nextafter(exact, 1)
    assert simulator("* . # a E", probability=exact).step({"a": "stay"}).ignitions == ()
    assert simulator("* . # a E", probability=above).step({"a": "stay"}).ignitions == ((0, 1),)


# The stream


@pytest.mark.parametrize("seed", [0, 1, 2**63, 2**64 - 1])
def test_stream_seed(seed):
    """At step 0 the stream stands on sha256("emberbench/v1/{seed}/fire")[:8], big-endian."""
    digest = hashlib.sha256(f"emberbench/v1/{seed}/fire".encode()).hexdigest()
    assert simulator("a E", seed).state.rng_state.to_dict() == {"fire": int(digest[:16], 16)}


@settings(max_examples=100, deadline=None)
@given(document=scenario_documents(), seed=seeds, others=st.integers(0, 2**32))
def test_fire_is_exogenous(document, seed, others):
    """Any actions give the same fire and stream positions on the steps that the runs share."""
    world = parse_scenario(document)
    rng = random.Random(others)
    runs = [
        play_out(Simulator(world, seed), choose)
        for choose in (None, lambda active: random_actions(rng, active))
    ]
    for one, other in zip(*runs, strict=False):
        assert one.ignitions == other.ignitions
        assert one.state.rng_state == other.state.rng_state


def test_fire_does_not_depend_on_the_order_of_ignitions():
    """However the scenario lists its ignitions, the run has the same bytes."""
    drawing = """
        * . . * . # a
        . . * . . # E
    """
    world = document(drawing, probability=0.5, max_steps=4)
    shuffled = {**world, "fire": {**world["fire"], "ignitions": world["fire"]["ignitions"][::-1]}}
    assert shuffled != world
    runs = [play_out(Simulator(parse_scenario(one), 3)) for one in (world, shuffled)]
    assert runs[0] == runs[1]


def test_different_seeds_give_different_fires():
    """The seed decides the fire: eight seeds do not burn alike."""
    drawing = """
        . . . . # a
        . * . . # E
        . . . . # .
    """
    runs = [
        [record.ignitions for record in play_out(simulator(drawing, seed, probability=0.5))]
        for seed in range(8)
    ]
    assert len({str(run) for run in runs}) == 8
