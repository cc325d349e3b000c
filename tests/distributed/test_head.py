"""Looking for the head of a cluster: an answer within seconds, and a reason where there is none."""

from __future__ import annotations

import importlib.util
import re
import socket
import threading

import pytest

from emberbench_dist.distributed import head
from emberbench_dist.distributed.head import find_head, require_address, watch_head
from emberbench_dist.errors import ClusterError, EvaluationError


@pytest.fixture
def port():
    """Listen on a port, and say nothing there."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def closed():
    """Return a port where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@pytest.mark.parametrize(
    "address", ["", "nowhere", "host:", "host:0", "host:65536", "host:six", ":6379", "ray://host"]
)
def test_what_is_no_address_is_refused(address):
    """An address that has no meaning is bad input, before anything is tried."""
    with pytest.raises(EvaluationError, match=re.escape(f"got {address!r}")):
        require_address(address)


@pytest.mark.parametrize("address", ["auto", "10.0.0.1:6379", "head:1", "[::1]:6379"])
def test_addresses(address):
    """Names, IPs of both kinds and auto are addresses."""
    require_address(address)


def test_client_without_grpc(monkeypatch):
    """Without grpcio the way from outside is refused, with what to install."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "grpc" else name)
    with pytest.raises(EvaluationError, match=re.escape("'emberbench-dist[client]'")):
        require_address("ray://head:10001")


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_nobody_listens(closed, scheme):
    """A port where nobody listens is told of at once."""
    address = f"{scheme}127.0.0.1:{closed}"
    with pytest.raises(ClusterError, match=f"joined at {address}: Connection refused"):
        find_head(address)


def test_not_ray(port, monkeypatch):
    """What listens and is no Ray is given up, which Ray itself would not do for minutes."""
    monkeypatch.setattr(head, "_JOIN_SECONDS", 2)
    with pytest.raises(ClusterError, match="what listens there does not answer like one"):
        find_head(f"127.0.0.1:{port}")


def test_auto_is_the_address_of_the_environment(closed, monkeypatch):
    """RAY_ADDRESS says what `auto` means, and is checked like an address that was given."""
    monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{closed}")
    with pytest.raises(ClusterError, match=f"127.0.0.1:{closed}: Connection refused"):
        find_head("auto")
    monkeypatch.setenv("RAY_ADDRESS", "nowhere")
    with pytest.raises(EvaluationError, match="got 'nowhere'"):
        find_head("auto")


def test_a_head_that_comes_back_was_not_gone(closed, monkeypatch):
    """A head may be away for some seconds; only then it is gone."""
    gone = watch_head(f"127.0.0.1:{closed}")
    monkeypatch.setattr(head, "_GLANCE_SECONDS", 0.05)
    returned = threading.Event()
    servers = []

    def come_back():
        servers.append(socket.create_server(("127.0.0.1", closed)))
        returned.set()

    timer = threading.Timer(0.3, come_back)
    timer.start()
    assert gone() == ""
    assert returned.is_set()
    timer.join()
    servers[0].close()
    monkeypatch.setattr(head, "_PATIENCE_SECONDS", 0.2)
    assert gone() == f"its head 127.0.0.1:{closed}"
