"""The baselines that plan: what all of them promise, and the rule of each in small worlds."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from answers import assert_valid
from hypothesis import given
from hypothesis import strategies as st
from strategies import scenario_documents, seeds
from worlds import random_document, scenario, simulator

from emberbench_dist.agents.baselines import FireAware, Flow, Greedy, Lookahead, Reserve
from emberbench_dist.agents.conformance import check_agent
from emberbench_dist.agents.forecast import Forecast
from emberbench_dist.contract.observation import parse_observation, serialize_observation
from emberbench_dist.contract.scenario import load_scenario, parse_scenario
from emberbench_dist.simulator.grid import board, cells_of, grid_of
from emberbench_dist.simulator.record import record_episode
from emberbench_dist.simulator.simulator import Simulator

ROOT = Path(__file__).resolve().parents[2]
PLANNERS = [FireAware, Flow, Lookahead, Reserve]


def evacuated(agent, world, seed=1):
    """Return how many get out, and the outcomes of all actions."""
    record = record_episode(world, seed, agent().act)
    out = sum(len(step.evacuations) for step in record.steps)
    return out, [outcome for step in record.steps for outcome in step.outcomes]


def first_actions(agent, drawing, **rules):
    """Return what everybody does first in a drawing."""
    return {
        id: str(action) for id, action in agent().act(simulator(drawing, **rules).observe()).items()
    }


# All of them


@pytest.mark.parametrize("agent", PLANNERS)
@given(document=scenario_documents(), seed=seeds)
def test_every_answer_is_valid_model_output(agent, document, seed):
    """A planner answers for exactly the active people, in id order, by `Action` members."""
    assert_valid(agent(), parse_scenario(document), seed)


@pytest.mark.parametrize("agent", PLANNERS)
@given(document=scenario_documents(), seed=seeds)
def test_nobody_walks_into_fire_or_walls(agent, document, seed):
    """Nobody who follows a planner is refused by fire, wall or boundary, nor enters fire."""
    record = record_episode(parse_scenario(document), seed, agent().act)
    outcomes = {outcome for step in record.steps for outcome in step.outcomes}
    assert outcomes & {"blocked_fire", "blocked_wall", "blocked_boundary"} == set()
    causes = {casualty.cause for step in record.steps for casualty in step.casualties}
    assert causes <= {"fire_spread"}


@pytest.mark.parametrize("agent", PLANNERS)
def test_an_observation_that_came_as_text_is_as_good(agent):
    """Two agents, one of which reads text, play the same: only values matter, not identities."""
    world = parse_scenario(random_document(random.Random(5), 14, 40))
    play, first, second = Simulator(world, 3), agent(), agent()
    while not play.state.terminated:
        seen = play.observe()
        given = first.act(seen)
        assert second.act(parse_observation(serialize_observation(seen))) == given
        play.step(given)


@pytest.mark.parametrize("agent", PLANNERS)
def test_every_planner_conforms(agent):
    """No rule of the interface is broken."""
    assert check_agent(agent).broken == ()


@pytest.mark.parametrize("agent", PLANNERS)
@given(width=st.integers(2, 9), seed=seeds)
def test_alone_and_without_fire_all_are_as_quick_as_greedy(agent, width, seed):
    """Where there is nobody else and nothing burns, the shortest path is the best plan."""
    document = random_document(random.Random(seed), width + 1, 1)
    document["fire"]["ignitions"] = []
    world = parse_scenario(document)
    plain, planned = (record_episode(world, 1, kind().act) for kind in (Greedy, agent))
    assert len(planned.steps) == len(plain.steps)


@pytest.mark.parametrize("agent", PLANNERS)
def test_an_episode_may_last_for_ever(agent):
    """What is planned does not grow with the number of steps that are allowed."""
    world = scenario("a . b . E\n. . . . .\n* . . . .", interval=10**6, max_steps=10**12)
    assert evacuated(agent, world)[0] == 2


@pytest.mark.parametrize("agent", PLANNERS)
def test_a_later_observation_is_answered_as_well(agent):
    """Somebody who is not asked at every step still answers for whom they see."""
    play, player = simulator("a b " + ". " * 20 + "E"), agent()
    for asked in range(15):
        if asked in {1, 13}:
            seen = play.observe()
            assert player.act(seen) == agent().act(seen)
        play.step(dict.fromkeys(play.active, "east"))


# The forecast


@given(document=scenario_documents(), seed=seeds)
def test_the_forecast_is_exact_or_the_worst_case(document, seed):
    """No fire is ever ahead of the forecast, and a deterministic one is never behind it."""
    play = Simulator(parse_scenario(document), seed)
    seen, grid = play.observe(), grid_of(play.scenario.map)
    forecast, exact = Forecast(seen, 1), seen.rules.fire_model == "deterministic"
    while True:
        index = min(play.state.step, len(forecast.fire) - 1)
        burning = board(map(grid.cell, play.state.burning))
        assert burning & ~forecast.fire[index] == 0
        assert not exact or burning == forecast.fire[index]
        if play.state.terminated:
            return
        play.step(dict.fromkeys(play.active, "stay"))


@given(document=scenario_documents(max_limit=20))
def test_who_stands_safe_alone_gets_out(document):
    """Alone in a deterministic fire, somebody with time enough gets out if and only if safe."""
    document["fire"] |= {"model": "deterministic", "spread_probability": None}
    document["people"] = document["people"][:1]
    document["termination"]["max_steps"] = 200
    world = parse_scenario(document)
    seen, grid = Simulator(world, 1).observe(), grid_of(world.map)
    safe = cells_of(Forecast(seen, 1).safe[0])
    assert evacuated(FireAware, world)[0] == (grid.cell(seen.people[0].position) in safe)


# fire-aware

CLOSING = """
E1 . . a . . . . E2
#  * # # # # . # #
#  # # # # # . # #
#  # # # # # . # #
#  # # # # # * # #
"""


def test_fire_aware_takes_the_way_that_fire_does_not_reach():
    """The near exit burns before one can be there; greedy tries it, fire-aware does not."""
    assert first_actions(Greedy, CLOSING) == {"a": "west"}
    assert first_actions(FireAware, CLOSING) == {"a": "east"}
    world = scenario(CLOSING)
    assert (evacuated(Greedy, world)[0], evacuated(FireAware, world)[0]) == (0, 1)


def test_fire_aware_passes_before_the_fire_arrives():
    """A way that burns only after one has passed is as good as any."""
    assert first_actions(FireAware, "a . . E1\n. # # #\n. . . .\n* # # #") == {"a": "east"}


@pytest.mark.parametrize("agent", [FireAware, Reserve])
def test_hope_is_left_where_the_worst_case_leaves_no_path(agent):
    """A stochastic fire may be slower than the worst case, so nobody freezes; no other can."""
    drawing = "a . . E1*\n. . . #\n. * . E2"
    assert first_actions(agent, drawing)["a"] == "stay"
    assert first_actions(agent, drawing, probability=0.1)["a"] != "stay"


# flow


def test_flow_splits_a_crowd_between_two_exits():
    """Half of a queue at the near exit is out sooner at the far one."""
    world = scenario("""
    E1 a b c . . . E2
    #  d e f . . . #
    #  g h i . . . #
    """)
    steps = {}
    for kind in (Greedy, Flow):
        record = record_episode(world, 1, kind().act)
        steps[kind] = len(record.steps)
        exits = [person.exit for step in record.steps for person in step.evacuations]
        assert len(exits) == 9
        assert exits.count("E2") == (2 if kind is Flow else 0)
    assert steps[Flow] < steps[Greedy]


def test_flow_lets_nobody_walk_into_each_other():
    """Two who are sent past each other in a corridor exchange their exits."""
    for seed in range(10):
        world = parse_scenario(random_document(random.Random(seed), 12, 50, max_steps=30))
        assert "blocked_cycle" not in evacuated(Flow, world, seed)[1]


# lookahead


def test_lookahead_knows_who_wins():
    """Of two who want one cell, the one who would be refused does not try."""
    assert set(first_actions(Greedy, "a . b\n# E #").values()) == {"east", "west"}
    assert first_actions(Lookahead, "a . b\n# E #") == {"a": "east", "b": "stay"}


def test_lookahead_steps_out_of_the_next_fire_only():
    """It leaves a cell that may ignite in this step, and sees nothing of the step after."""
    assert first_actions(Lookahead, "E * a . .") == {"a": "east"}
    assert first_actions(Lookahead, "E * a . .", interval=2) == {"a": "stay"}
    assert first_actions(Lookahead, "E * . a .") == {"a": "stay"}


def test_lookahead_leaves_with_the_fire_at_the_exit():
    """An exit that ignites in this step still lets somebody out."""
    assert first_actions(Lookahead, "* E a . E2") == {"a": "west"}


# reserve


@pytest.mark.parametrize(
    "drawing",
    [
        "a . # . .\n. . . . E\nb . # . .",
        "a b # . .\nc d . . E\nf g # . .",
        "E1 a b . c d . . . E2\n# # # . # # # # # #",
        ". a . b .\nc # E # d\n. f . g .",
    ],
)
def test_reserve_queues(drawing):
    """At doors, in corridors and around exits all get out and nobody is ever refused."""
    out, outcomes = evacuated(Reserve, scenario(drawing))
    people = len(scenario(drawing).people)
    assert out == people
    assert set(outcomes) <= {"moved", "stayed"}


def test_reserve_empties_a_lobby():
    """Of a crowd that fills a room all get out before the fire, and no two want one cell."""
    world = load_scenario(ROOT / "manifests" / "scenarios" / "lobby-24x13.json")
    out, outcomes = evacuated(Reserve, world)
    assert out == len(world.people)
    assert set(outcomes) <= {"moved", "stayed", "blocked_occupied"}


def test_greedy_does_not_queue():
    """What the test above says of reserve is not so for everybody."""
    assert "blocked_conflict" in evacuated(Greedy, scenario("a . # .\n. . . E\nb . # ."))[1]


def test_reserve_follows_into_a_cell_that_is_left():
    """People in a row all move at once, each into the cell of the one before."""
    given = first_actions(Reserve, "a b c . E")
    assert given == dict.fromkeys("abc", "east")


def test_reserve_takes_the_exit_with_the_shorter_queue():
    """Whoever would wait longer at the near exit walks to the far one."""
    drawing = "E1 a b c . . . E2\n#  d e f . . . #\n#  g h i . . . #"
    greedy, planned = (record_episode(scenario(drawing), 1, a().act) for a in (Greedy, Reserve))
    assert len(planned.steps) < len(greedy.steps)
    exits = {person.exit for step in planned.steps for person in step.evacuations}
    assert exits == {"E1", "E2"}


def test_reserve_sees_a_way_close_beyond_its_window():
    """Nobody walks towards an exit that will burn before they are there, however far it is."""
    drawing = "E1" + " ." * 10 + " *" + " ." * 30 + " a" + " ." * 50 + " E2\n" + ". " * 93 + "."
    assert first_actions(Greedy, drawing) == {"a": "south"}
    assert first_actions(Reserve, drawing) == {"a": "east"}


def test_reserve_goes_around_the_fire_to_come():
    """What fire-aware does for one, reserve does for all."""
    assert first_actions(Reserve, CLOSING) == {"a": "east"}
    assert evacuated(Reserve, scenario(CLOSING))[0] == 1


def test_who_is_cut_off_steps_aside():
    """Somebody without a way out makes way for somebody who has one."""
    drawing = "b a . E1\n# . # #\n# # # #"
    play, agent = simulator(drawing), Reserve()
    seen = play.observe()
    assert evacuated(Reserve, scenario(drawing))[0] == 2
    assert agent.act(seen) == {"a": "east", "b": "east"}


@pytest.mark.parametrize("size", [8, 16])
def test_reserve_never_meets_or_swaps(size):
    """In crowded random worlds no action fails but by somebody who has no plan."""
    for seed in range(4):
        world = random_document(
            random.Random(seed), size, 5 * size, probability=0.6, enter_fire="blocked"
        )
        outcomes = set(evacuated(Reserve, parse_scenario(world), seed)[1])
        assert outcomes <= {"moved", "stayed", "blocked_occupied"}


@given(document=scenario_documents(max_limit=40), seed=seeds)
def test_only_people_without_a_plan_are_in_the_way(document, seed):
    """Nothing but somebody who has no way out, and cannot step aside, keeps a plan from working."""
    play, agent = Simulator(parse_scenario(document), seed), Reserve()
    while not play.state.terminated:
        record = play.step(agent.act(play.observe()))
        assert set(record.outcomes) <= {"moved", "stayed", "blocked_occupied"}
        if len(agent._plans) == len(record.active):
            assert "blocked_occupied" not in record.outcomes
