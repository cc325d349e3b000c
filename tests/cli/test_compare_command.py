"""`dist-eval compare` prints tables, JSON, CSV and Markdown of the same comparison."""

from __future__ import annotations

import csv
import json
from io import StringIO

import numpy as np
import pytest
from commands import dist_eval
from recorded import Recorded, document

from emberbench_dist.analysis import compare

PLAN = document({name: {"first": 1, "count": 12} for name in ("hall", "door", "maze", "a|b", "x")})
TOTAL = 60


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Write three runs, the last one not complete."""
    folder, maker = tmp_path_factory.mktemp("runs"), np.random.default_rng(0)
    for name, size in (("one", TOTAL), ("two", TOTAL), ("three[x]", TOTAL - 12)):
        committed = np.arange(size)
        recorded = Recorded(PLAN, committed, {"evacuation_rate": np.round(maker.random(size), 1)})
        recorded.write(folder / name, agent=f"agents.py:{name}")
        recorded.write_people(folder / name, maker.random((size, 3)) < 0.5)
    return folder


def test_json_is_the_document(runs):
    """The JSON is that of the values, whatever the folder is called."""
    done = dist_eval("compare", runs / "one", runs / "three[x]", "--json", "--seed", 3)
    assert done.returncode == 0
    expected = compare(runs / "one", runs / "three[x]", seed=3).to_dict()
    assert json.loads(done.stdout) == json.loads(json.dumps(expected))


def test_csv_has_a_row_for_each_metric_and_scenario(runs):
    """The CSV is the frame, its missing values empty."""
    done = dist_eval("compare", runs / "one", runs / "two", "--csv", "--metric", "steps")
    rows = list(csv.DictReader(StringIO(done.stdout)))
    assert [row["scenario"] for row in rows] == ["", "hall", "door", "maze", "a|b", "x"]
    assert {row["metric"] for row in rows} == {"steps"}
    assert "nan" not in done.stdout.lower()


def test_markdown_has_whole_tables(runs):
    """Each table is one block of lines with as many cells, a bar in a name escaped."""
    done = dist_eval("compare", runs / "one", runs / "two", "--markdown")
    blocks = [block.splitlines() for block in done.stdout.split("\n\n") if block.startswith("|")]
    assert len(blocks) == 4
    for block in blocks:
        assert len({line.replace(r"\|", "").count("|") for line in block}) == 1
    assert r"a\|b" in done.stdout


def test_tables_say_everything(runs):
    """Runs with both rates, the difference, both intervals and tests, people and scenarios."""
    done = dist_eval("compare", runs / "one", runs / "two", "--resamples", 200)
    assert (done.returncode, done.stderr) == (0, "")
    for text in (
        "manifest made (",
        "seed 0, 200 resamples, 95% intervals",
        "over planned",
        "committed",
        "evacuation_rate, higher is better",
        "two - one",
        "interval, by episode",
        "interval, by scenario",
        "better on the same seed",
        "McNemar's p, as if independent",
        "Correction of p: none, there is one test",
        "evacuation_rate by scenario",
    ):
        assert text in done.stdout, text
    for name in ("hall", "door", "maze", "a|b"):
        assert name in done.stdout


def test_three_runs_have_a_matrix_and_what_is_missing_is_told(runs):
    """All against the first, all against all, and each episode without a partner."""
    done = dist_eval("compare", runs / "one", runs / "two", runs / "three[x]")
    assert "mean difference, row - column" in done.stdout
    assert "three[x] is not complete: 48 of 60 episodes are committed" in done.stdout
    assert "12 episodes only in one, not compared: x 1, x 2" in done.stdout
    assert "x 10 and 2 more (--json has all)" in done.stdout
    assert "Holm over 3 tests" in done.stdout


def test_a_pattern_and_labels_name_the_runs(runs):
    """A pattern stands for its runs, in order of their names, and labels for them."""
    done = dist_eval("compare", runs / "t*", "--label", "x", "--label", "y", "--json")
    found = json.loads(done.stdout)
    assert [(run["label"], run["agent"]) for run in found["runs"]] == [
        ("x", "agents.py:three[x]"),
        ("y", "agents.py:two"),
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["one"], "is one run; name another one"),
        (["one", "nowhere"], "nowhere: there is no such run folder"),
        (["one", "one"], "is named twice"),
        (["one", "two", "--metric", "speed"], "there is no metric 'speed'; there are people"),
        (["one", "two", "--label", "x"], "1 labels are given for 2 runs"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, message, runs, monkeypatch):
    """What is wrong is said in a line on standard error."""
    monkeypatch.chdir(runs)
    done = dist_eval("compare", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_missing_extra_is_named(runs, monkeypatch):
    """Where pandas is not installed, the message says what to install."""

    def missing(*_, **__):
        raise ModuleNotFoundError("No module named 'pandas'", name="pandas")

    monkeypatch.setattr("emberbench_dist.analysis.runs.find_runs", missing)
    done = dist_eval("compare", runs / "one", runs / "two")
    assert done.returncode == 2
    assert done.stderr == "Error: this needs pandas: install emberbench-dist[analysis]\n"
