"""An agent behind a URL, over real sockets: what it sends, what it takes, and how it fails."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
import traceback
import tracemalloc
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial

import pytest
from builders import case_id
from programs import West
from servers import AUTHORITY, reply, resets, says, sends_for_ever, serving, west
from worlds import simulator

from emberbench_dist.agents.registry import load_agent
from emberbench_dist.agents.remote.text import MAX_ANSWER_BYTES, RemoteOptions
from emberbench_dist.agents.remote.url import UrlAgent, endpoint_of, headers_in
from emberbench_dist.contract.observation import serialize_observation
from emberbench_dist.errors import (
    AgentSpecError,
    AgentTimeoutError,
    ModelOutputError,
    RemoteAgentError,
)
from emberbench_dist.runner.evaluate import evaluate
from manifests import hall, write_manifest

SEEN = simulator("E a . *").observe()
ANSWER = '{"action_schema_version":"1.0","actions":{"a":"west"},"step":0}'
GOOD = says(reply(ANSWER))
BUSY = says(reply("busy", status="503 Service Unavailable", headers="Retry-After: 0\r\n"))
SECRET = "sk-0123456789abcdef"


class Hasty(UrlAgent):
    """Wait less before retries."""

    backoff_seconds = 0.01


# What is sent and taken


def test_a_server_plays_like_its_twin_in_python(tmp_path):
    """A server that answers each observation gives the same bytes as an agent in Python."""
    path = write_manifest(tmp_path, [(hall("one"), [1, 2]), (hall("two", 8), [5])])
    with serving(west) as server:
        result = evaluate(path, partial(UrlAgent, server.url))
    assert result.artifact == evaluate(path, West).artifact


def test_a_server_is_told_nothing_but_the_observation(tmp_path):
    """Of an episode it learns a random number; the same in all steps, another one each time."""
    document = hall("hidden-scenario") | {"description": "hidden"}
    path = write_manifest(tmp_path / "hidden", [(document, [0xDEC0DE15BADC0FFE, 2])])
    with serving(west) as server:
        evaluate(path, partial(UrlAgent, server.url), tmp_path / "hidden-run")
        authority = server.url.split("/")[2]
    episodes = {}
    for line, headers, body in server.requests:
        assert line == "POST /act HTTP/1.1"
        observation = json.loads(body)
        episodes.setdefault(headers.pop("emberbench-episode"), []).append(observation["step"])
        assert headers == {
            "host": authority,
            "connection": "close",
            "accept": "application/json",
            "accept-encoding": "identity",
            "content-type": "application/json",
            "content-length": str(len(body)),
        }
        assert sorted(observation) == sorted(json.loads(serialize_observation(SEEN)))
        assert not [word for word in (b"hidden", b"16050", b"dec0de") if word in body.lower()]
    assert len(episodes) == 2
    for name, steps in episodes.items():
        assert len(bytes.fromhex(name)) == 16
        assert steps == list(range(len(steps)))


def test_headers_are_sent_and_may_replace_ours():
    """Declared headers go with each request; another content type is the user's to say."""
    headers = {"Authorization": f"Bearer {SECRET}", "CONTENT-TYPE": "text/plain"}
    with serving(GOOD) as server:
        UrlAgent(server.url + "?version=2", headers=headers).act(SEEN)
    (request,) = server.requests
    assert request.line == "POST /act?version=2 HTTP/1.1"
    assert request.headers["authorization"] == f"Bearer {SECRET}"
    assert request.headers["content-type"] == "text/plain"


@pytest.mark.parametrize(
    "answer",
    [
        reply(ANSWER),
        f"HTTP/1.1 200 OK\r\n\r\n{ANSWER}".encode(),
        f"HTTP/1.0 200 Fine\r\nContent-Type: text/html\r\n\r\n{ANSWER}".encode(),
        b"HTTP/1.1 100 Continue\r\n\r\n" + reply(ANSWER),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        + b"".join(b"1\r\n%c\r\n" % byte for byte in ANSWER.encode())
        + b"0\r\n\r\n",
    ],
)
def test_an_answer_may_come_in_any_form_of_http(answer):
    """With and without a length, in chunks, after a 100: the body is the payload."""
    with serving(says(answer)) as server:
        assert UrlAgent(server.url).act(SEEN) == {"a": "west"}


def test_megabytes_get_through_both_ways():
    """Large observations and large answers are no special case."""
    with serving(lambda connected, request: connected.sendall(reply(request.body))) as server:
        big = b"x" * (MAX_ANSWER_BYTES - 1)
        assert UrlAgent(server.url).exchange(big) == big


# Retries


@pytest.mark.parametrize("status", ["429 Too Many", "502 Bad", "503 Service", "504 Gateway"])
def test_a_busy_server_is_asked_again(status):
    """As long as no model has answered, the same request is sent again, and it is counted."""
    busy = says(reply("later", status=status))
    with serving(busy, busy, GOOD) as server:
        agent = Hasty(server.url)
        assert agent.act(SEEN) == {"a": "west"}
    first, *others = server.requests
    assert others == [first, first]
    told = agent.last_execution()
    assert told.retries == 2
    assert told.latency_seconds > 0.03
    assert (told.model, told.input_tokens) == (None, None)


def test_a_server_that_is_not_there_yet_is_asked_again():
    """A refused connection is tried again, with longer and longer waits."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    started = time.monotonic()
    agent = Hasty(url, retries=3)
    with pytest.raises(RemoteAgentError) as caught:
        agent.act(SEEN)
    assert str(caught.value) == f"{url}: cannot be reached: Connection refused (after 3 retries)"
    assert agent.retried == 3
    assert time.monotonic() - started >= 0.01 + 0.02 + 0.04


@pytest.mark.parametrize("retries", [0, 2])
def test_retries_are_bounded(retries):
    """A server that stays busy fails the step after so many retries."""
    with serving(BUSY) as server, pytest.raises(RemoteAgentError) as caught:
        Hasty(server.url, retries=retries).act(SEEN)
    assert server.connections == 1 + retries
    assert str(caught.value) == (
        f"{server.url}: answered 503 Service Unavailable: 'busy' (after {retries} retries)"
    )


@pytest.mark.parametrize(
    ("retry_after", "wait"),
    [
        ("7", 7),
        ("0", 0),
        ("999999", 60),
        (format_datetime(datetime.now(UTC) + timedelta(days=1), usegmt=True), 60),
        (format_datetime(datetime.now(UTC) - timedelta(days=1), usegmt=True), 0),
        ("soon", 0.5),
        ("-1", 0.5),
        ("1e3", 0.5),
        ("9" * 30, 0.5),
        ("", 0.5),
    ],
    ids=case_id,
)
def test_a_server_may_say_when_it_is_to_be_asked_again(monkeypatch, retry_after, wait):
    """Seconds or a date, at most a minute; what is neither counts as nothing."""
    waits = []
    monkeypatch.setattr("emberbench_dist.agents.remote.url.time.sleep", waits.append)
    busy = says(reply(status="429 Too Many", headers=f"Retry-After: {retry_after}\r\n"))
    with serving(busy, GOOD) as server:
        UrlAgent(server.url).act(SEEN)
    assert waits == [wait]


def test_waits_grow_to_a_limit(monkeypatch):
    """Without a word of the server, each wait is twice the one before, up to a minute."""
    waits = []
    monkeypatch.setattr("emberbench_dist.agents.remote.url.time.sleep", waits.append)
    with serving(says(reply(status="503 x"))) as server, pytest.raises(RemoteAgentError):
        UrlAgent(server.url, retries=20).act(SEEN)
    assert waits == [0.5, 1, 2, 4, 8, 16, 32] + [60] * 13


# Bad servers

HTML = "<html>sign in</html>"


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        (says(), r"its reply is broken or missing \(RemoteDisconnected\)"),
        (resets(b""), r"its reply is broken or missing \(\w+\)"),
        (resets(reply(ANSWER)[:-9]), r"its reply is broken or missing \(\w+\)"),
        (says(reply(ANSWER)[:-9]), r"its reply is broken or missing \(IncompleteRead\)"),
        (
            says(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"),
            r"its reply is broken or missing \(IncompleteRead\)",
        ),
        (
            says(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n"),
            r"its reply is broken or missing \(IncompleteRead\)",
        ),
        (says(b"SSH-2.0-server\r\n"), r"its reply is broken or missing \(BadStatusLine\)"),
        (
            sends_for_ever(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n"),
            r"its reply is broken or missing \(HTTPException\)",
        ),
        (
            sends_for_ever(b"HTTP/1.1 200 OK\r\na: ", b"x" * 10_000),
            r"its reply is broken or missing \(LineTooLong\)",
        ),
        (
            sends_for_ever(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 100_000),
            "answered with more than 16 MiB",
        ),
        (
            sends_for_ever(
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                b"1000\r\n" + b"x" * 4096 + b"\r\n",
            ),
            "answered with more than 16 MiB",
        ),
        (
            sends_for_ever(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", b"x" * 99999),
            "answered with more than 16 MiB",
        ),
        (
            says(reply(status="302 Found", headers="Location: /other\r\n")),
            r"answered 302 Found \(redirects are not followed: give the URL that it leads to\)$",
        ),
        (
            says(reply("no\n key", status="401 Unauthorized")),
            r"answered 401 Unauthorized \(it may want a header\): 'no key'$",
        ),
        (says(reply(status="204 No Content")), "answered 204 No Content$"),
        (says(reply(ANSWER, status="500 x")), "answered 500 Internal Server Error: '{.*"),
        (says(reply(b"\0\xff\x1b" * 999, status="799 x")), r"answered 799: '[ -~]{299}…$"),
    ],
)
def test_a_server_that_does_not_answer_is_asked_once(behaviour, message):
    """A reply that is none fails the step with one line; nobody is asked a second time."""
    with serving(behaviour, GOOD) as server:
        with pytest.raises(RemoteAgentError, match=f"^{server.url}: {message}") as caught:
            UrlAgent(server.url).act(SEEN)
        assert server.connections == 1
    assert not isinstance(caught.value, AgentTimeoutError)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    "behaviour",
    [
        lambda *_: time.sleep(1),
        sends_for_ever(b"", b"H", pause=0.05),
        sends_for_ever(b"HTTP/1.1 200 OK\r\n", b"a", pause=0.05),
        sends_for_ever(b"", b"HTTP/1.1 100 Continue\r\n\r\n", pause=0.05),
        sends_for_ever(b"HTTP/1.1 200 OK\r\n\r\n", b"{", pause=0.05),
        sends_for_ever(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n", pause=0.05
        ),
    ],
    ids=["silence", "status", "headers", "continue", "body", "chunks"],
)
def test_a_server_has_one_timeout_for_everything(behaviour):
    """Silence, and a drip that never ends, in whichever part of the reply, end in time."""
    with serving(behaviour, GOOD) as server:
        with pytest.raises(AgentTimeoutError, match=r"did not answer within 0\.3 s$"):
            UrlAgent(server.url, timeout_seconds=0.3).act(SEEN)
        assert server.connections == 1


def test_a_server_that_does_not_read_ends_in_time():
    """A request that nobody takes ends in the timeout as well."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(AgentTimeoutError):
            UrlAgent(url, timeout_seconds=0.3).exchange(b"x" * 2**25)


def test_a_refusal_is_told_though_the_request_was_not_read():
    """A server that answers and hangs up before it has read all is still heard."""

    def refuse():
        connected, _ = listening.accept()
        with connected:
            connected.sendall(reply("too long", status="413 Content Too Large"))

    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = threading.Thread(target=refuse)
        server.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(RemoteAgentError, match="answered 413"):
            UrlAgent(url).exchange(b"x" * 2**24)
        server.join()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (HTML, "is not JSON"),
        ("", "is not JSON"),
        (ANSWER + "\n", "is not in canonical form"),
        (ANSWER.replace("west", "up"), "must be one of"),
        (ANSWER.replace(":0", ":1"), "step: must be 0, got 1"),
        (b"\xff", "is not UTF-8"),
    ],
    ids=case_id,
)
def test_an_invalid_answer_is_never_asked_for_again(body, message):
    """Whatever comes with 200 is the model's answer, and fails the step if it is no payload."""
    with serving(says(reply(body)), GOOD) as server:
        with pytest.raises(ModelOutputError, match=f"^step 0: .*{message}"):
            UrlAgent(server.url).act(SEEN)
        assert server.connections == 1


def test_an_endless_answer_takes_bounded_memory():
    """Of an endless body not much more is kept than an answer may have."""
    endless = sends_for_ever(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 100_000)
    with serving(endless) as server:
        tracemalloc.start()
        try:
            with pytest.raises(RemoteAgentError, match="more than 16 MiB"):
                UrlAgent(server.url).act(SEEN)
            assert tracemalloc.get_traced_memory()[1] < 5 * MAX_ANSWER_BYTES
        finally:
            tracemalloc.stop()


# TLS


def test_a_certificate_that_nobody_trusts_is_refused():
    """The default trusts what the system trusts; the request is not sent, nor tried again."""
    with serving(GOOD, secure=True) as server:
        with pytest.raises(RemoteAgentError, match="is not trusted: unable to get local issuer"):
            UrlAgent(server.url, headers={"Authorization": SECRET}).act(SEEN)
        assert (server.connections, server.requests) == (1, [])


def test_a_certificate_for_another_name_is_refused():
    """A trusted certificate does not make another host trusted."""
    trust = ssl.create_default_context()
    AUTHORITY.configure_trust(trust)
    with serving(GOOD, secure=True, host="127.0.0.2") as server:
        with pytest.raises(RemoteAgentError, match="certificate is not trusted: IP address mis"):
            UrlAgent(server.url, context=trust).act(SEEN)
        assert server.requests == []


def test_a_certificate_can_be_trusted():
    """Who brings a context says whom to trust."""
    trust = ssl.create_default_context()
    AUTHORITY.configure_trust(trust)
    with serving(west, secure=True) as server:
        assert UrlAgent(server.url, context=trust).act(SEEN) == {"a": "west"}
        named = server.url.replace("127.0.0.1", "localhost")
        assert UrlAgent(named, context=trust).act(SEEN) == {"a": "west"}


def test_plain_http_on_either_side_of_tls_is_told():
    """A server without TLS behind https, and the reverse, fail with one line."""
    with serving(GOOD) as server, pytest.raises(RemoteAgentError, match="broken or missing"):
        UrlAgent(server.url.replace("http:", "https:"), timeout_seconds=5).act(SEEN)
    with serving(GOOD, secure=True) as server, pytest.raises(RemoteAgentError):
        UrlAgent(server.url.replace("https:", "http:"), timeout_seconds=5).act(SEEN)


# Secrets


@pytest.mark.parametrize("words", [SECRET, f"Bearer {SECRET}"])
@pytest.mark.parametrize(
    "answer",
    [
        reply(f"no access for {SECRET}", status="401 Unauthorized"),
        reply(f"{'x' * 290} {SECRET}", status="403 Forbidden"),
        reply(f"busy, {SECRET}", status=f"503 {SECRET}"),
        reply(status=f"302 {SECRET}", headers=f"Location: /?{SECRET}\r\n"),
        f"HTTP/1.1 {SECRET}\r\n\r\n".encode(),
        f"{SECRET}\r\n\r\n".encode(),
        reply(ANSWER.replace("west", SECRET)),
        reply(ANSWER.replace("west", "x" * 50 + SECRET)),
        reply(ANSWER.replace("step", SECRET)),
        reply(SECRET),
    ],
    ids=case_id,
)
def test_a_secret_that_a_server_repeats_is_not_told(words, answer):
    """Neither an error nor its traceback has a header's value, or a part of it."""
    with serving(says(answer)) as server, pytest.raises(RemoteAgentError) as caught:
        Hasty(server.url, headers={"Authorization": words}, retries=1).act(SEEN)
    told = "".join(traceback.format_exception(caught.value))
    assert SECRET[:6] not in told


def test_an_episode_without_secrets_is_told_in_full():
    """A server that repeats what is no secret hides nothing."""
    refusal = says(reply("text/plain", status="415 x"))
    with serving(refusal) as server, pytest.raises(RemoteAgentError, match="'text/plain'"):
        UrlAgent(server.url, headers={"X-Short": "plain"}).act(SEEN)


def test_headers_come_from_a_variable(monkeypatch):
    """The SPEC's options name the variable; each line is a header, with or without blanks."""
    monkeypatch.setenv("MODEL_HEADERS", f"Authorization: Bearer {SECRET}\nX-Org:us \n")
    with serving(GOOD) as server:
        options = RemoteOptions(headers_from="MODEL_HEADERS", retries=0)
        load_agent(f"url:{server.url}", options)().act(SEEN)
    (request,) = server.requests
    assert request.headers["authorization"] == f"Bearer {SECRET}"
    assert request.headers["x-org"] == "us"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "the environment variable MODEL_HEADERS (headers) is not set"),
        (SECRET, "header 1 must be `Name: value`"),
        (f"X: y\n\nAuthorization: {SECRET}", "header 2 must be `Name: value`"),
        (f"A b: {SECRET}", "header 1 must be `Name: value`"),
        (f"A: {SECRET}é", "header 1 must be `Name: value`"),
        (f"A: {SECRET}\0", "header 1 must be `Name: value`"),
        ("A:", "header 1 must be `Name: value`"),
        (f"Host: {SECRET}", "header 1: host is set already"),
        (f"EMBERBench-Episode: {SECRET}", "header 1: emberbench-episode is set already"),
        (f"a: {SECRET}\nA: {SECRET}", "header 2: a is set already"),
    ],
    ids=case_id,
)
def test_headers_that_cannot_be_sent_are_refused(monkeypatch, text, message):
    """The error tells which one, and no value."""
    variables = {} if text is None else {"MODEL_HEADERS": text}
    monkeypatch.setattr("os.environ", variables)
    with pytest.raises(AgentSpecError) as caught:
        headers_in("MODEL_HEADERS")
    assert message in str(caught.value)
    assert SECRET[:6] not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        f"http://me:{SECRET}@host/act",
        f"http://{SECRET}@host/act",
        f"me:{SECRET}@host",
        f"ftp://me:{SECRET}@host/",
        f"http://host/act?api_key={SECRET}",
        f"http://host/act?a=b&Access-Token={SECRET}",
        f"http://host/act?{SECRET}",
        f"http://host/act?a=b&{SECRET}&c=d",
        f"ftp://host/act?sig={SECRET}",
    ],
)
def test_a_url_with_a_secret_is_refused_and_not_told(url):
    """URLs are written down, so what may be a secret is asked for as a header."""
    with pytest.raises(AgentSpecError, match="in a header") as caught:
        load_agent(f"url:{url}")
    assert SECRET[:6] not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        *("", "x", "http://", "http:///act", "ftp://host", "localhost:80/act", "/act"),
        *("http://host:0/", "http://host:65536/", "http://host:x/", "http://[::1/", "http:host"),
        *("http://host/a b", "http://host/\n", "http://höst/", "http://host/#a", "http://ho st/"),
    ],
)
def test_what_is_no_url_is_refused(url):
    """Scheme, host and port are checked before anything is played."""
    with pytest.raises(AgentSpecError, match=r"^agent URL '.*' must be http:// or https://"):
        load_agent(f"url:{url}")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://host", ("host", 80, "host", "/")),
        ("http://host?a=b", ("host", 80, "host", "/?a=b")),
        ("HTTPS://Host/a/b?c=d&e=", ("host", 443, "Host", "/a/b?c=d&e=")),
        ("http://[::1]:8080/act", ("::1", 8080, "[::1]:8080", "/act")),
    ],
)
def test_a_url_is_taken_apart(url, expected):
    """Host, port, authority and what is asked for."""
    assert endpoint_of(url)[1:5] == expected
    assert (endpoint_of(url).context is not None) == url.lower().startswith("https")
