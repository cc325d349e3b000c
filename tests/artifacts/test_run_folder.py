"""The run folder: one driver at a time, whole files only, and errors that say what to do."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from emberbench_dist.artifacts.durable import read_json, replacing, unwritable, write_json
from emberbench_dist.artifacts.run_folder import RunFolder, timestamp
from emberbench_dist.errors import DiskFullError, RunFolderError

HOLD = """
import sys
from pathlib import Path
from emberbench_dist.artifacts.run_folder import RunFolder
with RunFolder(Path(sys.argv[1])).locked():
    print("locked", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """Start another process that holds the lock of `tmp_path` until its input ends."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "locked\n"
        yield process
        process.kill()


def names(folder):
    """Return the names of all files in a folder."""
    return {path.name for path in folder.iterdir()}


def test_paths_have_the_names_of_the_formats():
    """Every file of a run has its fixed name in the folder."""
    folder = RunFolder(Path("run"))
    assert folder.ledger == Path("run/ledger.sqlite")
    assert folder.artifact == Path("run/artifact.jsonl")
    assert folder.traces == Path("run/traces.jsonl")
    assert folder.run_json == Path("run/run.json")
    assert folder.log == Path("run/run.log")
    assert [folder.table(name) for name in ("episodes", "people", "steps", "execution")] == [
        Path("run/episodes.parquet"),
        Path("run/people.parquet"),
        Path("run/steps.parquet"),
        Path("run/execution.parquet"),
    ]


def test_create_makes_the_whole_path_and_keeps_what_is_there(tmp_path):
    """A folder is made with its parents, and making it again changes nothing."""
    folder = RunFolder(tmp_path / "a" / "b")
    folder.create()
    folder.run_json.write_text("{}")
    folder.create()
    assert names(folder.path) == {"run.json"}


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_create_refuses_a_file_in_its_place(tmp_path, place):
    """Where a file is in the way the error names the folder that was asked for."""
    (tmp_path / "file").write_text("kept")
    with pytest.raises(RunFolderError, match=rf"{place}: cannot be written: "):
        RunFolder(tmp_path / place).create()
    assert (tmp_path / "file").read_text() == "kept"


def test_create_refuses_where_nobody_may_write(foreign_folder, unprivileged):
    """A folder that the system does not let us make is an error that says so."""
    with unprivileged(), pytest.raises(RunFolderError, match=r"run: cannot be written: Permission"):
        RunFolder(foreign_folder / "run").create()


def test_lock_refuses_a_second_process_by_name(tmp_path, holder):
    """A second driver is refused and told host, process and time of the first."""
    before = datetime.now(UTC)
    with pytest.raises(RunFolderError) as caught, RunFolder(tmp_path).locked():
        pass
    told = str(caught.value)
    assert told.startswith(f"{tmp_path}: is in use by process {holder.pid} on ")
    assert f" on {socket.gethostname()} since " in told
    since = datetime.fromisoformat(told.rpartition(" since ")[2])
    assert abs((since - before).total_seconds()) < 60


def test_a_refused_driver_leaves_the_lock_with_its_owner(tmp_path, holder):
    """Being refused neither frees the lock nor forgets who has it."""
    for _ in range(2):
        with (
            pytest.raises(RunFolderError, match=f"process {holder.pid} "),
            RunFolder(tmp_path).locked(),
        ):
            pass
    assert read_json(tmp_path / "run.owner.json")["pid"] == holder.pid


def test_lock_is_free_once_its_process_ends(tmp_path, holder):
    """A driver that ends in good order leaves a folder that anybody may lock."""
    holder.stdin.close()
    assert holder.wait(timeout=60) == 0
    assert "run.owner.json" not in names(tmp_path)
    with RunFolder(tmp_path).locked():
        assert read_json(tmp_path / "run.owner.json")["pid"] == os.getpid()


def test_lock_of_a_killed_process_is_free(tmp_path, holder):
    """A driver that was killed keeps nobody out, although its name still lies there."""
    holder.send_signal(signal.SIGKILL)
    assert holder.wait(timeout=60) == -signal.SIGKILL
    assert read_json(tmp_path / "run.owner.json")["pid"] == holder.pid
    with RunFolder(tmp_path).locked():
        assert read_json(tmp_path / "run.owner.json")["pid"] == os.getpid()
    assert "run.owner.json" not in names(tmp_path)


def test_lock_holds_within_one_process(tmp_path):
    """Two runs in one process keep out of each other's folder too."""
    with (
        RunFolder(tmp_path).locked(),
        pytest.raises(RunFolderError, match=f"is in use by process {os.getpid()} "),
        RunFolder(tmp_path).locked(),
    ):
        pass


def test_lock_is_freed_by_an_error(tmp_path):
    """What fails under the lock gives it back."""
    with pytest.raises(KeyError), RunFolder(tmp_path).locked():
        raise KeyError
    with RunFolder(tmp_path).locked():
        assert "run.owner.json" in names(tmp_path)


@pytest.mark.parametrize("damaged", ["", "{", "{}", "[]", "null", '{"pid": 1}'])
def test_lock_refuses_also_where_the_owner_is_unknown(tmp_path, holder, damaged):
    """A damaged note of the owner changes the words, not the refusal."""
    assert holder.poll() is None
    (tmp_path / "run.owner.json").write_text(damaged)
    with (
        pytest.raises(RunFolderError, match=r"is in use by another driver$"),
        RunFolder(tmp_path).locked(),
    ):
        pass


def test_lock_refuses_a_folder_it_may_not_write(foreign_folder, unprivileged):
    """Somebody else's folder cannot be locked, and is left as it was."""
    with (
        unprivileged(),
        pytest.raises(RunFolderError, match=r"cannot be written: Permission denied"),
        RunFolder(foreign_folder).locked(),
    ):
        pass
    assert names(foreign_folder) == set()


def test_a_file_appears_only_when_it_is_whole(tmp_path):
    """While a file is written its name still holds what was there before."""
    path = tmp_path / "artifact.jsonl"
    path.write_bytes(b"old")
    with replacing(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == {"artifact.jsonl"}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("old", [b"old", None])
def test_an_error_leaves_the_old_file_alone(tmp_path, error, old):
    """What fails while it writes leaves the old file, or none, and nothing beside it."""
    path = tmp_path / "artifact.jsonl"
    if old is not None:
        path.write_bytes(old)

    def write_half():
        with replacing(path) as file:
            file.write(b"half of it")
            raise error

    with pytest.raises(error):
        write_half()
    assert [p.read_bytes() for p in tmp_path.iterdir()] == ([old] if old else [])


def test_a_file_is_durable_before_it_has_its_name(tmp_path, monkeypatch):
    """The bytes are synced before the rename and the folder after it, so power may fail."""
    path, synced = tmp_path / "artifact.jsonl", []

    def fsync(descriptor):
        is_folder = os.path.samestat(os.fstat(descriptor), tmp_path.stat())
        synced.append((is_folder or os.fstat(descriptor).st_size, names(tmp_path)))

    monkeypatch.setattr(os, "fsync", fsync)
    with replacing(path) as file:
        file.write(b"new")
    assert synced == [(3, {".artifact.jsonl.partial"}), (True, {"artifact.jsonl"})]


def test_what_a_dead_process_left_beside_is_replaced(tmp_path):
    """Half a file of an earlier process does not mix with the new one."""
    (tmp_path / ".artifact.jsonl.partial").write_bytes(b"half a file, and a long one at that")
    with replacing(tmp_path / "artifact.jsonl") as file:
        file.write(b"new")
    assert (tmp_path / "artifact.jsonl").read_bytes() == b"new"
    assert names(tmp_path) == {"artifact.jsonl"}


def test_a_full_disk_is_told_as_one(tmp_path):
    """The system's own "no space left" becomes `DiskFullError`, and the old file stays."""
    path = tmp_path / "artifact.jsonl"
    path.write_bytes(b"old")
    (tmp_path / ".artifact.jsonl.partial").symlink_to("/dev/full")
    with (
        pytest.raises(DiskFullError, match=r"artifact.jsonl: the disk is full; .* --resume"),
        replacing(path) as file,
    ):
        file.write(b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == {"artifact.jsonl"}


def test_only_a_full_disk_or_quota_is_called_full():
    """Another refusal of the system keeps its own words."""
    import errno

    path = Path("run")
    for number in (errno.ENOSPC, errno.EDQUOT):
        assert type(unwritable(path, OSError(number, "No space"))) is DiskFullError
    error = unwritable(path, OSError(errno.EROFS, "Read-only file system"))
    assert type(error) is RunFolderError
    assert str(error) == "run: cannot be written: Read-only file system"


def test_writing_into_a_foreign_folder_is_told(foreign_folder, unprivileged):
    """A file that may not be made is an error that names the file."""
    with (
        unprivileged(),
        pytest.raises(RunFolderError, match=r"run\.json: cannot be written: Permission"),
    ):
        write_json(foreign_folder / "run.json", {})


@pytest.mark.parametrize("place", ["gone/run.json", "file/run.json"])
def test_writing_where_no_folder_is_is_told(tmp_path, place):
    """A folder that went away, or became a file, is an error that names the file."""
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match=rf"{place}: cannot be written: "):
        write_json(tmp_path / place, {})


def test_json_reads_back(tmp_path):
    """What was written as JSON is readable text with a last newline, and reads back."""
    path = tmp_path / "run.json"
    write_json(path, {"é": [1, None], "a": {"b": "c"}})
    assert read_json(path) == {"é": [1, None], "a": {"b": "c"}}
    assert path.read_text() == json.dumps({"é": [1, None], "a": {"b": "c"}}, indent=2) + "\n"


@pytest.mark.parametrize("content", [None, b"", b"{", b"[1]", b"3", b"\xff"])
def test_json_that_nobody_needs_reads_as_empty(tmp_path, content):
    """A missing or damaged file that is only for information reads as nothing known."""
    if content is not None:
        (tmp_path / "run.json").write_bytes(content)
    assert read_json(tmp_path / "run.json") == {}


def test_timestamps_are_utc_to_the_second():
    """Times can be compared between hosts."""
    before = datetime.now(UTC).replace(microsecond=0)
    told = datetime.fromisoformat(timestamp())
    assert told.utcoffset().total_seconds() == 0
    assert told.microsecond == 0
    assert before <= told <= datetime.now(UTC)
