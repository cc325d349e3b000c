"""Durable writes: where a crash may come, what is on the disk just then, and what is left after."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from rows import contents, failure, synthetic

from emberbench_dist.artifacts import durable
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.errors import DiskFullError, RunFolderError

TESTS = Path(__file__).parents[1]
META = {"manifest_id": "test"}

# A driver that is killed by the system at a crash point of a transaction.
DIE_AT = """
import os, signal, sys
from pathlib import Path
from emberbench_dist.artifacts import durable
from emberbench_dist.artifacts.ledger import Ledger
from rows import synthetic

ledger = Ledger.open(Path(sys.argv[1]))
ledger.begin_session("greedy")
durable.crash_point = lambda name: name == sys.argv[2] and os.kill(os.getpid(), signal.SIGKILL)
match sys.argv[2].split()[0]:
    case "session":
        ledger.begin_session("stay")
    case "commit":
        ledger.commit([synthetic(1), synthetic(2)])
    case "crash":
        ledger.record_crash(5)
"""
# A process that is killed by the system in the middle of a file.
DIE_WITHIN = """
import os, signal, sys
from pathlib import Path
from emberbench_dist.artifacts.durable import replacing

with replacing(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def points(monkeypatch, tmp_path):
    """Collect each crash point with what the folder holds just then."""
    seen = []
    monkeypatch.setattr(
        durable, "crash_point", lambda name: seen.append((name, contents(tmp_path)))
    )
    return seen


def die(script, *arguments):
    """Run a script in a process that kills itself."""
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize("old", [{}, {"run.json": b"old"}])
def test_a_replacement_has_a_crash_point_on_each_side(tmp_path, points, old):
    """Before the rename the old file stands and the new one lies beside it; after it, the new."""
    for name, content in old.items():
        (tmp_path / name).write_bytes(content)
    with durable.replacing(tmp_path / "run.json") as file:
        file.write(b"new")
    assert points == [
        ("run.json written", old | {".run.json.partial": b"new"}),
        ("run.json renamed", {"run.json": b"new"}),
    ]


def test_json_is_written_through_the_same_two_points(tmp_path, points):
    """A JSON file is a replacement like any other."""
    durable.write_json(tmp_path / "run.json", {"a": 1})
    assert [name for name, _ in points] == ["run.json written", "run.json renamed"]


@pytest.mark.parametrize("old", [{}, {"failures.parquet": b"old"}])
def test_a_removal_has_a_crash_point_after_it(tmp_path, points, old):
    """A file is removed, where there is one, before the crash point; there is none half removed."""
    for name, content in old.items():
        (tmp_path / name).write_bytes(content)
    durable.remove(tmp_path / "failures.parquet")
    assert points == [("failures.parquet removed", {})]


def test_a_new_ledger_has_its_name_only_when_it_is_whole(tmp_path, points):
    """A ledger is made beside its name, with all that binds it, and renamed."""
    Ledger.create(tmp_path / "ledger.sqlite", META, {"manifest": b"text"}).close()
    (written, before), (renamed, after) = points
    assert (written, renamed) == ("ledger.sqlite written", "ledger.sqlite renamed")
    assert before.keys() == {".ledger.sqlite.partial"}
    assert after == {"ledger.sqlite": before[".ledger.sqlite.partial"]}
    (tmp_path / "copy.sqlite").write_bytes(after["ledger.sqlite"])
    with Ledger.reading(tmp_path / "copy.sqlite") as ledger:
        ledger.check()
        assert (ledger.meta(), ledger.documents()) == (META, {"manifest": b"text"})


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (lambda ledger: ledger.begin_session("stay"), "session"),
        (lambda ledger: ledger.commit([synthetic(1)]), "commit"),
        (lambda ledger: ledger.commit([], [failure(2)]), "commit"),
        (lambda ledger: ledger.extend(iter([synthetic(3)])), "commit"),
        (lambda ledger: ledger.record_crash(5), "crash"),
    ],
)
def test_every_transaction_has_a_crash_point_on_each_side(tmp_path, points, write, name):
    """Whatever is written to a ledger passes a point before its commit and one after it."""
    with closing(Ledger.create(tmp_path / "ledger.sqlite", META)) as ledger:
        ledger.begin_session("greedy")
        points.clear()
        write(ledger)
        assert [point for point, _ in points] == [f"{name} written", f"{name} committed"]


@pytest.mark.parametrize("name", ["session", "commit", "crash"])
@pytest.mark.parametrize(("place", "done"), [("written", 0), ("committed", 1)])
def test_a_transaction_is_durable_once_it_is_committed(tmp_path, name, place, done):
    """Killed before its commit a transaction never was; killed after it, it is all there."""
    path = tmp_path / "ledger.sqlite"
    with closing(Ledger.create(path, META)) as ledger:
        ledger.begin_session("first")
        ledger.commit([synthetic(0)])
    die(DIE_AT, path, f"{name} {place}")
    with Ledger.reading(path) as ledger:
        ledger.check()
        found = {
            "session": len(ledger.sessions()) - 2,
            "commit": sum(map(len, ledger.committed())) - 1,
            "crash": ledger.crashes().get(5, 0),
        }
    assert found == {"session": 0, "commit": 0, "crash": 0} | {
        name: done * (1 + (name == "commit"))
    }


def test_half_a_file_is_in_nobodys_way(tmp_path):
    """Killed in the middle of a file, a process leaves the old one; the next writes a new one."""
    path = tmp_path / "artifact.jsonl"
    path.write_bytes(b"old")
    die(DIE_WITHIN, path)
    assert contents(tmp_path) == {"artifact.jsonl": b"old", ".artifact.jsonl.partial": b"half"}
    with durable.replacing(path) as file:
        file.write(b"new")
    assert contents(tmp_path) == {"artifact.jsonl": b"new"}


@pytest.mark.parametrize(
    ("number", "kind"), [(28, DiskFullError), (122, DiskFullError), (5, RunFolderError)]
)
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_disk_that_fails_late_leaves_the_old_file(tmp_path, monkeypatch, call, number, kind):
    """Where only the sync or the rename fails, the old file stays whole and nothing beside it."""
    path = tmp_path / "artifact.jsonl"
    path.write_bytes(b"old")

    def fail(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(*((os, "fsync") if call == "fsync" else (Path, "replace")), fail)
    with pytest.raises(RunFolderError, match=r"artifact\.jsonl: ") as caught:
        durable.write_json(path, {})
    assert type(caught.value) is kind
    assert contents(tmp_path) == {"artifact.jsonl": b"old"}


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"a":' * 100_000, b"9" * 10_000])
def test_json_that_cannot_be_read_is_nothing_known(tmp_path, content):
    """A file that is only for information never stops anybody, however odd it is."""
    (tmp_path / "run.json").write_bytes(content)
    assert durable.read_json(tmp_path / "run.json") == {}
