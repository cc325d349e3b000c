"""An agent behind a URL: the observation is posted, the reply is the action payload."""

from __future__ import annotations

import os
import re
import secrets
import ssl
import time
import traceback
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from http import HTTPStatus
from http.client import responses
from urllib.parse import urlsplit

from emberbench_dist.agents.remote.post import Endpoint, NotConnectedError, Reply, post
from emberbench_dist.agents.remote.text import RETRIES, TIMEOUT_SECONDS, TextAgent
from emberbench_dist.contract.actions import ActionOutput
from emberbench_dist.contract.document import class_name, shown
from emberbench_dist.contract.observation import Observation
from emberbench_dist.errors import AgentSpecError, RemoteAgentError

# Random, so that a server can tell episodes apart, and learns nothing else of them.
EPISODE_HEADER = "EMBERBench-Episode"
# The waits before retries without a Retry-After: this, twice this, four times this, …
BACKOFF_SECONDS = 0.5
# Whatever a server asks for, nobody waits longer.
MAX_WAIT_SECONDS = 60.0

# Too many requests, bad gateway, service unavailable, gateway timeout: no model has answered.
_TRANSPORT = (429, 502, 503, 504)
_OURS = {"host", "content-length", "transfer-encoding", "connection", EPISODE_HEADER.lower()}
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([!-~](?:[ -~\t]*[!-~])?)[ \t]*")
_LOOKS_SECRET = re.compile(
    "key|token|secret|pass|pwd|auth|sig|cred|session|code|jwt|bearer", re.IGNORECASE
)
_URL = re.compile('https?://[!-"$-~]+', re.IGNORECASE)  # no fragment
# Shorter words may well be in an answer by chance.
_MIN_SECRET = 8
_MAX_DOUBLINGS = 10
_MAX_SHOWN = 300


class UrlAgent(TextAgent):
    """Ask a server, each step by a request of its own."""

    backoff_seconds = BACKOFF_SECONDS

    def __init__(
        self,
        url: str,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        retries: int = RETRIES,
        headers: Mapping[str, str] | None = None,
        context: ssl.SSLContext | None = None,
    ) -> None:
        """Post to `url`; ask again up to `retries` times where no model can have answered.

        `headers` are sent with each request and never told; `context` verifies a server by
        something else than the system's certificates.
        """
        super().__init__(timeout_seconds)
        self._endpoint = endpoint_of(url, context)
        self._retries = retries
        given = check_headers((f"{name}: {value}" for name, value in (headers or {}).items()))
        self._secrets = [
            word for value in given.values() for word in value.split() if len(word) >= _MIN_SECRET
        ]
        self._repeated = False
        self._headers = {
            "host": self._endpoint.authority,
            "connection": "close",
            "content-type": "application/json",
            "accept": "application/json",
            EPISODE_HEADER: secrets.token_hex(16),
            **given,
        }

    def act(self, observation: Observation) -> ActionOutput:
        """Return what the server answers; no error tells a header's value, whoever repeats it."""
        self._repeated = False
        try:
            return super().act(observation)
        except Exception as error:
            if self._repeated or self._tells("".join(traceback.format_exception(error))):
                raise RemoteAgentError(
                    f"{self._endpoint.url}: {class_name(error)}; not shown, because the server "
                    "repeated a header that may be secret"
                ) from None
            raise

    def exchange(self, request: bytes) -> bytes:
        """Post the request; return the body of the reply with status 200.

        `RemoteAgentError` for any other status, and where the server cannot be asked.
        """
        while True:
            wanted = None
            try:
                reply = post(self._endpoint, request, self._headers, self.timeout_seconds)
            except NotConnectedError as error:
                problem = str(error)
            else:
                repeated = self._tells(reply.body.decode("latin-1"))
                if reply.status == HTTPStatus.OK:
                    self._repeated = repeated
                    return reply.body
                problem = f"{self._endpoint.url}: {_told(reply, b'' if repeated else reply.body)}"
                if reply.status not in _TRANSPORT:
                    raise RemoteAgentError(problem)
                wanted = _seconds(reply.retry_after)
            if self.retried >= self._retries:
                raise RemoteAgentError(f"{problem} (after {self._retries} retries)")
            backoff = self.backoff_seconds * 2 ** min(self.retried, _MAX_DOUBLINGS)
            time.sleep(min(MAX_WAIT_SECONDS, backoff if wanted is None else wanted))
            self.retried += 1

    def _tells(self, text: str) -> bool:
        return any(secret in text for secret in self._secrets)


def endpoint_of(url: str, context: ssl.SSLContext | None = None) -> Endpoint:
    """Take a URL apart; `AgentSpecError` for one that cannot be asked or may hold a secret.

    A URL is written into the run folder. So a secret has no place in it, and none is shown here.
    """
    if "@" in url:
        raise AgentSpecError(
            "an agent URL must not hold a user or password (nor any @): give them in a header"
        )
    for pair in filter(None, url.partition("?")[2].split("&")):
        name, equals, _ = pair.partition("=")
        if not equals or _LOOKS_SECRET.search(name):
            raise AgentSpecError(
                "the query of an agent URL has a part that may be a secret: give it in a header"
            )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), 0
    if not (parts.hostname and port != 0 and _URL.fullmatch(url)):
        raise AgentSpecError(
            f"agent URL {shown(url, _MAX_SHOWN)} must be http:// or https:// with a host, "
            "in ASCII, without a fragment"
        )
    secure = parts.scheme == "https"
    return Endpoint(
        url=url,
        host=parts.hostname,
        port=port or (443 if secure else 80),
        authority=parts.netloc,
        target=(parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
        context=(context or _system_trust()) if secure else None,
    )


def headers_in(variable: str) -> dict[str, str]:
    """Return the headers that an environment variable holds, one `Name: value` a line."""
    text = os.environ.get(variable)
    if text is None:
        raise AgentSpecError(f"the environment variable {variable} (headers) is not set")
    return check_headers(text.splitlines(), f"the environment variable {variable}, ")


def check_headers(lines: Iterable[str], where: str = "") -> dict[str, str]:
    """Return headers by lower-case name; `AgentSpecError` says which is wrong, not its value."""
    found = dict[str, str]()
    for number, line in enumerate(lines, 1):
        match = _HEADER.fullmatch(line)
        if match is None:
            raise AgentSpecError(f"{where}header {number} must be `Name: value`, in ASCII")
        name = match[1].lower()
        if name in _OURS or name in found:
            raise AgentSpecError(f"{where}header {number}: {name} is set already")
        found[name] = match[2]
    return found


@cache
def _system_trust() -> ssl.SSLContext:
    # Reading all certificates takes a while, and every episode has an agent of its own.
    return ssl.create_default_context()


def _told(reply: Reply, body: bytes) -> str:
    """Say in one line what a server answered."""
    told = f"answered {reply.status} {responses.get(reply.status, '')}".rstrip()
    if reply.status // 100 == 3:
        told += " (redirects are not followed: give the URL that it leads to)"
    if reply.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        told += " (it may want a header)"
    text = " ".join(body.decode("utf-8", "replace").split())
    return f"{told}: {shown(text, _MAX_SHOWN)}" if text else told


def _seconds(retry_after: str | None) -> float | None:
    """Return how long a Retry-After asks to wait, given as seconds or as a date."""
    if retry_after is None:
        return None
    if re.fullmatch("[0-9]{1,9}", retry_after):
        return float(retry_after)
    try:
        date = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
