"""Ledgers of many episodes, made of a few that were played, under other numbers.

Lines and counts are of episodes that were played; only numbers, seeds and times are other ones.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from shutil import copyfile

from benchmarks.processes import new_folder
from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.agents.interface import FreshAgents
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.evaluation.episode import EpisodeResult, Failure, Player, sealed
from emberbench_dist.evaluation.manifest import Manifest, load_manifest
from manifests import hall, write_manifest

SPEC = "greedy"
_PLAYED = 200


def write_small(folder: Path, count: int) -> Path:
    """Write a manifest of `count` small episodes; return its path."""
    return write_manifest(folder, [(hall("hall"), {"first": 0, "count": count})])


def results_of(manifest: Manifest) -> Callable[[int], EpisodeResult]:
    """Play the first episodes; return what gives the result of any."""
    player = Player(manifest.scenarios, FreshAgents(Greedy))
    first = range(min(_PLAYED, len(manifest)))
    played = player.play(map(manifest.episode, first), float("inf"))
    parts = [_parts(outcome) for outcome in played]

    def result(number: int) -> EpisodeResult:
        # In this manifest the seed is the number.
        line, trace, *counts, execution = parts[number % len(parts)]
        seconds = 1e-4 + number * 7919 % 10_007 / 1e7
        return sealed(number, line % (number, number), trace % number, *counts, execution % seconds)

    return result


def _parts(outcome: EpisodeResult | Failure) -> tuple[bytes, ...]:
    """Return line and trace with places for number and seed, the counts, and what it cost."""
    assert isinstance(outcome, EpisodeResult), outcome
    number = outcome.episode
    line = _template(outcome.line, number, b'"episode":', b'"seed":')
    trace = _template(outcome.trace, number, b'"episode":')
    execution = re.sub(rb'"seconds": [0-9.e-]+', b'"seconds": %.6f', outcome.execution, count=1)
    return line, trace, outcome.metrics, outcome.people, outcome.steps, execution


def _template(text: bytes, number: int, *keys: bytes) -> bytes:
    """Return a text with a place for the number under each key."""
    assert b"%" not in text
    for key in keys:
        known = key + b"%d" % number
        assert text.count(known) == 1
        text = text.replace(known, key + b"%d")
    return text


@cache
def finished_run(count: int) -> tuple[Path, Path]:
    """Return a manifest, and a run folder whose ledger has all of its episodes."""
    folder = new_folder("ledger")
    path = write_small(folder, count)
    manifest = load_manifest(path)
    binding = {
        "manifest_id": manifest.manifest_id,
        "manifest_hash": manifest.manifest_hash,
        "episodes": str(count),
        "slice": "1/1",
        "agent_spec": SPEC,
    }
    run = RunFolder(folder / "run")
    run.create()
    with closing(Ledger.create(run.ledger, binding, manifest.documents())) as ledger:
        ledger.begin_session(SPEC)
        ledger.extend(map(results_of(manifest), range(count)))
    return path, run.path


@cache
def unfinished_run(count: int, pending: int) -> tuple[Path, Path]:
    """Return the same run with some episodes missing, spread over the manifest."""
    path, finished = finished_run(count)
    run = RunFolder(new_folder("unfinished"))
    copyfile(RunFolder(finished).ledger, run.ledger)
    gone = [(count * number // pending,) for number in range(pending)]
    with closing(sqlite3.connect(run.ledger)) as connection, connection:
        connection.executemany("DELETE FROM episodes WHERE episode = ?", gone)
        connection.execute("UPDATE sessions SET committed = committed - ?", (len(gone),))
    return path, run.path
