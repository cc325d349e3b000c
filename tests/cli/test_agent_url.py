"""`dist-eval run --agent-url`: a server plays, and a secret stays one."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import dist_eval as call
from programs import West
from servers import AUTHORITY, reply, says, serving, west

from emberbench_dist.runner.evaluate import evaluate

SECRET = "sk-0123456789abcdef"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Work in the test's folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(folder):
    """Return all bytes of all files below a folder."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_workers_ask_the_server_with_the_headers(dist_eval, tmp_path, manifest):
    """On Ray the bytes are the same, the variable is read there, and its value is nowhere."""
    trusted = tmp_path / "trusted.pem"
    AUTHORITY.cert_pem.write_to_path(trusted)
    with serving(west, secure=True) as server:
        done = dist_eval(
            *(manifest, "--agent-url", server.url, "--agent-headers", "MODEL_HEADERS"),
            *("--workers", "2", "--out", "here"),
            env={
                "MODEL_HEADERS": f"Authorization: Bearer {SECRET}",
                "SSL_CERT_FILE": str(trusted),
            },
        )
    assert done.returncode == 0, done.stderr
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {SECRET}"}
    assert len({request.headers["emberbench-episode"] for request in server.requests}) == 40
    assert (tmp_path / "here/artifact.jsonl").read_bytes() == evaluate(manifest, West).artifact
    assert b"MODEL_HEADERS" in files(tmp_path / "here")
    assert SECRET.encode() not in files(tmp_path / "here") + (done.stdout + done.stderr).encode()


def test_a_failing_server_tells_no_secret(here, manifest, monkeypatch):
    """A refusal that repeats the header reaches neither the terminal nor the run folder."""
    monkeypatch.setenv("MODEL_HEADERS", f"Authorization: Bearer {SECRET}")
    refusal = says(reply(f"{SECRET} is no key", status="401 Unauthorized"))
    arguments = ("--agent-headers", "MODEL_HEADERS", "--in-process", "--keep-going", "--out", "out")
    with serving(refusal) as server:
        done = call(manifest, "--agent-url", server.url, *arguments)
    assert done.returncode == 1
    assert "RemoteAgentError" in done.stderr
    assert "answered 401 Unauthorized (it may want a header)" in done.stderr
    assert SECRET[:6] not in done.stdout + done.stderr
    assert SECRET[:6].encode() not in files(here / "out")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--agent-url", "localhost:80"), "agent URL 'localhost:80' must be http:// or https://"),
        (("--agent-url", f"http://me:{SECRET}@h/"), "an agent URL must not hold a user or passwo"),
        (("--agent-url", f"http://h/?key={SECRET}"), "the query of an agent URL has a part that"),
        (("--agent-url", "http://h", "--agent-command", "cat"), "--agent-command and --agent-url"),
        (("--agent-url", "http://h", "--agent-headers", "X_Y"), "the environment variable X_Y (he"),
        (("--agent-url", "http://h", "--agent-retries", "-1"), "Invalid value for '--agent-retri"),
        (("--agent-command", "cat", "--agent-retries", "1"), "--agent-retries is for --agent-url"),
        (("--agent-headers", "X_Y"), "--agent-headers is for --agent-url"),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(manifest, arguments, message):
    """Exit code 2, one line that says what is wrong and no secret, and no run folder."""
    done = call(manifest, *arguments, "--in-process")
    assert done.returncode == 2
    assert f"Error: {message}" in done.stderr
    assert SECRET not in done.stderr
    assert not Path("results").exists()
