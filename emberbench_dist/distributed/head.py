"""The head of a cluster: looked for before it is joined, and watched while it is needed."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import time
from urllib.parse import urlsplit

from emberbench_dist.distributed.watch import Watch
from emberbench_dist.errors import ClusterError, EvaluationError

CLIENT = "ray://"
_CONNECT_SECONDS = 5.0
_ANSWER_SECONDS = 10.0
# A head that is back so soon has not been missed; Ray itself ends the driver after a minute.
_PATIENCE_SECONDS = 6.0
_GLANCE_SECONDS = 1.0
_HEALTH_CHECK = "from ray.scripts.scripts import main; main()"


def require_address(address: str) -> None:
    """Raise `EvaluationError` where an address has no meaning here."""
    if address != "auto":
        _host_and_port(address)
    if address.startswith(CLIENT) and importlib.util.find_spec("grpc") is None:
        raise EvaluationError(
            f"{CLIENT} needs grpcio (pip install 'emberbench-dist[client]'); "
            "a run on a node of the cluster needs only --address auto"
        )


def find_head(address: str) -> str:
    """Return the address to join: a cluster answers there, or `ClusterError` says what does.

    Ray itself would ask for minutes. `auto` is RAY_ADDRESS where that is set.
    """
    if address == "auto":
        address = os.environ.get("RAY_ADDRESS") or address
        require_address(address)
    if address != "auto":
        _connect(address)
    if not address.startswith(CLIENT):
        _require_answer(address)
    return address


def watch_head(address: str) -> Watch:
    """Return a watch over the port of the head that was joined."""
    if address == "auto":
        import ray  # noqa: PLC0415 - it reads its settings when it is imported

        address = ray.get_runtime_context().gcs_address

    def gone() -> str:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        # Nothing else is to be done meanwhile: to ask a cluster without head never ends.
        while time.monotonic() < deadline:
            try:
                socket.create_connection(_host_and_port(address), _GLANCE_SECONDS).close()
            except OSError:
                time.sleep(_GLANCE_SECONDS)
            else:
                return ""
        return f"its head {address}"

    return gone


def _host_and_port(address: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{address.removeprefix(CLIENT)}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or not port:
        raise EvaluationError(
            f"the address of a cluster is auto, HOST:PORT or {CLIENT}HOST:PORT, got {address!r}"
        )
    return host, port


def _connect(address: str) -> None:
    try:
        socket.create_connection(_host_and_port(address), _CONNECT_SECONDS).close()
    except OSError as error:
        raise _unreachable(address, error.strerror or str(error)) from error


def _require_answer(address: str) -> None:
    """Ask in a process that can be ended, which Ray's own attempts cannot."""
    command = [sys.executable, "-c", _HEALTH_CHECK, "health-check", "--skip-version-check"]
    try:
        asked = subprocess.run(  # noqa: S603 - Ray's own command
            [*command, *(() if address == "auto" else ("--address", address))],
            capture_output=True,
            text=True,
            timeout=_ANSWER_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        told = (error.stderr or b"").decode(errors="replace")
        raise _unreachable(address, _reason(told)) from error
    if asked.returncode:
        raise _unreachable(address, _reason(asked.stderr))


def _unreachable(address: str, reason: str) -> ClusterError:
    return ClusterError(f"no Ray cluster can be joined at {address}: {reason}")


def _reason(told: str) -> str:
    if "Unauthenticated" in told or "AuthToken" in told:
        return "it asks for another token (RAY_AUTH_MODE, RAY_AUTH_TOKEN, RAY_AUTH_TOKEN_PATH)"
    if "Could not find any running Ray instance" in told:
        return "none runs on this machine, and RAY_ADDRESS is not set"
    return "what listens there does not answer like one"
