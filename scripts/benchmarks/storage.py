"""A million episodes: the driver's loop, the artifact, resume; and a manifest of ten million."""

from __future__ import annotations

import subprocess
import time
from collections import deque
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import NoReturn

from benchmarks.driving import drive
from benchmarks.processes import call, new_folder
from benchmarks.rows import Benchmark, Row, Sample, Scale, at_most, cpu_seconds, seconds
from benchmarks.synthetic import SPEC, finished_run, results_of, unfinished_run, write_small
from emberbench_dist.artifacts.artifact import write_artifact
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.evaluation.episode import EpisodeResult
from emberbench_dist.evaluation.manifest import Episode, load_manifest
from emberbench_dist.runner.pool import InProcessPool
from emberbench_dist.runner.run import Plan, run

_FULL_ONLY = (Scale.FULL, Scale.TINY)


def drive_canned(path: str, folder: str) -> float:
    """Drive a manifest with a pool that has every result ready; return the seconds."""
    manifest = load_manifest(path)
    # Not sealed under its number: the driver does not look, and the seal would cost the most.
    known = results_of(manifest)(0)

    def answer(episodes: list[Episode], _: float) -> list[EpisodeResult]:
        return [known._replace(episode=episode.index) for episode in episodes]

    return drive(manifest, InProcessPool(answer), Path(folder)).seconds


def driver(scale: Scale) -> tuple[Sample, ...]:
    """Drive many episodes, and a hundredth of them some times: memory, and time of one."""
    many, few, times = scale.of(10**6, 10**5, 2000), scale.of(10**4, 10**3, 200), scale.of(20, 9, 2)
    long = call("storage:drive_canned", _small(many), new_folder("driver"))
    short = [call("storage:drive_canned", _small(few), new_folder("driver")) for _ in range(times)]
    return (
        Sample(long.peak_mib, max(one.peak_mib for one in short)),
        Sample(1e6 * long.value / many, 1e6 * fmean(one.value for one in short) / few),
    )


@cache
def _small(count: int) -> Path:
    return write_small(new_folder("small"), count)


def write_files(path: str, run_folder: str, out: str) -> float:
    """Write artifact and traces from a ledger; return the seconds."""
    manifest, folder, target = load_manifest(path), RunFolder(Path(run_folder)), Path(out)
    with (
        Ledger.reading(folder.ledger) as ledger,
        (target / "artifact.jsonl").open("wb") as artifact,
        (target / "traces.jsonl").open("wb") as traces,
    ):
        return seconds(lambda: write_artifact(manifest, ledger, artifact, traces))


def artifact(scale: Scale) -> tuple[Sample, ...]:
    """Write the files of a finished run; hash and copy them."""
    path, folder = finished_run(scale.of(10**6, 10**5, 500))
    out, copy = new_folder("files"), new_folder("copy")
    spent = call("storage:write_files", path, folder, out)
    files = sorted(map(str, out.iterdir()))
    plain = seconds(
        lambda: [
            subprocess.run([*words], check=True, stdout=subprocess.DEVNULL)
            for words in (["sha256sum", *files], ["cp", *files, str(copy)])
        ]
    )
    for file in (*out.iterdir(), *copy.iterdir()):
        file.unlink()
    return Sample(spent.value, plain), Sample(spent.more_mib, 150)


class _DispatchedError(Exception):
    """The first batch is there."""


def resume(path: str, run_folder: str) -> float:
    """Resume a run until its first batch; return the seconds."""

    def dispatched(*_: object) -> NoReturn:
        raise _DispatchedError

    start = time.perf_counter()
    plan = Plan(load_manifest(path), SPEC, RunFolder(Path(run_folder)), resume=True)
    try:
        run(plan, lambda: nullcontext(InProcessPool(dispatched)))
    except _DispatchedError:
        return time.perf_counter() - start
    raise RuntimeError("nothing was pending")


def resumed(scale: Scale) -> tuple[Sample, ...]:
    """Resume a run with ten episodes left."""
    spent = call("storage:resume", *unfinished_run(scale.of(10**6, 10**5, 500), 10))
    return Sample(spent.value, 1.5), Sample(spent.more_mib, 100)


def load(path: str) -> float:
    """Load a manifest; return the seconds."""
    return seconds(lambda: load_manifest(path))


def manifest(_: Scale) -> tuple[Sample, ...]:
    """Load a manifest of ten million episodes, and find episodes in it and in a small one."""
    many, few = _small(10**7), _small(1000)
    spent = call("storage:load", many)
    found = [_find_seconds(path) for path in (many, few)]
    return Sample(1000 * spent.value, 50), Sample(spent.more_mib, 20), Sample(*found)


def _find_seconds(path: Path) -> float:
    """Return the nanoseconds that it takes to find an episode, anywhere in a manifest."""
    loaded, times = load_manifest(path), 20_000
    numbers = [len(loaded) * number // times for number in range(times)]
    return 1e9 * cpu_seconds(lambda: deque(map(loaded.episode, numbers), maxlen=0)) / times


BENCHMARKS = (
    Benchmark(
        driver,
        (
            Row(
                "loop-memory",
                "peak of a driver with 10^6 episodes",
                "with 10^4",
                "MiB",
                at_most(1.2),
                tolerance=0.1,
            ),
            Row(
                "loop-episode",
                "driver's time for an episode, of 10^6",
                "of 10^4",
                "us",
                at_most(1.1),
            ),
        ),
        _FULL_ONLY,
    ),
    Benchmark(
        artifact,
        (
            Row(
                "artifact",
                "artifact and traces of 10^6 episodes, from the ledger",
                "sha256sum and cp of them",
                "s",
                at_most(4),
            ),
            Row("artifact-memory", "its peak over the imports", "the allowance", "MiB", at_most(1)),
        ),
        _FULL_ONLY,
    ),
    Benchmark(
        resumed,
        (
            Row(
                "resume",
                "resume with 10 of 10^6 pending, to the first batch",
                "the allowance",
                "s",
                at_most(1),
                tolerance=1.0,
            ),
            Row("resume-memory", "its peak over the imports", "the allowance", "MiB", at_most(1)),
        ),
        _FULL_ONLY,
    ),
    Benchmark(
        manifest,
        (
            Row(
                "manifest",
                "load a manifest of 10^7 episodes",
                "the allowance",
                "ms",
                at_most(1),
                tolerance=1.0,
            ),
            Row("manifest-memory", "its peak over the imports", "the allowance", "MiB", at_most(1)),
            Row("manifest-find", "find an episode of 10^7", "of 10^3", "ns", at_most(1.2)),
        ),
    ),
)
