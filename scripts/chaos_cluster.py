"""Runs on a cluster whose nodes come and go, and whose drivers are killed."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from pathlib import Path
from random import Random

from chaos import DIST_EVAL, PATIENCE_SECONDS, DifferenceError, compare, environment, write
from clusters import SETTINGS, Host

EPISODES = 100
_MOST_NODES = 4
_ROUND_SECONDS = 60.0


def play_cluster_round(host: Host, chance: Random, folder: Path, survived: Counter[str]) -> None:
    """Disturb a run for a while, let it end, and compare."""
    manifest = write(folder, EPISODES)
    workers = chance.choice([[], [], ["--workers", "2"], ["--workers", "4"]])
    driver = _start(host, folder, manifest, workers)
    deadline = time.monotonic() + _ROUND_SECONDS
    while time.monotonic() < deadline and driver.poll() is None:
        time.sleep(chance.uniform(1, 5))
        what = _disturb(host, driver, chance)
        survived[what] += 1
        if what == "kill -9 of the driver":
            driver.wait()
            driver = _start(host, folder, manifest, workers)
    (folder / "hurry").touch()
    try:
        code = driver.wait(PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        driver.kill()
        code = None
    if code != 0:
        raise DifferenceError(f"exit code {code}\n{(folder / 'told').read_text()[-3000:]}")
    compare(folder / "run", manifest)


def _disturb(host: Host, driver: subprocess.Popen[bytes], chance: Random) -> str:
    """Do one thing to the cluster or to the driver; say what."""
    nodes = host("count")
    words = ["add"] * (nodes < _MOST_NODES) + ["kill", "drain"] * (nodes > 1) + ["driver"]
    word = chance.choice(words)
    if word == "driver":
        driver.kill()
        return "kill -9 of the driver"
    host(word)
    return {"add": "a node joined", "kill": "a node was killed", "drain": "a node was drained"}[
        word
    ]


def _start(host: Host, folder: Path, manifest: Path, workers: list[str]) -> subprocess.Popen[bytes]:
    command = [DIST_EVAL, "run", manifest, "--agent", "misbehaving:Dawdles", "--out", "run"]
    with (folder / "told").open("ab") as told:
        return subprocess.Popen(
            [*map(str, command), *workers, "--resume", "--address", host.address],
            cwd=folder,
            env=environment() | SETTINGS,
            stdout=told,
            stderr=told,
        )
