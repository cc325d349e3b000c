"""The phases of a step, termination, trapping and the seed (contract: Phase order, Trapping)."""

from __future__ import annotations

import random
from collections import UserDict
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import action_values, scenario_documents, seeds
from worlds import actions, scenario, simulator

from emberbench_dist.contract.actions import Action
from emberbench_dist.contract.canonical import canonical_json
from emberbench_dist.contract.observation import serialize_observation
from emberbench_dist.contract.scenario import parse_scenario
from emberbench_dist.errors import InvalidActionError, SimulationError
from emberbench_dist.simulator.simulator import Simulator


def resolved(record):
    """Return who left by which exit, and who died of what, in one step."""
    left = {evacuation.id: evacuation.exit for evacuation in record.evacuations}
    lost = {casualty.id: casualty.cause.value for casualty in record.casualties}
    return left, lost


def one_step(drawing, acts, **rules):
    """Play one step; return who left and who died."""
    return resolved(simulator(drawing, **rules).step(actions(acts)))


def text_of(world):
    """Return all that can be seen of a simulator."""
    return canonical_json([world.state.to_dict(), world.observe().to_dict()])


# Phase 1: observation


def test_observation_is_the_pre_step_state():
    """Before each step the observation shows that step's number, people and burning cells."""
    world = simulator("b a E . *", exits_flammable=False, max_steps=9)
    first = world.observe()
    assert (first.step, first.burning, first.active) == (0, ((0, 4),), ("a", "b"))
    world.step(actions("a> b."))
    second = world.observe()
    assert (second.step, second.burning, second.active) == (1, ((0, 3), (0, 4)), ("b",))
    assert [person.to_dict() for person in second.people] == [
        {"id": "a", "position": [0, 2], "status": "evacuated"},
        {"id": "b", "position": [0, 0], "status": "active"},
    ]


def test_observing_changes_nothing():
    """However often one looks, the same is seen and the same follows."""
    watched, plain = (simulator("a . E . *", probability=0.5) for _ in range(2))
    assert len({watched.observe() for _ in range(5)}) == 1
    assert watched.step(actions("a>")) == plain.step(actions("a>"))


def test_observation_text():
    """The observation is the static map, the rules, the people, the fire and the actions."""
    world = simulator("b # a . *\n. . . E2 E1", probability=0.25, interval=3, max_steps=7)
    assert serialize_observation(world.observe()) == (
        '{"allowed_actions":["stay","north","south","east","west"],"burning":[[0,4]],'
        '"map":{"exits":[{"id":"E1","position":[1,4]},{"id":"E2","position":[1,3]}],'
        '"height":2,"obstacles":[[0,1]],"width":5},"observation_version":"1.0",'
        '"people":[{"id":"a","position":[0,2],"status":"active"},'
        '{"id":"b","position":[0,0],"status":"active"}],'
        '"rules":{"conflict_resolution":"lowest_id_wins","enter_fire":"casualty",'
        '"exits_flammable":true,"fire_model":"stochastic","max_steps":7,"spread_interval":3,'
        '"spread_probability":0.25},"step":0}'
    )


def test_observation_keeps_the_future_and_the_diagnostic_private():
    """Seed, stream, scenario identity and trapping change nothing that is seen."""
    drawing = "a # . E"
    plain = serialize_observation(simulator(drawing, 1).observe())
    named = simulator(drawing, 2**64 - 1, scenario_id="another")
    assert serialize_observation(named.observe()) == plain
    assert named.state.trapped == ("a",)
    assert serialize_observation(simulator("a . # E").observe()) != plain
    for attribute in ("seed", "rng_state", "trapped", "scenario"):
        assert not hasattr(named.observe(), attribute)


# Phase 2: actions


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"a": "stay"}, id="missing-person"),
        pytest.param({}, id="empty"),
        pytest.param({"a": "stay", "b": "stay", "x": "stay"}, id="unknown-person"),
        pytest.param({"a": "stay", "x": "stay"}, id="unknown-instead-of-active"),
        pytest.param({"a": "stay", "b": "stay", "out": "stay"}, id="evacuated-person"),
        pytest.param({"a": "stay", "b": "stay", "lost": "stay"}, id="casualty"),
        pytest.param({"a": "stay", "b": "up"}, id="unknown-action"),
        pytest.param({"a": "stay", "b": "NORTH"}, id="upper-case-action"),
        pytest.param({"a": "stay", "b": None}, id="no-action"),
        pytest.param({"a": "stay", "b": 1}, id="number"),
        pytest.param({"a": "stay", "b": ["stay"]}, id="list-of-actions"),
        pytest.param({"a": "stay", 1: "stay"}, id="key-that-is-no-text"),
        pytest.param([("a", "stay"), ("b", "stay")], id="pairs"),
        pytest.param("stay", id="text"),
        pytest.param(None, id="nothing"),
    ],
)
def test_invalid_actions_change_nothing(given):
    """Anything but one legal action per active person is refused; the episode goes on as it was."""
    drawing = "a b . # out E lost *"
    rules = {"probability": 0.5, "exits_flammable": False, "max_steps": 9}
    world, twin = simulator(drawing, **rules), simulator(drawing, **rules)
    for one in (world, twin):
        one.step(actions("a. b. out> lost>"))
    before = text_of(world)
    with pytest.raises(InvalidActionError):
        world.step(given)
    assert text_of(world) == before
    assert world.step(actions("a. b>")) == twin.step(actions("a. b>"))


@pytest.mark.parametrize(
    "given",
    [
        {"a": "east", "b": "east"},
        {"b": "east", "a": "east"},
        {"a": Action.EAST, "b": Action.EAST},
        {"a": Action.EAST, "b": "east"},
        MappingProxyType({"a": "east", "b": "east"}),
        UserDict({"a": "east", "b": Action.EAST}),
    ],
)
def test_valid_actions(given):
    """Any mapping of the active people to actions, or to their values, is the same step."""
    expected = simulator("a b . E").step({"a": "east", "b": "east"})
    assert simulator("a b . E").step(given) == expected


def test_recorded_actions_are_a_copy():
    """A mapping that the caller changes later does not change the record."""
    given = {"a": "east"}
    record = simulator("a . E").step(given)
    given["a"] = "west"
    assert record.to_dict()["actions"] == {"a": "east"}


# Phases 5 to 8: movement, evacuation, fire, casualties


def test_evacuation_names_the_exit():
    """Every active person on an exit is evacuated, and recorded with that exit."""
    assert one_step("b E2 . E1 a", "a< b>") == ({"a": "E1", "b": "E2"}, {})


def test_evacuation_comes_before_fire_spread():
    """Who reaches an exit in the step in which fire reaches it gets out."""
    world = simulator("a E *")
    record = world.step(actions("a>"))
    assert resolved(record) == ({"a": "E"}, {})
    assert record.ignitions == ((0, 1),)


@pytest.mark.parametrize(
    ("enter_fire", "lost", "status"),
    [("casualty", {"a": "entered_fire"}, "casualty"), ("blocked", {}, "active")],
)
def test_burning_exit_never_evacuates(enter_fire, lost, status):
    """A burning exit kills who enters it, or is not entered at all."""
    world = simulator("a E1* . E2", enter_fire=enter_fire, interval=9)
    record = world.step(actions("a>"))
    assert resolved(record) == ({}, lost)
    assert record.state.people[0].status.value == status


def test_exit_that_ignited_never_evacuates_afterwards():
    """An exit that burned down before somebody came is fire like any other."""
    world = simulator("a . E * . E2", max_steps=9)
    world.step(actions("a."))
    assert resolved(world.step(actions("a>"))) == ({}, {"a": "fire_spread"})
    world = simulator("a . E * . E2", interval=2, max_steps=9)
    for acts in ("a>", "a<"):
        world.step(actions(acts))
    assert resolved(world.step(actions("a>"))) == ({}, {})
    assert resolved(world.step(actions("a>"))) == ({}, {"a": "entered_fire"})


def test_exit_that_is_not_flammable_evacuates_through_the_fire():
    """Where exits cannot burn, one with fire on all sides still lets people out."""
    rules = {"exits_flammable": False, "interval": 9}
    assert one_step("* * *\n* E a\n* * *", "a<", **rules) == ({"a": "E"}, {})


def test_who_stays_on_an_igniting_cell_dies():
    """A person who does not move away from a cell that ignites is a casualty of the spread."""
    assert one_step("E . a *", "a.") == ({}, {"a": "fire_spread"})


def test_who_is_blocked_on_an_igniting_cell_dies():
    """A blocked move does not save from the fire."""
    assert one_step("E # a *", "a<") == ({}, {"a": "fire_spread"})


def test_who_moves_away_from_an_igniting_cell_lives():
    """A person who leaves a cell in the step in which it ignites is not hurt."""
    world = simulator("E . . a *")
    record = world.step(actions("a<"))
    assert resolved(record) == ({}, {})
    assert record.ignitions == ((0, 3),)


def test_who_moves_onto_an_igniting_cell_dies_of_the_spread():
    """The cause is `fire_spread` if the cell was not burning before phase 7."""
    assert one_step("E a . *", "a>") == ({}, {"a": "fire_spread"})


def test_who_moves_onto_a_burning_cell_entered_fire():
    """The cause is `entered_fire` if the cell was burning before phase 7."""
    assert one_step("E . a *", "a>") == ({}, {"a": "entered_fire"})


def test_resolved_people_keep_their_last_position():
    """Evacuated people stay on record at the exit, casualties where they died."""
    world = simulator("a E . b * E2", exits_flammable=False, interval=9, max_steps=5)
    world.step(actions("a> b>"))
    assert [person.to_dict() for person in world.state.people] == [
        {"id": "a", "position": [0, 1], "status": "evacuated"},
        {"id": "b", "position": [0, 4], "status": "casualty"},
    ]


@settings(max_examples=100, deadline=None)
@given(document=scenario_documents(), seed=seeds, data=st.data())
def test_invariants(document, seed, data):
    """Active people never share a cell or start a step on exit or fire; what is settled stays."""
    world = Simulator(parse_scenario(document), seed)
    exits = {exit.position for exit in world.scenario.map.exits}
    while not world.state.terminated:
        before = world.state
        active = world.observe().active
        cells = {person.position for person in before.people if person.id in active}
        assert len(cells) == len(active)
        assert not cells & (exits | set(before.burning))
        world.step({person: data.draw(action_values) for person in active})
        for old, new in zip(before.people, world.state.people, strict=True):
            assert old.id == new.id
            assert old.id in active or old == new
        assert set(before.burning) <= set(world.state.burning)
        assert list(world.state.burning) == sorted(world.state.burning)


# Phase 9: termination


def test_nothing_is_over_at_step_0():
    """The initial state is not terminated, whatever the limit."""
    state = simulator("a E", max_steps=1).state
    assert (state.step, state.terminated, state.termination_reason) == (0, False, None)


def test_all_resolved():
    """The episode ends with the last active person, evacuated or not."""
    world = simulator("a E . b *", exits_flammable=False, interval=9)
    state = world.step(actions("a> b>")).state
    assert (state.terminated, state.termination_reason) == (True, "all_resolved")
    assert world.observe().active == ()


def test_max_steps():
    """The episode ends after `max_steps` steps, and not before."""
    world = simulator("a . E", max_steps=3)
    seen = [world.step(actions("a.")).state for _ in range(3)]
    assert [state.terminated for state in seen] == [False, False, True]
    assert seen[-1].termination_reason == "max_steps"
    assert world.observe().active == ("a",)


def test_all_resolved_wins():
    """Where the last person is resolved in the last step, the reason is `all_resolved`."""
    state = simulator("a E", max_steps=1).step(actions("a>")).state
    assert state.termination_reason == "all_resolved"


@pytest.mark.parametrize("acts", ["a>", "a."])
def test_stepping_after_the_end(acts):
    """A terminated simulator refuses any step, valid or empty, and stays as it is."""
    world = simulator("a E *", max_steps=1)
    world.step(actions(acts))
    before = text_of(world)
    for more in ({}, actions("a."), None):
        with pytest.raises(SimulationError, match="step 1: the episode is over"):
            world.step(more)
    assert text_of(world) == before


# Trapping


@pytest.mark.parametrize(
    ("drawing", "rules", "trapped"),
    [
        pytest.param("a # E", {}, ("a",), id="wall"),
        pytest.param("a * E", {}, ("a",), id="fire"),
        pytest.param("a * E", {"enter_fire": "blocked"}, ("a",), id="fire-that-blocks"),
        pytest.param("a . E*", {}, ("a",), id="burning-exit"),
        pytest.param("a E1* E2", {}, ("a",), id="beyond-a-burning-exit"),
        pytest.param("a b . E", {}, (), id="other-people-are-ignored"),
        pytest.param("a E1 . E2", {}, (), id="free"),
        pytest.param("a #\n# E", {}, ("a",), id="no-diagonal"),
        pytest.param("a # . \n . # E \n . . .", {}, (), id="around-the-wall"),
        pytest.param(". . a # E\n# # # # .", {}, ("a",), id="no-wrap"),
        pytest.param("P2 P10 p # E P1", {}, ("P10", "P2", "p"), id="by-code-point"),
    ],
)
def test_trapped(drawing, rules, trapped):
    """Trapped is who has no path over cells that are no wall and do not burn to such an exit."""
    assert simulator(drawing, interval=9, **rules).state.trapped == trapped


def test_trapped_is_recomputed_after_the_fire():
    """The fire of a step traps people in the same step; casualties are not trapped."""
    drawing = """
        a . . E
        # b * #
    """
    state = simulator(drawing, max_steps=9).step(actions("a. b.")).state
    assert state.burning == ((0, 2), (1, 1), (1, 2))
    assert state.trapped == ("a",)
    assert state.people[1].status.value == "casualty"


def test_trapped_people_act_on():
    """Trapped is a diagnostic: status and episode go on until they end on their own."""
    world = simulator("a . # E", max_steps=2)
    record = world.step(actions("a>"))
    assert record.movements[0].outcome.value == "moved"
    assert (record.state.trapped, record.state.people[0].status.value) == (("a",), "active")
    assert not record.state.terminated
    assert world.step(actions("a.")).state.termination_reason == "max_steps"


def test_who_entered_fire_is_no_longer_trapped():
    """A trapped person who dies without any new fire leaves the trapped set at once."""
    world = simulator("a * E", interval=9)
    assert world.state.trapped == ("a",)
    assert world.step(actions("a>")).state.trapped == ()


# The seed


@pytest.mark.parametrize("seed", [-1, 2**64, True, 1.0, "1", None])
def test_seeds_out_of_range(seed):
    """A seed is an integer from 0 to 2**64 - 1; anything else is refused."""
    with pytest.raises(SimulationError, match="seed"):
        Simulator(scenario("a E"), seed)


@pytest.mark.parametrize("seed", [0, 2**64 - 1])
def test_seeds_at_the_ends_of_the_range(seed):
    """Both ends of the range are seeds."""
    assert Simulator(scenario("a E"), seed).step(actions("a>")).state.terminated


def test_episodes_share_nothing():
    """Episodes of one scenario, played in turns, are as if each were played alone."""
    world = scenario("a . . E\n. * . .", probability=0.5, max_steps=2)
    alone = [
        [one.step(actions(acts)) for acts in ("a.", "a>")]
        for one in (Simulator(world, seed) for seed in range(3))
    ]
    together = [Simulator(world, seed) for seed in range(3)]
    turns = [[one.step(actions(acts)) for one in together] for acts in ("a.", "a>")]
    assert [list(records) for records in zip(*turns, strict=True)] == alone


def test_global_generator_plays_no_part():
    """A disturbed global random generator neither changes a run nor is disturbed by it."""
    records = set()
    for disturbance in (1, 2):
        random.seed(disturbance)
        before = random.getstate()
        records.add(simulator("a . # * .\n. E # . .", probability=0.5).step(actions("a>")))
        assert random.getstate() == before
    assert len(records) == 1
