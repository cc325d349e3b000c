"""Where people die and where they wait, against what the simulator says step by step."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from truth import AGENTS, EPISODES, record

from emberbench_dist.analysis.report import places
from emberbench_dist.contract.scenario import parse_scenario
from emberbench_dist.evaluation.episode import TRACE_CODES


def trace(told):
    """Return the trace of a run record."""
    return ["".join(TRACE_CODES[choice] for choice in step.choices) for step in told.steps]


@pytest.mark.parametrize("agent", AGENTS)
def test_people_wait_where_others_block_them(agent):
    """A cell counts each step in which somebody there was blocked by somebody, a mean of plays."""
    document, _ = EPISODES[0]
    scenario = parse_scenario(document)
    played = [record(agent, number) for number in (0, 1)]
    expected = Counter(
        movement.from_
        for told in played
        for step in told.steps
        for movement in step.movements
        if movement.outcome in ("blocked_occupied", "blocked_conflict", "blocked_cycle")
    )
    found = places.waiting(scenario, [(told.seed, trace(told)) for told in played])
    assert found.shape == (scenario.map.height, scenario.map.width)
    cells = {tuple(cell): found[tuple(cell)] * 2 for cell in np.argwhere(found)}
    assert cells == expected
    assert bool(cells) == (agent in {"greedy", "shuffle"})


def test_nobody_waits_where_nothing_is_replayed():
    """Without a play, every cell is empty."""
    scenario = parse_scenario(EPISODES[0][0])
    assert not places.waiting(scenario, []).any()


def test_people_die_where_they_stood_last():
    """Casualties are counted by cell, evacuated people are not; a mean of episodes."""
    people = pd.DataFrame(
        {
            "status": ["casualty", "casualty", "evacuated", "active", "casualty"],
            "row": [0, 0, 0, 1, 2],
            "col": [1, 1, 1, 1, 0],
        }
    )
    world = parse_scenario(EPISODES[2][0]).map
    found = places.casualties(world, people, 4)
    assert found.shape == (world.height, world.width)
    assert (found[0, 1], found[2, 0], found.sum()) == (0.5, 0.25, 0.75)


@pytest.mark.parametrize(
    ("episodes", "most", "chosen"),
    [
        ([], 5, []),
        ([3, 4], 5, [3, 4]),
        (list(range(10)), 3, [0, 4, 9]),
        (list(range(100)), 5, [0, 24, 49, 74, 99]),
    ],
)
def test_a_sample_is_evenly_spaced(episodes, most, chosen):
    """So many of the episodes as are wanted, the first and the last among them."""
    assert places.spread(episodes, most) == chosen
