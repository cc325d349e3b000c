"""`--publish` and `dist-eval publish`: what arrives in stores and folders, and how faults end."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from hashlib import sha256
from http.client import HTTPConnection
from pathlib import Path

import pytest
from commands import dist_eval
from google_store import google_store
from servers import reply, says, serving

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.artifacts.publishing import publish as publishing
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.cli import run as run_command
from emberbench_dist.runner.evaluate import evaluate

TABLES = {f"{name}.parquet" for name in ("episodes", "people", "steps", "execution")}
FILES = {"artifact.jsonl", "traces.jsonl", "run.json", *TABLES}
KEYS = {"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "hunter2hunter2"}


@pytest.fixture(scope="module")
def store():
    """Start an object store with the bucket `runs`; return its port."""
    script = Path(sys.executable).with_name("moto_server")
    with subprocess.Popen(
        [script, "-H", "127.0.0.1", "-p", "0"], stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            port = next(
                int(found[1])
                for line in process.stderr
                if (found := re.search(r"Running on http://127\.0\.0\.1:(\d+)", line))
            )
            threading.Thread(target=process.stderr.read, daemon=True).start()
            asked(port, "PUT", "/runs")
            yield port
        finally:
            process.kill()


@pytest.fixture(autouse=True)
def credentials(monkeypatch):
    """Give every store the same keys, and no other settings of this machine."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def asked(port, method, path):
    """Return what the store answers to a plain request."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path)
    answer = connection.getresponse().read()
    connection.close()
    return answer


def url_at(port, path="runs/1"):
    """Return the URL of a place in a store on this machine."""
    return f"s3://{path}?endpoint_override=127.0.0.1:{port}&scheme=http"


def names_in(port, prefix):
    """Return the names of the objects under a prefix of the bucket."""
    listed = asked(port, "GET", f"/runs?list-type=2&prefix={prefix}/").decode()
    return {key.rpartition("/")[2] for key in re.findall("<Key>(.*?)</Key>", listed)}


def require_whole(listed, read):
    """Everything that a list names is there as it says."""
    for name, told in listed["files"].items():
        content = read(name)
        assert told == {"sha256": sha256(content).hexdigest(), "size": len(content)}


def test_a_run_is_published_to_a_store_when_it_is_complete(store, room, tmp_path):
    """Its files arrive, as a list says that comes last; no secret is anywhere."""
    place = url_at(store, "runs/after%20a%20run")
    manifest = room / "input/manifest.json"
    done = dist_eval(manifest, "--in-process", "--out", tmp_path / "run", "--publish", place)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (
        0,
        f"published: {place} (7 files, 0.0 MiB)",
    ), done.stderr
    assert names_in(store, "after%20a%20run") == {*FILES, "published.json"}
    at = "/runs/after%20a%20run/"
    listed = json.loads(asked(store, "GET", f"{at}published.json"))
    assert listed["files"].keys() == FILES
    require_whole(listed, lambda name: asked(store, "GET", at + name))
    assert asked(store, "GET", f"{at}artifact.jsonl") == evaluate(manifest, Greedy).artifact
    known = (tmp_path / "run/run.json").read_text()
    assert not [value for value in KEYS.values() if value in known + done.stderr + done.stdout]


def test_a_run_is_published_to_google(run):
    """The same through `gs://`, for a second time as well, and a bucket that is not there."""
    with google_store() as (port, objects):
        place = f"gs://anonymous@runs/a/1?endpoint_override=127.0.0.1:{port}&scheme=http"
        done = dist_eval("publish", run, place)
        assert (done.returncode, done.stdout) == (
            0,
            f"published: {place} (7 files, 0.0 MiB)\n",
        ), done.stderr
        assert objects.keys() == {f"a/1/{name}" for name in (*FILES, "published.json")}
        require_whole(json.loads(objects["a/1/published.json"]), lambda x: objects[f"a/1/{x}"])
        assert "7 of them were there" in dist_eval("publish", run, place).stdout
        refused = dist_eval("publish", run, place.replace("@runs", "@nowhere"))
    assert refused.returncode == 2
    assert refused.stderr.endswith(": there is no bucket nowhere; make it first\n")


def test_publishing_again_copies_only_what_is_missing(store, run, monkeypatch):
    """What is there is told and left; what is gone comes back. The environment says where."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{store}")
    place = "s3://runs/1"
    assert dist_eval("publish", run, place).returncode == 0
    again = dist_eval("publish", run, place)
    assert again.stdout == f"published: {place} (7 files, 0.0 MiB, 7 of them were there)\n"
    asked(store, "DELETE", "/runs/1/steps.parquet")
    again = dist_eval("publish", run, place)
    assert again.stdout == f"published: {place} (7 files, 0.0 MiB, 6 of them were there)\n"
    assert asked(store, "GET", "/runs/1/steps.parquet") == (run / "steps.parquet").read_bytes()


def test_the_place_of_another_run_is_refused_before_a_run(room, tmp_path):
    """A run that could not be published does not begin, unless its place is its own."""
    place = (tmp_path / "place").as_uri()
    arguments = room / "input/manifest.json", "--in-process", "--publish", place, "--out"
    assert dist_eval(*arguments, tmp_path / "first").returncode == 0
    refused = dist_eval(*arguments, tmp_path / "second")
    assert refused.returncode == 2
    assert re.fullmatch(
        rf"Error: {place}: a run of test with greedy \(begun \S+ on \S+\) is there already; "
        r"choose another place, or replace it by `dist-eval publish --overwrite`\n",
        refused.stderr,
    )
    assert not (tmp_path / "second").exists()
    assert dist_eval(*arguments, tmp_path / "first", "--resume").returncode == 0


def test_a_place_that_cannot_be_is_refused_before_a_run(room, tmp_path):
    """Also a variable that was not set: a run that was to be published does not begin."""
    for url in ("", "s3://AKIAEXAMPLE:hunter2@runs/1"):
        refused = dist_eval(
            *(room / "input/manifest.json", "--in-process", "--out", tmp_path / "run"),
            *("--publish", url),
        )
        assert refused.returncode == 2
        assert len(refused.stderr.splitlines()) == 1
        assert "hunter2" not in refused.stderr
        assert not (tmp_path / "run").exists()


def test_a_run_on_a_network_disk_is_told_and_goes_on(room, tmp_path, monkeypatch):
    """One line on standard error, and the run is as any other."""
    monkeypatch.setattr(run_command, "network_warning", lambda _: "The run folder is on nfs.")
    done = dist_eval(room / "input/manifest.json", "--in-process", "--out", tmp_path / "run")
    assert (done.returncode, done.stderr.splitlines()) == (0, ["The run folder is on nfs."])


def test_overwriting_is_said(run, tmp_path):
    """Another run is replaced only by the command that says so."""
    place = (tmp_path / "place").as_uri()
    assert dist_eval("publish", run, place).returncode == 0
    known = json.loads((run / "run.json").read_text())
    known["sessions"][0]["host"] = "elsewhere"
    (run / "run.json").write_text(json.dumps(known))
    assert dist_eval("publish", run, place).returncode == 2
    assert dist_eval("publish", run, place, "--overwrite").returncode == 0
    listed = json.loads((tmp_path / "place/published.json").read_text())
    assert listed["run"]["host"] == "elsewhere"
    require_whole(listed, lambda name: (tmp_path / "place" / name).read_bytes())


def test_a_slice_publishes_its_tables(room, tmp_path):
    """A slice has no artifact; its tables and run.json are published."""
    place = (tmp_path / "place").as_uri()
    done = dist_eval(
        *(room / "input/manifest.json", "--in-process", "--slice", "2/2", "--no-steps"),
        *("--out", tmp_path / "run", "--publish", place),
    )
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "place").iterdir()} == {
        *(TABLES - {"steps.parquet"}),
        *("run.json", "published.json"),
    }


def test_a_run_that_is_not_complete_keeps_its_code_and_is_not_published(room, tmp_path):
    """An agent that fails is exit code 1, whatever was to be published."""
    place = (tmp_path / "place").as_uri()
    done = dist_eval(
        *(room / "input/manifest.json", "--in-process", "--agent", "players:raises_at_once"),
        *("--out", tmp_path / "run", "--publish", place),
    )
    assert done.returncode == 1
    assert done.stderr.endswith("Not published: only complete runs are.\n")
    assert json.loads((tmp_path / "place/published.json").read_text())["files"] == {}
    refused = dist_eval("publish", tmp_path / "run", place)
    told = "is not complete, and only complete runs are published: finish it with --resume"
    assert (refused.returncode, refused.stderr) == (2, f"Error: {tmp_path}/run: {told}\n")


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (
            lambda run: (run / "run.json").unlink(),
            "there is no run here, or its run.json is damaged",
        ),
        (lambda run: (run / "people.parquet").unlink(), "people.parquet: is missing"),
        (lambda run: (run / "traces.jsonl").unlink(), "traces.jsonl: is missing"),
        (lambda run: (run / "artifact.jsonl").write_text("{}\n"), "artifact.jsonl: is damaged"),
        (shutil.rmtree, "there is no run here"),
    ],
)
def test_what_is_no_whole_run_is_refused(run, tmp_path, spoil, told):
    """Nothing is copied of a folder without a complete run."""
    spoil(run)
    refused = dist_eval("publish", run, (tmp_path / "place").as_uri())
    assert refused.returncode == 2
    assert told in refused.stderr
    assert not (tmp_path / "place").exists()


def test_a_folder_in_use_or_the_run_folder_itself_is_refused(run, tmp_path):
    """Nothing is copied during a run, nor on top of it."""
    with RunFolder(run).locked():
        refused = dist_eval("publish", run, (tmp_path / "place").as_uri())
    assert (refused.returncode, refused.stderr) == (
        2,
        f"Error: {run}: a driver is at work there; publish it afterwards\n",
    )
    refused = dist_eval("publish", run, run.as_uri())
    assert refused.returncode == 2
    assert "is the run folder itself" in refused.stderr
    assert not (run / "published.json").exists()


def fault(code, status="403 Forbidden"):
    """Return what a server answers that refuses with an error code of S3."""
    body = f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>No {KEYS}</Message></Error>'
    return says(reply(body, status=status, headers="Content-Type: application/xml\r\n"))


MISSING = says(reply(status="404 Not Found"))


@pytest.mark.parametrize(
    ("behaviours", "told"),
    [
        ([fault("AccessDenied")], "access is denied: listing, reading and writing must be allowed"),
        ([MISSING, fault("InvalidAccessKeyId")], "the credentials are not accepted"),
        ([fault("InternalError", "500 Oops")], "the store is in trouble: "),
    ],
    ids=["denied", "keys", "trouble"],
)
def test_a_store_that_refuses_is_told_before_a_run(room, tmp_path, behaviours, told):
    """What a store refuses is one line, after few attempts, before the run begins."""
    with serving(*behaviours) as server:
        place = url_at(server.url.rpartition(":")[2].removesuffix("/act"))
        refused = dist_eval(
            *(room / "input/manifest.json", "--in-process", "--out", tmp_path / "run"),
            *("--publish", place),
        )
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith(f"Error: {place}: {told}")
    assert len(refused.stderr.splitlines()) == 1
    assert server.connections <= 4
    assert not (tmp_path / "run").exists()


def test_a_bucket_that_is_not_there_is_told(store, run):
    """The name of the bucket and what to do."""
    refused = dist_eval("publish", run, url_at(store, "nowhere/1"))
    assert refused.returncode == 2
    assert refused.stderr.endswith(": there is no bucket nowhere; make it first\n")


def test_a_store_that_says_nothing_is_given_up(run, monkeypatch):
    """Patience ends, whatever the library would do."""
    monkeypatch.setattr(publishing, "PATIENCE_SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        given_up = dist_eval("publish", run, url_at(silent.getsockname()[1]))
    assert given_up.returncode == 3
    assert given_up.stderr.endswith(": nothing was heard for 1 s\n")


@contextmanager
def cut_at(port, pattern):
    """Pass connections on to a port until a request matches; then close all; yield the port."""
    listening, cut, threads = socket.create_server(("127.0.0.1", 0)), threading.Event(), []

    def start(work, *arguments):
        threads.append(threading.Thread(target=work, args=arguments))
        threads[-1].start()

    def serve():
        with suppress(OSError):
            while client := listening.accept()[0]:
                start(talk, client)

    def talk(client):
        with suppress(OSError), client, socket.create_connection(("127.0.0.1", port)) as server:
            start(answer, server, client)
            while not cut.is_set() and (data := client.recv(65536)):
                if re.search(pattern, data):
                    cut.set()
                else:
                    server.sendall(data)
            server.shutdown(socket.SHUT_RDWR)

    def answer(server, client):
        with suppress(OSError):
            while data := server.recv(65536):
                client.sendall(data)

    start(serve)
    try:
        yield listening.getsockname()[1]
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        for thread in threads:
            thread.join()


def test_a_complete_run_that_is_not_published_is_exit_3(store, room, tmp_path):
    """A store that is lost midway lists nothing; the run is whole, and told how to go on."""
    with cut_at(store, rb"P(OS|U)T \S*traces\.jsonl") as port:
        place = url_at(port, "runs/cut")
        done = dist_eval(
            *(room / "input/manifest.json", "--in-process", "--out", tmp_path / "run"),
            *("--publish", place),
        )
    assert done.returncode == 3
    assert f"results: {tmp_path}/run" in done.stdout
    *_, error, again = done.stderr.splitlines()
    assert error.startswith(
        f"Error: the run is complete, but not published: {place}: the store cannot be reached: "
    )
    assert again == f"Publish it with: dist-eval publish {tmp_path}/run '{place}'"
    assert json.loads((tmp_path / "run/run.json").read_text())["outcome"] == "complete"
    assert json.loads(asked(store, "GET", "/runs/cut/published.json"))["files"] == {}
    assert names_in(store, "cut") == {"artifact.jsonl", "published.json"}
    done = dist_eval("publish", tmp_path / "run", url_at(store, "runs/cut"))
    assert "(7 files, 0.0 MiB, 1 of them were there)" in done.stdout


def test_a_full_disk_lists_nothing(run, tmp_path):
    """A folder on a full disk is told; nothing half stays, and with room it comes to its end."""
    small = tmp_path / "small"
    small.mkdir()
    (run / "traces.jsonl").write_bytes(b"x" * 200_000)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=60k", "tmpfs", small], check=True)
    try:
        place = (small / "run").as_uri()
        full = dist_eval("publish", run, place)
        assert (full.returncode, full.stderr) == (
            3,
            f"Error: {place}: traces.jsonl: No space left on device\n",
        )
        assert {path.name for path in (small / "run").iterdir()} == {
            *("artifact.jsonl", "published.json"),
        }
        subprocess.run(["mount", "-o", "remount,size=4m", small], check=True)
        assert dist_eval("publish", run, place).returncode == 0
    finally:
        subprocess.run(["umount", small], check=True)
