"""The head of a cluster: looked for before it is joined, and watched while it is needed."""

from __future__ import annotations

import importlib.util
import os
import re
import socket
import subprocess
import sys
import time
from urllib.parse import urlsplit

from emberbench_dist.distributed.watch import Watch
from emberbench_dist.errors import ClusterError, EvaluationError

CLIENT = "ray://"
_CONNECT_SECONDS = 5.0
_JOIN_SECONDS = 15.0
# A head that is back so soon has not been missed; Ray itself ends the driver after a minute.
_PATIENCE_SECONDS = 6.0
_GLANCE_SECONDS = 1.0
_TRIAL = """
import logging, sys, ray
try:
    ray.init(address=sys.argv[1], log_to_driver=False, logging_level=logging.ERROR)
except Exception as error:
    sys.exit("Error: " + " ".join(str(error).split()))
print("\\nADDRESS", ray.get_runtime_context().gcs_address)
"""


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
    """Return the address to join, which has been tried, or raise `ClusterError` with the reason.

    `auto` is RAY_ADDRESS where that is set.
    """
    if address == "auto":
        address = os.environ.get("RAY_ADDRESS") or address
        require_address(address)
    if address != "auto":
        _connect(address)
    return address if address.startswith(CLIENT) else _try(address)


def watch_head(address: str) -> Watch:
    """Return a watch over the port of the head that was joined."""

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


def _try(address: str) -> str:
    """Join in a process that may hang or abort, as Ray does where it cannot; return HOST:PORT."""
    try:
        tried = subprocess.run(  # noqa: S603 - our own script
            [sys.executable, "-P", "-c", _TRIAL, address],
            capture_output=True,
            text=True,
            timeout=_JOIN_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        told = (error.stderr or b"").decode(errors="replace")
        raise _unreachable(address, _reason(told)) from error
    if tried.returncode:
        raise _unreachable(address, _reason(tried.stderr))
    # Ray prints there, too, for example of nodes that have died.
    return re.findall(r"^ADDRESS (\S+)$", tried.stdout, re.MULTILINE)[-1]  # type: ignore[no-any-return]


def _reason(told: str) -> str:
    """Return what is wrong, from what Ray told."""
    if "Unauthenticated" in told or "AuthToken" in told:
        return "it asks for another token (RAY_AUTH_MODE, RAY_AUTH_TOKEN, RAY_AUTH_TOKEN_PATH)"
    if "Failed to connect to socket" in told:
        return "this machine is no node of it; start the run on one, as a Ray job or by ray://"
    error = told.rpartition("Error: ")[2] if "Error: " in told else ""
    return error.strip() or "what listens there does not answer like one"


def _unreachable(address: str, reason: str) -> ClusterError:
    return ClusterError(f"no Ray cluster can be joined at {address}: {reason}")
