"""Every failure of an agent, through whole evaluations: fail-closed, the same on every run."""

from __future__ import annotations

import json
from pathlib import Path

import plain_formats
import plain_policies
import pytest

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.agents.execution import StepExecution
from emberbench_dist.agents.interface import PolicyAgent
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.errors import (
    EvaluationError,
    InvalidActionError,
    ModelOutputError,
    RunFolderError,
    SimulationError,
)
from emberbench_dist.evaluation.manifest import load_manifest
from emberbench_dist.runner.evaluate import evaluate
from emberbench_dist.simulator.record import record_episode
from manifests import hall, write_manifest

EPISODES, FAILING, STEP = 6, 3, 2
BLOCKS = [(hall("one"), [1, 2]), (hall("two", 8), {"first": 5, "count": 4})]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Write a manifest of six short episodes."""
    return write_manifest(tmp_path_factory.mktemp("manifest"), BLOCKS)


@pytest.fixture(scope="module")
def expected(path):
    """Return artifact and traces for each number of episodes that greedy has played."""
    document, manifest = json.loads(path.read_text()), load_manifest(path)
    records = [
        record_episode(manifest.scenarios[name], seed, plain_policies.greedy).to_dict()
        for name, seed in plain_formats.planned(document)
    ]
    return [
        (plain_formats.artifact(document, records[:count]), plain_formats.traces(records[:count]))
        for count in range(EPISODES + 1)
    ]


def written(out):
    """Return the bytes of artifact and traces of a run folder."""
    return (out / "artifact.jsonl").read_bytes(), (out / "traces.jsonl").read_bytes()


def ledger_of(out):
    """Return the numbers of the committed episodes, and the failures, of a run folder."""
    with Ledger.reading(out / "ledger.sqlite") as ledger:
        ledger.check()
        return [result.episode for result in ledger.results()], ledger.failures()


class Failing:
    """A factory whose fourth agent goes wrong; the others play greedily."""

    def __init__(self, go_wrong):
        """Let `go_wrong(earlier agents)` build the fourth."""
        self.go_wrong = go_wrong
        self.built = []

    def __call__(self):
        """Build the next agent."""
        agent = self.go_wrong(self.built) if len(self.built) == FAILING else Greedy()
        self.built.append(agent)
        return agent


def late(answer):
    """Return what builds an agent that answers `answer(observation)` from the third step on."""

    def policy(seen):
        return answer(seen) if seen.step >= STEP else plain_policies.greedy(seen)

    return lambda _: PolicyAgent(policy)


def stays(seen, **changes):
    """Return an action for everybody, with changes."""
    return dict.fromkeys(seen.active, "stay") | changes


class NoMethod:
    """What is no agent, though it has an `act`."""

    act = "stay"


class Misreports(Greedy):
    """An agent whose accounting is none."""

    def last_execution(self):
        """Return something else."""
        return {"input_tokens": 3}


class MiscountsTokens(Greedy):
    """An agent whose accounting is refused."""

    def last_execution(self):
        """Report a negative number."""
        return StepExecution(input_tokens=-1)


TABLE = {
    "missing": (late(lambda _: {}), ModelOutputError, "step 2: no action for the active person"),
    "unknown": (
        late(lambda seen: stays(seen, nobody="stay")),
        ModelOutputError,
        "step 2: 'nobody' is not an active person",
    ),
    "value": (
        late(lambda seen: dict.fromkeys(seen.active, "up")),
        ModelOutputError,
        "step 2: the action of 'P0' must be one of stay, north, south, east, west; got 'up'",
    ),
    "malformed": (
        late(lambda _: None),
        ModelOutputError,
        "step 2: actions must be a mapping of person id to action, got NoneType",
    ),
    "keys": (
        late(lambda seen: dict(enumerate(stays(seen)))),
        ModelOutputError,
        "step 2: person ids must be text, got 0",
    ),
    "no-agent": (lambda _: None, EvaluationError, "the agent factory returned NoneType"),
    "class-without-act": (lambda _: dict, EvaluationError, "the agent factory returned type"),
    "act-is-no-method": (lambda _: NoMethod(), EvaluationError, "the agent factory returned NoM"),
    "last-agent": (lambda built: built[-1], EvaluationError, "the agent factory returned an agent"),
    "first-agent": (lambda built: built[0], EvaluationError, "the agent factory returned an agent"),
    "accounting": (lambda _: Misreports(), EvaluationError, "last_execution() must return a Step"),
    "accounts": (lambda _: MiscountsTokens(), EvaluationError, "StepExecution.input_tokens"),
}


@pytest.mark.parametrize("name", TABLE)
def test_each_failure_of_the_table(path, tmp_path, expected, name):
    """The run stops with the table's error and the prefix, twice the same; it can be resumed."""
    go_wrong, error, message = TABLE[name]
    failures = []
    for out in (tmp_path / "first", tmp_path / "second"):
        with pytest.raises(error) as caught:
            evaluate(path, Failing(go_wrong), out)
        assert type(caught.value) is error
        assert str(caught.value).startswith(message)
        assert written(out) == expected[FAILING]
        committed, (failure,) = ledger_of(out)
        assert committed == list(range(FAILING))
        assert (failure.episode, failure.kind, failure.type) == (FAILING, "agent", error.__name__)
        failures.append((str(caught.value), str(failure)))
    assert failures[0] == failures[1]
    assert evaluate(path, Greedy, out, resume=True).played == EPISODES - FAILING
    assert written(out) == expected[EPISODES]
    assert ledger_of(out) == (list(range(EPISODES)), [])


def test_a_failure_that_is_not_fixed_stays(path, tmp_path, expected):
    """Resuming with an agent that fails at once gives the failure again, and the same bytes."""
    out = tmp_path / "run"
    with pytest.raises(ModelOutputError):
        evaluate(path, Failing(late(lambda _: {})), out)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            evaluate(path, lambda: PolicyAgent(lambda _: 1 / 0), out, resume=True)
        assert written(out) == expected[FAILING]
        assert [failure.type for failure in ledger_of(out)[1]] == ["ZeroDivisionError"]


def test_without_a_folder_a_failure_comes_out_too(path):
    """In memory the error is the same."""
    with pytest.raises(ModelOutputError, match=r"^step 2: no action"):
        evaluate(path, Failing(late(lambda _: {})))


def test_nothing_is_started_after_a_failure(path, tmp_path):
    """No agent is built for an episode above the failed one."""
    factory = Failing(late(lambda _: {}))
    with pytest.raises(ModelOutputError):
        evaluate(path, factory, tmp_path / "run")
    assert len(factory.built) == FAILING + 1


# What a model may raise


class NeedsArgumentsError(Exception):
    """It cannot be built from its own `args`."""

    def __init__(self, *, code):
        """Forget the code."""


class HostileError(Exception):
    """Its texts raise, it is false, and it is equal to nothing."""

    __hash__ = None

    def __str__(self):
        """Raise."""
        raise RuntimeError("no text")

    __repr__ = __str__

    def __bool__(self):
        """Be false."""
        return False

    def __eq__(self, other):
        """Raise."""
        raise RuntimeError("no equality")


class NoTextError(Exception):
    """Its text is none."""

    def __str__(self):
        """Return no text."""
        return 7  # noqa: PLE0307 - that is what it is for


class ExitingTextError(Exception):
    """Asked for its text, it ends the program."""

    def __str__(self):
        """Raise."""
        raise SystemExit(3)


class InterruptingTextError(Exception):
    """Asked for its text, it interrupts the program."""

    def __str__(self):
        """Raise."""
        raise KeyboardInterrupt


class OddStart(BaseException):
    """Outside of the tree of ordinary exceptions."""


def chained():
    """Return two exceptions that are each other's cause."""
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    return first


RAISED = {
    "ordinary": lambda: ValueError("no plan"),
    "exit": lambda: SystemExit(0),
    "exit-text": lambda: SystemExit("bye"),
    "ctrl-c": KeyboardInterrupt,
    "generator-exit": GeneratorExit,
    "stop-iteration": lambda: StopIteration(1),
    "memory": MemoryError,
    "recursion": RecursionError,
    "base": OddStart,
    "group": lambda: BaseExceptionGroup("several", [KeyboardInterrupt(), ValueError("x")]),
    "evaluation-error": lambda: EvaluationError("the agent's own"),
    "invalid-action": lambda: InvalidActionError("the agent's own"),
    "simulation-error": lambda: SimulationError("the agent's own"),
    "run-folder-error": lambda: RunFolderError("the agent's own"),
    "disk-full": lambda: OSError(28, "No space left on device"),
    "needs-arguments": lambda: NeedsArgumentsError(code=3),
    "hostile": HostileError,
    "no-text": NoTextError,
    "exiting-text": ExitingTextError,
    "interrupting-text": InterruptingTextError,
    "ten-megabytes": lambda: ValueError("x" * 10**7),
    "lone-surrogate": lambda: ValueError("\ud800 and \udfff"),
    "no-character": lambda: ValueError("a\0b"),
    "cause-of-itself": chained,
}


def raising(error):
    """Return an answer that raises."""

    def answer(_):
        raise error

    return answer


@pytest.mark.parametrize("name", RAISED)
def test_what_the_model_raises_comes_out_unchanged(path, tmp_path, expected, name):
    """The very object comes out, nothing added; the artifact is the prefix, and can be resumed."""
    error, out = RAISED[name](), tmp_path / "run"
    cause, arguments = error.__cause__, error.args
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - its identity is what counts
        evaluate(path, Failing(late(raising(error))), out, steps=False)
    assert caught.value is error
    assert error.__cause__ is cause
    assert error.__context__ is None
    assert error.args is arguments
    assert written(out) == expected[FAILING]
    committed, (failure,) = ledger_of(out)
    assert committed == list(range(FAILING))
    assert (failure.episode, failure.step, failure.type) == (FAILING, STEP, type(error).__name__)
    assert len(failure.message) + len(failure.traceback) < 45_000
    evaluate(path, Greedy, out, resume=True, steps=False)
    assert written(out) == expected[EPISODES]


class FailsInAccounting(Greedy):
    """An agent whose accounting raises."""

    def __init__(self, error):
        """Keep what to raise."""
        super().__init__()
        self.error = error

    def last_execution(self):
        """Raise."""
        raise self.error


PLACES = {
    "factory": (lambda error: lambda _: raising(error)(None), None),
    "first-step": (lambda error: lambda _: PolicyAgent(raising(error)), 0),
    "accounting": (lambda error: lambda _: FailsInAccounting(error), 0),
}


@pytest.mark.parametrize("kind", [ValueError, SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("place", PLACES)
def test_wherever_the_model_raises_it_comes_out_unchanged(path, tmp_path, expected, place, kind):
    """An exception of the factory, the first step or the accounting is not wrapped either."""
    (go_wrong, step), error, out = PLACES[place], kind("here"), tmp_path / "run"
    with pytest.raises(kind) as caught:
        evaluate(path, Failing(go_wrong(error)), out, steps=False)
    assert caught.value is error
    assert (error.__cause__, error.__context__) == (None, None)
    assert written(out) == expected[FAILING]
    assert [(failure.episode, failure.step) for failure in ledger_of(out)[1]] == [(FAILING, step)]


def test_the_traceback_leads_into_the_agent(path):
    """The exception that comes out still tells where in the agent it was raised."""
    with pytest.raises(LookupError) as caught:
        evaluate(path, Failing(late(raising(LookupError("here")))))
    assert caught.traceback[-1].name == "answer"
    assert Path(caught.traceback[-1].path) == Path(__file__)
