"""Snapshots and step records are frozen values with one canonical form (contract: State)."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, is_dataclass

import pytest
from hypothesis import given, settings
from strategies import scenario_documents, seeds
from worlds import actions, simulator

from emberbench_dist.contract.canonical import canonical_json
from emberbench_dist.contract.scenario import parse_scenario
from emberbench_dist.simulator.simulator import Simulator

CORRIDOR = "Pa . . * E1"


def values_in(value):
    """Yield a frozen value and all that it is made of."""
    yield value
    if is_dataclass(value):
        parts = [getattr(value, field.name) for field in fields(value)]
    else:
        parts = value if isinstance(value, tuple) else ()
    for part in parts:
        yield from values_in(part)


def test_initial_state_text():
    """The canonical text of a snapshot has exactly the keys and order of the fixed format."""
    state = simulator(CORRIDOR, probability=0.5).state
    assert canonical_json(state.to_dict()) == (
        '{"burning":[[0,3]],"people":[{"id":"Pa","position":[0,0],"status":"active"}],'
        '"rng_state":{"fire":695549672465311096},"step":0,"terminated":false,'
        '"termination_reason":null,"trapped":["Pa"]}'
    )


def test_step_record_text():
    """The canonical text of a step has exactly the keys and values of the fixed format."""
    world = simulator("P2 P1 E1 . * P3", interval=1, exits_flammable=False)
    assert canonical_json(world.step(actions("P1> P2> P3<")).to_dict()) == (
        '{"actions":{"P1":"east","P2":"east","P3":"west"},'
        '"casualties":[{"cause":"entered_fire","id":"P3"}],'
        '"evacuations":[{"exit":"E1","id":"P1"}],"ignitions":[[0,3],[0,5]],'
        '"movements":[{"from":[0,1],"id":"P1","outcome":"moved","to":[0,2]},'
        '{"from":[0,0],"id":"P2","outcome":"moved","to":[0,1]},'
        '{"from":[0,5],"id":"P3","outcome":"moved","to":[0,4]}],'
        '"state":{"burning":[[0,3],[0,4],[0,5]],'
        '"people":[{"id":"P1","position":[0,2],"status":"evacuated"},'
        '{"id":"P2","position":[0,1],"status":"active"},'
        '{"id":"P3","position":[0,4],"status":"casualty"}],'
        '"rng_state":{"fire":695549672465311096},"step":1,"terminated":false,'
        '"termination_reason":null,"trapped":[]},"step":1}'
    )


def test_final_state_text():
    """A terminated snapshot names its reason."""
    world = simulator("a E")
    document = world.step(actions("a>")).state.to_dict()
    assert (document["terminated"], document["termination_reason"]) == (True, "all_resolved")
    assert '"termination_reason":"all_resolved"' in canonical_json(document)


def test_values_are_frozen_all_the_way_down():
    """Snapshots, records and observations hold no mutable container, and refuse assignment."""
    world = simulator("a b E *")
    record = world.step(actions("a> b>"))
    for value in (world.state, record, world.observe()):
        for part in values_in(value):
            assert not isinstance(part, list | dict | set | bytearray)
            if is_dataclass(part):
                name = fields(part)[0].name
                with pytest.raises(FrozenInstanceError):
                    setattr(part, name, None)


def test_snapshots_do_not_change_with_later_steps():
    """What was returned before a step is the same after it."""
    world = simulator("c b a . E *", probability=0.5, max_steps=4)
    values = [world.state, world.observe()]
    before = [canonical_json(value.to_dict()) for value in values]
    for acts in ("a> b> c>", "a> b> c>"):
        record = world.step(actions(acts))
        values += [record, record.state, world.observe()]
        before += [canonical_json(value.to_dict()) for value in values[-3:]]
    assert [canonical_json(value.to_dict()) for value in values] == before


def test_the_dictionary_form_is_a_copy():
    """Changing a dictionary form does not reach the simulator."""
    world = simulator("a b E")
    text = canonical_json(world.state.to_dict())
    document = world.state.to_dict()
    document["people"][0]["position"][0] = 7
    document["burning"].append([0, 0])
    assert canonical_json(world.state.to_dict()) == text


@settings(max_examples=60, deadline=None)
@given(document=scenario_documents(), seed=seeds)
def test_equal_snapshots_serialise_alike(document, seed):
    """Two runs of one episode give equal, equally hashed snapshots and records: the same text."""
    scenario = parse_scenario(document)
    one, other = Simulator(scenario, seed), Simulator(parse_scenario(scenario.to_dict()), seed)
    seen = {one.state: canonical_json(one.state.to_dict())}
    assert seen[other.state] == canonical_json(other.state.to_dict())
    while not one.state.terminated:
        stay = dict.fromkeys(one.observe().active, "stay")
        record, twin = one.step(stay), other.step(stay)
        assert {record: 1}[twin] == 1
        assert canonical_json(record.to_dict()) == canonical_json(twin.to_dict())
        seen[one.state] = canonical_json(one.state.to_dict())
        assert seen[other.state] == canonical_json(other.state.to_dict())
    assert len(seen) == len(set(seen.values())) == one.state.step + 1


def test_snapshots_differ_where_anything_differs():
    """Another seed, another position or another status is another snapshot."""
    states = {simulator("a . E", seed).state for seed in range(3)}
    moved = simulator("a . E").step(actions("a>")).state
    stayed = simulator("a . E").step(actions("a.")).state
    assert len(states | {moved, stayed}) == 5
