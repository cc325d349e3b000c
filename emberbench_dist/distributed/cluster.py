"""Start a quiet local Ray that leaves nothing behind, or join a cluster on purpose."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from emberbench_dist.distributed.head import find_head, watch_head
from emberbench_dist.distributed.watch import Watch, watch_children
from emberbench_dist.errors import ClusterError

_MIB = 2**20
_STORE_BYTES = 128 * _MIB
_MIN_STORE_BYTES = 76 * _MIB  # Ray refuses less than 75 MiB
# A socket path may have 107 bytes, and Ray adds most of them.
MAX_TEMP_PATH = 30

# Read by Ray when it is imported or started.
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_task_events_report_interval_ms": "0",
    "RAY_worker_niceness": "0",
    "RAY_DEDUP_LOGS": "0",
    # A batch's answers are in the reply itself: its way through the object store costs more.
    "RAY_max_direct_call_object_size": str(4 * _MIB),
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "PYTHONHASHSEED": "0",
}
# With the former, `breakpoint()` would ask for a debugger of Ray's ever after.
_SET_BY_RAY = ("PYTHONBREAKPOINT", "RAY_")


def available_cpus() -> int:
    """Return the CPUs that this process may use: affinity and cgroup quota, at least 1."""
    count = len(os.sched_getaffinity(0))
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        if quota != "max":
            count = min(count, -(-int(quota) // int(period)))
    except (OSError, ValueError):
        pass
    return max(1, count)


@contextmanager
def local_cluster(cpus: int) -> Iterator[Watch]:
    """Run a Ray of this process's own with `cpus` CPUs, and remove every trace of it.

    Yields what tells whether it still lives.
    """
    folder = _temp_folder()
    settings: dict[str, str | None] = {
        **_QUIET,
        # Ray listens on all interfaces, so a token of this run keeps strangers out.
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_ADDRESS": None,
    }
    with _environment(settings):
        try:
            with _ray(
                address="local",
                num_cpus=cpus,
                include_dashboard=False,
                object_store_memory=_store_bytes(),
                _temp_dir=str(folder),
            ):
                yield watch_children()
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def joined_cluster(address: str, runtime_env: dict[str, Any] | None = None) -> Iterator[Watch]:
    """Join the cluster at `address`, with an environment for its workers; leave it as it is."""
    # A driver that was submitted as a job may have another one: ours goes before it.
    with _environment({"RAY_OVERRIDE_JOB_RUNTIME_ENV": "1"}):
        address = find_head(address)
        try:
            with _ray(address=address, runtime_env=runtime_env):
                yield watch_head(address)
        except ConnectionError as error:  # ray:// alone
            raise ClusterError(f"Ray has died: its server {address} is gone") from error


@contextmanager
def _ray(**options: Any) -> Iterator[None]:
    try:
        import ray  # noqa: PLC0415 - half a second that only a distributed run pays
    except ImportError as error:
        raise ClusterError(
            f"Ray cannot be imported ({error}); install it, or play with --in-process"
        ) from error
    if ray.is_initialized():
        raise ClusterError("Ray is already running in this process; call ray.shutdown() first")
    try:
        ray.init(
            log_to_driver=False, logging_level=logging.ERROR, configure_logging=True, **options
        )
    except Exception as error:
        ray.shutdown()
        raise ClusterError(f"Ray could not be started: {' '.join(str(error).split())}") from error
    try:
        yield
    finally:
        ray.shutdown()


@contextmanager
def _environment(settings: dict[str, str | None]) -> Iterator[None]:
    """Set variables (None: unset) for Ray's processes; put back these and what Ray sets itself."""
    before = dict(os.environ)
    _set(settings)
    try:
        yield
    finally:
        names = {name for name in {*before, *os.environ} if name.startswith(_SET_BY_RAY)}
        _set({name: before.get(name) for name in {*settings, *names}})


def _set(values: dict[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    if "ray" in sys.modules:
        _read_settings_again()


def _read_settings_again() -> None:
    """Let a Ray that was imported under other settings take those of the environment."""
    inside: Any = import_module("ray._raylet")
    inside.Config.initialize("")
    if hasattr(inside, "AuthenticationTokenLoader"):  # older ones know no tokens
        inside.AuthenticationTokenLoader.instance().reset_cache()


def _temp_folder() -> Path:
    """Return a new folder with a path short enough for Ray's sockets."""
    base = tempfile.gettempdir()
    if len(base) > MAX_TEMP_PATH:
        base = "/tmp"  # noqa: S108 - mkdtemp makes a private folder in it
    _sweep(Path(base))
    try:
        return Path(tempfile.mkdtemp(prefix=f"dist-eval-{os.getpid()}-", dir=base))
    except OSError as error:
        raise ClusterError(f"{base}: no temporary folder for Ray: {error.strerror}") from error


def _sweep(base: Path) -> None:
    """Remove the folders of drivers that were killed before they could."""
    for folder in base.glob("dist-eval-*-*"):
        owner = folder.name.split("-")[2]
        if owner.isdigit() and not Path("/proc", owner).exists():
            shutil.rmtree(folder, ignore_errors=True)


def _store_bytes() -> int:
    """Return the size of the object store: batches are small, and so may shared memory be."""
    try:
        free = shutil.disk_usage("/dev/shm").free  # noqa: S108 - where Ray keeps its store
    except OSError:
        return _STORE_BYTES
    return max(_MIN_STORE_BYTES, min(_STORE_BYTES, free * 4 // 5))
