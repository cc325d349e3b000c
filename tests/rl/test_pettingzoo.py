"""PettingZoo's own tests of an environment, in both forms; a warning would fail them."""

from __future__ import annotations

import pytest
from pettingzoo.test import parallel_api_test, parallel_seed_test, render_test
from pettingzoo.utils import parallel_to_aec

from emberbench_dist.rl import parallel_env

pytestmark = pytest.mark.parametrize("observations", ["dict", "array"])


@pytest.mark.parametrize("scenario", ["corridor-5x1", "rooms-16x16", "platform-56x9"])
def test_it_keeps_the_interface(scenario, observations):
    """Agents come, act and end as the interface of parallel environments has it."""
    parallel_api_test(parallel_env(scenario, 1, observations=observations), num_cycles=200)


def test_it_is_deterministic(observations):
    """Two environments under one seed play the same."""
    parallel_seed_test(lambda: parallel_env("lobby-24x13", 1, observations=observations))


def test_it_renders(observations, capsys):
    """Every mode that is announced gives what it has to give."""

    def turn_based(render_mode):
        env = parallel_env("flat-14x10", 1, observations=observations, render_mode=render_mode)
        return parallel_to_aec(env)

    render_test(turn_based)
    assert capsys.readouterr().out.count("step ") == 5
