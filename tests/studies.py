"""Runs to report on: two agents that differ, one that fails, and one that tells its costs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from commands import dist_eval, folder_in_memory

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.agents.execution import StepExecution
from manifests import hall, write_manifest

SCENARIOS = {"narrow": 6, "wide": 9, "widest": 12}
SEEDS = [1, 2, 3, 4, 5, 2**64 - 1]
PEOPLE = 5
FAILING = "wide"


class Failing(Greedy):
    """Greedy, that fails in one scenario."""

    def act(self, observation):
        """Move, or fail."""
        if observation.map.width == SCENARIOS[FAILING]:
            raise RuntimeError("not this one")
        return super().act(observation)


class Costly(Greedy):
    """Greedy, that reports what each step cost."""

    def __init__(self):
        """Count the steps."""
        super().__init__()
        self.steps = 0

    def act(self, observation):
        """Move, and remember that."""
        self.steps += 1
        return super().act(observation)

    def last_execution(self):
        """Tell what the latest step cost."""
        return StepExecution(
            latency_seconds=0.25 * self.steps,
            input_tokens=100,
            output_tokens=10,
            cost_usd=0.001,
            retries=0,
            model="oracle-<1>",
        )


AGENTS = {
    "greedy": "greedy",
    "stay": "stay",
    "fails": "studies:Failing",
    "costly": "studies:Costly",
}


def write_manifest_of(folder: Path, scenarios: dict[str, int] = SCENARIOS) -> Path:
    """Write a manifest of halls: their widths by name."""
    blocks = [(hall(name, width, people=PEOPLE), SEEDS) for name, width in scenarios.items()]
    return write_manifest(folder, blocks)


@contextmanager
def played_runs() -> Iterator[dict[str, Path]]:
    """Play the manifest with each agent; give the run folders by agent."""
    with folder_in_memory() as folder:
        manifest = write_manifest_of(folder / "input")
        yield {name: play(manifest, name, folder / name) for name in AGENTS}


def play(manifest: Path, agent: str, folder: Path, *options: str) -> Path:
    """Play a manifest with one of `AGENTS`; return the run folder."""
    run = ("run", manifest, "--agent", AGENTS[agent], "--in-process", "--keep-going")
    done = dist_eval(*run, "--out", folder, *options)
    assert done.returncode == (1 if agent == "fails" else 0), done.stderr
    return folder
