"""Runs on Ray against what the same two CPUs can do without it."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

from benchmarks.cluster import WORKERS, bare_seconds, on_ray
from benchmarks.processes import new_folder
from benchmarks.rows import Benchmark, Row, Sample, Scale, at_least, at_most
from benchmarks.timed_agents import rounds_for, write_episodes

_GROUPS = 20
_SHORT_ONES = 9


@cache
def spinning(milliseconds: float, scale: Scale) -> tuple[Path, int]:
    """Return a manifest of episodes that spin so long each, and how many they are."""
    count = max(20, round(scale.of(24_000, 3_000, 100) / milliseconds))
    blocks = [(rounds_for(milliseconds), count)]
    return write_episodes(new_folder("spinning"), blocks), count


def throughput(milliseconds: float, scale: Scale) -> tuple[Sample]:
    """Play on Ray, then in bare processes."""
    return (_throughput(milliseconds, scale)[0],)


def throughput_and_shares(milliseconds: float, scale: Scale) -> tuple[Sample, ...]:
    """Do the same, and tell where the driver's time went."""
    return _throughput(milliseconds, scale)


def _throughput(milliseconds: float, scale: Scale) -> tuple[Sample, Sample, Sample]:
    manifest, count = spinning(milliseconds, scale)
    driven = on_ray(manifest, "benchmarks.timed_agents:Spins")
    bare = bare_seconds(manifest, "benchmarks.timed_agents:Spins")
    return (
        Sample(count / driven.seconds, count / bare),
        Sample(driven.cpu, driven.seconds),
        Sample(driven.commits, driven.seconds),
    )


@cache
def sleeping(short: int) -> Path:
    """Return 200 episodes that sleep so many microseconds, each tenth one 100 times as many."""
    blocks = [(short, _SHORT_ONES), (100 * short, 1)] * _GROUPS
    return write_episodes(new_folder("sleeping"), blocks)


def mixed(scale: Scale) -> tuple[Sample]:
    """Play episodes of very different length; compare with all workers busy to the end."""
    short = scale.of(5_000, 2_000, 100)
    total, longest = _GROUPS * (_SHORT_ONES + 100) * short, 100 * short
    driven = on_ray(sleeping(short), "benchmarks.timed_agents:Sleeps")
    return (Sample(driven.seconds, max(total / WORKERS, longest) / 1e6),)


def _throughput_row(milliseconds: float, target: float) -> Row:
    return Row(
        f"distributed-{milliseconds:g}ms",
        f"{WORKERS} workers on Ray and a ledger, episodes of {milliseconds:g} ms",
        f"{WORKERS} bare processes that write nothing",
        "episodes/s",
        at_least(target),
        tolerance=0.1,
    )


BENCHMARKS = (
    Benchmark(partial(throughput, 0.2), (_throughput_row(0.2, 0.80),)),
    Benchmark(
        partial(throughput_and_shares, 2),
        (
            _throughput_row(2, 0.93),
            Row(
                "driver-cpu",
                "CPU time of the driver, episodes of 2 ms",
                "the run",
                "s",
                at_most(0.05),
                tolerance=0.5,
            ),
            Row(
                "driver-ledger",
                "time in Ledger.commit, episodes of 2 ms",
                "the run",
                "s",
                at_most(0.03),
                tolerance=1.0,
            ),
        ),
    ),
    Benchmark(partial(throughput, 20), (_throughput_row(20, 0.95),)),
    Benchmark(
        mixed,
        (
            Row(
                "mixed",
                "200 episodes on Ray, each tenth 100 times as long",
                "both workers busy to the end",
                "s",
                at_most(1.08),
                tolerance=0.1,
            ),
        ),
    ),
)
