"""Real drivers, workers and signals: play a round as planned, and compare its bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from chaos_plan import ENDINGS, Round, Session

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.errors import LedgerError
from emberbench_dist.runner.evaluate import evaluate
from manifests import hall, write_manifest

ROOT = Path(__file__).resolve().parent.parent
DIST_EVAL = Path(sys.executable).with_name("dist-eval")
PATIENCE_SECONDS = 120.0
# The titles of processes, as the system tells them.
_TITLES = {
    "a worker": "ray::Worker",
    "kill -9 of the raylet": "raylet",
    "kill -9 of the GCS": "gcs_server",
    "a worker that hangs": "ray::Worker",
}


class DifferenceError(Exception):
    """What a disturbed run gave otherwise than an undisturbed one."""


def play_round(plan: Round, chance: Random, folder: Path, survived: Counter[str]) -> None:
    """Play every slice through its sessions to its end; merge, compare and verify."""
    manifest = write(folder, plan.episodes)
    parts = [f"part{part}" for part in range(1, len(plan.slices) + 1)]
    for number, sessions in enumerate(plan.slices, start=1):
        run = Run(folder, manifest, f"part{number}", f"{number}/{len(parts)}")
        for session in sessions:
            run.disturb(session, chance, survived)
        run.finish(plan.workers)
    whole = folder / parts[0]
    if len(parts) > 1:
        whole = folder / "whole"
        _command(folder, "merge", "whole", *parts)
        survived[f"{len(parts)} slices merged"] += 1
    compare(whole, manifest)
    _command(folder, "verify", whole, "--in-process")


def write(folder: Path, episodes: int) -> Path:
    """Write a manifest of two halls."""
    half = episodes // 2
    blocks = [
        (hall("one"), {"first": 1, "count": half}),
        (hall("two", 8, people=5), {"first": 9, "count": episodes - half}),
    ]
    return write_manifest(folder / "input", blocks)


def compare(folder: Path, manifest: Path) -> None:
    """Raise `DifferenceError` where a run has other bytes than one in this process."""
    expected = evaluate(manifest, Greedy)
    for name, wanted in (("artifact", expected.artifact), ("traces", expected.traces)):
        found = (folder / f"{name}.jsonl").read_bytes()
        lines = zip(wanted.splitlines(), found.splitlines(), strict=False)
        for number, (one, other) in enumerate(lines, start=1):
            if one != other:
                raise DifferenceError(f"{name}, line {number}: {one!r} became {other!r}")
        if found != wanted:
            raise DifferenceError(f"{name}: {len(wanted)} bytes became {len(found)}")


class Run:
    """One run folder, and the drivers that work on it one after the other."""

    def __init__(self, home: Path, manifest: Path, name: str, part: str) -> None:
        """Work in a folder of its own inside `home`."""
        self.home, self.folder, self.manifest = home, home / name, manifest
        self.mark = uuid.uuid4().hex
        self.command = ["run", str(manifest), "--agent", "misbehaving:Dawdles", "--resume"]
        self.command += ["--out", name, "--slice", part, "--max-crashes", "1000"]

    def disturb(self, session: Session, chance: Random, survived: Counter[str]) -> None:
        """Play a session until it is ended from outside; damage and mend the ledger after it."""
        hangs = session.ending == "a worker that hangs"
        driver = self._start(session.workers, *(["--stall-after", "2"] if hangs else []))
        goal = self._committed() + session.commits
        for _ in range(session.worker_kills):
            self._wait(driver, lambda goal=goal: self._committed() >= goal)
            goal += 1
            if self._signal("a worker", signal.SIGKILL):
                survived["kill -9 of a worker"] += 1
        self._wait(driver, lambda: self._committed() >= goal)
        time.sleep(chance.uniform(0, 0.3))
        self._end(driver, session.ending)
        code = self._code(driver)
        if code not in ENDINGS[session.ending] | {0}:
            raise DifferenceError(f"after {session}: exit code {code}\n{self._told()}")
        survived[session.ending if code else "an end just before a fault"] += 1
        survived[f"session {'on Ray' if session.workers else 'in process'}"] += 1
        if session.damage:
            self._damage(chance, survived)

    def finish(self, workers: int) -> None:
        """Play the rest without disturbance."""
        hurry = self.home / "hurry"
        hurry.touch()
        code = self._code(self._start(workers))
        hurry.unlink()
        if code != 0:
            raise DifferenceError(f"undisturbed: exit code {code}\n{self._told()}")

    def _start(self, workers: int, *more: str) -> subprocess.Popen[bytes]:
        how = ["--workers", str(workers)] if workers else ["--in-process"]
        with (self.home / "told").open("wb") as told:
            return subprocess.Popen(
                [DIST_EVAL, *self.command, *how, *more],
                cwd=self.home,
                env=environment() | {"SOAK_MARK": self.mark},
                stdout=told,
                stderr=told,
                start_new_session=True,
            )

    def _end(self, driver: subprocess.Popen[bytes], ending: str) -> None:
        """Do to the driver, or to what it needs, what is planned."""
        match ending:
            case "kill -9 of the driver":
                driver.kill()
            case "SIGINT" | "SIGTERM":
                driver.send_signal(getattr(signal, ending))
            case "SIGINT twice":
                driver.send_signal(signal.SIGINT)
                time.sleep(0.2)
                driver.send_signal(signal.SIGINT)
            case "a worker that hangs":
                while self._signal(ending, signal.SIGSTOP):
                    pass
            case _:
                self._signal(ending, signal.SIGKILL)

    def _signal(self, what: str, number: int) -> bool:
        """Send a signal to one process of this run; say whether there was one."""
        for process, state in _processes(self.mark, _TITLES[what]):
            if state != "T":
                os.kill(process, number)
                return True
        return False

    def _wait(self, driver: subprocess.Popen[bytes], condition: Callable[[], bool]) -> None:
        """Wait until a condition holds or the driver has ended."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while driver.poll() is None and not condition():
            if time.monotonic() > deadline:
                driver.kill()
                raise DifferenceError(f"nothing moves any more\n{self._told()}")
            time.sleep(0.05)

    def _code(self, driver: subprocess.Popen[bytes]) -> int:
        try:
            return driver.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            driver.kill()
            raise DifferenceError(f"the driver does not end\n{self._told()}") from None

    def _committed(self) -> int:
        try:
            with Ledger.reading(self.folder / "ledger.sqlite") as ledger:
                return sum(map(len, ledger.committed()))
        except LedgerError:
            return 0

    def _damage(self, chance: Random, survived: Counter[str]) -> None:
        """Change a byte of the ledger, and repair it."""
        path = self.folder / "ledger.sqlite"
        if not path.exists():
            return
        content = bytearray(path.read_bytes())
        content[chance.randrange(len(content))] ^= chance.randint(1, 255)
        path.write_bytes(content)
        _command(self.home, "repair", self.folder, "--manifest", self.manifest)
        survived["a changed byte of the ledger"] += 1

    def _told(self) -> str:
        return (self.home / "told").read_text(errors="replace")[-3000:]


def _processes(mark: str, title: str) -> Iterator[tuple[int, str]]:
    """Yield id and state of the processes with a mark in their environment and such a title."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            marked = mark.encode() in (folder / "environ").read_bytes()
            name = (folder / "cmdline").read_bytes().decode(errors="replace").partition("\0")[0]
            state = (folder / "stat").read_text().rpartition(") ")[2][:1]
        except OSError:
            continue
        if marked and (name.startswith(title) or Path(name).name == title):
            yield int(folder.name), state


def environment() -> dict[str, str]:
    """Return the environment for commands that find what the tests have."""
    paths = [str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def _command(folder: Path, *arguments: Any) -> None:
    """Run a command that is to succeed."""
    asked = subprocess.run(
        [DIST_EVAL, *map(str, arguments)],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    if asked.returncode != 0:
        raise DifferenceError(
            f"dist-eval {arguments}: exit code {asked.returncode}\n{asked.stderr}"
        )
