"""What an evaluation adds to the simulator: playing, the greedy agent, verifying."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from worlds import random_document

from benchmarks.processes import new_folder
from benchmarks.rows import Benchmark, Row, Sample, Scale, at_least, at_most, cpu_seconds
from benchmarks.simulator import Script, play, scripted
from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.agents.interface import FreshAgents
from emberbench_dist.contract.observation import Observation
from emberbench_dist.evaluation.episode import TRACE_CODES, EpisodeResult, Player
from emberbench_dist.evaluation.manifest import Episode, Manifest, load_manifest
from emberbench_dist.evaluation.verify import Verifier
from emberbench_dist.runner.evaluate import evaluate
from emberbench_dist.runner.pool import InProcessPool
from emberbench_dist.runner.verify import verify_files
from emberbench_dist.simulator.simulator import Simulator
from manifests import hall, write_manifest

_ACTIONS = {code: action.value for action, code in TRACE_CODES.items()}
_CHUNK = 1000


class Reader:
    """An agent that reads its actions from a script."""

    def __init__(self, script: Script) -> None:
        """Start at the first step."""
        self._steps = script.steps

    def act(self, observation: Observation) -> dict[str, str]:
        """Return what the script says."""
        return self._steps[observation.step]


def played_steps(scale: Scale) -> tuple[Sample]:
    """Play scripted episodes as an evaluation does, and in the simulator alone."""
    world = scripted(32, 32, scale.of(64, 8, 1))
    episodes = [Episode(script.seed, "world", script.seed) for script in world.episodes]
    scripts = iter(world.episodes)
    player = Player({"world": world.scenario}, FreshAgents(lambda: Reader(next(scripts))))
    outcomes: list[object] = []
    ours = cpu_seconds(lambda: outcomes.extend(player.play(episodes, float("inf"))))
    assert all(isinstance(outcome, EpisodeResult) for outcome in outcomes), outcomes[-1]
    plain = cpu_seconds(lambda: play(partial(Simulator, world.scenario), world.episodes))
    return (Sample(world.steps / ours, world.steps / plain),)


class Watched(NamedTuple):
    """An episode of the greedy agent: what it saw, and what it did."""

    seed: int
    observations: list[Observation]
    actions: list[dict[str, str]]


@cache
def watched(size: int, people: int, count: int) -> list[Watched]:
    """Let the greedy agent play."""
    found = []
    for seed in range(count):
        world, agent = Simulator(scripted(size, people, 1).scenario, seed), Greedy()
        episode = Watched(seed, [], [])
        while not world.state.terminated:
            episode.observations.append(world.observe())
            episode.actions.append({**agent.act(episode.observations[-1])})
            world.step(episode.actions[-1])
        found.append(episode)
    return found


def greedy_step(size: int, people: int, scale: Scale) -> tuple[Sample]:
    """Let it look again at what it saw, and the simulator step again as it did."""
    episodes = watched(size, people, max(1, scale.of(1024, 256, 32) // size))
    steps = sum(len(episode.actions) for episode in episodes)
    worlds = [Simulator(scripted(size, people, 1).scenario, one.seed) for one in episodes]
    agents = [Greedy() for _ in episodes]

    def decide() -> None:
        for agent, episode in zip(agents, episodes, strict=True):
            for observation in episode.observations:
                agent.act(observation)

    def step() -> None:
        for world, episode in zip(worlds, episodes, strict=True):
            for actions in episode.actions:
                world.step(actions)

    return (Sample(1e6 * cpu_seconds(decide) / steps, 1e6 * cpu_seconds(step) / steps),)


class Played(NamedTuple):
    """A manifest, and the files of its evaluation."""

    manifest: Manifest
    artifact: Path
    traces: Path


def halls(count: int) -> list[tuple[dict[str, Any], dict[str, int]]]:
    """Return small worlds, which are left within ten steps, and the seeds of each."""
    return [(hall(f"hall-{width}", width), {"first": 0, "count": count // 2}) for width in (6, 9)]


def ordinary(count: int) -> list[tuple[dict[str, Any], dict[str, int]]]:
    """Return a world of 16x16 cells with 8 people, and its seeds."""
    document = random_document(random.Random(16), 16, 8, max_steps=60)
    return [(document, {"first": 0, "count": count})]


Worlds = Callable[[int], list[tuple[dict[str, Any], dict[str, int]]]]


@cache
def played(worlds: Worlds, count: int) -> Played:
    """Let the greedy agent play so many episodes."""
    folder = new_folder("verify")
    manifest = load_manifest(write_manifest(folder, worlds(count)))
    result = evaluate(manifest, Greedy)
    (folder / "artifact.jsonl").write_bytes(result.artifact)
    (folder / "traces.jsonl").write_bytes(result.traces)
    return Played(manifest, folder / "artifact.jsonl", folder / "traces.jsonl")


def verified_steps(worlds: Worlds, counts: tuple[int, int, int], scale: Scale) -> tuple[Sample]:
    """Verify an artifact in this process; play the same episodes in the simulator alone."""
    files = played(worlds, scale.of(*counts))
    job = Verifier(files.manifest.scenarios).verify
    ours = cpu_seconds(lambda: verify_files(*files, lambda: nullcontext(InProcessPool(job))))
    steps, plain = _replayed(files)
    return (Sample(steps / ours, steps / plain),)


def _replayed(files: Played) -> tuple[int, float]:
    """Play the traces, some at a time, with actions made before the clock starts."""
    steps, taken = 0, 0.0
    episodes = _scripts(files)
    while chunk := list(islice(episodes, _CHUNK)):
        steps += sum(len(script.steps) for _, script in chunk)
        start = time.process_time()
        for make, script in chunk:
            play(make, (script,))
        taken += time.process_time() - start
    return steps, taken


def _scripts(files: Played) -> Iterator[tuple[Callable[[int], Simulator], Script]]:
    """Yield each episode's simulator and script; who is active is asked before the clock starts."""
    with files.traces.open("rb") as lines:
        for index, line in enumerate(lines):
            episode = files.manifest.episode(index)
            make = partial(Simulator, files.manifest.scenarios[episode.scenario_id])
            world, steps = make(episode.seed), list[dict[str, str]]()
            for codes in json.loads(line)["actions"]:
                active = world.observe().active
                chosen = zip(active, codes, strict=True)
                steps.append({person: _ACTIONS[code] for person, code in chosen})
                world.step(steps[-1])
            yield make, Script(episode.seed, steps)


BENCHMARKS = (
    Benchmark(
        played_steps,
        (
            Row(
                "evaluation",
                "Player.play with scripted actions, 32x32, 32 people",
                "the simulator alone, observing and stepping",
                "steps/s",
                at_least(0.75),
            ),
        ),
    ),
    *(
        Benchmark(
            partial(greedy_step, size, people),
            (
                Row(
                    f"greedy-{size}x{size}",
                    f"greedy decides one step, {people} people",
                    "the simulator's step",
                    "us",
                    at_most(2),
                ),
            ),
        )
        for size, people in ((32, 32), (64, 128))
    ),
    *(
        Benchmark(
            partial(verified_steps, worlds, counts),
            (
                Row(
                    name,
                    f"verify_files in one process, {told}",
                    "the simulator alone, observing and stepping",
                    "steps/s",
                    at_least(0.85),
                ),
            ),
        )
        for name, told, worlds, counts in (
            ("verify", "16x16, 8 people", ordinary, (100_000, 500, 4)),
            ("verify-short", "episodes of ten steps", halls, (100_000, 2_000, 20)),
        )
    ),
)
