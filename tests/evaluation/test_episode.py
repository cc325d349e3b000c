"""One episode as canonical bytes, its replay, and the player of a batch."""

from __future__ import annotations

import hashlib
import json
import pickle
import random

import plain_formats
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import scenario_documents, seeds
from worlds import actions, random_actions, scenario

from emberbench_dist.agents.baselines import Counting, Greedy, Stay
from emberbench_dist.agents.interface import FreshAgents, PolicyAgent
from emberbench_dist.contract.scenario import parse_scenario
from emberbench_dist.errors import InvalidActionError, SimulationError
from emberbench_dist.evaluation import episode as module
from emberbench_dist.evaluation.episode import (
    EpisodeResult,
    Failure,
    Player,
    replay,
    seal,
    sealed,
    seals,
)
from emberbench_dist.evaluation.manifest import Episode
from emberbench_dist.evaluation.packing import unpack_metrics
from emberbench_dist.simulator.record import record_episode
from emberbench_dist.simulator.simulator import Simulator

FATES = scenario("b * d . a E9 # c", exits_flammable=False, max_steps=2)
FATES_SCRIPT = ("a. b> c^ d.", "a> c.")
LAST_SEED = 2**64 - 1


def scripted(*script):
    """Return a factory of agents that play a script."""
    return lambda: PolicyAgent(lambda seen: actions(script[seen.step]))


def play(world, seed, factory, *, index=0):
    """Play one episode; return its outcome."""
    player = Player({world.scenario_id: world}, FreshAgents(factory))
    (outcome,) = player.play([Episode(index, world.scenario_id, seed)], float("inf"))
    return outcome


def test_the_line_is_the_contracts_key_for_key():
    """An episode in which everything happens gives exactly this line, hashes counted by hand."""
    result = play(FATES, LAST_SEED, scripted(*FATES_SCRIPT), index=41)
    stream = hashlib.sha256(b"emberbench/v1/18446744073709551615/fire").digest()[:8]
    final_state = {
        "step": 2,
        "people": [
            {"id": "a", "position": [0, 5], "status": "evacuated"},
            {"id": "b", "position": [0, 1], "status": "casualty"},
            {"id": "c", "position": [0, 7], "status": "active"},
            {"id": "d", "position": [0, 2], "status": "casualty"},
        ],
        "burning": [[0, 0], [0, 1], [0, 2], [0, 3]],
        "trapped": ["c"],
        "rng_state": {"fire": int.from_bytes(stream, "big")},
        "terminated": True,
        "termination_reason": "max_steps",
    }
    fates = {"a": (2, "E9", None), "b": (1, None, "entered_fire")}
    fates |= {"c": (None, None, None), "d": (1, None, "fire_spread")}
    line = json.loads(result.line)
    assert line.pop("metrics")["ever_trapped"] == 2
    assert line == {
        "kind": "episode",
        "episode": 41,
        "scenario_id": "drawn",
        "scenario_hash": plain_formats.digest(plain_formats.canonical(FATES.to_dict())),
        "seed": 18446744073709551615,
        "termination_reason": "max_steps",
        "people": [
            dict(zip(("step", "exit", "cause"), fates[person["id"]], strict=True)) | person
            for person in final_state["people"]
        ],
        "trace_sha256": hashlib.sha256(b'{"actions":[".en.","e."]}').hexdigest(),
        "final_state_sha256": plain_formats.digest(plain_formats.canonical(final_state)),
    }
    assert result.trace == b'{"actions":[".en.","e."],"episode":41}'


def test_people_are_in_code_point_order():
    """Entries and trace follow the ids as plain strings: P10 before P2, capitals first."""
    world = scenario("P2 p1 . E P10 é", max_steps=1)
    result = play(world, 1, scripted("P10^ P2v p1. é<"))
    assert [person["id"] for person in json.loads(result.line)["people"]] == [
        *("P10", "P2", "p1", "é")
    ]
    assert json.loads(result.trace)["actions"] == ["ns.w"]


def test_the_reason_of_an_episode_that_resolves_in_its_last_step():
    """Where all are out in the last step that is allowed, the reason is `all_resolved`."""
    result = play(scenario("a E", max_steps=1), 1, scripted("a>"))
    assert json.loads(result.line)["termination_reason"] == "all_resolved"


@given(document=scenario_documents(), seed=seeds, choices=st.integers(), index=st.integers(0, 9**9))
def test_line_and_trace_agree_with_the_run_record(document, seed, choices, index):
    """The bytes of an episode are those of its run record, and a replay of its trace is it."""
    world, rng = parse_scenario(document), random.Random(choices)
    record = record_episode(world, seed, lambda seen: random_actions(rng, seen.active))
    rng.seed(choices)
    policy = PolicyAgent(lambda seen: random_actions(rng, seen.active))
    result = play(world, seed, lambda: policy, index=index)
    document = record.to_dict()
    assert result.line == plain_formats.canonical(plain_formats.episode_line(index, document))
    trace = plain_formats.trace(document)
    assert result.trace == plain_formats.canonical({"actions": trace, "episode": index})
    assert [step.to_dict() for step in replay(Simulator(world, seed), trace)] == document["steps"]


def test_metrics_beside_the_line_are_its_own():
    """The result's packed metrics are those of the line."""
    result = play(FATES, 7, scripted(*FATES_SCRIPT))
    found = json.loads(result.line)["metrics"]
    assert unpack_metrics(result.metrics) == found


# Replay


@pytest.mark.parametrize(
    ("trace", "played", "error", "message"),
    [
        (["..."], 0, InvalidActionError, "step 0: the trace has 3 actions for 4 active people"),
        ([".en.", "e.."], 1, InvalidActionError, "step 1: the trace has 3 actions for 2 active"),
        ([""], 0, InvalidActionError, "step 0: the trace has 0 actions for 4 active people"),
        (["xen."], 0, InvalidActionError, "the action of 'a' must be one of stay, north"),
        (["Nen."], 0, InvalidActionError, "the action of 'a' must be one of stay, north"),
        ([".en.", "e.", "."], 2, SimulationError, "step 2: the episode is over"),
    ],
)
def test_a_trace_that_does_not_fit_is_refused(trace, played, error, message):
    """Too many, too few or unknown codes, and steps after the end, are errors at their step."""
    steps = replay(Simulator(FATES, 1), trace)
    for _ in range(played):
        next(steps)
    with pytest.raises(error, match=f"^{message}"):
        next(steps)


def test_a_trace_that_stops_early_is_refused():
    """A replay plays each step as it is asked for, and a trace must reach the episode's end."""
    steps = replay(Simulator(FATES, 1), [".en."])
    assert next(steps).step == 1
    with pytest.raises(SimulationError, match="step 1: the trace ends before the episode"):
        next(steps)
    with pytest.raises(SimulationError, match="step 0: the trace ends before the episode"):
        next(replay(Simulator(FATES, 1), []))


# The seal


def test_the_digest_covers_every_part():
    """Any other number, any other part, or another cut between two, is another digest."""
    parts = b"line", b"trace", b"metrics", b"people", b"steps", b"{}"
    variants = [(1, *parts), (2, *parts)]
    variants += [
        (1, *parts[:place], other, *parts[place + 1 :])
        for place, part in enumerate(parts)
        for other in (part.upper() + b"!", part + b"\n", b"\n" + part, part[:-1], b"")
    ]
    for place in range(len(parts) - 1):
        first, second = parts[place : place + 2]
        moved = first + second[:1], second[1:]
        variants.append((1, *parts[:place], *moved, *parts[place + 2 :]))
    digests = [sealed(*variant).digest for variant in variants]
    assert len(set(digests)) == len(variants)
    assert digests[0] == sealed(*variants[0]).digest
    assert {len(digest) for digest in digests} == {64}


@given(st.lists(st.tuples(st.integers(0, 2**62), st.binary(), st.binary()), min_size=1))
def test_digests_by_columns_are_those_of_the_rows(rows):
    """Sealed together or one by one, rows have the same digests."""
    assert seals(*zip(*rows, strict=True)) == [seal(*row) for row in rows]


# The player


class Clock:
    """A clock that stands still unless it is told to go on."""

    def __init__(self):
        """Begin anywhere."""
        self.now = 1000.0

    def __call__(self):
        """Return the time."""
        return self.now


@pytest.fixture
def clock(monkeypatch):
    """Replace the player's clock."""
    clock = Clock()
    monkeypatch.setattr(module, "perf_counter", clock)
    return clock


@pytest.mark.parametrize(
    ("budget", "played"),
    [(-1.0, 1), (0.0, 1), (3.0, 1), (3.5, 2), (6.0, 2), (6.5, 3), (12.0, 4), (float("inf"), 4)],
)
def test_no_episode_starts_after_the_budget_but_the_first(clock, budget, played):
    """Of four episodes of three seconds, those are played whose start is within the budget."""
    started = []

    def slow(seen):
        started.append(seen)
        clock.now += 3.0
        return dict.fromkeys(seen.active, "stay")

    world = scenario("a . E", max_steps=1)
    player = Player({"drawn": world}, FreshAgents(lambda: PolicyAgent(slow)))
    plan = [Episode(index, "drawn", index) for index in (5, 6, 8, 9)]
    outcomes = player.play(plan, budget)
    assert [outcome.episode for outcome in outcomes] == [5, 6, 8, 9][:played]
    assert len(started) == played
    assert {json.loads(outcome.execution)["seconds"] for outcome in outcomes} == {3.0}


def test_nothing_to_play():
    """An empty batch has no outcomes."""
    assert Player({}, FreshAgents(Stay)).play([], 1.0) == []


class FailsThird:
    """The third agent fails in step 1; all count how many there are."""

    def __init__(self, built):
        """Join the list."""
        built.append(self)
        self.number = len(built)

    def act(self, observation):
        """Stay, or fail."""
        if self.number == 3 and observation.step == 1:
            raise LookupError("no\n way\tout")
        return dict.fromkeys(observation.active, "stay")


def test_a_failure_is_the_last_outcome_and_nothing_is_started_after_it():
    """Outcomes come in order up to the failure; the player can go on with other episodes."""
    built = []
    world = scenario("a . E", max_steps=2)
    player = Player({"drawn": world}, FreshAgents(lambda: FailsThird(built)))
    plan = [Episode(index, "drawn", 7) for index in range(5)]
    outcomes = player.play(plan, float("inf"))
    assert [type(outcome) for outcome in outcomes] == [EpisodeResult, EpisodeResult, Failure]
    assert [outcome.episode for outcome in outcomes] == [0, 1, 2]
    assert len(built) == 3
    assert [outcome.episode for outcome in player.play(plan[3:], float("inf"))] == [3, 4]


def test_a_failure_tells_all_that_is_known():
    """It carries episode, scenario, seed, step, type, message, traceback and the object itself."""
    built = [None, None]
    failure = play(scenario("a . E"), LAST_SEED, lambda: FailsThird(built), index=17)
    assert (failure.episode, failure.scenario_id, failure.seed) == (17, "drawn", LAST_SEED)
    assert (failure.step, failure.kind, failure.type) == (1, "agent", "LookupError")
    assert failure.message == "no\n way\tout"
    assert type(failure.exception) is LookupError
    first, second, *_, last = failure.traceback.splitlines()
    assert (first, last) == ("Traceback (most recent call last):", " way\tout")
    assert second.startswith(f'  File "{__file__}", line ')
    assert 'raise LookupError("no\\n way\\tout")' in failure.traceback
    assert str(failure) == (
        "episode 17 (scenario drawn, seed 18446744073709551615, step 1): LookupError: no way out"
    )


def test_a_failure_before_the_first_step_has_no_step():
    """Where no agent could be built, nothing was asked."""

    def factory():
        raise OSError("no key")

    failure = play(scenario("a . E"), 5, factory)
    assert failure.step is None
    assert str(failure) == "episode 0 (scenario drawn, seed 5): OSError: no key"


def test_what_the_checks_refuse_has_no_traceback():
    """Where the program itself found the fault, its own frames would tell an agent nothing."""
    failure = play(scenario("a . E"), 5, lambda: PolicyAgent(lambda _: {}))
    assert (failure.type, failure.traceback) == ("ModelOutputError", "")
    assert failure.message == "step 0: no action for the active person 'a'"


def test_a_failure_travels_as_plain_data():
    """Without its exception it is equal, and survives a pickle whatever was raised."""
    failure = play(scenario("a . E"), 5, lambda: FailsThird([None, None]))
    plain = failure.without_exception()
    assert plain == failure
    assert plain.exception is None
    assert pickle.loads(pickle.dumps(plain)) == plain


def test_texts_of_a_failure_are_bounded_and_plain():
    """Ten megabytes, and characters that are none, become a short text that any file takes."""

    def factory():
        raise ValueError("\ud800" + "x" * 10**7)

    failure = play(scenario("a . E"), 5, factory)
    for text in (failure.message, failure.traceback):
        assert len(text) < 21_000
        assert text.encode()
        assert "x… (1000" in text
    assert failure.message.startswith("\\ud800xxx")


def test_the_traceback_of_a_deep_recursion_is_short():
    """A thousand frames are told by the last ones, where it went wrong."""

    def act(seen):
        return again(seen)

    def again(seen):
        return act(seen)

    failure = play(scenario("a . E"), 5, lambda: PolicyAgent(act))
    assert (failure.type, failure.step) == ("RecursionError", 0)
    assert 0 < failure.traceback.count("in again") <= 15


@pytest.mark.parametrize("factory", [Stay, Greedy, Counting])
def test_episodes_do_not_depend_on_what_was_played_before(factory):
    """Each episode has the same bytes alone, after others, and in any order."""
    world = scenario("a . b * E1\n. # c . .\nd . . # E2", probability=0.4, max_steps=9)
    plan = [Episode(index, "drawn", seed) for index, seed in enumerate((3, 2**63, 3, 0))]
    alone = [play(world, episode.seed, factory, index=episode.index) for episode in plan]
    player = Player({"drawn": world}, FreshAgents(factory))
    for order in (plan, plan[::-1]):
        found = sorted(player.play(order, float("inf")), key=lambda result: result.episode)
        assert [(result.line, result.trace) for result in found] == [
            (result.line, result.trace) for result in alone
        ]
