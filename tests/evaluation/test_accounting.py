"""What attempts cost: the record of one, and sums of many."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from worlds import scenario

from emberbench_dist.agents.execution import StepExecution
from emberbench_dist.agents.interface import FreshAgents
from emberbench_dist.evaluation import episode as module
from emberbench_dist.evaluation.accounting import Spent, execution_record
from emberbench_dist.evaluation.episode import Player
from emberbench_dist.evaluation.manifest import Episode

amounts = st.none() | st.integers(0, 100)
reports = st.lists(
    st.none()
    | st.builds(
        StepExecution,
        latency_seconds=amounts,
        input_tokens=amounts,
        output_tokens=amounts,
        cost_usd=amounts,
        retries=amounts,
        model=st.sampled_from([None, "a", "b"]),
    ),
    max_size=4,
)
records = st.builds(
    execution_record, st.integers(0, 9), st.lists(st.integers(0, 9), max_size=4), reports
) | st.just(b"")


def test_sums_are_of_what_is_known():
    """Amounts that some steps reported are summed; those that none reported stay unknown."""
    one = execution_record(2.5, [1.0, 1.25], [StepExecution(input_tokens=3, model="m"), None])
    other = execution_record(0.5, [0.25], [StepExecution(input_tokens=4, retries=1, model="n")])
    assert Spent.of([one, other, b""]) == Spent(
        attempts=3,
        seconds=3.0,
        steps=3,
        reported=2,
        input_tokens=7,
        retries=1,
        models={"m": 1, "n": 1},
    )
    assert str(Spent.of([one, other])) == "3.0 s in 3 steps, 7 tokens in, 1 retries by m, n"
    assert str(Spent.of([execution_record(1.0)])) == "1.0 s in 0 steps"


@given(st.lists(records, max_size=6), st.integers(0, 6))
def test_sums_of_parts_add_up(some, cut):
    """However attempts are grouped, the sum is the same, also after it was written and read."""
    parts = Spent.of(some[:cut]) + Spent.from_json(Spent.of(some[cut:]).to_json())
    assert parts == Spent.of(some)
    assert Spent.of(some) + Spent() == Spent.of(some)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"tokens": 1}'])
def test_what_is_no_sum_is_refused(text):
    """Text that holds no sums is a `ValueError`, whatever it is."""
    with pytest.raises(ValueError, match=r"."):
        Spent.from_json(text)


class Ticking:
    """Take one second to be built, and two for each act; report, and fail in step `fails`."""

    def __init__(self, clock, fails):
        """Let the time pass."""
        self.clock, self.fails = clock, fails
        clock.append(clock[-1] + 1)

    def act(self, observation):
        """Let the time pass, then stay or raise."""
        self.clock.append(self.clock[-1] + 2)
        if observation.step == self.fails:
            raise ValueError
        return dict.fromkeys(observation.active, "stay")

    def last_execution(self):
        """Report a token."""
        return StepExecution(input_tokens=1)


@pytest.mark.parametrize(("fails", "seconds", "steps"), [(None, 7, 3), (2, 7, 2), (0, 3, 0)])
def test_the_time_of_an_attempt_and_of_its_steps(monkeypatch, fails, seconds, steps):
    """Each step that ended has its time, the attempt all of it, also where it failed."""
    clock = [100]
    monkeypatch.setattr(module, "perf_counter", lambda: clock[-1])
    player = Player(
        {"drawn": scenario("a . E", max_steps=3)}, FreshAgents(lambda: Ticking(clock, fails))
    )
    (outcome,) = player.play([Episode(0, "drawn", 1)], 1.0)
    report = StepExecution(input_tokens=1).to_dict()
    assert json.loads(outcome.execution) == {
        "seconds": seconds,
        "step_seconds": [2] * steps,
        "steps": [report] * steps,
    }
