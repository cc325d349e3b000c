"""One HTTP POST with one deadline for all of it, and a bound on what comes back."""

from __future__ import annotations

import io
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, IncompleteRead
from time import monotonic
from typing import Any, NamedTuple

from emberbench_dist.agents.remote.text import MAX_ANSWER_BYTES, MIB
from emberbench_dist.contract.document import class_name
from emberbench_dist.errors import AgentTimeoutError, RemoteAgentError

_PIECE_BYTES = 64 * 1024


class Endpoint(NamedTuple):
    """Where to post: the URL and its parts; `context` verifies the server (None: no TLS)."""

    url: str
    host: str
    port: int
    authority: str
    target: str
    context: ssl.SSLContext | None


class Reply(NamedTuple):
    """What a server answered."""

    status: int
    retry_after: str | None
    body: bytes


class NotConnectedError(RemoteAgentError):
    """A server that could not be reached, so that nothing was sent."""


def post(endpoint: Endpoint, body: bytes, headers: Mapping[str, str], timeout: float) -> Reply:
    """Post `body` and return the whole reply, all within `timeout` seconds.

    `NotConnectedError` where nothing was sent, `AgentTimeoutError` where it took too long,
    `RemoteAgentError` where the reply is broken or too large. No error quotes the server.
    """
    deadline = monotonic() + timeout
    try:
        with _connected(endpoint, timeout) as connected:
            return _exchange(endpoint, _Timed(connected, deadline), body, headers)
    except TimeoutError as error:
        raise AgentTimeoutError(f"{endpoint.url}: did not answer within {timeout:g} s") from error
    except ssl.SSLCertVerificationError as error:
        raise RemoteAgentError(
            f"{endpoint.url}: its certificate is not trusted: {error.verify_message}"
        ) from error
    except (OSError, HTTPException) as error:
        raise RemoteAgentError(
            f"{endpoint.url}: its reply is broken or missing ({class_name(error)})"
        ) from error


def _connected(endpoint: Endpoint, timeout: float) -> socket.socket:
    started = monotonic()
    try:
        plain = socket.create_connection((endpoint.host, endpoint.port), timeout)
    except TimeoutError:
        raise
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "no such host"
        raise NotConnectedError(f"{endpoint.url}: cannot be reached: {reason}") from error
    if endpoint.context is None:
        return plain
    try:
        plain.settimeout(max(0.001, timeout - (monotonic() - started)))
        return endpoint.context.wrap_socket(plain, server_hostname=endpoint.host)
    except BaseException:
        plain.close()
        raise


def _exchange(endpoint: Endpoint, timed: _Timed, body: bytes, headers: Mapping[str, str]) -> Reply:
    connection: Any = HTTPConnection(endpoint.host, endpoint.port)
    connection.sock = timed
    with suppress(BrokenPipeError, ConnectionResetError):  # it may have refused without reading
        connection.request("POST", endpoint.target, body, headers)
    with connection.getresponse() as response:
        answer = bytearray()
        # In pieces: http.client keeps a list of all chunks until it has read what was asked for.
        while piece := response.read(_PIECE_BYTES):
            answer += piece
            if len(answer) > MAX_ANSWER_BYTES:
                raise RemoteAgentError(
                    f"{endpoint.url}: answered with more than {MAX_ANSWER_BYTES // MIB} MiB"
                )
        if response.length:
            raise IncompleteRead(b"", response.length)
        return Reply(response.status, response.headers["Retry-After"], bytes(answer))


class _Timed:
    """A socket for an HTTP connection, which gets only what is left of the time for each call."""

    def __init__(self, connected: socket.socket, deadline: float) -> None:
        self._socket = connected
        self._deadline = deadline

    def sendall(self, data: bytes) -> None:
        unsent = memoryview(data)
        while unsent:
            unsent = unsent[self.in_time().send(unsent) :]

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Incoming(self))

    def close(self) -> None:
        """Leave that to whoever connected it: the connection closes before its reply is read."""

    def in_time(self) -> socket.socket:
        left = self._deadline - monotonic()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)
        return self._socket


class _Incoming(io.RawIOBase):
    """What comes in, as a file."""

    def __init__(self, timed: _Timed) -> None:
        super().__init__()
        self._timed = timed

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._timed.in_time().recv_into(buffer)
