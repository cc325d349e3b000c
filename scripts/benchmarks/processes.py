"""Processes of their own for what is measured, and a folder for what they write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_PATHS = (ROOT, ROOT / "scripts", ROOT / "tests")
_KIB = 1024
_MIB = 2**20
# Less memory cannot be told from chance.
_LEAST_MIB = 1.0


@dataclass(frozen=True)
class Spent:
    """What a call in a process of its own returned and took.

    `peak_mib` is the most memory that it had, `more_mib` how much more that is than after the
    imports.
    """

    value: Any
    seconds: float
    peak_mib: float
    more_mib: float


def environment() -> dict[str, str]:
    """Return the environment of a process that finds the package, its tests and this folder."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, _PATHS))}


def command(*arguments: object) -> list[str]:
    """Return the command line of this Python with arguments."""
    return [sys.executable, *map(str, arguments)]


def run_quietly(arguments: list[str]) -> str:
    """Run a command to its end; return what it printed. An error shows what went wrong."""
    done = subprocess.run(
        arguments, env=environment(), capture_output=True, text=True, check=False, cwd=work_folder()
    )
    if done.returncode:
        raise RuntimeError(f"{arguments} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def call(function: str, *arguments: object) -> Spent:
    """Call `module:function` of this folder in a new process, with text as arguments."""
    printed = run_quietly(command("-m", "benchmarks.processes", function, *arguments))
    return Spent(**json.loads(printed))


def local_folder() -> Path:
    """Return the folder of this checkout that git ignores, for what is big or takes long."""
    folder = ROOT / ".bench"
    folder.mkdir(exist_ok=True)
    (folder / ".gitignore").write_text("*\n")
    return folder


@cache
def work_folder() -> Path:
    """Return a folder for this process's files, which goes with it."""
    folder = tempfile.TemporaryDirectory(dir=local_folder(), prefix="work-")
    _KEPT.append(folder)
    return Path(folder.name)


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


def new_folder(name: str) -> Path:
    """Return a new, empty folder."""
    return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=work_folder()))


def _memory(name: str) -> float:
    """Return a line of this process's status that is in kB, as MiB."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines[name].split()[0]) * _KIB / _MIB


def _called(function: str, arguments: list[str]) -> Spent:
    module, _, name = function.partition(":")
    work = getattr(import_module(f"benchmarks.{module}"), name)
    before = _memory("VmRSS")
    # Starts the peak anew: imports may have had more for a moment.
    Path("/proc/self/clear_refs").write_text("5")
    start = time.perf_counter()
    value = work(*arguments)
    taken = time.perf_counter() - start
    peak = _memory("VmHWM")
    return Spent(value, taken, peak, max(peak - before, _LEAST_MIB))


if __name__ == "__main__":
    print(json.dumps(vars(_called(sys.argv[1], sys.argv[2:]))))
