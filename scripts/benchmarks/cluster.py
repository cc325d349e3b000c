"""A local Ray that plays manifests when asked, and the same play in bare processes.

Each is a process of its own that is told what to do by a line on its standard input.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import time
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import TextIO

from benchmarks.driving import Driven, drive
from benchmarks.processes import command, environment, new_folder
from emberbench_dist.agents.interface import FreshAgents
from emberbench_dist.agents.registry import load_agent
from emberbench_dist.distributed.cluster import local_cluster
from emberbench_dist.distributed.worker import Setup
from emberbench_dist.evaluation.episode import Player
from emberbench_dist.evaluation.manifest import load_manifest

WORKERS = 2
_BATCH = 500


class Told:
    """A process that answers each line with a line."""

    def __init__(self, *arguments: object) -> None:
        """Start a role of this module, and wait until it is ready."""
        self._process = subprocess.Popen(
            command("-m", "benchmarks.cluster", *arguments),
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.answer()

    def tell(self, line: str) -> None:
        """Say what to do."""
        assert self._process.stdin
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def answer(self) -> str:
        """Wait for the answer."""
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._process.args} ended with {self._process.wait()}")
        return line

    def close(self) -> None:
        """Let it end, and wait for that."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()


@cache
def _ray() -> Told:
    """Return the one local Ray of this process, idle between plays."""
    told = Told("ray")
    atexit.register(told.close)
    return told


def on_ray(manifest: Path, agent: str) -> Driven:
    """Play a manifest with `WORKERS` workers into a ledger."""
    ray = _ray()
    ray.tell(json.dumps([str(manifest), agent, str(new_folder("run"))]))
    return Driven(*json.loads(ray.answer()))


def bare_seconds(manifest: Path, agent: str) -> float:
    """Play a manifest in as many plain processes, each its share, and write nothing."""
    processes = [Told("bare", manifest, agent, part) for part in range(WORKERS)]
    start = time.perf_counter()
    for process in processes:
        process.tell("play")
    for process in processes:
        process.answer()
    taken = time.perf_counter() - start
    for process in processes:
        process.close()
    return taken


def _serve_ray(answers: TextIO) -> None:
    with local_cluster(WORKERS) as gone:
        # Loaded here: Ray reads its settings when it is imported.
        from emberbench_dist.distributed.ray_pool import RayPool  # noqa: PLC0415

        _say("ready", answers)
        for line in sys.stdin:
            path, agent, folder = json.loads(line)
            manifest = load_manifest(path)
            playing, log = f"{folder}/playing", Path(folder, "run.log")
            log.touch()
            setup = Setup(manifest.scenarios, agent, tuple(sys.path), folder, playing, str(log))
            with closing(RayPool(setup, WORKERS, gone=gone)) as pool:
                _say(json.dumps(drive(manifest, pool, Path(folder))), answers)


def _serve_bare(answers: TextIO, path: str, agent: str, part: str) -> None:
    manifest = load_manifest(path)
    player = Player(manifest.scenarios, FreshAgents(load_agent(agent)))
    _say("ready", answers)
    for _ in sys.stdin:
        share = range(int(part), len(manifest), WORKERS)
        for start in range(0, len(share), _BATCH):
            batch = share[start : start + _BATCH]
            player.play(map(manifest.episode, batch), float("inf"))
        _say("done", answers)


def _say(line: str, answers: TextIO) -> None:
    answers.write(line + "\n")
    answers.flush()


def _private_output() -> TextIO:
    """Return the standard output, and send there no longer what anybody else prints."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


if __name__ == "__main__":
    role, *rest = sys.argv[1:]
    {"ray": _serve_ray, "bare": _serve_bare}[role](_private_output(), *rest)
