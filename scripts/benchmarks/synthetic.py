"""Ledgers of many episodes, made without playing: one played episode under other numbers.

The fire is deterministic, so that an episode is the same under each seed, all but the digest
of its last state; its trace can be replayed under each.
"""

from __future__ import annotations

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
from emberbench_dist.evaluation.episode import EpisodeResult, Player, sealed
from emberbench_dist.evaluation.manifest import Manifest, load_manifest
from manifests import hall, write_manifest

SPEC = "greedy"


def write_small(folder: Path, count: int) -> Path:
    """Write a manifest of `count` small episodes; return its path."""
    document = hall("hall")
    document["fire"] |= {"model": "deterministic", "spread_probability": None}
    return write_manifest(folder, [(document, {"first": 0, "count": count})])


def results_of(manifest: Manifest) -> Callable[[int], EpisodeResult]:
    """Play the first episode; return what gives the result of any."""
    player = Player(manifest.scenarios, FreshAgents(Greedy))
    (played,) = player.play([manifest.episode(0)], float("inf"))
    assert isinstance(played, EpisodeResult)
    line = _template(played.line, b'"episode":', b'"seed":')
    trace = _template(played.trace, b'"episode":')
    counts = played.metrics, played.people, played.steps, played.execution

    def result(number: int) -> EpisodeResult:
        # In this manifest the seed is the number.
        return sealed(number, line % (number, number), trace % number, *counts)

    return result


def _template(text: bytes, *keys: bytes) -> bytes:
    """Return a text with a place for the number under each key, 0 in the text."""
    assert b"%" not in text
    for key in keys:
        assert text.count(key + b"0") == 1
        text = text.replace(key + b"0", key + b"%d")
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
