"""How long it takes until something happens: whole processes, start to end."""

from __future__ import annotations

import json
from functools import cache, partial
from pathlib import Path

from benchmarks.processes import command, new_folder, run_quietly
from benchmarks.rows import Benchmark, Row, Sample, Scale, at_most, seconds
from benchmarks.timed_agents import write_episodes
from emberbench_dist.distributed import cluster

_DIST_EVAL = ("-c", "from emberbench_dist.cli.main import main; main()")
# The options of `local_cluster`, for a script that knows nothing of the package.
_BARE_RAY = """
import json, logging, os, shutil, sys, tempfile
settings, store = json.loads(sys.argv[1])
os.environ.update(settings)
import ray
folder = tempfile.mkdtemp(prefix="bench-", dir="/tmp")
try:
    ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False,
             logging_level=logging.ERROR, configure_logging=True, object_store_memory=store,
             _temp_dir=folder)
    class Worker:
        def ready(self):
            return True
    actor = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(Worker).remote()
    assert ray.get(actor.ready.remote())
    ray.kill(actor)
    ray.shutdown()
finally:
    shutil.rmtree(folder, ignore_errors=True)
"""


@cache
def _one_episode() -> Path:
    return write_episodes(new_folder("one"), [(1, 1)])


def one_episode(_: Scale) -> tuple[Sample]:
    """Evaluate one episode on Ray; start and stop the same Ray with one actor."""
    out = new_folder("one-run") / "run"
    agent = "benchmarks.timed_agents:Spins"
    ours = command(*_DIST_EVAL, _one_episode(), "--agent", agent, "--workers", 1, "--out", out)
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64}
    options = json.dumps([cluster._QUIET | token, cluster._store_bytes()])  # noqa: SLF001 - the same Ray
    plain = command("-c", _BARE_RAY, options)
    return (Sample(seconds(lambda: run_quietly(ours)), seconds(lambda: run_quietly(plain))),)


def start(ours: tuple[str, ...], plain: tuple[str, ...], scale: Scale) -> tuple[Sample]:
    """Run two short programs in turns, several times each; return the mean of each."""
    taken, rounds = [0.0, 0.0], scale.of(20, 8, 1)
    run_quietly(command(*ours))  # compiles what is imported
    for _ in range(rounds):
        for side, program in enumerate((ours, plain)):
            taken[side] += seconds(lambda program=program: run_quietly(command(*program)))
    return (Sample(*(1000 * one / rounds for one in taken)),)


BENCHMARKS = (
    Benchmark(
        one_episode,
        (
            Row(
                "one-episode",
                "dist-eval on Ray, one episode, start to end",
                "a script that starts and stops the same Ray with one actor",
                "s",
                at_most(1.3),
            ),
        ),
    ),
    Benchmark(
        partial(start, (*_DIST_EVAL, "--help"), ("-c", "import click")),
        (Row("help", "dist-eval --help", 'python -c "import click"', "ms", at_most(2.5)),),
    ),
    Benchmark(
        partial(start, ("-c", "import emberbench_dist"), ("-c", "import json, dataclasses")),
        (
            Row(
                "import",
                'python -c "import emberbench_dist"',
                'python -c "import json, dataclasses"',
                "ms",
                at_most(2),
            ),
        ),
    ),
)
