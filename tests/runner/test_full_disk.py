"""A disk that fills up during a run: an error that says so, and nothing lost."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from emberbench_dist.agents.baselines import Counting
from emberbench_dist.artifacts import ledger as ledger_module
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.errors import DiskFullError
from emberbench_dist.runner.evaluate import evaluate
from manifests import hall, write_manifest


class SmallDisk:
    """A folder on a disk that is soon full: a real one where we may mount it.

    Elsewhere it is the ledger that may not grow, which is what a full disk comes to.
    """

    def __init__(self, folder, monkeypatch):
        """Mount 300 kB over the folder, or limit the database."""
        self.folder, self.monkeypatch = folder, monkeypatch
        self.mounted = shutil.which("mount") is not None and self._mount("size=300k") == 0
        if not self.mounted:
            monkeypatch.setattr(ledger_module, "connect", self._connect)

    def make_room(self):
        """Make the disk larger."""
        if self.mounted:
            assert self._mount("remount,size=50m") == 0
        else:
            self.monkeypatch.undo()

    def close(self):
        """Take the disk away."""
        if self.mounted:
            subprocess.run(["umount", self.folder], check=True)

    def _mount(self, options):
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", self.folder]
        return subprocess.run(command, check=False, capture_output=True).returncode

    @staticmethod
    def _connect(path, connect=ledger_module.connect):
        connection = connect(path)
        connection.execute("PRAGMA max_page_count = 70")
        return connection


@pytest.fixture
def small_disk(tmp_path, monkeypatch):
    """Return a small disk, and take it away."""
    (tmp_path / "disk").mkdir()
    disk = SmallDisk(tmp_path / "disk", monkeypatch)
    yield disk
    disk.close()


def test_a_full_disk_stops_a_run_that_goes_on_once_there_is_room(tmp_path, small_disk):
    """Where the disk fills up the error says so; resumed with more room, the bytes are the same."""
    many = write_manifest(tmp_path / "many", [(hall("hall"), {"first": 0, "count": 700})])
    out = small_disk.folder / "run"
    with pytest.raises(DiskFullError, match=r"the disk is full; make room and go on with --resume"):
        evaluate(many, Counting, out)
    with Ledger.reading(out / "ledger.sqlite") as ledger:
        ledger.check()
        done = ledger.prefix()
    assert 0 < done < 700
    small_disk.make_room()
    result = evaluate(many, Counting, out, resume=True)
    assert (result.outcome, result.played) == ("complete", 700 - done)
    assert (out / "artifact.jsonl").read_bytes() == evaluate(many, Counting).artifact
    with Ledger.reading(out / "ledger.sqlite") as ledger:
        ledger.check()
