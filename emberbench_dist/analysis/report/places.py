"""Where things happen on a map: who dies in which cell, who waits for others in which."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emberbench_dist.contract.observation import GridMap, Status
from emberbench_dist.contract.scenario import Scenario
from emberbench_dist.evaluation.episode import replay
from emberbench_dist.simulator.movement import Outcome
from emberbench_dist.simulator.simulator import Simulator

Cells = NDArray[np.float64]

WAITING = frozenset((Outcome.BLOCKED_OCCUPIED, Outcome.BLOCKED_CONFLICT, Outcome.BLOCKED_CYCLE))


def casualties(world: GridMap, people: pd.DataFrame, episodes: int) -> Cells:
    """Return the mean number of casualties of an episode in each cell, shaped as the map.

    `people` are those of `episodes` episodes on this map.
    """
    counts = np.zeros((world.height, world.width))
    lost = people[people["status"] == Status.CASUALTY.value]
    np.add.at(counts, (lost["row"].to_numpy(), lost["col"].to_numpy()), 1)
    return counts / max(episodes, 1)


def waiting(scenario: Scenario, plays: Iterable[tuple[int, list[str]]]) -> Cells:
    """Return the mean number of steps of an episode that people in each cell waited for others.

    `plays` are (seed, trace); each is replayed. A person waits who wanted to move and was blocked
    by another: occupied, conflict or cycle.
    """
    counts = np.zeros((scenario.map.height, scenario.map.width))
    played = 0
    for seed, trace in plays:
        played += 1
        for record in replay(Simulator(scenario, seed), trace):
            position_of = {person.id: person.position for person in record.before}
            for person, outcome in zip(record.active, record.outcomes, strict=True):
                if outcome in WAITING:
                    counts[position_of[person]] += 1
    return counts / max(played, 1)


def spread(episodes: list[int], most: int) -> list[int]:
    """Return at most `most` of the episodes, evenly spaced, the first and the last among them."""
    if len(episodes) <= most:
        return episodes
    return [episodes[place] for place in np.linspace(0, len(episodes) - 1, most).astype(int)]
