"""Servers on real sockets that answer, each connection as a test says."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import trustme

AUTHORITY = trustme.CA()
_CERTIFICATE = AUTHORITY.issue_cert("localhost", "127.0.0.1")


class Request(NamedTuple):
    """What a server was sent: the first line, headers by lower-case name, the body."""

    line: str
    headers: dict[str, str]
    body: bytes


# What a server does with a connection, once it has read the request.
Behaviour = Callable[[socket.socket, Request], None]


class Server:
    """A server on a port of its own; behaviours are used in turn, the last one for ever."""

    def __init__(
        self, *behaviours: Behaviour, secure: bool = False, host: str = "127.0.0.1"
    ) -> None:
        """Listen."""
        self.requests: list[Request] = []
        self.connections = 0
        self._behaviours = list(behaviours)
        self._context = None
        if secure:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            _CERTIFICATE.configure_cert(self._context)
        self._listening = socket.create_server((host, 0))
        scheme = "https" if secure else "http"
        self.url = f"{scheme}://{host}:{self._listening.getsockname()[1]}/act"

    def serve(self) -> None:
        """Serve one connection after the other until the socket is closed."""
        while True:
            try:
                connected, _ = self._listening.accept()
            except OSError:
                return
            self.connections += 1
            # Whatever the client does, or does not wait for, is no failure of the server.
            with contextlib.suppress(OSError, ValueError), connected:
                self._serve(connected)

    def _serve(self, connected: socket.socket) -> None:
        behave = self._behaviours[0]
        if len(self._behaviours) > 1:
            del self._behaviours[0]
        if self._context is not None:
            connected = self._context.wrap_socket(connected, server_side=True)
        with connected:
            request = read_request(connected)
            self.requests.append(request)
            behave(connected, request)

    def stop(self) -> None:
        """Close the socket, which wakes whoever waits on it."""
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()


@contextmanager
def serving(*behaviours: Behaviour, **options: Any) -> Iterator[Server]:
    """Run a server in a thread."""
    server = Server(*behaviours, **options)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join()


def read_request(connected: socket.socket) -> Request:
    """Read a request with a Content-Length."""
    with connected.makefile("rb") as file:
        line = file.readline().decode().strip()
        headers = {}
        while text := file.readline().decode().strip():
            name, _, value = text.partition(": ")
            headers[name.lower()] = value
        return Request(line, headers, file.read(int(headers.get("content-length", 0))))


def reply(body: bytes | str = b"", *, status: str = "200 OK", headers: str = "") -> bytes:
    """Return a whole reply."""
    body = body.encode() if isinstance(body, str) else body
    return f"HTTP/1.1 {status}\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body


def says(*chunks: bytes) -> Behaviour:
    """Return a behaviour that sends these bytes and closes."""

    def behave(connected: socket.socket, _: Request) -> None:
        for chunk in chunks:
            connected.sendall(chunk)

    return behave


def sends_for_ever(start: bytes, chunk: bytes, *, pause: float = 0.0) -> Behaviour:
    """Return a behaviour that goes on and on until the client is gone."""

    def behave(connected: socket.socket, _: Request) -> None:
        connected.sendall(start)
        while True:
            connected.sendall(chunk)
            threading.Event().wait(pause)

    return behave


def resets(start: bytes) -> Behaviour:
    """Return a behaviour that sends some bytes and resets the connection."""

    def behave(connected: socket.socket, _: Request) -> None:
        connected.sendall(start)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return behave


def west(connected: socket.socket, request: Request) -> None:
    """Send everybody west, as `programs.West` does."""
    observation = json.loads(request.body)
    active = [person["id"] for person in observation["people"] if person["status"] == "active"]
    answer = {
        "action_schema_version": "1.0",
        "actions": dict.fromkeys(active, "west"),
        "step": observation["step"],
    }
    connected.sendall(reply(json.dumps(answer, separators=(",", ":"), sort_keys=True)))
