"""Generated places: whatever the family, size and seed, they can be played and are worth it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_policies import distances
from suite import command
from suite.families import FAMILIES
from suite.generate import Wish, generate

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.authoring.difficulty import measure
from emberbench_dist.contract.observation import Status
from emberbench_dist.contract.scenario import load_scenario, parse_scenario
from emberbench_dist.errors import EmberBenchError
from emberbench_dist.simulator.simulator import Simulator

SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "generate_suite"
families = st.sampled_from(sorted(FAMILIES))
seeds = st.integers(0, 2**64 - 1)


def require_solvable(scenario):
    """Check that a scenario is valid and that everybody has a path to an exit at step 0."""
    assert parse_scenario(scenario.to_dict()) == scenario
    reached = distances(Simulator(scenario, 0).observe())
    assert all(person.position in reached for person in scenario.people)


def saved(scenario, seed):
    """Return the share of people whom `greedy` gets out."""
    simulator, agent = Simulator(scenario, seed), Greedy()
    while not simulator.state.terminated:
        simulator.step(agent.act(simulator.observe()))
    people = simulator.state.people
    return sum(person.status is Status.EVACUATED for person in people) / len(people)


@settings(max_examples=150, deadline=None)
@given(families, st.integers(16, 40), seeds)
def test_every_place_can_be_played(family, size, seed):
    """Any family at any size and seed is valid, and leaves everybody a path at first."""
    scenario = generate(Wish(family=family, size=size, seed=seed))
    assert (scenario.map.width, scenario.map.height) == (size, size)
    assert len(scenario.people) == size * 3 // 2
    assert len(scenario.map.exits) == 3
    assert len(scenario.ignitions) == 2 + size // 32
    require_solvable(scenario)


@pytest.mark.parametrize(
    ("family", "size"),
    [*((family, 64) for family in FAMILIES), *((family, 128) for family in ("hall", "maze"))],
)
def test_large_places_can_be_played(family, size):
    """The same of sizes that take longer; the released suite has some of 256."""
    require_solvable(generate(Wish(family=family, size=size, seed=9)))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_shortest_path_is_not_all(family):
    """Over some seeds greedy loses some people and saves some, and not always as many."""
    rates = [saved(generate(Wish(family=family, size=24, seed=seed)), seed) for seed in range(6)]
    assert 0.2 < sum(rates) / len(rates) < 0.95
    assert len(set(rates)) > 3


@pytest.mark.parametrize("family", FAMILIES)
def test_another_seed_is_another_place(family):
    """Map, people and fire follow from the seed, up to the largest; the same seed is the same."""
    some = (0, 1, 2**53 + 1, 2**63, 2**64 - 2, 2**64 - 1)
    made = [generate(Wish(family=family, size=20, seed=seed)) for seed in some]
    assert made == [generate(Wish(family=family, size=20, seed=seed)) for seed in some]
    assert len({item.people for item in made}) == len({item.ignitions for item in made}) == 6
    assert len({item.map for item in made}) == 6


@given(
    families,
    st.integers(1, 60),
    st.integers(1, 6),
    st.integers(0, 4),
    st.integers(1, 4),
    st.sampled_from([None, 0.0, 0.25, 1.0]),
)
@settings(max_examples=80, deadline=None)
def test_what_is_wished_is_what_there_is(family, people, exits, ignitions, interval, probability):
    """Numbers of people, exits and fires, and rules, are as wished, or there is no room."""
    fire = (
        {"fire_model": "deterministic"}
        if probability is None
        else {"spread_probability": probability}
    )
    rules = fire | {"spread_interval": interval, "max_steps": 77, "enter_fire": "blocked"}
    wish = Wish(
        family=family,
        size=18,
        seed=5,
        people=people,
        exits=exits,
        ignitions=ignitions,
        rules=rules,
    )
    try:
        scenario = generate(wish)
    except EmberBenchError as error:
        told = str(error)
    else:
        told = ""
    if told:
        assert told.startswith("there is no room for ")
        return
    assert len(scenario.people) == people
    assert len(scenario.map.exits) == exits
    assert len(scenario.ignitions) == ignitions
    assert (scenario.rules.spread_interval, scenario.rules.max_steps) == (interval, 77)
    assert (scenario.rules.spread_probability, scenario.rules.enter_fire) == (
        probability,
        "blocked",
    )
    require_solvable(scenario)


def test_a_rule_that_is_given_changes_no_other():
    """People and exits stay where they are whatever rules are wished; so do the other rules."""
    plain = generate(Wish(family="office", size=32, seed=3))
    given_interval = generate(Wish(family="office", size=32, seed=3, rules={"spread_interval": 4}))
    assert given_interval.rules.spread_interval == 4
    assert (given_interval.map, given_interval.people) == (plain.map, plain.people)
    assert given_interval.rules.enter_fire == plain.rules.enter_fire
    assert given_interval.rules.spread_probability == plain.rules.spread_probability


def test_the_time_is_twice_what_is_needed():
    """`max_steps` is never what keeps people from the nearest exit."""
    for family in FAMILIES:
        scenario = generate(Wish(family=family, size=32, seed=1))
        needed = measure(scenario).nearest_exits
        assert 2 * needed <= scenario.rules.max_steps <= 2 * needed + 20


def test_the_script_prints_a_place(tmp_path):
    """Run as a developer does: the document on standard output, or the same in a file."""
    place = "family", "stadium", "--size", "16", "--seed", str(2**64 - 1), "--no-exits-flammable"
    printed = subprocess.run(
        [sys.executable, SCRIPT, *place], capture_output=True, text=True, check=True
    )
    options = "--people", "3", "--fire-model", "deterministic", "--id", "mine", "--max-steps", "9"
    file = tmp_path / "place.json"
    assert command.main([*place, "--out", str(file)]) == 0
    assert file.read_text() == printed.stdout
    scenario = load_scenario(file)
    assert scenario.scenario_id == f"stadium-{2**64 - 1}-16x16"
    assert command.main([*place, *options, "--out", str(file)]) == 0
    document = json.loads(file.read_text())
    assert (document["scenario_id"], len(document["people"])) == ("mine", 3)
    assert document["fire"]["spread_probability"] is None
    assert document["termination"] == {"max_steps": 9}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("office --size 15", "a size is from 16 to 256, not 15"),
        ("office --size 257", "a size is from 16 to 256, not 257"),
        ("office", "the following arguments are required: --size"),
        ("offices --size 64", "invalid choice: 'offices'"),
        ("maze --size 16 --people 5000", "no room for 5000 people: there are "),
        ("maze --size 16 --people 0", "people must be 1 or more, not 0"),
        ("maze --size 16 --exits -1", "exits must be 1 or more, not -1"),
        ("maze --size 16 --exits 61", "no room for 61 exits: there are "),
        ("maze --size 16 --ignitions -1", "ignitions must be 0 or more, not -1"),
        ("maze --size 16 --ignitions 300", "no room for 300 ignitions: there are "),
        ("maze --size 16 --ignitions 80", "leave somebody without a path"),
        ("maze --size 16 --seed -1", "must be from 0 to 18446744073709551615, got '-1'"),
        ("maze --size 16 --seed 18446744073709551616", "got '18446744073709551616'"),
        ("maze --size 16 --probability 1.5", "$.fire.spread_probability: must be a finite"),
        ("maze --size 16 --interval 0", "$.fire.spread_interval: must be an integer >= 1"),
        ("maze --size 16 --probability 1 --fire-model deterministic", "has no probability"),
        ("maze --size 16 --id a/b", "$.scenario_id: "),
        ("maze --size 16 --out nowhere/x.json", "nowhere/x.json: No such file or directory"),
    ],
)
def test_bad_input_is_told(options, told, capsys, tmp_path, monkeypatch):
    """Exit code 2, one line that says what was wrong, and nothing printed or written."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as caught:
        command.main(["family", *options.split()])
    printed = capsys.readouterr()
    assert (caught.value.code, printed.out) == (2, "")
    assert told in printed.err
    assert "Traceback" not in printed.err
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_family_is_told():
    """A wish that no option made is checked as well."""
    with pytest.raises(EmberBenchError, match="no family 'attic'; there are rooms, office"):
        generate(Wish(family="attic", size=16))
