"""The check of model output: what is accepted, and the whole table of failures."""

from __future__ import annotations

from collections import ChainMap, OrderedDict, UserDict, defaultdict
from enum import Enum
from types import MappingProxyType, SimpleNamespace

import pytest
from builders import case_id, corridor, observation
from hypothesis import example, given
from hypothesis import strategies as st
from liars import (
    Counterfeit,
    Disguised,
    Explosive,
    Forgetful,
    Impostor,
    Masked,
    OfOddMeta,
    Pairs,
    Shy,
    Unhashable,
)

from emberbench_dist.contract.actions import (
    ALLOWED_ACTIONS,
    Action,
    check_actions,
    read_actions,
)
from emberbench_dist.contract.scenario import parse_scenario
from emberbench_dist.errors import InvalidActionError, ModelOutputError
from emberbench_dist.simulator.simulator import Simulator

WORDS = ("stay", "north", "south", "east", "west")
ONE_OF = "must be one of stay, north, south, east, west; got"


def after_losses():
    """Return a simulator at step 1: Pa and Pb are active, Pc is out, Pd is lost."""
    document = corridor()
    document["map"] = {
        "width": 5,
        "height": 2,
        "obstacles": [],
        "exits": [{"id": "E1", "position": [0, 4]}],
    }
    document["people"] = [
        {"id": "Pa", "position": [0, 0]},
        {"id": "Pb", "position": [0, 1]},
        {"id": "Pc", "position": [0, 3]},
        {"id": "Pd", "position": [1, 3]},
    ]
    document["fire"] |= {"ignitions": [[1, 4]], "spread_interval": 1000}
    simulator = Simulator(parse_scenario(document), 1)
    simulator.step({"Pa": "stay", "Pb": "stay", "Pc": "east", "Pd": "east"})
    return simulator


def both(value):
    """Return output that is right for Pb and has `value` for Pa."""
    return {"Pa": value, "Pb": "stay"}


def under(key):
    """Return output that is right for Pb and has an action under `key`."""
    return {key: "stay", "Pb": "stay"}


def filling():
    """Return a mapping that would make up the actions that are missing."""
    return defaultdict(lambda: "stay", Pa="stay")


WRONG_IDS = [
    ({}, "no action for the active person 'Pa'"),
    ({"Pa": "stay"}, "no action for the active person 'Pb'"),
    ({"Pb": Action.STAY}, "no action for the active person 'Pa'"),
    (MappingProxyType({"Pb": "stay"}), "no action for the active person 'Pa'"),
    (filling(), "no action for the active person 'Pb'"),
    (Forgetful(Pa="stay"), "no action for the active person 'Pb'"),
    (both("stay") | {"Zz": "stay"}, "'Zz' is not an active person"),
    (under("Zz"), "'Zz' is not an active person"),
    (under("pa"), "'pa' is not an active person"),
    (under("Pa "), "'Pa ' is not an active person"),
    (under(""), "'' is not an active person"),
    (under("P\u0430"), r"'P\u0430' is not an active person"),
    (under("\ud800"), r"'\ud800' is not an active person"),
    (both("stay") | {"Pc": "stay"}, "'Pc' is not an active person"),
    (both("stay") | {"Pd": "stay"}, "'Pd' is not an active person"),
    (under("Pc"), "'Pc' is not an active person"),
    (under("Pd"), "'Pd' is not an active person"),
    (dict.fromkeys(["Pa", "Pb", "Pc", "Pd"], "stay"), "'Pc' is not an active person"),
    (Pairs(("Pa", "stay"), ("Pa", "stay"), ("Pb", "stay")), "'Pa' has more than one action"),
    (Pairs(("Pa", "stay"), ("Pa", "north")), "'Pa' has more than one action"),
]
WRONG_VALUES = [
    (both("up"), f"the action of 'Pa' {ONE_OF} 'up'"),
    (both(None), f"the action of 'Pa' {ONE_OF} null"),
    (both(1), f"the action of 'Pa' {ONE_OF} 1"),
    (both("NORTH"), f"the action of 'Pa' {ONE_OF} 'NORTH'"),
    (both("North"), f"the action of 'Pa' {ONE_OF} 'North'"),
    (both(""), f"the action of 'Pa' {ONE_OF} ''"),
    (both("north "), f"the action of 'Pa' {ONE_OF} 'north '"),
    (both(" north"), f"the action of 'Pa' {ONE_OF} ' north'"),
    (both("north\n"), rf"the action of 'Pa' {ONE_OF} 'north\n'"),
    (both("n"), f"the action of 'Pa' {ONE_OF} 'n'"),
    (both("."), f"the action of 'Pa' {ONE_OF} '.'"),
    (both("\uff4eorth"), rf"the action of 'Pa' {ONE_OF} '\uff4eorth'"),
    (both("\ud800"), rf"the action of 'Pa' {ONE_OF} '\ud800'"),
    (both("Action.NORTH"), f"the action of 'Pa' {ONE_OF} 'Action.NORTH'"),
    (both(0), f"the action of 'Pa' {ONE_OF} 0"),
    (both(True), f"the action of 'Pa' {ONE_OF} true"),
    (both(1.5), f"the action of 'Pa' {ONE_OF} 1.5"),
    (both(float("nan")), f"the action of 'Pa' {ONE_OF} nan"),
    (both(10**5000), f"the action of 'Pa' {ONE_OF} a value of type int"),
    (both(b"north"), f"the action of 'Pa' {ONE_OF} bytes"),
    (both(["north"]), f"the action of 'Pa' {ONE_OF} list"),
    (both(("north",)), f"the action of 'Pa' {ONE_OF} tuple"),
    (both({"north"}), f"the action of 'Pa' {ONE_OF} set"),
    (both({"action": "north"}), f"the action of 'Pa' {ONE_OF} dict"),
    (both(Action), f"the action of 'Pa' {ONE_OF} EnumType"),
    (both(object()), f"the action of 'Pa' {ONE_OF} object"),
    (both(Enum("Other", ["NORTH"]).NORTH), f"the action of 'Pa' {ONE_OF} Other"),
    (both(SimpleNamespace(value="north")), f"the action of 'Pa' {ONE_OF} SimpleNamespace"),
    ({"Pa": "stay", "Pb": "up"}, f"the action of 'Pb' {ONE_OF} 'up'"),
    (MappingProxyType(both("up")), f"the action of 'Pa' {ONE_OF} 'up'"),
]
MALFORMED = [
    (None, "actions must be a mapping of person id to action, got NoneType"),
    ("stay", "actions must be a mapping of person id to action, got str"),
    (b"{}", "actions must be a mapping of person id to action, got bytes"),
    (1, "actions must be a mapping of person id to action, got int"),
    (Action.STAY, "actions must be a mapping of person id to action, got Action"),
    (["stay", "stay"], "actions must be a mapping of person id to action, got list"),
    ([("Pa", "stay"), ("Pb", "stay")], "actions must be a mapping of person id to action, got l"),
    ((), "actions must be a mapping of person id to action, got tuple"),
    ({"Pa"}, "actions must be a mapping of person id to action, got set"),
    (both("stay").items(), "actions must be a mapping of person id to action, got dict_items"),
    (iter([]), "actions must be a mapping of person id to action, got list_iterator"),
    (dict, "actions must be a mapping of person id to action, got type"),
    (SimpleNamespace(items=both("stay").items), "actions must be a mapping of person id to action"),
    (under(1), "person ids must be text, got 1"),
    (under(None), "person ids must be text, got null"),
    (under(True), "person ids must be text, got true"),
    (under(b"Pa"), "person ids must be text, got bytes"),
    (under(("Pa",)), "person ids must be text, got tuple"),
    (under(object()), "person ids must be text, got object"),
    (both("stay") | {0: "stay"}, "person ids must be text, got 0"),
    (MappingProxyType(under(1)), "person ids must be text, got 1"),
]
LIES = [
    (both(Impostor("stay")), f"the action of 'Pa' {ONE_OF} Impostor"),
    (both(Explosive("stay")), f"the action of 'Pa' {ONE_OF} Explosive"),
    (both(Unhashable()), f"the action of 'Pa' {ONE_OF} Unhashable"),
    (both(Masked("up", "stay")), f"the action of 'Pa' {ONE_OF} 'up'"),
    (both(Shy("up")), f"the action of 'Pa' {ONE_OF} 'up'"),
    (both(Disguised()), f"the action of 'Pa' {ONE_OF} Disguised"),
    (both(OfOddMeta()), f"the action of 'Pa' {ONE_OF}"),
    (both(Counterfeit("stay")), f"the action of 'Pa' {ONE_OF}"),
    (under(Counterfeit("Pa")), "person ids must be text, got"),
    (under(Impostor("Pa")), "person ids must be text, got Impostor"),
    (under(Impostor("Zz")), "person ids must be text, got Impostor"),
    (under(Explosive("Pa")), "person ids must be text, got Explosive"),
    (under(Disguised()), "person ids must be text, got Disguised"),
    (under(Masked("Zz", "Pa")), "'Zz' is not an active person"),
    (Pairs((Impostor("Pa"), "stay"), ("Pb", "stay")), "person ids must be text, got Impostor"),
    (Pairs((Masked("Zz", "Pa"), "stay"), ("Pb", "stay")), "'Zz' is not an active person"),
    (Pairs((["Pa"], "stay"), ("Pb", "stay")), "person ids must be text, got list"),
    (Pairs((Unhashable(), "stay")), "person ids must be text, got Unhashable"),
]


@pytest.mark.parametrize(
    ("output", "rule"), [*WRONG_IDS, *WRONG_VALUES, *MALFORMED, *LIES], ids=case_id
)
def test_invalid_model_output_fails_closed(output, rule):
    """Interface and simulator reject the same output in the same words, and nothing is played."""
    simulator = after_losses()
    before = simulator.state
    with pytest.raises(InvalidActionError) as refused:
        simulator.step(output)
    with pytest.raises(ModelOutputError) as caught:
        check_actions(simulator.observe(), output)
    assert type(refused.value) is InvalidActionError
    assert str(refused.value).startswith(rule)
    assert str(caught.value) == f"step 1: {refused.value}"
    assert type(caught.value.__cause__) is InvalidActionError
    assert str(caught.value.__cause__) == str(refused.value)
    assert simulator.state is before


def test_the_table_above_is_about_two_active_people():
    """After one step two people are active, one is evacuated and one is a casualty."""
    seen = after_losses().observe()
    assert seen.step == 1
    assert [(person.id, person.status.value) for person in seen.people] == [
        ("Pa", "active"),
        ("Pb", "active"),
        ("Pc", "evacuated"),
        ("Pd", "casualty"),
    ]


def test_nothing_is_repaired():
    """A mapping that could make up actions is neither asked for them nor filled."""
    output = filling()
    with pytest.raises(ModelOutputError):
        check_actions(observation("Pa", "Pb"), output)
    assert dict(output) == {"Pa": "stay"}


class Text(str):
    """A plain subclass of text."""

    __slots__ = ()


class Word(str, Enum):  # noqa: UP042 - the older spelling, whose `str()` is no action
    """An enum of a user's own whose members are text."""

    PA = "Pa"
    NORTH = "north"


@pytest.mark.parametrize(
    "output",
    [
        {"Pa": "north", "Pb": "stay"},
        {"Pb": Action.STAY, "Pa": Action.NORTH},
        {"Pa": Action.NORTH, "Pb": "stay"},
        OrderedDict(Pb="stay", Pa="north"),
        defaultdict(str, Pa="north", Pb="stay"),
        UserDict({"Pa": "north", "Pb": "stay"}),
        ChainMap({"Pa": "north"}, {"Pa": "up", "Pb": "stay"}),
        MappingProxyType({"Pa": Action.NORTH, "Pb": Action.STAY}),
        Pairs(("Pb", "stay"), ("Pa", "north")),
        Forgetful(Pa="north", Pb="stay"),
        {Text("Pa"): Text("north"), Text("Pb"): "stay"},
        {Word.PA: Word.NORTH, "Pb": "stay"},
        {Shy("Pa"): "north", "Pb": Shy("stay")},
        {Masked("Pa", "Zz"): Masked("north", "up"), "Pb": "stay"},
    ],
    ids=case_id,
)
def test_every_spelling_of_right_output_is_accepted(output):
    """Any mapping of ids to members or their text gives the same plain dict of members."""
    checked = check_actions(observation("Pa", "Pb"), output)
    assert type(checked) is dict
    assert checked is not output
    assert list(checked.items()) == [("Pa", Action.NORTH), ("Pb", Action.STAY)]
    assert {type(key) for key in checked} == {str}
    assert {type(value) for value in checked.values()} == {Action}
    assert read_actions(("Pa", "Pb"), output) == [Action.NORTH, Action.STAY]


@pytest.mark.parametrize("word", WORDS)
def test_all_five_actions_have_their_own_member(word):
    """Each action text stands for the member of that value."""
    for value in (word, Action(word)):
        checked = check_actions(observation("Pa"), {"Pa": value})
        assert checked == {"Pa": Action(word)}
        assert checked["Pa"].value == word


def test_the_actions_are_the_five_of_the_contract():
    """There are five actions, in the order in which an observation lists them."""
    assert tuple(action.value for action in Action) == WORDS
    assert tuple(Action) == ALLOWED_ACTIONS
    assert all(isinstance(action, str) for action in Action)


def test_the_result_is_new_each_time():
    """Changing the output or a result afterwards changes no other result."""
    output = {"Pa": "north"}
    first = check_actions(observation("Pa"), output)
    output["Pa"] = "up"
    second = check_actions(observation("Pa"), first)
    second.clear()
    assert first == {"Pa": Action.NORTH}


def test_ids_go_by_code_point():
    """The checked actions come in id order, whatever the order of the output."""
    checked = check_actions(
        observation("P2", "P10", "Pé"), {"Pé": "west", "P2": "east", "P10": "stay"}
    )
    assert list(checked) == ["P10", "P2", "Pé"]


def test_without_active_people_only_the_empty_mapping_is_right():
    """Nobody needs an action where nobody is active."""
    seen = observation(evacuated=("Pa",))
    assert check_actions(seen, {}) == {}
    for output in ({"Pa": "stay"}, [], None, False):
        with pytest.raises(ModelOutputError, match=r"^step 3: "):
            check_actions(seen, output)


@pytest.mark.parametrize("step", [0, 1, 99, 10**30])
def test_the_message_starts_with_the_step(step):
    """The message says at which step the model failed."""
    with pytest.raises(ModelOutputError) as caught:
        check_actions(observation("Pa", step=step), {})
    assert str(caught.value) == f"step {step}: no action for the active person 'Pa'"


def test_an_action_must_be_among_those_allowed():
    """An action that the observation does not allow is refused, as a member and as text."""
    seen = observation("Pa", "Pb", allowed_actions=(Action.STAY, Action.NORTH))
    assert check_actions(seen, {"Pa": "north", "Pb": Action.STAY}) == {
        "Pa": Action.NORTH,
        "Pb": Action.STAY,
    }
    for value in ("east", Action.EAST, Text("east")):
        with pytest.raises(ModelOutputError) as caught:
            check_actions(seen, {"Pa": "stay", "Pb": value})
        assert str(caught.value) == "step 3: 'east' is not allowed here ('Pb')"
        assert type(caught.value.__cause__) is InvalidActionError
        assert str(caught.value.__cause__) == "'east' is not allowed here ('Pb')"


@pytest.mark.parametrize("allowed", Action)
def test_a_single_allowed_action_allows_no_other(allowed):
    """Of five actions, only the allowed one passes."""
    seen = observation("Pa", allowed_actions=(allowed,))
    assert check_actions(seen, {"Pa": allowed}) == {"Pa": allowed}
    for other in set(Action) - {allowed}:
        with pytest.raises(ModelOutputError, match=rf"^step 3: '{other}' is not allowed here"):
            check_actions(seen, {"Pa": other})


def test_what_the_models_own_mapping_raises_stays_as_it_is():
    """An exception that the model's code raises is passed on, the same object."""
    fault = OSError("the model's own")

    class Lazy(Pairs):
        def items(self):
            raise fault

    with pytest.raises(OSError, match="the model's own") as caught:
        check_actions(observation("Pa"), Lazy(("Pa", "stay")))
    assert caught.value is fault


def test_a_long_value_is_cut_in_the_message():
    """A message stays short however long the wrong value is."""
    with pytest.raises(ModelOutputError) as caught:
        check_actions(observation("Pa"), {"Pa": "x" * 100_000})
    assert len(str(caught.value)) < 200


ids = st.sampled_from(["Pa", "Pb", "Pc", "Pd", "pa"]) | st.text(max_size=3) | st.integers(0, 2)
values = (
    st.sampled_from([*WORDS, *Action, "up", "NORTH", ""]) | st.none() | st.integers() | st.text()
)
outputs = (
    st.dictionaries(ids, values, max_size=4)
    | st.fixed_dictionaries({"Pa": values, "Pb": values})
    | st.fixed_dictionaries({"Pa": st.sampled_from(WORDS), "Pb": st.sampled_from(list(Action))})
    | st.lists(st.tuples(ids, values))
    | st.none()
)
SPELLINGS = [dict, MappingProxyType, UserDict, OrderedDict, lambda output: Pairs(*output.items())]


@given(outputs, st.sampled_from(SPELLINGS))
@example({"Pa": "stay", "Pb": "west"}, dict)
@example({"Pa": "stay", "Pb": 1}, dict)
def test_interface_and_simulator_accept_the_same_output(output, spelling):
    """Both accept exactly one right action for each active person, and agree on each."""
    right = (
        isinstance(output, dict)
        and set(output) == {"Pa", "Pb"}
        and all(isinstance(value, str) and value in WORDS for value in output.values())
    )
    if isinstance(output, dict):
        output = spelling(output)
    seen = observation("Pa", "Pb", evacuated=("Pc",), casualties=("Pd",))
    if right:
        expected = {"Pa": Action(output["Pa"]), "Pb": Action(output["Pb"])}
        assert check_actions(seen, output) == expected
        assert read_actions(seen.active, output) == list(expected.values())
        return
    with pytest.raises(InvalidActionError) as refused:
        read_actions(seen.active, output)
    with pytest.raises(ModelOutputError) as caught:
        check_actions(seen, output)
    assert str(caught.value) == f"step 3: {refused.value}"
