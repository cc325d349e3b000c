"""Three runs to look at, and what happened in them, told by the simulator without any trace."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

from commands import dist_eval
from worlds import random_document

from emberbench_dist.agents.baselines import Greedy, Shuffle, Stay
from emberbench_dist.contract.scenario import parse_scenario
from emberbench_dist.simulator.record import record_episode
from manifests import hall, write_manifest

AGENTS = {"greedy": Greedy, "shuffle": Shuffle, "stay": Stay}
ODD_IDS = ("</script><b>&amp;", "<!--", "日本 🔥", '"\\u003c', "Zoë's")
SEEDS = (2**64 - 1, 7)  # the second one parts the agents more


def _labyrinth():
    """Return a world in which people are blocked, trapped, lost, and get out."""
    document = random_document(random.Random(8), 12, 24, probability=0.4, interval=2)
    return {**document, "scenario_id": "labyrinth"}


def _odd_hall():
    """Return a hall of people whose ids are anything that is allowed."""
    document = hall("odd-hall", 9, people=len(ODD_IDS), steps=5)
    for person, name in zip(document["people"], ODD_IDS, strict=True):
        person["id"] = name
    return document


WORLDS = [(_labyrinth(), list(SEEDS)), (_odd_hall(), [7])]
EPISODES = [(document, seed) for document, seeds in WORLDS for seed in seeds]


def write_runs(folder: Path) -> list[tuple[str, Path]]:
    """Play all episodes with each agent; return (label, run folder)."""
    manifest = write_manifest(folder / "input", WORLDS)
    for name in AGENTS:
        run = "run", manifest, "--agent", name, "--in-process", "--out", folder / name
        assert dist_eval(*run).returncode == 0
    return [(name, folder / name) for name in AGENTS]


@cache
def record(agent: str, episode: int):
    """Return the run record of an episode, played here and now."""
    document, seed = EPISODES[episode]
    return record_episode(parse_scenario(document), seed, AGENTS[agent]().act)


def steps(agent: str, episode: int) -> int:
    """Return how many steps an episode has."""
    return len(record(agent, episode).steps)


def state(agent: str, episode: int, step: int):
    """Return the state after a step, or the last one where the episode is over by then."""
    told = record(agent, episode)
    states = [told.initial_state, *(entry.state for entry in told.steps)]
    return states[min(step, len(states) - 1)]


def status(told, person) -> str:
    """Return what is shown of a person: trapped people are active too, but look different."""
    return "trapped" if person.id in told.trapped else person.status.value


def cells(agents, agent: str, episode: int, step: int) -> list[list[str]]:
    """Return what is seen in each cell; the longest episode of these agents tells the fire."""
    world = parse_scenario(EPISODES[episode][0]).map
    seen = [["floor"] * world.width for _ in range(world.height)]
    longest = max(agents, key=lambda name: steps(name, episode))
    told = state(agent, episode, step)
    marks = [
        *((position, "wall") for position in world.obstacles),
        *((exit.position, "exit") for exit in world.exits),
        *((position, "fire") for position in state(longest, episode, step).burning),
        *((p.position, "casualty") for p in told.people if p.status == "casualty"),
        *((p.position, status(told, p)) for p in told.people if p.status == "active"),
    ]
    for (row, col), mark in marks:
        seen[row][col] = mark
    return seen
