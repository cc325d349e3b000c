"""Checks of Python, package and machine that start nothing and write nothing."""

from __future__ import annotations

import os
import platform
import resource
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from emberbench_dist import __version__
from emberbench_dist.distributed.cluster import MAX_TEMP_PATH, available_cpus
from emberbench_dist.doctor.finding import OK, PROBLEM, WARNING, Asked, Finding
from emberbench_dist.evaluation.suites import built_in_manifests

_MIB = 2**20
_LEAST_PYTHON = (3, 11)
_EXTRAS = {
    "analysis": ("jinja2", "matplotlib", "numpy", "pandas", "PIL", "scipy"),
    "client": ("grpc",),
    "rl": ("gymnasium", "numpy", "pettingzoo"),
}
# What Ray itself takes, and each worker, roughly.
_RAY_MIB, _WORKER_MIB = 600, 130
_LEAST_SHARED_MIB = 95
_LEAST_FILES = 1024
_PROXIES = ("grpc_proxy", "http_proxy", "https_proxy", "all_proxy")
_SHARED = Path("/dev/shm")  # noqa: S108 - where Ray keeps its store
_MEMORY_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def python(_: Asked) -> Iterator[Finding]:
    """Tell which Python runs."""
    text = f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}"
    if sys.version_info < _LEAST_PYTHON or platform.python_implementation() != "CPython":
        yield Finding("Python", PROBLEM, text, "use CPython 3.11 or newer")
    else:
        yield Finding("Python", OK, text)


def package(_: Asked) -> Iterator[Finding]:
    """Tell which emberbench_dist runs, and whether it is the one that is installed."""
    text = f"{__version__}, {Path(__file__).parents[1]}"
    try:
        installed = version("emberbench-dist")
    except PackageNotFoundError:
        advice = "agents known by name are found only after `pip install`"
        yield Finding("emberbench_dist", WARNING, f"{text}, not installed", advice)
        return
    if installed != __version__:
        text = f"{text}, but {installed} is installed"
        yield Finding("emberbench_dist", WARNING, text, "look for a second copy in PYTHONPATH")
    elif not built_in_manifests():
        yield Finding("emberbench_dist", PROBLEM, f"{text}, without its manifests", "reinstall it")
    else:
        yield Finding("emberbench_dist", OK, text)


def pyarrow(_: Asked) -> Iterator[Finding]:
    """Tell whether the tables can be written."""
    try:
        import_module("emberbench_dist.artifacts.parquet")
    except ImportError as error:
        yield Finding("pyarrow", PROBLEM, f"cannot be imported ({error})", "reinstall it")
    else:
        yield Finding("pyarrow", OK, version("pyarrow"))


def extras(_: Asked) -> Iterator[Finding]:
    """Tell which optional parts are there; none is needed for a run."""
    for extra, needed in _EXTRAS.items():
        absent = [name for name in needed if find_spec(name) is None]
        hint = f"not there ({', '.join(absent)}): pip install 'emberbench-dist[{extra}]'"
        yield Finding(f"extra {extra}", OK, hint if absent else "there")


def cpus(_: Asked) -> Iterator[Finding]:
    """Tell how many CPUs this process may use."""
    usable, all_there = available_cpus(), os.cpu_count() or 1
    text = f"{usable} of {all_there} may be used"
    advice = "affinity or a cgroup keeps a run from the others" if usable < all_there else ""
    yield Finding("CPUs", OK, text, advice)


def memory(_: Asked) -> Iterator[Finding]:
    """Tell whether there is memory for Ray and a worker on each CPU."""
    free = _available_mib()
    wanted = _RAY_MIB + _WORKER_MIB * available_cpus()
    text = f"{free:,} MiB available"
    if free < wanted:
        advice = f"a worker on each CPU needs {wanted:,} MiB and the agents' own: use --workers"
        yield Finding("memory", WARNING, text, advice)
    else:
        yield Finding("memory", OK, text)


def shared_memory(_: Asked) -> Iterator[Finding]:
    """Tell whether Ray's store has room."""
    if not _SHARED.is_dir():
        yield Finding("shared memory", WARNING, f"there is no {_SHARED}", "Ray will be slower")
        return
    free = shutil.disk_usage(_SHARED).free // _MIB
    if free < _LEAST_SHARED_MIB:
        advice = "Ray will be slower; make it larger (containers: --shm-size=256m)"
        yield Finding("shared memory", WARNING, f"{free:,} MiB free", advice)
    else:
        yield Finding("shared memory", OK, f"{free:,} MiB free")


def open_files(_: Asked) -> Iterator[Finding]:
    """Tell how many files and sockets a process may have open."""
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < _LEAST_FILES:
        yield Finding("open files", WARNING, f"at most {soft:,}", "raise it: ulimit -n 65536")
    else:
        limit = f"at most {soft:,}" if soft >= 0 else "no limit"
        yield Finding("open files", OK, limit)


def temporary_folder(_: Asked) -> Iterator[Finding]:
    """Tell where Ray's sockets will be; their paths may not be long."""
    base = tempfile.gettempdir()
    text = base
    if len(base) > MAX_TEMP_PATH:
        base = "/tmp"  # noqa: S108 - as a run does
        text = f"{base}, as the path of TMPDIR is too long for Ray's sockets"
    if os.access(base, os.W_OK | os.X_OK):
        yield Finding("temporary folder", OK, text)
    else:
        advice = "set TMPDIR to a folder with a short path that can be written"
        yield Finding("temporary folder", PROBLEM, f"{base} cannot be written", advice)


def surroundings(asked: Asked) -> Iterator[Finding]:
    """Tell which variables change what Ray does; never what they hold."""
    names = [name for name in (*_PROXIES, *map(str.upper, _PROXIES)) if os.environ.get(name)]
    if names and asked.address:
        advice = "Ray may look for nodes behind it: name them in no_proxy"
        yield Finding("proxy", WARNING, f"{', '.join(names)} set", advice)
    else:
        yield Finding("proxy", OK, f"{', '.join(names)} set" if names else "none")
    if os.environ.get("RAY_ADDRESS") and not asked.address:
        yield Finding("RAY_ADDRESS", OK, "set, and ignored: only --address joins a cluster")


def _available_mib() -> int:
    """Return what this process may still take: the machine's memory, or its cgroup's."""
    fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    free = int(fields["MemAvailable"].split()[0]) // 1024
    for path in _MEMORY_LIMITS:
        try:
            free = min(free, int(path.read_text()) // _MIB)
        except (OSError, ValueError):
            continue
    return free
