"""The check of agents: each kind of fault breaks exactly its rule, and whoever has none passes."""

from __future__ import annotations

import dataclasses
import itertools
import multiprocessing
import os
import random
import threading
import time
from collections import OrderedDict

import misbehaving
import pytest
from builders import observation
from hypothesis import given
from hypothesis import strategies as st
from liars import Pairs, Shy

from emberbench_dist.agents.baselines import Counting, Greedy, Shuffle, Stay
from emberbench_dist.agents.conformance import RULES, Verdict, check_agent
from emberbench_dist.agents.conformance.isolation import play_apart
from emberbench_dist.agents.conformance.trials import TRIALS
from emberbench_dist.agents.conformance.witness import faults_of
from emberbench_dist.agents.execution import StepExecution
from emberbench_dist.agents.interface import PolicyAgent
from emberbench_dist.contract.actions import check_actions
from emberbench_dist.contract.observation import Status
from emberbench_dist.errors import ModelOutputError
from emberbench_dist.simulator.simulator import Simulator


class Acting(Greedy):
    """Play greedily, then let `spoil` return something else."""

    def act(self, observation):
        """Act."""
        return self.spoil(observation, super().act(observation))

    def spoil(self, observation, actions):
        """Return what is answered instead of `actions`."""
        raise NotImplementedError


def spoiling(spoil):
    """Return a factory of agents that answer `spoil(observation, actions)`."""
    return type("Spoiling", (Acting,), {"spoil": staticmethod(spoil)})


def doing(do):
    """Return a factory of agents that do something before they act."""
    return spoiling(lambda observation, actions: do(observation) or actions)


def raising(error):
    """Raise in an expression."""
    raise error


class NeedsAName(Greedy):
    """It cannot be built without an argument."""

    def __init__(self, name):
        """Take it."""


class Secretive:
    """It raises when it is asked for a method."""

    def __getattr__(self, name):
        """Raise."""
        raise RuntimeError(name)


class CannotBeClosed(Greedy):
    """Raises when it is told that the episode is over."""

    def close(self):
        """Raise."""
        raise OSError("busy")


class CountsFromOne(Greedy):
    """It takes the first step for step 1."""

    def __init__(self):
        """Start at 1."""
        super().__init__()
        self.step = 1

    def act(self, observation):
        """Insist on the number."""
        if observation.step != self.step:
            raise ValueError(f"step {observation.step} is not {self.step}")
        self.step += 1
        return super().act(observation)


class PlansAhead:
    """Its plan is over before the episode is."""

    def __init__(self):
        """Plan two steps."""
        self.plan = ["stay", "north"]

    def act(self, observation):
        """Follow the plan."""
        return dict.fromkeys(observation.active, self.plan.pop())


class Unreadable(Pairs):
    """A mapping that cannot be read."""

    def items(self):
        """Raise."""
        raise RuntimeError("no items")


class Endless(Pairs):
    """A mapping with entries without end."""

    def items(self):
        """Repeat them."""
        return itertools.cycle(self._pairs)


class ChangesWhatWasBefore(Greedy):
    """It keeps the first observation and changes it in the second step."""

    first = None

    def act(self, observation):
        """Change what it was given before."""
        self.first = self.first or observation
        if observation.step == 1:
            object.__setattr__(self.first, "burning", ())
            object.__setattr__(self.first.people[0], "status", Status.EVACUATED)
        return super().act(observation)


class CountsForAll:
    """Its count is the class's, so it goes on from episode to episode."""

    count = 0

    def act(self, observation):
        """Act by the count."""
        CountsForAll.count += 1
        return dict.fromkeys(observation.active, observation.allowed_actions[self.count % 5])


class KnowsTheLastMap:
    """It acts by whether there was another map before, and so is the same in a second run."""

    last = None

    def __init__(self):
        """Look at what is left."""
        self.action = "stay" if KnowsTheLastMap.last is None else "north"

    def act(self, observation):
        """Leave the map behind."""
        KnowsTheLastMap.last = observation.map
        return dict.fromkeys(observation.active, self.action)


class FailsTheSecondTime(Greedy):
    """Only the first of its kind can be built."""

    built = False

    def __init__(self):
        """Be the only one."""
        super().__init__()
        if FailsTheSecondTime.built:
            raise RuntimeError("there is one already")
        FailsTheSecondTime.built = True


def accounting(report):
    """Return a factory of agents with this `last_execution`."""
    return type("Accounting", (Greedy,), {"last_execution": staticmethod(report)})


def impossible():
    """Return accounting that no check has seen."""
    execution = StepExecution()
    object.__setattr__(execution, "cost_usd", -1.0)
    return execution


SHARED = Greedy()
COUNT = itertools.count()
ALTERNATING = itertools.cycle([Greedy(), Greedy()])

BREAKING = [
    ("no-arguments", "needs an argument", NeedsAName),
    ("no-arguments", "is no callable", 3),
    ("is-agent", "returns nothing", lambda: None),
    ("is-agent", "returns a class without act", dict),
    ("is-agent", "has an act that is no method", type("Wrong", (), {"act": "east"})),
    ("is-agent", "raises when asked for act", Secretive),
    ("fresh-agent", "returns the same again", lambda: SHARED),
    ("fresh-agent", "returns two in turn", lambda: next(ALTERNATING)),
    ("step-order", "counts from one", CountsFromOne),
    ("step-order", "has a plan that is too short", PlansAhead),
    ("returns", "fails to be built", lambda: raising(RuntimeError("no key"))),
    ("returns", "raises at once", doing(lambda _: raising(ValueError("no")))),
    ("returns", "fails where it burns", doing(lambda o: o.burning and raising(KeyError(7)))),
    ("returns", "exits", doing(lambda _: raising(SystemExit(0)))),
    ("returns", "presses Ctrl-C", doing(lambda _: raising(KeyboardInterrupt()))),
    ("returns", "raises what has no text", doing(lambda _: raising(misbehaving.SilentError()))),
    ("returns", "raises what has no name", doing(lambda _: raising(misbehaving.NamelessError()))),
    ("returns", "cannot be closed", CannotBeClosed),
    ("returns", "ends the process", doing(lambda o: len(o.people) == 6 and os._exit(7))),
    ("returns", "is killed", doing(lambda o: o.step == 1 and os.kill(os.getpid(), 9))),
    ("mapping", "returns nothing", spoiling(lambda _o, _a: None)),
    ("mapping", "returns a list", spoiling(lambda _o, a: list(a.items()))),
    ("mapping", "names people by number", spoiling(lambda _o, a: dict(enumerate(a.values())))),
    ("mapping", "cannot be read", spoiling(lambda _o, _a: Unreadable())),
    ("mapping", "is not of pairs", spoiling(lambda _o, _a: Pairs(("P1", "stay", 3)))),
    ("every-active", "leaves the last out", spoiling(lambda _o, a: dict([*a.items()][:-1]))),
    ("every-active", "is empty", spoiling(lambda _o, _a: {})),
    ("every-active", "answers twice", spoiling(lambda _o, a: Pairs(*a.items(), *a.items()))),
    ("every-active", "never ends", spoiling(lambda _o, a: Endless(*a.items()))),
    ("no-unknown", "answers for nobody", spoiling(lambda _o, a: {**a, "nobody": "stay"})),
    ("no-unknown", "answers for an exit", spoiling(lambda o, a: {**a, o.map.exits[0].id: "stay"})),
    (
        "no-resolved",
        "answers for everybody",
        spoiling(lambda o, _a: {person.id: "stay" for person in o.people}),
    ),
    (
        "no-resolved",
        "answers for those who are out",
        spoiling(lambda o, a: a | {p.id: "stay" for p in o.people if p.status is Status.EVACUATED}),
    ),
    (
        "no-resolved",
        "answers for those who are lost",
        spoiling(lambda o, a: a | {p.id: "stay" for p in o.people if p.status is Status.CASUALTY}),
    ),
    *[
        (
            "legal-actions",
            f"answers {value!r}",
            spoiling(lambda _o, a, v=value: dict.fromkeys(a, v)),
        )
        for value in ("up", "NORTH", None, 1, [], Status.ACTIVE)
    ],
    (
        "observation-unchanged",
        "changes the step",
        doing(lambda o: object.__setattr__(o, "step", 99)),
    ),
    (
        "observation-unchanged",
        "lets people out",
        doing(lambda o: object.__setattr__(o.people[0], "status", Status.EVACUATED)),
    ),
    (
        "observation-unchanged",
        "takes the fire away",
        doing(lambda o: type(o).burning.__delete__(o)),
    ),
    ("observation-unchanged", "changes what was before", ChangesWhatWasBefore),
    (
        "deterministic",
        "asks the system for chance",
        spoiling(lambda o, a: {p: o.allowed_actions[os.urandom(1)[0] % 5] for p in a}),
    ),
    (
        "deterministic",
        "has an unseeded generator",
        spoiling(lambda o, a: {p: random.Random().choice(o.allowed_actions) for p in a}),
    ),
    ("independent", "counts over all episodes", CountsForAll),
    ("independent", "knows the last map", KnowsTheLastMap),
    ("independent", "can be built once only", FailsTheSecondTime),
    ("accounting", "returns a dict", accounting(dict)),
    ("accounting", "raises", accounting(lambda: raising(OSError("no meter")))),
    ("accounting", "has a negative amount", accounting(lambda: StepExecution(retries=-1))),
    ("accounting", "fails later", accounting(lambda: StepExecution(retries=3 - next(COUNT)))),
    ("accounting", "gets around the checks", accounting(impossible)),
]

HARMLESS = [
    Stay,
    Greedy,
    Counting,
    Shuffle,
    misbehaving.AtRandom,
    *misbehaving.HARMLESS,
    accounting(lambda: StepExecution(latency_seconds=random.SystemRandom().random(), model="m")),
    accounting(lambda: None),
    spoiling(lambda _o, a: OrderedDict(a)),
    spoiling(lambda _o, a: Pairs(*[(Shy(person), Shy(action)) for person, action in a.items()])),
    lambda: PolicyAgent(lambda o: dict.fromkeys(o.active, "west")),
]


@pytest.mark.parametrize(
    ("rule", "factory"),
    [pytest.param(rule, factory, id=f"{rule}: {what}") for rule, what, factory in BREAKING],
)
def test_an_agent_with_one_fault_breaks_one_rule(rule, factory):
    """The rule is named, with its text and with an episode and what was seen there."""
    report = check_agent(factory)
    assert report.broken == (rule,), str(report)
    assert not report.ok
    (finding,) = [finding for finding in report.findings if finding.rule.id == rule]
    assert finding.evidence
    assert {item.episode for item in finding.evidence} <= {trial.name for trial in TRIALS}
    assert finding.rule.text in str(report)
    assert str(finding.evidence[0]) in str(report)
    assert len({item.episode for item in finding.evidence}) == len(finding.evidence)


def test_every_rule_has_agents_that_break_it():
    """No rule is there that was never seen broken."""
    assert {rule for rule, _, _ in BREAKING} == {rule.id for rule in RULES}


@pytest.mark.parametrize("factory", HARMLESS)
def test_an_agent_without_fault_passes(factory):
    """Every rule holds; accounting is not checked where there is none."""
    report = check_agent(factory)
    assert report.ok, str(report)
    assert set(report.not_checked) <= {"accounting"}
    assert len(report.holds) + len(report.not_checked) == len(RULES)


def test_an_answer_that_is_changed_later_stays_as_it_was_given():
    """An agent may use its dictionary again; what it answered is what counts."""

    class Reusing(Greedy):
        def __init__(self):
            super().__init__()
            self.answer = {}

        def act(self, observation):
            self.answer.clear()
            self.answer.update(super().act(observation))
            return self.answer

    assert check_agent(Reusing).ok


def test_an_agent_that_hangs_is_given_up():
    """After one silence that is longer than the limit nothing more is played."""
    started = time.monotonic()
    report = check_agent(doing(lambda o: len(o.people) == 3 and time.sleep(600)), step_limit=0.5)
    assert time.monotonic() - started < 300
    assert report.broken == ("returns",)
    assert [str(item) for item in report.findings[4].evidence] == [
        "islands, step 0: nothing returned within the step limit"
    ]
    assert {"deterministic", "independent", "fresh-agent"} <= set(report.not_checked)


@pytest.mark.parametrize(
    ("factory", "rule", "reason"),
    [
        (dict, "mapping", "is-agent broke first"),
        (spoiling(lambda _o, _a: None), "legal-actions", "mapping broke first"),
        (spoiling(lambda _o, _a: None), "deterministic", "mapping broke first"),
        (lambda: SHARED, "independent", "fresh-agent broke first"),
        (PlansAhead, "returns", "step-order broke first"),
        (
            spoiling(lambda o, a: {p: o.allowed_actions[os.urandom(1)[0] % 5] for p in a}),
            "independent",
            "deterministic broke first",
        ),
        (Greedy, "accounting", "the agent has no last_execution(), which it need not have"),
    ],
)
def test_a_rule_that_cannot_be_judged_says_why(factory, rule, reason):
    """It neither holds nor is broken, and what broke first is named."""
    report = check_agent(factory)
    (finding,) = [finding for finding in report.findings if finding.rule.id == rule]
    assert (finding.verdict, finding.reason, finding.evidence) == (
        Verdict.NOT_CHECKED,
        reason,
        (),
    )


def test_an_agent_that_closes_every_file_is_reported():
    """It cannot tell any more, whatever threads it leaves to keep its process alive."""

    class Closes(Greedy):
        def act(self, observation):
            threading.Thread(target=time.sleep, args=(600,)).start()
            os.closerange(3, 1000)
            return super().act(observation)

    play = play_apart(Closes, TRIALS[1:2], 60)[0]
    assert play.events[-1] == ("broken", 0, "returns", "the process closed its files")


def test_several_faults_of_one_answer_are_all_reported():
    """A misspelt id is one entry too many and one too few."""
    report = check_agent(spoiling(lambda _o, a: {f"{p} ": "up" for p in a}))
    assert report.broken == ("every-active", "no-unknown")


def test_nothing_is_left_of_a_check():
    """The caller's process is as it was, whatever an agent did in its own."""
    before = misbehaving.surroundings()
    built = FailsTheSecondTime.built, CountsForAll.count, KnowsTheLastMap.last
    for factory in (misbehaving.ReplacesEnvironment, CountsForAll, FailsTheSecondTime):
        check_agent(factory)
    assert misbehaving.surroundings() == before
    assert (FailsTheSecondTime.built, CountsForAll.count, KnowsTheLastMap.last) == built
    assert multiprocessing.active_children() == []


def test_a_report_is_the_same_each_time_and_frozen():
    """Two checks of one agent give equal reports, which nobody can change."""
    one, other = check_agent(PlansAhead), check_agent(PlansAhead)
    assert one == other
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.findings = ()


def test_the_trials_show_an_agent_what_there_is():
    """Together, played greedily, they have every situation that agents trip over."""
    seen = set()
    for trial in TRIALS:
        simulator, agent = Simulator(trial.scenario, trial.seed), Greedy()
        while not simulator.state.terminated:
            given = simulator.observe()
            statuses = {person.status for person in given.people}
            seen |= {(f"some {status}", bool(given.active)) for status in statuses}
            seen.add("fire" if given.burning else "no fire")
            seen.add("trapped" if simulator.state.trapped else "free")
            seen.add(f"{min(len(given.people), 2)} people")
            seen.add((given.map.height, given.map.width))
            seen.add(given.rules.fire_model)
            seen.add(given.rules.enter_fire)
            simulator.step(agent.act(given))
        seen.add(simulator.state.termination_reason)
    assert seen >= {
        ("some evacuated", True),
        ("some casualty", True),
        "fire",
        "no fire",
        "trapped",
        "1 people",
        "2 people",
        (1, 2),
        "stochastic",
        "deterministic",
        "blocked",
        "casualty",
        "max_steps",
        "all_resolved",
    }
    ids = "".join(person.id for trial in TRIALS for person in trial.scenario.people)
    assert {'"', "'", " ", "\\", "人"} <= set(ids)


@pytest.mark.parametrize("agent", [Stay, Greedy, Counting, Shuffle])
def test_somebody_is_resolved_while_others_play_on_whoever_plays(agent):
    """Whatever an agent does in the first trial, it is asked after somebody was lost."""
    simulator = Simulator(TRIALS[0].scenario, TRIALS[0].seed)
    simulator.step(agent().act(simulator.observe()))
    assert simulator.state.people[2].status is Status.CASUALTY
    assert not simulator.state.terminated


PEOPLE = observation("a", "b", evacuated=("c",), casualties=("d",))
keys = st.sampled_from(["a", "b", "c", "d", "e"])
values = st.sampled_from(["stay", "north", "up", "STAY", None, 3, *PEOPLE.allowed_actions])


@given(st.lists(st.tuples(keys, values), max_size=5))
def test_the_check_and_the_evaluator_accept_the_same_answers(entries):
    """An answer without fault is one that the evaluator takes, and the other way round."""
    try:
        check_actions(PEOPLE, Pairs(*entries))
    except ModelOutputError:
        assert list(faults_of(PEOPLE, entries))
    else:
        assert list(faults_of(PEOPLE, entries)) == []
