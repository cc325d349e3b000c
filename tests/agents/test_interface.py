"""The binding of an agent to its episode, and the factory that must always build a new one."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import pytest
from builders import observation

from emberbench_dist.agents.interface import EpisodePolicy, FreshAgents, PolicyAgent
from emberbench_dist.contract.actions import Action
from emberbench_dist.errors import EvaluationError, InvalidActionError, ModelOutputError

SEEN = observation("Pa", "Pb", evacuated=("Pc",), step=0)


class Recorder:
    """An agent that keeps what it saw and returns what it was given."""

    def __init__(self, *answers):
        """Give these answers, in turn."""
        self.answers = list(answers)
        self.seen = []

    def act(self, observation):
        """Look, and give the next answer."""
        self.seen.append(observation)
        return self.answers.pop(0)


STAY = {"Pa": "stay", "Pb": "stay"}

# PolicyAgent


def test_a_policy_agent_asks_its_policy():
    """It passes the very observation on, and the very answer back, unchecked."""
    asked, answer = [], object()
    agent = PolicyAgent(lambda seen: asked.append(seen) or answer)
    assert agent.act(SEEN) is answer
    assert asked == [SEEN]
    assert asked[0] is SEEN


def test_what_a_policy_raises_passes_through():
    """The exception of a policy is not wrapped."""
    error = KeyError("x")

    def policy(_):
        raise error

    with pytest.raises(KeyError) as caught:
        PolicyAgent(policy).act(SEEN)
    assert caught.value is error


# EpisodePolicy


def test_each_answer_is_checked_and_copied():
    """The agent sees the observation itself; its answer comes back as a new dict of actions."""
    answer = {"Pb": "north", "Pa": Action.STAY}
    agent = Recorder(answer)
    checked = EpisodePolicy(agent)(SEEN)
    assert agent.seen[0] is SEEN
    assert list(checked.items()) == [("Pa", Action.STAY), ("Pb", Action.NORTH)]
    assert (type(checked), {type(action) for action in checked.values()}) == (dict, {Action})
    answer["Pa"] = "west"
    assert checked["Pa"] is Action.STAY


@pytest.mark.parametrize(
    ("before", "step"),
    [([], 1), ([], 7), ([0], 0), ([0], 2), ([0, 1], 0), ([0, 1], 1), ([0, 1, 2], 4)],
)
def test_a_step_out_of_order_is_refused_before_the_agent_sees_it(before, step):
    """A second episode, a repeated or a skipped step is an error that says what was expected."""
    agent = Recorder(*[STAY] * 9)
    policy = EpisodePolicy(agent)
    for played in before:
        policy(replace(SEEN, step=played))
    with pytest.raises(EvaluationError) as caught:
        policy(replace(SEEN, step=step))
    assert type(caught.value) is EvaluationError
    assert f"expects step {len(before)}, got step {step};" in str(caught.value)
    assert [seen.step for seen in agent.seen] == before


def test_a_refused_step_is_not_counted():
    """After a refusal the step that was expected still is."""
    policy = EpisodePolicy(Recorder(STAY))
    with pytest.raises(EvaluationError):
        policy(replace(SEEN, step=3))
    assert policy(SEEN) == STAY


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"Pa": "stay"}, "step 0: no action for the active person 'Pb'"),
        (STAY | {"Pc": "stay"}, "step 0: 'Pc' is not an active person"),
        (None, "step 0: actions must be a mapping of person id to action, got NoneType"),
    ],
)
def test_an_invalid_answer_is_a_model_output_error(answer, message):
    """Its message starts with the step, and its cause is the simulator's own error."""
    with pytest.raises(ModelOutputError) as caught:
        EpisodePolicy(Recorder(answer))(SEEN)
    cause = caught.value.__cause__
    assert type(cause) is InvalidActionError
    assert str(caught.value) == message == f"step 0: {cause}"


def test_an_agent_that_failed_is_not_asked_again():
    """A step whose answer was refused is over: it cannot be asked for a second time."""
    agent = Recorder(None, STAY)
    policy = EpisodePolicy(agent)
    with pytest.raises(ModelOutputError):
        policy(SEEN)
    with pytest.raises(EvaluationError):
        policy(SEEN)
    assert len(agent.seen) == 1


# FreshAgents


def test_the_factory_is_called_once_an_episode_without_arguments():
    """Each call builds one agent, bound to an episode of its own."""
    built = []

    def factory(*arguments, **options):
        assert (arguments, options) == ((), {})
        built.append(Recorder(STAY))
        return built[-1]

    agents = FreshAgents(factory)
    assert built == []
    policies = [agents() for _ in range(3)]
    assert len(built) == 3
    for policy in policies:
        assert policy(SEEN) == STAY
    assert [agent.seen for agent in built] == [[SEEN]] * 3


class NoAct:
    """An object without `act`."""


class ActIsText:
    """An object whose `act` cannot be called."""

    act = "stay"


@pytest.mark.parametrize("product", [None, 3, "agent", NoAct(), NoAct, ActIsText(), {}, print])
def test_what_cannot_act_is_refused(product):
    """An object without a callable `act` is an error that names its type."""
    with pytest.raises(EvaluationError) as caught:
        FreshAgents(lambda: product)()
    assert type(caught.value) is EvaluationError
    assert str(caught.value) == (
        f"the agent factory returned {type(product).__name__}, which has no act() method"
    )


def test_act_may_be_any_callable():
    """A method set on the object, or a module-like object, is an agent."""
    agent = NoAct()
    agent.act = lambda _: STAY
    assert FreshAgents(lambda: agent)()(SEEN) == STAY


@pytest.mark.parametrize("order", ["AA", "ABA", "ABCB", "ABCDEA"])
def test_any_earlier_agent_is_refused(order):
    """Reuse is refused at once, however many agents were built in between."""
    agents = {name: Recorder() for name in order}
    build = iter(order)
    fresh = FreshAgents(lambda: agents[next(build)])
    for _ in order[:-1]:
        fresh()
    with pytest.raises(EvaluationError, match=r"^the agent factory returned an agent of an earli"):
        fresh()


def test_reuse_stays_refused():
    """An agent that was refused is refused the next time too."""
    agent = Recorder()
    fresh = FreshAgents(lambda: agent)
    fresh()
    for _ in range(2):
        with pytest.raises(EvaluationError):
            fresh()


class Alike:
    """Agents that are all equal, with the same hash."""

    def __eq__(self, other):
        """Agree."""
        return True

    def __hash__(self):
        """Be the same."""
        return 1

    def act(self, observation):
        """Stay."""
        return STAY


def test_identity_decides_and_not_equality():
    """Equal agents are accepted; so are unhashable ones."""
    fresh = FreshAgents(Alike)
    for _ in range(3):
        assert fresh()(SEEN) == STAY

    class Unhashable(Alike):
        __hash__ = None

    fresh = FreshAgents(Unhashable)
    assert [fresh()(SEEN) for _ in range(3)] == [STAY] * 3


def test_agents_live_until_the_factory_is_dropped():
    """Every agent is kept alive, so that no identity returns, and no longer than needed."""
    born = []

    def factory():
        agent = Recorder()
        born.append(weakref.ref(agent))
        return agent

    fresh = FreshAgents(factory)
    for _ in range(50):
        fresh()
    gc.collect()
    assert len({id(agent()) for agent in born}) == 50
    assert None not in [agent() for agent in born]
    del fresh
    gc.collect()
    assert {agent() for agent in born} == {None}


def test_each_run_has_its_own_memory():
    """Two runs, each with its own object, may be given the same agents."""
    agent = Recorder(STAY, STAY)
    for _ in range(2):
        assert FreshAgents(lambda: agent)()(SEEN) == STAY


def test_what_the_factory_raises_passes_through():
    """The exception of a factory is not wrapped, and the next call builds again."""
    error, answers = OSError("no key"), [Recorder(STAY)]

    def factory():
        if answers[-1] is error:
            raise error
        return answers.pop()

    answers.append(error)
    fresh = FreshAgents(factory)
    with pytest.raises(OSError, match="no key") as caught:
        fresh()
    assert caught.value is error
    answers.pop()
    assert fresh()(SEEN) == STAY
