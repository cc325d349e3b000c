"""The simulator against the plain oracle of the tests, and its flood fill against a search."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any, NamedTuple

from oracle import Oracle
from worlds import random_actions, random_document

from benchmarks.rows import Benchmark, Row, Sample, Scale, at_least, cpu_seconds
from emberbench_dist.contract.observation import Exit, GridMap
from emberbench_dist.contract.scenario import Scenario, parse_scenario
from emberbench_dist.simulator.grid import Cell, board, flood, grid_of
from emberbench_dist.simulator.simulator import Simulator

SIZES = ((16, 8), (32, 32), (64, 128))
_FLOOD_SIDE = 128
_ROOM = 16


class Script(NamedTuple):
    """An episode whose actions are known before it is played."""

    seed: int
    steps: list[dict[str, str]]


class Scripted(NamedTuple):
    """A world and some episodes in it."""

    scenario: Scenario
    episodes: list[Script]

    @property
    def steps(self) -> int:
        """Return the steps of all episodes."""
        return sum(len(episode.steps) for episode in self.episodes)


@cache
def scripted(size: int, people: int, count: int) -> Scripted:
    """Return episodes of random actions in a world of size x size cells."""
    document = random_document(random.Random(size), size, people, max_steps=60)
    scenario = parse_scenario(document)
    episodes = []
    for seed in range(count):
        world, rng, steps = Simulator(scenario, seed), random.Random(seed), list[dict[str, str]]()
        while not world.state.terminated:
            steps.append(random_actions(rng, world.observe().active))
            world.step(steps[-1])
        episodes.append(Script(seed, steps))
    return Scripted(scenario, episodes)


def play(make: Callable[[int], Any], episodes: Iterable[Script]) -> None:
    """Play episodes: set up, then observe and step."""
    for seed, steps in episodes:
        world = make(seed)
        for actions in steps:
            world.observe()
            world.step(actions)


def steps_per_second(size: int, people: int, scale: Scale) -> tuple[Sample]:
    """Play the same episodes here and in the oracle."""
    world = scripted(size, people, max(1, scale.of(1024, 128, 16) // size))
    ours, plain = partial(Simulator, world.scenario), partial(Oracle, world.scenario.to_dict())
    fast = cpu_seconds(lambda: play(ours, world.episodes))
    slow = cpu_seconds(lambda: play(plain, world.episodes))
    return (Sample(world.steps / fast, world.steps / slow),)


# Flood fill, as the simulator does it to find who is trapped.


def open_hall() -> list[tuple[int, int]]:
    """Return no walls."""
    return []


def rooms() -> list[tuple[int, int]]:
    """Return the walls of square rooms, each with one door to the right and one below."""
    inside = range(_FLOOD_SIDE)
    door = _ROOM // 2
    return [
        (row, col)
        for row in inside
        for col in inside
        if (row % _ROOM == _ROOM - 1 and col % _ROOM != door)
        or (col % _ROOM == _ROOM - 1 and row % _ROOM != door)
    ]


def serpentine() -> list[tuple[int, int]]:
    """Return the walls of one corridor that goes to and fro through the whole map."""
    last = _FLOOD_SIDE - 1
    return [
        (row, col)
        for row in range(1, _FLOOD_SIDE, 2)
        for col in range(_FLOOD_SIDE)
        if col != (last if row % 4 == 1 else 0)
    ]


def maze() -> list[tuple[int, int]]:
    """Return the walls of a perfect maze with corridors of one cell: a random depth-first tree."""
    rng, last = random.Random(1), _FLOOD_SIDE - 2
    free, path = {(0, 0)}, [(0, 0)]
    while path:
        row, col = path[-1]
        ways = [
            (row + down, col + right)
            for down, right in ((-2, 0), (2, 0), (0, -2), (0, 2))
            if 0 <= row + down <= last
            and 0 <= col + right <= last
            and (row + down, col + right) not in free
        ]
        if not ways:
            path.pop()
            continue
        way = rng.choice(ways)
        free |= {way, ((row + way[0]) // 2, (col + way[1]) // 2)}
        path.append(way)
    inside = range(_FLOOD_SIDE)
    return [(row, col) for row in inside for col in inside if (row, col) not in free]


def floods_per_second(walls: Callable[[], list[tuple[int, int]]], scale: Scale) -> tuple[Sample]:
    """Flood a map from its one exit, by bitboards and by a search over neighbour lists."""
    world = GridMap(_FLOOD_SIDE, _FLOOD_SIDE, tuple(walls()), (Exit("E1", (0, 0)),))
    grid = grid_of(world)
    (source,) = grid.exits
    neighbours = _neighbours(grid.terrain, grid.stride, grid.open_cells)
    reached = flood(grid.exit_cells, grid.open_cells, grid)
    assert reached == board(search(source, neighbours)), "both floods reach the same cells"
    rounds = range(scale.of(20, 5, 1))
    ours = cpu_seconds(lambda: [flood(grid.exit_cells, grid.open_cells, grid) for _ in rounds])
    plain = cpu_seconds(lambda: [search(source, neighbours) for _ in rounds])
    return (Sample(len(rounds) / ours, len(rounds) / min(ours, plain)),)


def _neighbours(terrain: bytes, stride: int, open_cells: int) -> list[list[Cell]]:
    return [
        [
            near
            for near in (cell - stride, cell - 1, cell + 1, cell + stride)
            if near >= 0 and open_cells >> near & 1
        ]
        for cell in range(len(terrain))
    ]


def search(source: Cell, neighbours: list[list[Cell]]) -> list[Cell]:
    """Return the cells reached from one, breadth first."""
    seen, found = bytearray(len(neighbours)), [source]
    seen[source] = 1
    for cell in found:
        for near in neighbours[cell]:
            if not seen[near]:
                seen[near] = 1
                found.append(near)
    return found


BENCHMARKS = (
    *(
        Benchmark(
            partial(steps_per_second, size, people),
            (
                Row(
                    f"simulator-{size}x{size}",
                    f"observe and step, {people} people",
                    "the tests' plain oracle, same episodes",
                    "steps/s",
                    at_least(15),
                ),
            ),
        )
        for size, people in SIZES
    ),
    *(
        Benchmark(
            partial(floods_per_second, walls),
            (
                Row(
                    f"flood-{name}",
                    f"the simulator's flood fill of 128x128 cells, {told}",
                    "the better of it and a search over neighbour lists",
                    "floods/s",
                    at_least(0.8),
                ),
            ),
        )
        for name, told, walls in (
            ("open", "no walls", open_hall),
            ("rooms", "rooms of 15x15", rooms),
            ("maze", "a perfect maze", maze),
            ("serpentine", "one long corridor", serpentine),
        )
    ),
)
