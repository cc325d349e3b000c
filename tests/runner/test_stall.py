"""A run in which nothing moves any more: when it ends, and what it names."""

from __future__ import annotations

from contextlib import closing
from types import SimpleNamespace

import pytest
from rows import failure, played

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.playing import Notepad
from emberbench_dist.runner.drive import Controls, Drive
from emberbench_dist.runner.evaluate import evaluate
from emberbench_dist.runner.pool import Finished, Joined, Lost
from emberbench_dist.runner.schedule import Schedule


class Script:
    """A pool that tells what the script says, a second of the clock for each wait."""

    linger = 0.5

    def __init__(self, clock, events):
        """Keep the script: the events of each wait, then nothing more for ever."""
        self.clock, self.events = clock, iter(events)

    def submit(self, worker, items, budget):
        """Take a batch."""

    def wait(self, timeout):
        """Let a second pass."""
        self.clock.now += 1.0
        return next(self.events, [])

    def note(self):
        """Lack nothing."""
        return ""


@pytest.fixture
def clock(monkeypatch):
    """Give the loop a clock of the test's own."""
    clock = SimpleNamespace(now=1000.0)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr("emberbench_dist.runner.drive.time", clock)
    return clock


def driven(manifest, clock, events, *, after, playing=None):
    """Drive a script to its end; return the drive and the seconds that it took."""
    with closing(Ledger.create(None, {})) as ledger:
        ledger.begin_session("any")
        drive = Drive(
            manifest,
            ledger,
            Schedule([range(len(manifest))]),
            len(manifest),
            0,
            Controls(stall_seconds=after, keep_going=True),
            playing,
        )
        start = clock.now
        drive.run(Script(clock, events))
    return drive, clock.now - start


def test_a_run_without_commits_ends(manifest, clock):
    """Once nothing was committed for longer than allowed, the run ends and says so."""
    drive, seconds = driven(manifest, clock, [[Joined(0)]], after=5)
    assert drive.stalled == ("nothing was committed for 6 s; running: 1 batches on other machines")
    assert seconds == 7
    assert drive.schedule.in_flight == 1


def test_what_is_running_is_named(manifest, clock, tmp_path):
    """The message names each episode that is being played, with its worker."""
    Notepad(tmp_path, 0)(12)
    Notepad(tmp_path, 3)(7)
    Notepad(tmp_path, 1)(None)
    drive, _ = driven(manifest, clock, [[Joined(0)]], after=2, playing=tmp_path)
    told, _, running = drive.stalled.partition("; running: ")
    assert told == "nothing was committed for 3 s"
    assert running == "episode 12 on worker 0 for 0 s; episode 7 on worker 3 for 0 s"


def test_whatever_moves_starts_the_clock_again(manifest, clock):
    """A worker that joins, a result and a failure are movement; a lost worker is none."""
    (result,) = played(manifest, [0])
    events = [[Joined(0)], [], [], [Finished(0, [result])], [], [], [Joined(1)], [], []]
    events += [[Finished(0, [failure(1)])], [], [Lost(1, "its node has died", charged=False)]]
    drive, seconds = driven(manifest, clock, events, after=3)
    assert seconds == 10 + 4
    assert drive.stalled.startswith("nothing was committed for 4 s; ")
    assert (drive.played, list(drive.failures)) == (1, [1])


@pytest.mark.parametrize("after", [5, 90])
def test_the_first_worker_may_take_a_minute(manifest, clock, after):
    """While no worker is ready, a stall is at least a minute."""
    drive, seconds = driven(manifest, clock, [], after=after)
    patience = max(after, 60)
    assert seconds == patience + 1
    assert drive.stalled == (
        f"nothing was committed for {patience + 1} s; running: no worker is ready"
    )


def test_without_a_limit_nothing_is_a_stall(manifest, clock):
    """By default a run waits as long as it takes."""
    results = played(manifest, range(len(manifest)))
    events = [[Joined(0)], *[[]] * 100_000, *([Finished(0, [result])] for result in results)]
    drive, _ = driven(manifest, clock, events, after=float("inf"))
    assert (drive.stalled, drive.played) == ("", len(manifest))


def test_notes_of_a_killed_session_are_gone(manifest, tmp_path):
    """What workers of a killed session played is not told as if it were played now."""
    told = []
    folder = tmp_path / "run"
    (folder / "playing").mkdir(parents=True)
    Notepad(folder / "playing", 5)(3)
    evaluate(manifest, Greedy, folder, controls=Controls(report=told.append))
    assert told
    assert {note.worker for progress in told for note in progress.running} <= {0}
