"""Run folders are found by name or pattern, and each is called so that it can be told."""

from __future__ import annotations

import json

import numpy as np
import pytest
from recorded import Recorded, document

from emberbench_dist.analysis import find_runs
from emberbench_dist.errors import ArtifactError, RunFolderError

MANIFEST = document({"a": [1, 2], "b": [3]})


def write(folder, **options):
    """Write a complete run."""
    return Recorded(MANIFEST, np.arange(3)).write(folder, **options)


def test_a_pattern_names_its_runs_in_order(tmp_path):
    """A pattern finds the run folders among what it matches, by name."""
    for name in ("b", "a", "c"):
        write(tmp_path / "runs" / name)
    (tmp_path / "runs" / "empty").mkdir()
    found = find_runs(str(tmp_path / "runs" / "*"))
    assert [run.label for run in found] == ["a", "b", "c"]
    assert [run.path.name for run in find_runs([tmp_path / "runs" / "c", tmp_path / "runs/a"])] == [
        "c",
        "a",
    ]


def test_a_folder_whose_name_looks_like_a_pattern_is_itself(tmp_path):
    """A folder that exists is no pattern."""
    write(tmp_path / "a[1]")
    assert [run.label for run in find_runs(tmp_path / "a[1]")] == ["a[1]"]


def test_equal_names_are_told_apart_by_their_folders(tmp_path):
    """Labels have as many parts of the path as it takes to be different."""
    paths = [write(tmp_path / suite / "greedy") for suite in ("one", "two")]
    assert [run.label for run in find_runs(paths)] == ["one/greedy", "two/greedy"]
    assert [run.label for run in find_runs(paths, ["x", "y"])] == ["x", "y"]


def test_what_is_known_of_a_run(tmp_path):
    """Planned and committed episodes, manifest and agent are told without reading a table."""
    folder = Recorded(MANIFEST, np.array([0, 2])).write(tmp_path / "run", agent="me.py:Me")
    (run,) = find_runs(folder)
    assert (run.planned, run.committed, run.complete) == (3, 2, False)
    assert (run.agent, run.manifest_id) == ("me.py:Me", "made")
    (folder / "run.json").unlink()
    assert find_runs(folder)[0].agent == "somebody"  # as the table tells


def test_runs_that_were_found_stay_as_they_are(tmp_path):
    """A `Run` keeps its label, unless new labels are given."""
    found = find_runs(write(tmp_path / "run"), ["mine"])
    assert find_runs(found) == find_runs(found[0]) == found
    assert find_runs(found, ["yours"])[0].label == "yours"


@pytest.mark.parametrize(
    ("names", "labels", "message"),
    [
        ([], None, "no run folder is named"),
        (["missing"], None, "missing: there is no such run folder"),
        (["no*"], None, "matches no run folder"),
        (["run", "run"], None, "run: is named twice"),
        (["run", "r*"], None, "run: is named twice"),
        (["run"], ["x", "y"], "2 labels are given for 1 runs"),
        (["run", "other"], ["x", "x"], "the label 'x' is given twice"),
        (["run"], ["\udcff"], "'run': the run's name is not valid UTF-8; give it a label"),
    ],
)
def test_a_wrong_name_is_refused(names, labels, message, tmp_path, monkeypatch):
    """A run that is not there, comes twice, or has a wrong label is an error."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "run")
    write(tmp_path / "other")
    with pytest.raises(RunFolderError, match=message):
        find_runs(names, labels)


def test_a_run_without_tables_names_the_remedy(tmp_path):
    """Where there is no table, the error names the command that writes it."""
    (tmp_path / "run").mkdir()
    with pytest.raises(ArtifactError, match=r"missing; `dist-eval export .*run` writes it anew"):
        find_runs(tmp_path / "run")


def test_a_table_that_does_not_tell_its_plan_is_refused(tmp_path):
    """A table without its manifest, as exported from an artifact alone, cannot be counted."""
    recorded = Recorded(MANIFEST, np.arange(3))
    origin = recorded._origin
    from dataclasses import replace

    recorded._origin = lambda: replace(origin(), manifest=None)
    folder = recorded.write(tmp_path / "run")
    with pytest.raises(ArtifactError, match="does not tell which episodes are planned"):
        find_runs(folder)


def test_the_plan_of_a_slice_is_its_part(tmp_path):
    """A slice plans only its own episodes."""
    folder = Recorded(MANIFEST, np.array([1, 2]), slice="2/2").write(tmp_path / "run")
    (run,) = find_runs(folder)
    assert (run.episodes, run.complete) == (range(1, 3), True)
    assert json.loads((folder / "run.json").read_text())["agent_spec"] == run.agent
