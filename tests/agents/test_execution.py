"""The optional accounting of an agent: what may be reported, and that it changes no result."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError

import pytest
from builders import case_id, observation
from worlds import scenario

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.agents.execution import ReportsExecution, StepExecution
from emberbench_dist.agents.interface import EpisodePolicy, FreshAgents
from emberbench_dist.errors import EvaluationError, ModelOutputError
from emberbench_dist.evaluation.episode import Player
from emberbench_dist.evaluation.manifest import Episode
from emberbench_dist.runner.evaluate import evaluate
from manifests import hall, write_manifest

NOTHING = {
    "latency_seconds": None,
    "input_tokens": None,
    "output_tokens": None,
    "cost_usd": None,
    "retries": None,
    "model": None,
}
NUMBERS = ("latency_seconds", "cost_usd")
COUNTS = ("input_tokens", "output_tokens", "retries")
NOT_NUMBERS = ["1", b"1", [1], {}, True, False, -1, -0.5, float("nan"), float("inf"), 1j]


def test_nothing_needs_to_be_known():
    """Every field is optional, and unknown is null."""
    assert StepExecution().to_dict() == NOTHING


def test_everything_may_be_known():
    """The fields come back by name, in their order, as they were given."""
    known = {
        "latency_seconds": 0.25,
        "input_tokens": 12,
        "output_tokens": 0,
        "cost_usd": 0.0,
        "retries": 2,
        "model": "stub-1",
    }
    execution = StepExecution(**known)
    assert list(execution.to_dict().items()) == list(known.items())
    with pytest.raises(FrozenInstanceError):
        execution.retries = 3


@pytest.mark.parametrize("value", NOT_NUMBERS, ids=case_id)
@pytest.mark.parametrize("name", [*NUMBERS, *COUNTS])
def test_what_is_no_amount_is_refused(name, value):
    """Text, a bool, a negative number, NaN and infinity are errors that name the field."""
    with pytest.raises(EvaluationError) as caught:
        StepExecution(**{name: value})
    assert str(caught.value) == f"StepExecution.{name} cannot be {value!r}"


@pytest.mark.parametrize("name", COUNTS)
def test_a_count_is_an_integer(name):
    """A count has no fraction, not even zero."""
    with pytest.raises(EvaluationError, match=name):
        StepExecution(**{name: 1.0})


@pytest.mark.parametrize("value", [3, b"x", [], True, 0.5])
def test_a_model_is_named_by_text(value):
    """The model's name is a string."""
    with pytest.raises(EvaluationError, match=r"^StepExecution\.model cannot be "):
        StepExecution(model=value)


# What an agent reports


class Accounting(Greedy):
    """An agent that reports what it is told to, and keeps the order of calls."""

    def __init__(self, *reports):
        """Report these, in turn, and then nothing."""
        super().__init__()
        self.reports = list(reports)
        self.calls = []

    def act(self, observation):
        """Act."""
        self.calls.append(("act", observation.step))
        return super().act(observation)

    def last_execution(self):
        """Report."""
        self.calls.append("last_execution")
        return self.reports.pop(0) if self.reports else None


def test_an_agent_reports_or_does_not():
    """An agent accounts exactly where it has the method."""
    assert isinstance(Accounting(), ReportsExecution)
    assert not isinstance(Greedy(), ReportsExecution)
    policy = EpisodePolicy(Greedy())
    policy(observation("Pa", step=0))
    assert policy.executions == []


def test_each_step_is_accounted_once_after_it():
    """The report is asked for after each act, and kept in order, None where there is none."""
    first, third = StepExecution(retries=1), StepExecution(retries=3)
    agent = Accounting(first, None, third)
    policy = EpisodePolicy(agent)
    for step in range(3):
        policy(observation("Pa", step=step))
    assert agent.calls == [
        *(("act", 0), "last_execution", ("act", 1), "last_execution", ("act", 2), "last_execution")
    ]
    assert policy.executions == [first, None, third]
    assert policy.executions[0] is first


@pytest.mark.parametrize("report", [{}, {"retries": 1}, 0, "", StepExecution, (1, 2)], ids=case_id)
def test_another_report_is_refused(report):
    """What is neither a `StepExecution` nor None is an error that names its type."""
    with pytest.raises(EvaluationError) as caught:
        EpisodePolicy(Accounting(report))(observation("Pa", step=0))
    assert str(caught.value) == (
        f"last_execution() must return a StepExecution or None, got {type(report).__name__}"
    )


def test_what_the_report_raises_passes_through():
    """An exception of the accounting is the agent's own."""
    error = ZeroDivisionError("cost")

    class Broken(Greedy):
        def last_execution(self):
            raise error

    with pytest.raises(ZeroDivisionError) as caught:
        EpisodePolicy(Broken())(observation("Pa", step=0))
    assert caught.value is error


def test_a_step_that_failed_is_not_accounted():
    """Where `act` raises, no report is asked for."""

    class Broken(Accounting):
        def act(self, observation):
            raise ZeroDivisionError

    agent = Broken(StepExecution())
    policy = EpisodePolicy(agent)
    with pytest.raises(ZeroDivisionError):
        policy(observation("Pa", step=0))
    assert (agent.calls, policy.executions) == ([], [])


def test_a_step_with_an_invalid_answer_is_accounted():
    """What a refused answer cost is known all the same."""

    class Wrong(Accounting):
        def act(self, observation):
            return None

    policy = EpisodePolicy(Wrong(StepExecution(retries=4)))
    with pytest.raises(ModelOutputError):
        policy(observation("Pa", step=0))
    assert policy.executions == [StepExecution(retries=4)]


# What becomes of it


def test_accounting_is_kept_beside_the_result():
    """An episode's execution holds each step's report; its line and trace do not change."""
    world = scenario("a . . E")
    plan = [Episode(0, "drawn", 1)]
    found = []
    for factory in (Greedy, lambda: Accounting(None, StepExecution(input_tokens=7, model="é"))):
        (result,) = Player({"drawn": world}, FreshAgents(factory)).play(plan, 0.0)
        found.append(result)
    plain, accounted = found
    assert (plain.line, plain.trace) == (accounted.line, accounted.trace)
    assert json.loads(plain.execution)["steps"] == []
    assert json.loads(accounted.execution)["steps"] == [
        None,
        NOTHING | {"input_tokens": 7, "model": "é"},
        None,
    ]


TOO_MUCH = [
    {"input_tokens": 2**63},
    {"output_tokens": 2**64},
    {"retries": 10**5000},
    {"latency_seconds": 10**400},
    {"cost_usd": 2**1024},
    {"model": "\ud800"},
]
EXTREMES = [
    {"input_tokens": 2**63 - 1, "output_tokens": 0, "retries": 10**6},
    {"latency_seconds": 1.7976931348623157e308, "cost_usd": 5e-324},
    {"latency_seconds": 3, "cost_usd": 2**53 + 1},
    {"model": ""},
    {"model": "a\0b\nc" * 1000},
]


@pytest.mark.parametrize("report", TOO_MUCH, ids=case_id)
def test_what_no_table_can_hold_is_refused(report):
    """A count beyond 64 bits, an amount beyond a float and text that is none are errors."""
    (name,) = report
    with pytest.raises(EvaluationError, match=rf"^StepExecution\.{name} cannot be "):
        StepExecution(**report)


@pytest.mark.parametrize("report", EXTREMES, ids=case_id)
def test_what_is_accepted_never_breaks_a_run(tmp_path, report):
    """Whatever amount can be reported can also be written into the tables of a run."""
    path, execution = write_manifest(tmp_path, [(hall("one"), [1])]), StepExecution(**report)
    result = evaluate(path, lambda: Accounting(execution), tmp_path / "run")
    assert (result.outcome, result.folder) == ("complete", tmp_path / "run")
    assert (tmp_path / "run" / "execution.parquet").is_file()
