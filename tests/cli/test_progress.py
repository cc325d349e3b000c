"""What is told while a run goes on: counts, what takes long, and what the pool lacks."""

from __future__ import annotations

import pytest

from emberbench_dist.artifacts.playing import Playing
from emberbench_dist.cli import progress as module
from emberbench_dist.cli.progress import Reporter
from emberbench_dist.runner.drive import Progress


@pytest.fixture
def reporter(monkeypatch, capsys):
    """Return what reports with a line each time, and what returns the lines."""
    monkeypatch.setattr(module, "_SECONDS_BETWEEN_LINES", 0.0)
    report = Reporter().report

    def lines():
        return capsys.readouterr().err.splitlines()

    return report, lines


def progress(**fields):
    """Return how far a run of 40 episodes is."""
    known = {"planned": 40, "committed": 12, "played": 10, "failed": 0, "seconds": 4.0}
    return Progress(**known | fields)


def test_a_line_tells_how_far_it_is(reporter):
    """Without a terminal there is a plain line: committed, speed and failures."""
    report, lines = reporter
    report(progress())
    report(progress(failed=3, seconds=0.0))
    assert lines() == ["12 of 40 episodes, 2.5/s", "12 of 40 episodes, 3 failed"]


def test_a_line_names_what_takes_long(reporter):
    """The episode that runs the longest is named with worker and seconds, from 5 s on."""
    report, lines = reporter
    long, short = Playing(3, 17, 61.4), Playing(0, 18, 0.2)
    report(progress(running=(long, short)))
    report(progress(running=(Playing(3, 17, 4.9), short)))
    assert lines() == [
        "12 of 40 episodes, 2.5/s, episode 17 on worker 3 for 61 s",
        "12 of 40 episodes, 2.5/s",
    ]


def test_what_the_pool_lacks_is_said_once(reporter):
    """A note is printed when it comes and when it changes, not at each report."""
    report, lines = reporter
    for note in ("1 of 2 workers placed", "1 of 2 workers placed", "", "0 of 2 workers placed"):
        report(progress(note=note))
    assert [line for line in lines() if "placed" in line] == [
        "1 of 2 workers placed",
        "0 of 2 workers placed",
    ]
