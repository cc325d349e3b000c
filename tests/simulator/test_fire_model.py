"""A fire model is held to its contract: what it is asked, and what it may answer."""

from __future__ import annotations

import pytest
from worlds import actions, scenario

from emberbench_dist.errors import SimulationError
from emberbench_dist.simulator.simulator import Simulator


class Igniting:
    """A fire model that ignites what it is told to, and remembers when it was asked."""

    def __init__(self, *cells):
        """Ignite these cells whenever asked."""
        self.cells = cells
        self.asked = []

    def ignite(self, edges, rng):
        """Return the same cells each time."""
        self.asked.append((list(edges), rng.state))
        return self.cells


MODEL_DRAWING = """
    a . E
    # * .
"""
STRIDE = 4  # one boundary column right of three


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param(STRIDE + 1, id="burning"),
        pytest.param(STRIDE, id="wall"),
        pytest.param(2, id="exit-not-flammable"),
        pytest.param(3, id="right-of-the-grid"),
        pytest.param(2 * STRIDE, id="below-the-grid"),
        pytest.param(3 * STRIDE - 1, id="last-boundary-cell"),
        pytest.param(3 * STRIDE, id="beyond-everything"),
        pytest.param(10**6, id="far-beyond"),
        pytest.param(-1, id="negative"),
        pytest.param(-STRIDE - 2, id="negative-that-python-would-read-from-the-end"),
    ],
)
def test_model_output_is_checked(cell):
    """What is burning, not flammable or off the grid is refused, and the state is unchanged."""
    rules = {"exits_flammable": False, "interval": 2, "max_steps": 4}
    model = Igniting(1, cell)
    world = Simulator(scenario(MODEL_DRAWING, **rules), 1, fire_model=model)
    world.step({"a": "stay"})
    state, observation = world.state, world.observe()
    with pytest.raises(SimulationError, match="step 2: the fire model"):
        world.step({"a": "east"})
    assert (world.state, world.observe()) == (state, observation)
    model.cells = ()
    assert world.step({"a": "stay"}).state.people == state.people


def test_model_output_is_canonical():
    """A legal model may repeat itself and answer in any order: ignitions are a row-major set."""
    rules = {"exits_flammable": True, "max_steps": 4}
    world = Simulator(scenario(MODEL_DRAWING, **rules), 1, fire_model=Igniting(6, 2, 6, 1))
    assert world.step({"a": "stay"}).ignitions == ((0, 1), (0, 2), (1, 2))


def test_model_is_asked_on_spread_steps_only():
    """The model gets the frontier's edges and the stream, once per spread step, nothing else."""
    model = Igniting()
    world = Simulator(scenario(MODEL_DRAWING, interval=2, max_steps=5), 1, fire_model=model)
    start = world.state.rng_state.fire
    while not world.state.terminated:
        world.step({"a": "stay"})
    assert model.asked == [([1, STRIDE + 2], start)] * 2


class Drawing:
    """A fire model that takes a draw, then raises, breaks its contract, or behaves."""

    def __init__(self):
        """Behave at first."""
        self.answer = ()

    def ignite(self, edges, rng):
        """Draw once and answer."""
        rng.next_u64()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize("answer", [ZeroDivisionError(), (-1,)], ids=["raises", "off-the-grid"])
def test_model_that_fails_leaves_the_stream_unchanged(answer):
    """Where a model fails, its own exception or the refusal comes out, and its draws are undone."""
    failing = Drawing()
    world = Simulator(scenario(MODEL_DRAWING), 1, fire_model=failing)
    twin = Simulator(scenario(MODEL_DRAWING), 1, fire_model=Drawing())
    before, failing.answer = world.state, answer
    with pytest.raises((ZeroDivisionError, SimulationError)):
        world.step(actions("a>"))
    assert world.state == before
    failing.answer = ()
    assert world.step(actions("a.")) == twin.step(actions("a."))
