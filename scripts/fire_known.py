"""What nobody can exceed: how many could get out if the fire to come were known."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from math import fsum

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching, maximum_flow

from emberbench_dist.agents.fields import ways
from emberbench_dist.agents.forecast import around
from emberbench_dist.contract.rng import SplitMix64, stream_seed
from emberbench_dist.contract.scenario import Scenario
from emberbench_dist.evaluation.manifest import Manifest
from emberbench_dist.simulator.fire import Fire
from emberbench_dist.simulator.grid import board, cells_of, grid_of

# A flow has a node for each cell at each time. On larger maps that is too much, and people are
# taken to be in each other's way at the exits alone.
MOST_CELLS = 48 * 48


def best_possible(manifest: Manifest) -> dict[str, float]:
    """Return for each scenario the mean rate of who knows the fire to come, or more."""
    episodes = [manifest.episode(index) for index in range(len(manifest))]
    scenarios = [manifest.scenarios[episode.scenario_id] for episode in episodes]
    found: dict[str, list[float]] = {}
    with ProcessPoolExecutor() as pool:
        bounds = pool.map(bound, scenarios, [episode.seed for episode in episodes])
        for scenario, out in zip(scenarios, bounds, strict=True):
            found.setdefault(scenario.scenario_id, []).append(out / len(scenario.people))
    return {name: fsum(rates) / len(rates) for name, rates in found.items()}


def bound(scenario: Scenario, seed: int) -> int:
    """Return how many could leave, or, of a large map, a number that is not below."""
    return (most_out if is_exact(scenario) else most_out_of_exits)(scenario, seed)


def is_exact(scenario: Scenario) -> bool:
    """Say whether a scenario is small enough for a flow."""
    return scenario.map.width * scenario.map.height <= MOST_CELLS


def most_out(scenario: Scenario, seed: int) -> int:
    """Return how many could leave: a maximum flow through the places that never burn too soon.

    A place is a cell at a time, for one person. That nobody can swap takes nothing from it: two
    who would swap can as well stay and be taken for each other.
    """
    numbers: dict[object, int] = {}
    edges = [
        (numbers.setdefault(tail, len(numbers)), numbers.setdefault(head, len(numbers)))
        for tail, head in network(scenario, burning_at(scenario, seed))
    ]
    if "in" not in numbers or "out" not in numbers:
        return 0
    tails, heads = zip(*edges, strict=True)
    ones = np.ones(len(edges), dtype=np.int32)
    graph = csr_array((ones, (tails, heads)), shape=(len(numbers), len(numbers)))
    graph.data[:] = 1  # an edge that comes up twice is one
    return int(maximum_flow(graph, numbers["in"], numbers["out"]).flow_value)


def burning_at(scenario: Scenario, seed: int) -> list[set[int]]:
    """Return the burning cells at each time."""
    grid, rng = grid_of(scenario.map), SplitMix64(stream_seed(seed, "fire"))
    fire = Fire(grid, scenario.rules, scenario.ignitions, rng)
    told = [fire.now, *(fire.after(step + 1) for step in range(scenario.rules.max_steps))]
    return [set(map(grid.cell, blaze.burning)) for blaze in told]


def network(scenario: Scenario, burning: list[set[int]]) -> Iterator[tuple[object, object]]:
    """Yield the edges from `in` to `out`: each place has an entry and an end, for one person."""
    grid, beside = grid_of(scenario.map), ways(scenario.map)
    front = {grid.cell(person.position) for person in scenario.people}
    yield from (("in", (0, cell)) for cell in sorted(front))
    for time in range(scenario.rules.max_steps):
        after = set()
        for cell in sorted(front):
            yield (time, cell), (time, cell, "end")
            for near in (cell, *beside[cell]):
                if near in grid.exits and near not in burning[time]:
                    yield (time, cell, "end"), (time + 1, near)
                    yield (time + 1, near), "out"
                elif near not in grid.exits and near not in burning[time + 1]:
                    yield (time, cell, "end"), (time + 1, near)
                    after.add(near)
        front = after


def most_out_of_exits(scenario: Scenario, seed: int) -> int:
    """Return how many could leave if they met nobody but at an exit, which lets one out a step.

    A matching of people with exits at times: from when one can be there until it burns.
    """
    grid, burning = grid_of(scenario.map), [board(cells) for cells in burning_at(scenario, seed)]
    exits, steps = sorted(grid.exits), len(burning) - 1
    closed = {
        exit: next((time for time, fire in enumerate(burning) if fire >> exit & 1), steps)
        for exit in exits
    }
    rows, columns = list[int](), list[int]()
    for row, person in enumerate(scenario.people):
        for exit, first in soonest(scenario, grid.cell(person.position), burning).items():
            slots = range(first, closed[exit] + 1)
            rows += [row] * len(slots)
            columns += [exits.index(exit) * (steps + 1) + time for time in slots]
    if not rows:
        return 0
    shape = len(scenario.people), len(exits) * (steps + 1)
    graph = csr_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=shape)
    return int((maximum_bipartite_matching(graph, perm_type="column") >= 0).sum())


def soonest(scenario: Scenario, start: int, burning: list[int]) -> dict[int, int]:
    """Return for each exit that somebody can reach alone the first step in which they are out."""
    grid = grid_of(scenario.map)
    front, found = 1 << start, dict[int, int]()
    for time in range(len(burning) - 1):
        near = around(front, grid.stride)
        for exit in cells_of(near & grid.exit_cells & ~burning[time]):
            found.setdefault(exit, time + 1)
        # Whoever could be somewhere sooner can as well wait there, for as long as it is safe.
        front = (front | near) & grid.open_cells & ~grid.exit_cells & ~burning[time + 1]
        if not front or len(found) == len(grid.exits):
            break
    return found
