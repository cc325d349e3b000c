"""What a benchmark is: something to measure, and the rows that are read from it.

A row is a ratio of two figures of one run on one machine, so that a slow machine slows both.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import NamedTuple, TypeVar

Value = TypeVar("Value")


class Scale(StrEnum):
    """How much to measure: all of it, a part in under two minutes, or just enough to try it."""

    FULL = "full"
    QUICK = "quick"
    TINY = "tiny"

    def of(self, full: Value, quick: Value, tiny: Value) -> Value:
        """Return the value for this scale."""
        return {Scale.FULL: full, Scale.QUICK: quick, Scale.TINY: tiny}[self]


class Sample(NamedTuple):
    """One measurement of both sides, in the unit of the row."""

    ours: float
    plain: float


@dataclass(frozen=True)
class Target:
    """What a ratio should reach, from below or from above."""

    value: float
    at_most: bool

    def __str__(self) -> str:
        """Write `<= 1.2`."""
        return f"{'<=' if self.at_most else '>='} {self.value:g}"

    def met_by(self, ratio: float) -> bool:
        """Say whether a ratio reaches it."""
        return ratio <= self.value if self.at_most else ratio >= self.value

    def worse(self, ratio: float, stored: float, tolerance: float) -> bool:
        """Say whether a ratio is worse than a stored one by more than a share of it."""
        if self.at_most:
            return ratio > stored * (1 + tolerance)
        return ratio < stored * (1 - tolerance)


def at_least(value: float) -> Target:
    """Return the target of a ratio that should be high."""
    return Target(value, at_most=False)


def at_most(value: float) -> Target:
    """Return the target of a ratio that should be low."""
    return Target(value, at_most=True)


@dataclass(frozen=True)
class Row:
    """One line of the table: ours against plain, in one unit, and the ratio that is wanted.

    `tolerance` is by how much of a stored ratio a new one may be worse.
    """

    name: str
    ours: str
    plain: str
    unit: str
    target: Target
    tolerance: float = 0.25


@dataclass(frozen=True)
class Benchmark:
    """Something to measure: each call gives one sample a row, its two sides in turns.

    `scales` are those at which it is worth its time.
    """

    measure: Callable[[Scale], tuple[Sample, ...]]
    rows: tuple[Row, ...]
    scales: tuple[Scale, ...] = tuple(Scale)


@dataclass(frozen=True)
class Result:
    """What a row came to: the medians of both sides, and their ratio."""

    row: Row
    ours: float
    plain: float

    @property
    def ratio(self) -> float:
        """Return ours over plain."""
        return self.ours / self.plain


class NotMeasuredError(Exception):
    """What a benchmark needs is not to be had on this machine; says what and why."""


def run(benchmark: Benchmark, scale: Scale, repeats: int) -> list[Result]:
    """Measure again and again; return the medians."""
    samples = [benchmark.measure(scale) for _ in range(repeats)]
    return [
        Result(row, median(one.ours for one in found), median(one.plain for one in found))
        for row, found in zip(benchmark.rows, zip(*samples, strict=True), strict=True)
    ]


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return what CPU time of this process some work takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


def seconds(work: Callable[[], object]) -> float:
    """Return how long some work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
