"""The built-in agents, each against the plain function that its description says it is."""

from __future__ import annotations

import random
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import plain_policies
import pytest
from answers import assert_valid
from builders import observation
from hypothesis import given
from hypothesis import strategies as st
from strategies import scenario_documents, seeds
from worlds import random_document, scenario, simulator

from emberbench_dist.agents import baselines
from emberbench_dist.agents.baselines import Counting, Greedy, Shuffle, Stay
from emberbench_dist.agents.baselines import greedy as greedy_module
from emberbench_dist.agents.baselines.greedy import ExitField, WindingExitField
from emberbench_dist.agents.execution import ReportsExecution
from emberbench_dist.agents.registry import load_agent
from emberbench_dist.contract.actions import Action
from emberbench_dist.contract.observation import parse_observation, serialize_observation
from emberbench_dist.contract.scenario import parse_scenario
from emberbench_dist.simulator.grid import _neighbours, grid_of
from emberbench_dist.simulator.record import record_episode
from emberbench_dist.simulator.simulator import Simulator

ROOT = Path(__file__).resolve().parents[2]
PLAIN = {
    Stay: lambda: plain_policies.stay,
    Greedy: lambda: plain_policies.greedy,
    Counting: plain_policies.counting,
    Shuffle: lambda: plain_policies.shuffle,
}
AGENTS = list(PLAIN)


def assert_same(agent, plain, world, seed):
    """Play an episode by an agent; in each step compare it with a plain function."""
    play = Simulator(world, seed)
    while not play.state.terminated:
        seen = play.observe()
        given = agent.act(seen)
        assert given == plain(seen)
        play.step(given)


@pytest.mark.parametrize("agent", AGENTS)
@given(document=scenario_documents(), seed=seeds)
def test_every_baseline_is_its_plain_twin(agent, document, seed):
    """In any small world, in every step, agent and plain function give the same actions."""
    assert_same(agent(), PLAIN[agent](), parse_scenario(document), seed)


@pytest.mark.parametrize("enter_fire", ["casualty", "blocked"])
@pytest.mark.parametrize("size", [12, 25, 40])
def test_greedy_is_its_plain_twin_in_larger_worlds(size, enter_fire):
    """In random worlds with long ways around walls and fire, too."""
    rng = random.Random(size)
    for _ in range(4):
        world = random_document(rng, size, 2 * size, enter_fire=enter_fire)
        assert_same(Greedy(), plain_policies.greedy, parse_scenario(world), rng.getrandbits(64))


@pytest.mark.parametrize("agent", AGENTS)
@given(document=scenario_documents(max_limit=3), seed=seeds)
def test_every_answer_is_valid_model_output(agent, document, seed):
    """A baseline answers for exactly the active people, in id order, by `Action` members."""
    assert_valid(agent(), parse_scenario(document), seed)


def test_every_baseline_is_registered_and_explained():
    """Each has a name in the project's entry points, and a section in docs/baselines.md."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    entries = project["project"]["entry-points"]["emberbench_dist.agents"]
    found = {name: load_agent(target) for name, target in entries.items()}
    assert sorted(agent.__name__ for agent in found.values()) == baselines.__all__
    page = (ROOT / "docs" / "baselines.md").read_text()
    assert sorted(re.findall(r"^## `(.*)`$", page, re.MULTILINE)) == sorted(found)


@pytest.mark.parametrize("agent", AGENTS)
def test_no_baseline_accounts(agent):
    """The built-in agents cost nothing and report nothing."""
    assert not isinstance(agent(), ReportsExecution)


# Greedy


@pytest.mark.parametrize(
    ("drawing", "expected"),
    [
        ("# E1 #\nE2 a E3\n# E4 #", "north"),
        ("# # #\nE2 a E3\n# E4 #", "south"),
        ("# # #\nE2 a E3\n# # #", "east"),
        ("# # #\nE2 a #\n# # #", "west"),
        (". . .\n. a .\n. . E", "south"),
        (". . .\n. a .\nE . .", "south"),
        (". . E\n. a .\n. . .", "north"),
        ("E . .\n. a .\n. . .", "north"),
        ("E1 . a E2", "east"),
        ("E1 a . E2", "west"),
        ("a # E", "stay"),
        ("a * E", "stay"),
        ("a E*", "stay"),
        ("a E1* . E2", "stay"),
        ("E1 . . a E2*", "west"),
        ("a * E\n. . .", "south"),
        ("a b E", "east"),
        ("E . #\n# . #\n. a *\n. . E2*", "north"),
    ],
)
def test_greedy_takes_the_first_shortest_step(drawing, expected):
    """North goes before south, east and west; fire is avoided; who has no way stays."""
    assert Greedy().act(simulator(drawing).observe())["a"] == expected


def test_greedy_ignores_people():
    """A way that others block is still the way: they will move on."""
    given = Greedy().act(simulator("a b c E\n. . . .").observe())
    assert given == dict.fromkeys(("a", "b", "c"), "east")


@given(document=scenario_documents(), seed=seeds)
def test_greedy_walks_neither_into_fire_nor_into_walls(document, seed):
    """Nobody who follows it is refused by fire, wall or boundary, nor enters fire."""
    record = record_episode(parse_scenario(document), seed, Greedy().act)
    outcomes = {outcome for step in record.steps for outcome in step.outcomes}
    assert outcomes & {"blocked_fire", "blocked_wall", "blocked_boundary"} == set()
    causes = {casualty.cause for step in record.steps for casualty in step.casualties}
    assert causes <= {"fire_spread"}


@pytest.mark.parametrize("size", [3, 5, 12, 30])
def test_both_fields_of_greedy_are_the_same(size, monkeypatch):
    """A search finds the steps that rounds find, wherever somebody may stand."""
    rng = random.Random(size)
    for _ in range(8):
        world = parse_scenario(random_document(rng, size, 1)).map
        grid = grid_of(world)
        cells = [(row, col) for row in range(world.height) for col in range(world.width)]
        burning = tuple(sorted(set(cells) - set(world.obstacles)))[:: rng.randrange(2, 9)]
        rounds = ExitField(world, burning)
        winding = replace(grid, neighbours=_neighbours(grid))
        monkeypatch.setattr(greedy_module, "grid_of", lambda _, grid=winding: grid)
        search = WindingExitField(world, burning)
        monkeypatch.undo()
        inside = [cell for cell in cells if cell not in world.obstacles and cell not in burning]
        assert [search.next_step(cell) for cell in inside] == list(map(rounds.next_step, inside))


def test_greedy_searches_a_map_that_winds():
    """In a corridor that goes to and fro, greedy follows it around every corner."""
    halls, walls = ". " * 32, ("# " * 31 + ". ", ". " + "# " * 31)
    rows = ["E " + halls[2:], *(row for turn in range(15) for row in (walls[turn % 2], halls))]
    world = scenario("\n".join([*rows[:-1], "a " + halls[2:]]))
    assert grid_of(world.map).neighbours
    assert_same(Greedy(), plain_policies.greedy, world, 1)


def test_greedy_goes_a_long_way():
    """The widest corridor has a way from end to end."""
    world = scenario("a " + ". " * 2046 + "E", max_steps=1)
    assert Greedy().act(Simulator(world, 1).observe()) == {"a": "east"}
    assert Greedy().act(Simulator(scenario("E " + ". " * 2046 + "a"), 1).observe()) == {"a": "west"}


@pytest.fixture
def floods(monkeypatch):
    """Count how often the exits' field is computed."""
    made = []

    class CountedField(ExitField):
        def __init__(self, *arguments):
            made.append(arguments)
            super().__init__(*arguments)

    monkeypatch.setattr(greedy_module, "ExitField", CountedField)
    return made


@pytest.mark.parametrize("interval", [1, 2, 3, 50])
def test_greedy_keeps_its_field_while_nothing_ignites(floods, interval):
    """The field is computed at first, and then once for each step in which something ignited."""
    drawing = "a . . . . . . . E1\n. # # # # # # # #\n. . . . . . . . *"
    world = scenario(drawing, interval=interval, max_steps=9)
    record = record_episode(world, 3, Greedy().act)
    ignited = sum(bool(step.ignitions) for step in record.steps[:-1])
    assert len(floods) == 1 + ignited
    assert ignited == (len(record.steps) - 1) // interval


def test_greedy_sees_another_fire_or_map_at_once():
    """One agent answers observations of any order rightly, also with the same fire elsewhere."""
    agent = Greedy()
    drawings = ["a . E", "E a .", "a E *", "* E a", "E . a", "a E*"]
    for drawing in drawings * 2:
        seen = simulator(drawing).observe()
        assert agent.act(seen) == plain_policies.greedy(seen)
    left, right = (simulator(drawing).observe() for drawing in ("E a . .", ". . a E"))
    shared = replace(right, burning=left.burning)
    assert (agent.act(left), agent.act(shared)) == ({"a": "west"}, {"a": "east"})


def test_greedy_answers_an_observation_that_came_as_text():
    """An observation that was sent and parsed is as good as the original."""
    play, agent = simulator("a . b * E1\n. # c . .\n. . . # E2", probability=0.4), Greedy()
    for _ in range(3):
        seen = play.observe()
        given = agent.act(parse_observation(serialize_observation(seen)))
        assert given == plain_policies.greedy(seen)
        play.step(given)


# Counting


def test_counting_by_hand():
    """The first acts of three people, one of whom is out: each a step on, out of phase."""
    agent, seen = Counting(), observation("Pa", "Pb", "Pd", evacuated=("Pc",))
    assert [list(agent.act(seen).values()) for _ in range(6)] == [
        ["north", "south", "east"],
        ["south", "east", "west"],
        ["east", "west", "stay"],
        ["west", "stay", "north"],
        ["stay", "north", "south"],
        ["north", "south", "east"],
    ]


def test_counting_keeps_state_of_its_own():
    """The same observation gets another answer later, and the first one from a new agent."""
    seen, agent = observation("Pa"), Counting()
    assert [agent.act(seen)["Pa"], agent.act(seen)["Pa"]] == ["north", "south"]
    assert Counting().act(seen) == {"Pa": "north"}


# Shuffle

CROWD = observation(*(f"P{number}" for number in range(10)), casualties=("Pé",))
PINNED = [
    *("east", "north", "north", "west", "south"),
    *("north", "east", "stay", "east", "north"),
]


def test_the_draws_of_shuffle_are_pinned():
    """One observation gives these actions on every platform, for ever."""
    assert list(Shuffle().act(CROWD).values()) == PINNED


def test_shuffle_depends_on_the_observation_alone():
    """Neither what came before, nor the agent, nor the global generator shows."""
    agent, expected = Shuffle(), Shuffle().act(CROWD)
    agent.act(observation("Pa"))
    random.seed(1)
    assert agent.act(CROWD) == expected
    random.seed(2)
    assert agent.act(CROWD) == expected
    assert agent.act(parse_observation(serialize_observation(CROWD))) == expected


@pytest.mark.parametrize(
    "changed",
    [
        replace(CROWD, step=4),
        replace(CROWD, burning=((0, 1),)),
        replace(CROWD, rules=replace(CROWD.rules, max_steps=99)),
        replace(CROWD, map=replace(CROWD.map, height=3)),
    ],
    ids=["step", "fire", "rules", "map"],
)
def test_shuffle_depends_on_every_part_of_the_observation(changed):
    """Another step, fire, rule or map gives other draws."""
    assert Shuffle().act(changed) != Shuffle().act(CROWD)


def test_shuffle_uses_every_action():
    """Over some steps everybody does everything."""
    seen = {Shuffle().act(replace(CROWD, step=step))["P3"] for step in range(60)}
    assert seen == set(Action)


# Fewer actions


@pytest.mark.parametrize("agent", [Stay, Counting, Shuffle])
def test_only_allowed_actions_are_taken(agent):
    """Where an observation allows two actions, a baseline takes one of them."""
    narrow = replace(CROWD, allowed_actions=(Action.STAY, Action.SOUTH))
    player = agent()
    for _ in range(5):
        assert set(player.act(narrow).values()) <= {Action.STAY, Action.SOUTH}


# Stay


@given(choices=st.lists(st.sampled_from(["Pa", "Pb", "Pc"]), unique=True, min_size=1))
def test_stay_by_hand(choices):
    """Who is active stays; nobody else is mentioned."""
    out = tuple({"Pa", "Pb", "Pc"} - set(choices))
    assert Stay().act(observation(*choices, evacuated=out)) == dict.fromkeys(choices, "stay")
