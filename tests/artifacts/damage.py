"""A complete run whose copies are damaged in every way that tests of repair can think of."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.evaluation.manifest import load_manifest
from emberbench_dist.runner.evaluate import evaluate
from manifests import hall, write_manifest

COUNT = 60
PAGE = 4096
ROWS = 4  # how many rows of this run a page may hold

# A driver that is killed by the system within a commit, once it has written over old pages.
_DIE_IN_A_COMMIT = """
import os, signal, sys
from pathlib import Path
from emberbench_dist.artifacts.ledger import Ledger

path = Path(sys.argv[1])
ledger = Ledger.open(path)
ledger.begin_session("dies")
ledger._connection.execute("PRAGMA cache_size = 5")
old = path.read_bytes()

def die_once_old_pages_are_written():
    if path.read_bytes()[: len(old)] != old:
        os.kill(os.getpid(), signal.SIGKILL)

ledger._connection.set_progress_handler(die_once_old_pages_are_written, 100)
with ledger._transaction("commit"):
    ledger._connection.execute("UPDATE episodes SET execution = zeroblob(3000)")
"""


def die_in_a_commit(path):
    """Leave a ledger as a driver leaves it that was killed within a commit; return the journal."""
    died = subprocess.run(
        [sys.executable, "-c", _DIE_IN_A_COMMIT, path],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert died.returncode == -signal.SIGKILL
    return path.with_name(f"{path.name}-journal").read_bytes()


class Run:
    """A complete run, and copies of it that may be damaged."""

    def __init__(self, room):
        """Play it once."""
        blocks = [
            (hall("one", people=2), {"first": 1, "count": COUNT // 2}),
            (hall("two", 8, people=1), {"first": 1, "count": COUNT // 2}),
        ]
        self.room = room
        self.manifest = load_manifest(write_manifest(room / "input", blocks))
        self.undisturbed = evaluate(self.manifest, Greedy)
        self.path = room / "run"
        evaluate(self.manifest, Greedy, self.path, steps=False)
        self.content = (self.path / "ledger.sqlite").read_bytes()
        self.rows = rows(self.path)

    def copy(self, content=None):
        """Return a fresh copy of the run folder with this content for its ledger."""
        folder = self.room / "copy"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.path, folder)
        (folder / "ledger.sqlite").write_bytes(self.content if content is None else content)
        return folder

    def changed(self, place, new):
        """Return the content of the ledger with some bytes overwritten."""
        return self.content[:place] + new + self.content[place + len(new) :]

    def require_resumed(self, folder, left):
        """Resume a folder; require that exactly `left` episodes are played, to the same bytes.

        Artifact and traces are made anew, from the ledger.
        """
        built = []
        for name in ("artifact.jsonl", "traces.jsonl"):
            (folder / name).unlink(missing_ok=True)
        result = evaluate(
            self.manifest, lambda: built.append(1) or Greedy(), folder, resume=True, steps=False
        )
        assert (result.outcome, len(built)) == ("complete", left)
        assert (folder / "artifact.jsonl").read_bytes() == self.undisturbed.artifact
        assert (folder / "traces.jsonl").read_bytes() == self.undisturbed.traces


def rows(folder):
    """Return the rows of a ledger, which is sound, by episode."""
    with Ledger.reading(folder / "ledger.sqlite") as ledger:
        ledger.check()
        return {result.episode: result for result in ledger.results()}


def edit(folder, *statements):
    """Change a sound database past the ledger."""
    with closing(sqlite3.connect(folder / "ledger.sqlite", isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def damages(chance, content):
    """Yield a name and the content of a ledger after each kind of damage."""
    pages = len(content) // PAGE
    place, page = chance.randrange(len(content)), chance.randrange(pages) * PAGE
    head = chance.randrange(pages) * PAGE + chance.randrange(40)
    for where in (place, head):
        flipped = bytes([content[where] ^ chance.randrange(1, 256)])
        yield f"flip at {where}", content[:where] + flipped + content[where + 1 :]
    yield f"cut at {place}", content[:place]
    yield f"page {page} zeroed", content[:page] + bytes(PAGE) + content[page + PAGE :]
    half = page + PAGE // 2
    torn = content[:half] + chance.randbytes(PAGE // 2) + content[half + PAGE // 2 :]
    yield f"page {page} torn", torn
    other = chance.randrange(pages) * PAGE
    misplaced = content[:page] + content[other : other + PAGE] + content[page + PAGE :]
    yield f"page {other} at {page}", misplaced
