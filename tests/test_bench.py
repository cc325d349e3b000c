"""The benchmark tries every row, tells what it found, and fails where it should."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BENCH = ROOT / "scripts" / "bench"
PAGE = ROOT / "docs" / "performance.md"
POGEMA = ["pogema-16x16", "pogema-32x32", "pogema-64x64"]
TRIED = [
    *("simulator-16x16", "simulator-32x32", "simulator-64x64"),
    *("flood-open", "flood-rooms", "flood-maze", "flood-serpentine"),
    *("evaluation", "greedy-32x32", "greedy-64x64", "verify", "verify-short"),
    *("distributed-0.2ms", "distributed-2ms", "driver-cpu", "driver-ledger", "distributed-20ms"),
    *("mixed", "one-episode", "help", "import"),
    *("loop-memory", "loop-episode", "artifact", "artifact-memory", "resume", "resume-memory"),
    *("manifest", "manifest-memory", "manifest-find"),
    *("tables", "tables-memory", "steps-table", "load-episodes"),
]
SLOW = {"loop", "artifact", "resume", "tables", "steps", "pogema"}


def bench(*arguments):
    """Run the script to its end."""
    return subprocess.run(
        [sys.executable, BENCH, *map(str, arguments)], capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    """Try every row once; return the folder of the stored ratios and of the table."""
    folder = tmp_path_factory.mktemp("bench")
    keep = ("--store", "--stored", folder / "stored.json", "--write", folder / "table.md")
    done = bench("--tiny", "--repeats", 1, "--no-targets", *keep)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(autouse=True)
def _find_the_benchmarks(monkeypatch):
    """Let tests import what the script imports."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))


def result(ratio, *, most=None, least=None, tolerance=0.25):
    """Return a result of a ratio and a target."""
    from benchmarks.rows import Result, Row, at_least, at_most

    target = at_least(least) if most is None else at_most(most)
    return Result(Row("row", "ours", "plain", "s", target, tolerance), ratio * 4, 4.0)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], {*TRIED, *POGEMA}),
        (["--tiny"], {*TRIED}),
        (["--quick"], {name for name in TRIED if name.partition("-")[0] not in SLOW}),
        (["simulator", "verify"], {*TRIED[:3], "verify", "verify-short"}),
        (["distributed-2ms"], {"distributed-2ms"}),
    ],
    ids=["all", "tiny", "quick", "two names", "not the row beside it"],
)
def test_list_names_every_row_that_would_be_measured(options, expected):
    """Scales and names choose rows, each of which is there once."""
    names = bench("--list", *options).stdout.split()
    assert sorted(names) == sorted(expected)


@pytest.mark.parametrize("name", TRIED)
def test_a_row_finds_a_ratio(name, tried):
    """Every row that needs no network can be measured, here at its smallest."""
    ratio = json.loads((tried / "stored.json").read_text())["tiny"][name]
    assert math.isfinite(ratio)
    assert ratio > 0


def test_the_table_has_every_row(tried):
    """A row that was not measured is in the table too, and said so."""
    lines = (tried / "table.md").read_text().splitlines()
    verdicts = {
        line.split("`")[1]: line.split("|")[-3].strip() for line in lines if line.startswith("| `")
    }
    assert verdicts.keys() == {*TRIED, *POGEMA}
    assert {name for name, verdict in verdicts.items() if verdict == "not measured"} == {*POGEMA}
    assert set(verdicts.values()) <= {"ok", "**missed**", "not measured"}


def test_the_page_has_a_place_for_the_table(tmp_path):
    """Writing results into the page replaces their rows of the table, and nothing else."""
    from benchmarks import report

    page = tmp_path / "page.md"
    page.write_text("before <!-- table --><!-- end of table --> after\n")
    one, two = result(1.5, most=2), result(3, most=2)
    rows = [one.row, replace(one.row, name="other")]
    report.write(page, rows, [one], "first")
    other = replace(two, row=rows[1])
    report.write(page, rows, [other], "second")
    text = page.read_text()
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    assert lines == [
        "| `row` | ours: 6 s | plain: 4 s | 1.5 | <= 2 | 25% | ok | first |",
        "| `other` | ours: 12 s | plain: 4 s | 3 | <= 2 | 25% | **missed** | second |",
    ]
    assert "1 of 2 targets missed" in text
    assert (text.startswith("before <!-- table -->"), text.endswith(" after\n")) == (True, True)
    assert all(mark in PAGE.read_text() for mark in (report.BEGIN, report.END))


def test_a_page_without_marks_is_left_alone(tmp_path):
    """A table is never written over a page that did not ask for one."""
    from benchmarks import report

    page = tmp_path / "page.md"
    page.write_text("a page")
    with pytest.raises(SystemExit, match="has no marks"):
        report.write(page, [], [], "")
    assert page.read_text() == "a page"


@pytest.mark.parametrize(("known", "code"), [(1e-9, 1), (1e9, 0)], ids=["was better", "was worse"])
def test_check_fails_where_a_ratio_is_worse_than_the_stored_one(known, code, tmp_path):
    """A doctored file of ratios, in which imports were far better, makes the check fail."""
    stored = tmp_path / "stored.json"
    stored.write_text(json.dumps({"tiny": {"import": known}}))
    done = bench("import", "--tiny", "--repeats", 1, "--no-targets", "--check", "--stored", stored)
    assert done.returncode == code, done.stdout + done.stderr
    assert ("it is worse than the stored 1e-09 by more than 25%" in done.stdout) == bool(code)


def test_check_fails_where_nothing_is_stored(tmp_path):
    """A check that has nothing to compare with does not pass."""
    missing = tmp_path / "missing.json"
    done = bench("import", "--tiny", "--repeats", 1, "--no-targets", "--check", "--stored", missing)
    assert done.returncode == 1
    assert "it has no stored ratio" in done.stdout


@pytest.mark.parametrize(
    ("ratio", "limits", "stored", "expected"),
    [
        (1.2, {"most": 1.2}, None, []),
        (1.3, {"most": 1.2}, None, ["misses its target"]),
        (15, {"least": 15}, None, []),
        (14, {"least": 15}, None, ["misses its target"]),
        (1.2, {"most": 2}, 1.0, []),
        (1.3, {"most": 2}, 1.0, ["is worse than the stored 1 by more than 25%"]),
        (1.3, {"most": 2, "tolerance": 0.5}, 1.0, []),
        (16, {"least": 15}, 20, []),
        (15, {"least": 15}, 24, ["is worse than the stored 24 by more than 25%"]),
        (14, {"least": 15}, 3, ["misses its target"]),
    ],
)
def test_a_result_falls_short_in_the_direction_of_its_target(ratio, limits, stored, expected):
    """What should be high is bad when it is low, and the other way round."""
    from benchmarks import report

    ratios = None if stored is None else {"row": stored}
    assert report.shortfalls(result(ratio, **limits), ratios, targets=True) == expected


def test_missed_targets_may_be_left_alone():
    """Only a comparison with what is stored is left then."""
    from benchmarks import report

    missed = result(1.3, most=1.2)
    assert report.shortfalls(missed, None, targets=False) == []
    assert report.shortfalls(missed, {"row": 1.0}, targets=False) != []


def test_storing_keeps_other_rows_and_scales(tmp_path):
    """Measuring one row again does not lose the others."""
    from benchmarks import report
    from benchmarks.rows import Scale

    path = tmp_path / "stored.json"
    path.write_text(json.dumps({"full": {"row": 1.0}, "tiny": {"other": 2.0}}))
    report.store(path, Scale.TINY, [result(1.5, most=2)])
    assert json.loads(path.read_text()) == {
        "full": {"row": 1.0},
        "tiny": {"other": 2.0, "row": 1.5},
    }
    assert report.load(path, Scale.TINY) == {"other": 2.0, "row": 1.5}
    assert report.load(path, Scale.QUICK) == {}


FAKE_POGEMA = """
import json
class GridConfig:
    def __init__(self, **options):
        self.options = options
class World:
    def __init__(self, config):
        self.agents = config.options["num_agents"]
        json.dump(config.options, open("options.json", "w"))
    def reset(self):
        self.steps = 0
    def step(self, actions):
        assert len(actions) == self.agents and set(actions) <= set(range(5))
pogema_v0 = World
"""


def test_pogema_is_asked_for_the_nearest_setting(tmp_path, monkeypatch):
    """The other side's script runs, here with a stand-in, and asks for soft collisions."""
    from benchmarks import peers

    (tmp_path / "pogema.py").write_text(FAKE_POGEMA)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    rate = peers.pogema_rate(Path(sys.executable), size=16, people=8, steps=20)
    assert math.isfinite(rate)
    assert rate > 0
    options = json.loads((tmp_path / "options.json").read_text())
    assert options == {
        "size": 16,
        "num_agents": 8,
        "density": 0.2,
        "seed": 1,
        "max_episode_steps": 10**9,
        "on_target": "nothing",
        "collision_system": "soft",
        "observation_type": "MAPF",
    }


@pytest.mark.parametrize(("size", "people"), [(16, 8), (32, 32), (64, 128)])
def test_everybody_acts_in_the_world_that_is_compared_with_pogema(size, people):
    """Nobody leaves or burns there, so both sides move the same number of people in each step."""
    from benchmarks import peers

    rate = peers.our_rate(size, people, steps=40)
    assert math.isfinite(rate)
    assert rate > 0
