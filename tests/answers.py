"""What every agent of the package promises of its answers."""

from __future__ import annotations

from emberbench_dist.contract.actions import Action, check_actions
from emberbench_dist.simulator.simulator import Simulator


def assert_valid(agent, world, seed):
    """Play an episode; each answer is for exactly the active people, in id order, by `Action`."""
    play = Simulator(world, seed)
    while not play.state.terminated:
        seen = play.observe()
        given = agent.act(seen)
        assert check_actions(seen, given) == given
        assert tuple(given) == seen.active
        assert {type(action) for action in given.values()} == {Action}
        play.step(given)
