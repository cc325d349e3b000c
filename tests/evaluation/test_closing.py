"""An agent that holds something is told when its episode is over, however it ends."""

from __future__ import annotations

import pytest

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.errors import ModelOutputError
from emberbench_dist.runner.evaluate import evaluate
from manifests import hall, write_manifest


@pytest.fixture
def path(tmp_path):
    """Write a manifest of three short episodes; the map of the second is 8 wide."""
    return write_manifest(
        tmp_path, [(hall("one"), [1]), (hall("two", 8), [5]), (hall("three", 9), [7])]
    )


class Closed(Greedy):
    """Count in `events` what happens to it, and fail in step 1 of the map that is 8 wide."""

    events: list[str]

    def act(self, observation):
        """Act, or fail."""
        if observation.step == 1 and observation.map.width == 8:
            return self.fail()
        self.events.append(str(observation.step))
        return super().act(observation)

    def fail(self):
        """Answer as one should."""
        self.events.append("unchanged")
        return {"nobody": "stay"}

    def close(self):
        """Note it."""
        self.events.append("closed")


def test_an_agent_is_closed_once_after_its_last_step(path):
    """Each episode closes its agent before the next agent is built; the bytes are the same."""

    class Plays(Greedy):
        events: list[str] = []  # noqa: RUF012 - shared on purpose

        def __init__(self):
            super().__init__()
            self.events.append("built")

        def act(self, observation):
            self.events.append("acts")
            return super().act(observation)

        def close(self):
            self.events.append("closed")

    result = evaluate(path, Plays)
    assert result.artifact == evaluate(path, Greedy).artifact
    episodes = " ".join(Plays.events).split("built")[1:]
    assert len(episodes) == 3
    for events in episodes:
        *acts, last = events.split()
        assert (set(acts), last) == ({"acts"}, "closed")


def raises(_):
    """Raise as a model may."""
    raise RuntimeError("no idea")


def exits(_):
    """Raise what is no `Exception`."""
    raise SystemExit(3)


@pytest.mark.parametrize(
    ("fail", "error"),
    [(Closed.fail, ModelOutputError), (raises, RuntimeError), (exits, SystemExit)],
)
def test_an_agent_that_fails_is_closed_too(path, fail, error):
    """Invalid output, an exception, and one that is no `Exception`: each agent is closed."""
    failing = type("Failing", (Closed,), {"fail": fail, "events": []})
    with pytest.raises(error):
        evaluate(path, failing)
    assert failing.events.count("closed") == 2
    assert failing.events[-1] == "closed"


def test_a_failing_close_fails_the_episode(path):
    """What `close` raises comes out unchanged, and the episode is not committed."""
    error = OSError("disk")

    class CannotClose(Greedy):
        def close(self):
            raise error

    with pytest.raises(OSError, match="disk") as caught:
        evaluate(path, CannotClose)
    assert caught.value is error


def test_of_two_failures_the_first_is_told(path):
    """An agent that failed, and then cannot be closed, failed for the first reason."""

    class FailsTwice(Closed):
        events: list[str] = []  # noqa: RUF012 - shared on purpose

        def fail(self):
            raise RuntimeError("first")

        def close(self):
            if self.events[-1] == "0":
                raise RuntimeError("second")

    with pytest.raises(RuntimeError, match="first"):
        evaluate(path, FailsTwice)


def test_what_is_no_method_is_not_called(path):
    """An agent may call something else `close`, as long as it cannot be called."""

    class Near(Greedy):
        close = 3

    assert evaluate(path, Near).outcome == "complete"
