"""The proofs that the model interface names, each under its name, through whole evaluations."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from types import MappingProxyType

import plain_formats
import plain_policies
import pytest
from builders import case_id
from liars import Pairs
from worlds import actions, document, simulator

from emberbench_dist.agents.baselines import Counting, Greedy, Shuffle, Stay
from emberbench_dist.agents.interface import EpisodePolicy, PolicyAgent
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.contract.actions import Action
from emberbench_dist.contract.observation import (
    Exit,
    GridMap,
    Observation,
    PersonView,
    Rules,
    Status,
    serialize_observation,
)
from emberbench_dist.errors import EvaluationError, InvalidActionError, ModelOutputError
from emberbench_dist.evaluation import episode as episode_module
from emberbench_dist.evaluation.manifest import load_manifest
from emberbench_dist.evaluation.suites import find_manifest
from emberbench_dist.runner.drive import Controls
from emberbench_dist.runner.evaluate import evaluate
from emberbench_dist.simulator.record import record_episode
from emberbench_dist.simulator.simulator import Simulator
from manifests import hall, write_manifest

PLAIN = {
    Stay: lambda: plain_policies.stay,
    Greedy: lambda: plain_policies.greedy,
    Counting: plain_policies.counting,
    Shuffle: lambda: plain_policies.shuffle,
}
# A seed that is found wherever it leaks, as decimal or as hex.
SEED = 0xDEC0DE15BADC0FFE
# In step 0 one leaves and one is lost; from then on only c acts.
FATES = "E a . . c * b"


@pytest.fixture
def path(tmp_path):
    """Write a manifest of seven short episodes; the third is in the drawn world."""
    return write_manifest(
        tmp_path,
        [
            (hall("one"), [1, 2]),
            (document(FATES, interval=9), [SEED]),
            (hall("two", 8), {"first": 5, "count": 4}),
        ],
    )


@pytest.fixture
def undisturbed(path):
    """Return the result of greedy in memory."""
    return evaluate(path, Greedy)


def records(path, policy_factory):
    """Play every episode of a manifest by plain functions; return the run record documents."""
    manifest = load_manifest(path)
    return [
        record_episode(manifest.scenarios[name], seed, policy_factory()).to_dict()
        for name, seed in plain_formats.planned(json.loads(Path(path).read_text()))
    ]


def prefix(path, count):
    """Return the artifact of a manifest of which greedy played the first episodes."""
    found = records(path, lambda: plain_policies.greedy)[:count]
    return plain_formats.artifact(json.loads(path.read_text()), found)


def committed(out):
    """Return the numbers of the episodes in a run's ledger."""
    with Ledger.reading(out / "ledger.sqlite") as ledger:
        return [result.episode for result in ledger.results()]


class Watched(Greedy):
    """Greedy that keeps what it saw and stands in a list of all that were built."""

    def __init__(self, built):
        """Join the list."""
        super().__init__()
        self.seen = []
        built.append(self)

    def act(self, observation):
        """Look, and act."""
        self.seen.append(observation)
        return super().act(observation)

    @property
    def steps(self):
        """Return the steps that were asked for."""
        return [observation.step for observation in self.seen]


# Section 5


def test_new_stateful_agent_per_episode(path):
    """One distinct agent an episode, built without arguments, sees its steps once, from 0."""
    built, calls = [], []

    def factory(*arguments, **options):
        calls.append((arguments, options))
        return Watched(built)

    artifact = evaluate(path, factory).artifact
    lines = [json.loads(line) for line in artifact.splitlines()[1:-1]]
    assert len({id(agent) for agent in built}) == len(lines) == 7
    assert calls == [((), {})] * 7
    assert [agent.steps for agent in built] == [
        list(range(line["metrics"]["steps"])) for line in lines
    ]


@pytest.mark.parametrize("order", ["AA", "ABA", "ABCB"])
def test_reuse_of_any_earlier_agent_is_rejected(path, tmp_path, order):
    """The run stops at the reused agent, before it sees a step; what was before it is kept."""
    agents = {name: Watched([]) for name in order}
    built = iter(order)
    with pytest.raises(EvaluationError, match="an agent of an earlier episode") as caught:
        evaluate(path, lambda: agents[next(built)], out=tmp_path / "run")
    assert type(caught.value) is EvaluationError
    assert next(built, None) is None
    assert agents[order[-1]].steps.count(0) == 1
    assert (tmp_path / "run" / "artifact.jsonl").read_bytes() == prefix(path, len(order) - 1)


class Equal(Greedy):
    """An agent that is equal to every other, and has no hash."""

    __hash__ = None

    def __eq__(self, other):
        """Agree."""
        return True


@pytest.mark.parametrize("factory", [Greedy, Equal])
def test_distinct_agents_are_accepted(path, undisturbed, factory):
    """Distinct objects run normally, also those that compare equal."""
    assert evaluate(path, factory).artifact == undisturbed.artifact == prefix(path, 7)


def stop_after_three(path, out):
    """Interrupt a run when three agents were built."""
    built = []
    controls = Controls(stop=lambda: len(built) >= 3)
    assert evaluate(path, lambda: Watched(built), out, controls=controls).outcome == "interrupted"


def fail_at_the_fourth(path, out):
    """Let the fourth agent fail."""
    agents = iter([Greedy(), Greedy(), Greedy(), PolicyAgent(lambda _: None)])
    with pytest.raises(ModelOutputError):
        evaluate(path, lambda: next(agents), out)


def leave_holes(path, out):
    """Lose all but the episodes 1, 2 and 5, as if other workers had had the rest."""
    evaluate(path, Greedy, out)
    with sqlite3.connect(out / "ledger.sqlite") as ledger:
        ledger.execute("DELETE FROM episodes WHERE episode NOT IN (1, 2, 5)")
        ledger.execute("UPDATE sessions SET committed = 3")
    ledger.close()


@pytest.mark.parametrize("interrupt", [stop_after_three, fail_at_the_fourth, leave_holes])
def test_resume_builds_agents_only_for_missing_episodes(path, tmp_path, undisturbed, interrupt):
    """Resume builds an agent for each episode that is missing, and ends in the same bytes."""
    out, built = tmp_path / "run", []
    interrupt(path, out)
    kept = committed(out)
    assert 0 < len(kept) < 7
    assert evaluate(path, lambda: Watched(built), out, resume=True).outcome == "complete"
    missing = [index for index in range(7) if index not in kept]
    maps = [load_manifest(path).scenarios[name].map for name in ("one", "drawn", "two")]
    expected = [maps[(index >= 2) + (index >= 3)] for index in missing]
    assert [agent.seen[0].map for agent in built] == expected
    assert (out / "artifact.jsonl").read_bytes() == undisturbed.artifact
    assert (out / "traces.jsonl").read_bytes() == undisturbed.traces
    assert evaluate(path, lambda: pytest.fail("nothing is missing"), out, resume=True).played == 0


PUBLIC_NAMES = {
    Observation: {
        *("step", "map", "rules", "people", "burning", "allowed_actions", "active", "to_dict")
    },
    GridMap: {"width", "height", "obstacles", "exits", "to_dict"},
    Exit: {"id", "position"},
    PersonView: {"id", "position", "status", "to_dict"},
    Rules: {
        *("fire_model", "spread_interval", "spread_probability", "exits_flammable"),
        *("enter_fire", "conflict_resolution", "max_steps", "to_dict"),
    },
}


def inside(value):
    """Yield a value and everything in it."""
    yield value
    parts = [getattr(value, field.name) for field in fields(value)] if is_dataclass(value) else ()
    for part in value if isinstance(value, tuple) else parts:
        yield from inside(part)


def test_agent_receives_only_the_observation(path):
    """Each call has one observation of known types, without a trace of what is private."""
    calls = []

    class Curious(Greedy):
        def act(self, *arguments, **options):
            calls.append((arguments, options))
            return super().act(*arguments)

    evaluate(path, Curious)
    manifest = load_manifest(path)
    private = [
        *(str(SEED), f"{SEED:x}", f"{SEED:X}", manifest.manifest_hash),
        plain_formats.digest(path.read_bytes()),
        *(scenario.scenario_hash for scenario in manifest.scenarios.values()),
    ]
    plain = {tuple, str, int, float, bool, type(None), Action, Status}
    assert len(calls) > 7
    for (observation,), options in calls:
        assert (type(observation), options) == (Observation, {})
        text = serialize_observation(observation)
        assert [secret for secret in private if secret in text] == []
        for value in inside(observation):
            assert type(value) in plain or not hasattr(value, "__dict__")
            if type(value) not in plain:
                names = {name for name in dir(value) if not name.startswith("_")}
                assert names == PUBLIC_NAMES[type(value)]


@pytest.mark.parametrize("agent", PLAIN)
def test_adapters_reproduce_plain_policy_artifacts(agent):
    """Each baseline gives, on smoke-v1, the bytes that counting from plain functions gives."""
    path = find_manifest("smoke-v1")
    result, found = evaluate(path, agent), records(path, PLAIN[agent])
    assert result.artifact == plain_formats.artifact(json.loads(path.read_text()), found)
    assert result.traces == plain_formats.traces(found)
    if agent is not Counting:  # the only one that is not a plain function of the observation
        adapted = evaluate(path, lambda: PolicyAgent(PLAIN[agent]()))
        assert (adapted.artifact, adapted.traces) == (result.artifact, result.traces)


# Section 6

REJECTED = {
    "missing": {},
    "unknown": {"c": "stay", "nobody": "stay"},
    "unknown-instead": {"nobody": "stay"},
    "evacuated": {"c": "stay", "a": "stay"},
    "casualty": {"c": "stay", "b": "stay"},
    "twice": Pairs(("c", "stay"), ("c", "north")),
    "number-as-id": {"c": "stay", 1: "stay"},
    "nothing-as-id": {None: "stay"},
    "bytes-as-id": {b"c": "stay"},
    **{
        f"value-{value!r}": {"c": value}
        for value in ("up", None, 1, "NORTH", "", " north", "n", True, b"north", ["north"], 0.5)
    },
    **{f"output-{value!r}": value for value in (None, [], "c", "", 5, [("c", "stay")], {"c"}, ())},
}
ACCEPTED = [
    {"c": "north"},
    {"c": Action.NORTH},
    MappingProxyType({"c": "north"}),
    Pairs(("c", "north")),
]


def after_one_step():
    """Return a simulator of the drawn world in which only c still acts."""
    world = simulator(FATES, seed=SEED, interval=9)
    world.step(actions("a< b< c."))
    return world


def late(answer):
    """Return an agent that acts sensibly in step 0 and then gives an answer."""
    return PolicyAgent(lambda seen: answer if seen.step else actions("a< b< c."))


def interface_at_step_one(answer):
    """Return the interface after step 0 to an agent that then gives an answer."""
    policy = EpisodePolicy(late(answer))
    policy(simulator(FATES, seed=SEED, interval=9).observe())
    return policy


@pytest.mark.parametrize("name", REJECTED, ids=case_id)
def test_invalid_model_output_fails_closed(path, tmp_path, name):
    """Interface and simulator reject the same; the run stops and keeps what was before."""
    world, answer, out = after_one_step(), REJECTED[name], tmp_path / "run"
    before, seen = world.state, world.observe()
    with pytest.raises(InvalidActionError) as rejected:
        world.step(answer)
    assert world.state is before
    with pytest.raises(ModelOutputError) as refused:
        interface_at_step_one(answer)(seen)
    assert str(refused.value) == f"step 1: {rejected.value}"
    assert type(refused.value.__cause__) is type(rejected.value) is InvalidActionError
    assert str(refused.value.__cause__) == str(rejected.value)

    agents = iter([Greedy(), Greedy(), late(answer)])
    with pytest.raises(ModelOutputError) as stopped:
        evaluate(path, lambda: next(agents), out)
    assert str(stopped.value) == str(refused.value)
    assert (out / "artifact.jsonl").read_bytes() == prefix(path, 2)
    assert committed(out) == [0, 1]


@pytest.mark.parametrize("answer", ACCEPTED, ids=case_id)
def test_valid_model_output_is_accepted_in_every_form(answer):
    """Interface and simulator accept the same, and the interface returns a new plain dict."""
    world = after_one_step()
    checked = interface_at_step_one(answer)(world.observe())
    assert (type(checked), checked) == (dict, {"c": Action.NORTH})
    assert type(checked["c"]) is Action
    assert checked is not answer
    assert world.step(answer).actions == checked


def test_an_action_that_is_not_allowed_is_rejected():
    """Where an observation allows fewer actions, only those are accepted."""
    seen = replace(after_one_step().observe(), allowed_actions=(Action.STAY, Action.WEST))
    assert interface_at_step_one({"c": "west"})(seen) == {"c": "west"}
    with pytest.raises(ModelOutputError, match=r"^step 1: 'north' is not allowed here") as refused:
        interface_at_step_one({"c": "north"})(seen)
    assert type(refused.value.__cause__) is InvalidActionError


def test_adapter_timeout_propagates_and_the_episode_is_not_committed(
    path, tmp_path, undisturbed, monkeypatch
):
    """The same exception comes out, asked for once; its step is not played, nor committed."""
    error, built, stepped, out = TimeoutError("30 s"), [], [], tmp_path / "run"

    class Remote(Watched):
        def act(self, observation):
            if len(built) == 4 and observation.step == 2:
                self.seen.append(observation)
                raise error
            return super().act(observation)

    class Counted(Simulator):
        def step(self, given):
            stepped.append(self.state.step)
            return super().step(given)

    monkeypatch.setattr(episode_module, "Simulator", Counted)
    with pytest.raises(TimeoutError) as caught:
        evaluate(path, lambda: Remote(built), out, steps=False)
    assert caught.value is error
    assert (error.args, error.__cause__, error.__context__) == (("30 s",), None, None)
    assert [agent.steps[-3:] for agent in built[3:]] == [[0, 1, 2]]
    assert stepped == [step for agent in built for step in agent.steps][:-1]
    assert committed(out) == [0, 1, 2]
    assert (out / "artifact.jsonl").read_bytes() == prefix(path, 3)

    resumed = []
    evaluate(path, lambda: Watched(resumed), out, resume=True)
    assert len(resumed) == 4
    assert (out / "artifact.jsonl").read_bytes() == undisturbed.artifact
