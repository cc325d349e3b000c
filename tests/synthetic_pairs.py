"""Pairs of runs whose true difference is known: how often intervals and tests are right.

Two agents play the same episodes. A scenario has its difficulty, and so has a seed, for both
agents; the second gets `gain` more people out on average, in each scenario a bit more or less.
Everybody gets out or not for themselves.
"""

from __future__ import annotations

import numpy as np

from emberbench_dist.analysis.statistics.paired import grouped, mean_interval, sign_flip

GAIN = 0.05
SCENARIOS, SEEDS = 20, 15


def differences(
    generator: np.random.Generator, gain: float, between: float, scenarios: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the differences of the evacuation rates, and the scenario of each."""
    people = generator.integers(4, 60, (scenarios, 1))
    difficulty = generator.uniform(0.35, 0.65, (scenarios, 1))
    luck = generator.uniform(-0.15, 0.15, (scenarios, SEEDS))
    better = np.clip(generator.normal(gain, between, (scenarios, 1)), -0.2, 0.2 + 2 * gain)
    a = generator.binomial(people, difficulty + luck) / people
    b = generator.binomial(people, np.clip(difficulty + luck + better, 0, 1)) / people
    return (b - a).ravel(), np.repeat(np.arange(scenarios), SEEDS)


def units(found: tuple[np.ndarray, np.ndarray], unit: str) -> tuple[np.ndarray, np.ndarray]:
    """Return sums and counts of what is resampled."""
    by_pair = found[0], np.ones(len(found[0]))
    return grouped(*found) if unit == "scenario" else by_pair


def coverage(
    unit: str,
    *,
    worlds: int,
    seed: int,
    between: float | None = None,
    scenarios: int = SCENARIOS,
    resamples: int = 1000,
) -> float:
    """Return the share of worlds whose 95 % interval contains the true gain.

    Scenarios differ where they are resampled; elsewhere the episodes are independent.
    """
    spread = (0.05 if unit == "scenario" else 0.0) if between is None else between
    generator, inside = np.random.default_rng(seed), 0
    for _ in range(worlds):
        found = units(differences(generator, GAIN, spread, scenarios), unit)
        interval = mean_interval(*found, generator, resamples=resamples)
        assert interval.low is not None
        assert interval.high is not None
        inside += interval.low <= GAIN <= interval.high
    return inside / worlds


def false_positives(
    unit: str, *, worlds: int, seed: int, scenarios: int = SCENARIOS, flips: int = 1000
) -> float:
    """Return the share of worlds without a true difference whose p-value is at most 0.05."""
    spread = 0.05 if unit == "scenario" else 0.0
    generator, wrong = np.random.default_rng(seed), 0
    for _ in range(worlds):
        sums, _ = units(differences(generator, 0.0, spread, scenarios), unit)
        wrong += sign_flip(sums, generator, flips=flips).value <= 0.05
    return wrong / worlds
