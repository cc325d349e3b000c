"""Checks of the folder for runs: what a run does there is tried, and nothing stays."""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from emberbench_dist.artifacts.filesystem import Mount
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.doctor import disk
from emberbench_dist.doctor.finding import OK, PROBLEM, WARNING, Asked


def found_at(folder):
    """Return the findings about a folder by name."""
    return {finding.name: finding for finding in disk.disk(Asked(folder))}


def test_a_good_disk_is_tried_and_left_as_it_was(tmp_path):
    """A commit, a rename and a lock work, and the folder that is not there yet is not made."""
    found = found_at(tmp_path / "results" / "run")
    assert found.keys() == {"file system", "disk space", "inodes", "writing"}
    assert {finding.level for finding in found.values()} == {OK}
    assert "locks hold" in found["writing"].text
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_a_problem(tmp_path):
    """Space that is low and a commit that has no room are both told."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40k", "tmpfs", tmp_path], check=True)
    try:
        found = found_at(tmp_path / "run")
        assert not list(tmp_path.iterdir())
    finally:
        subprocess.run(["umount", tmp_path], check=True)
    assert (found["disk space"].level, found["writing"].level) == (PROBLEM, PROBLEM)
    assert found["writing"].text == f"{tmp_path}: the disk is full"
    assert found["file system"].level == WARNING
    assert "gone after a reboot" in found["file system"].advice


def test_a_file_in_the_way_is_a_problem(tmp_path):
    """What cannot become a folder is named."""
    (tmp_path / "results").write_text("mine")
    found = found_at(tmp_path / "results" / "run")
    assert found["writing"].level == PROBLEM
    assert found["writing"].text == f"{tmp_path}/results: Not a directory"


@pytest.mark.parametrize(("free", "level"), [(1024, OK), (1023, WARNING), (49, PROBLEM)])
def test_low_space_is_a_warning_before_it_is_a_problem(free, level):
    """Less than a gibibyte is low, less than 50 MiB too little."""
    assert disk._enough("disk space", "", free, low=1024, least=50).level == level


def test_a_network_disk_is_a_warning(monkeypatch, tmp_path):
    """The type and the mount are named, and what to do."""
    monkeypatch.setattr(disk, "mount_of", lambda _: Mount(Path("/home"), "nfs4"))
    found = disk._file_system(tmp_path)
    assert (found.level, found.text) == (WARNING, "nfs4, mounted at /home")
    assert "--publish" in found.advice
    monkeypatch.setattr(disk, "mount_of", lambda _: None)
    assert disk._file_system(tmp_path).level == WARNING


def test_locks_that_keep_nobody_out_are_a_problem(monkeypatch, tmp_path):
    """A disk on which two drivers get one lock is found."""

    @contextmanager
    def free_for_all(_):
        yield

    monkeypatch.setattr(RunFolder, "locked", free_for_all)
    found = disk._writing(tmp_path)
    assert (found.level, found.text) == (PROBLEM, f"locks do not hold at {tmp_path}")


def test_slow_commits_are_a_warning(monkeypatch, tmp_path):
    """A disk that takes long to sync holds runs up."""
    monkeypatch.setattr(disk, "_SLOW_SECONDS", 0)
    assert disk._writing(tmp_path).level == WARNING


def stuck(_send, _folder):
    """Look at a disk that does not answer."""
    time.sleep(600)


def test_a_disk_that_does_not_answer_is_given_up(monkeypatch, tmp_path):
    """A dead server does not hold the doctor up."""
    monkeypatch.setattr(disk, "_look", stuck)
    monkeypatch.setattr(disk, "PATIENCE_SECONDS", 0.1)
    (found,) = disk.disk(Asked(tmp_path))
    assert found.level == PROBLEM
    assert found.text == f"{tmp_path}: nothing was heard for 0 s"


def test_an_old_sqlite_is_a_problem(monkeypatch):
    """Tables of the ledger need STRICT."""
    (found,) = disk.sqlite(Asked(Path("results")))
    assert found.level == OK
    monkeypatch.setattr(disk, "_LEAST_SQLITE", (99, 0))
    (found,) = disk.sqlite(Asked(Path("results")))
    assert (found.level, found.advice) == (PROBLEM, "use a Python with SQLite 3.37 or newer")


def test_inodes_that_are_not_counted_are_no_limit(monkeypatch, tmp_path):
    """Some file systems have no such number."""
    real = os.statvfs(tmp_path)
    none = type(real)([*real[:5], 0, 0, 0, *real[8:]])
    monkeypatch.setattr(disk.os, "statvfs", lambda _: none)
    assert disk._files(tmp_path).text == "no limit"
