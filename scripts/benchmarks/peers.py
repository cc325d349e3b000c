"""The simulator against another grid simulator, POGEMA, in an environment of its own."""

from __future__ import annotations

import random
import subprocess
from functools import cache, partial
from pathlib import Path
from typing import Any

from worlds import random_actions, random_document

from benchmarks.processes import command, local_folder
from benchmarks.rows import Benchmark, NotMeasuredError, Row, Sample, Scale, at_least, cpu_seconds
from benchmarks.simulator import SIZES
from emberbench_dist.contract.scenario import parse_scenario
from emberbench_dist.simulator.simulator import Simulator

_RELEASE = "pogema==1.4.0"
_SIDE = Path(__file__).with_name("pogema_side.py")


@cache
def pogema_python() -> Path:
    """Return the Python of an environment that has POGEMA, made when it is first needed."""
    home = local_folder() / _RELEASE.replace("==", "-")
    python, done = home / "bin" / "python", home / "installed"
    if not done.exists():
        for words in (
            command("-m", "venv", "--clear", home),
            [str(python), "-m", "pip", "install", "--quiet", _RELEASE],
        ):
            made = subprocess.run(words, capture_output=True, text=True, check=False)
            if made.returncode:
                raise NotMeasuredError(f"{_RELEASE} cannot be installed: {made.stderr[-300:]}")
        done.touch()
    return python


def pogema_rate(python: Path, size: int, people: int, steps: int) -> float:
    """Return the steps per second of POGEMA, observations included, as its own process says."""
    words = [str(python), str(_SIDE), *map(str, (size, people, steps))]
    return float(subprocess.check_output(words, text=True))


def everybody_acts(size: int, people: int) -> dict[str, Any]:
    """Return a world as near to POGEMA's as can be: nobody leaves, and nobody burns.

    The only exit is walled in, and the one fire is drawn for but never spreads.
    """
    document = random_document(
        random.Random(size),
        size,
        people + 4,
        probability=0.0,
        enter_fire="blocked",
        max_steps=10**9,
    )
    corner, around = [0, 0], [[0, 1], [1, 0]]
    taken = [corner, *around]
    placed = [person for person in document["people"] if person["position"] not in taken]
    walls = [wall for wall in document["map"]["obstacles"] if wall not in taken]
    document["map"] |= {"obstacles": walls + around, "exits": [{"id": "E", "position": corner}]}
    document["people"] = placed[:people]
    document["fire"]["ignitions"] = [placed[people]["position"]]
    return document


def our_rate(size: int, people: int, steps: int) -> float:
    """Return the steps per second of the simulator, observing before each."""
    world = Simulator(parse_scenario(everybody_acts(size, people)), 1)
    rng, active = random.Random(1), world.observe().active
    script = [random_actions(rng, active) for _ in range(steps)]

    def play() -> None:
        for actions in script:
            world.observe()
            world.step(actions)

    taken = cpu_seconds(play)
    assert world.observe().active == active, "everybody acts in every step"
    return steps / taken


def against_pogema(size: int, people: int, scale: Scale) -> tuple[Sample]:
    """Play random actions in both."""
    steps = scale.of(3000, 1000, 20)
    return (
        Sample(our_rate(size, people, steps), pogema_rate(pogema_python(), size, people, steps)),
    )


BENCHMARKS = tuple(
    Benchmark(
        partial(against_pogema, size, people),
        (
            Row(
                f"pogema-{size}x{size}",
                f"observe and step, {people} people who all stay in",
                f"{_RELEASE}, soft collisions, MAPF observations",
                "steps/s",
                at_least(6),
            ),
        ),
        (Scale.FULL,),
    )
    for size, people in SIZES
)
