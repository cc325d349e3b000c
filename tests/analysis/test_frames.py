"""Loaded frames have every value of the tables in its declared type, and every planned episode."""

from __future__ import annotations

import re
from pathlib import Path
from shutil import copy, copytree

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from commands import dist_eval
from recorded import Recorded, document

from emberbench_dist import PolicyAgent, StepExecution, evaluate
from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.analysis import load_episodes, load_execution, load_people, load_steps
from emberbench_dist.analysis.frames import ADDED, PLANNED, columns_of
from emberbench_dist.artifacts.tables import TABLE
from emberbench_dist.errors import ArtifactError
from manifests import hall, write_manifest

LOADERS = {
    "episodes": load_episodes,
    "people": load_people,
    "steps": load_steps,
    "execution": load_execution,
}
BIG = 2**64 - 3


class Accounted(Greedy):
    """Greedy that reports a model and tokens on every other step."""

    def act(self, observation):
        """Note the step."""
        self._step = observation.step
        return super().act(observation)

    def last_execution(self):
        """Tell of even steps alone."""
        if self._step % 2:
            return None
        return StepExecution(input_tokens=self._step, model="m", latency_seconds=0.25)


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Play eight episodes in two halls, under small and large seeds."""
    folder = tmp_path_factory.mktemp("played")
    path = write_manifest(
        folder / "input",
        [(hall("two", 8), {"first": BIG, "count": 3}), (hall("one"), [5, 1, 9, 0, 2])],
    )
    evaluate(path, Accounted, out=folder / "run")
    return folder / "run"


@pytest.mark.parametrize("table", LOADERS)
def test_every_column_comes_back_as_it_is_stored(table, played):
    """What a loader returns, column by column, is what pyarrow reads."""
    frame = LOADERS[table](played)
    stored = pq.read_table(played / f"{table}.parquet")
    assert len(frame) == len(stored) > 0
    for column in TABLE[table].columns:
        found = [None if pd.isna(value) else value for value in frame[column.name].tolist()]
        assert found == stored.column(column.name).to_pylist(), column.name


@pytest.mark.parametrize("table", LOADERS)
def test_every_column_has_the_type_that_its_declaration_calls_for(table, played):
    """Texts are categories, integers stay integers even where absent, floats are floats."""
    frame = LOADERS[table](played)
    kinds = {
        "string": {"category"},
        "int64": {"int64", "Int64"},
        "uint64": {"uint64"},
        "float64": {"float64"},
    }
    for column in TABLE[table].columns:
        assert str(frame[column.name].dtype) in kinds[column.type], column.name
    for name in ("run", "agent", "scenario_id", "scenario_hash"):
        assert frame[name].dtype == "category", name
    assert list(frame)[:2] == ["run", "agent"]


def test_large_seeds_are_exact(played):
    """A seed near 2**64 is not rounded."""
    frame = load_episodes(played, ["seed"])
    assert frame["seed"].tolist() == [BIG, BIG + 1, BIG + 2, 5, 1, 9, 0, 2]


@pytest.mark.parametrize("table", LOADERS)
def test_every_table_knows_the_scenario_of_its_rows(table, played):
    """Scenario and seed stand beside each row, also where the file has only the number."""
    frame = LOADERS[table](played, ["episode", "scenario_id", "seed"])
    episodes = load_episodes(played).set_index("episode")
    rows = episodes.loc[frame["episode"]]
    assert frame["seed"].tolist() == rows["seed"].tolist()
    assert frame["scenario_id"].tolist() == rows["scenario_id"].tolist()


def test_only_the_columns_that_are_asked_for_are_read(played, monkeypatch):
    """A loader reads what it was asked for; of a complete run not even the numbers."""
    from emberbench_dist.analysis import frames

    asked = []

    def reading(path, columns):
        asked.append(columns)
        return pq.read_table(path, columns=columns)

    monkeypatch.setattr(frames, "read_table", reading)
    frame = load_episodes(played, ["steps", "scenario_id"])
    assert list(frame) == ["run", "agent", "scenario_id", "steps", "committed"]
    assert asked == [["steps"]]


@pytest.mark.parametrize("table", LOADERS)
def test_a_frame_is_the_user_s_own(table, played):
    """Every column can be written to, value by value."""
    frame = LOADERS[table](played)
    for name in frame.columns:
        frame.loc[0, name] = frame.loc[1, name]


def test_an_episode_that_was_not_played_has_its_row(tmp_path):
    """Planned episodes without a result are there, named, not committed and without metrics."""
    plan = document({"a": [4, 5], "b": {"first": BIG, "count": 2}})
    folder = Recorded(
        plan, np.array([1, 3]), {"evacuation_rate": [0.25, 1.0], "last_evacuation_step": [None, 7]}
    ).write(tmp_path / "run")
    frame = load_episodes(folder)
    assert frame["committed"].tolist() == [False, True, False, True]
    assert frame["scenario_id"].tolist() == ["a", "a", "b", "b"]
    assert frame["seed"].tolist() == [4, 5, BIG, BIG + 1]
    assert frame["evacuation_rate"].isna().tolist() == [True, False, True, False]
    assert frame["last_evacuation_step"].isna().tolist() == [True, True, True, False]
    assert frame["people"].dtype == "Int64"
    assert frame["people"].tolist() == [pd.NA, 10, pd.NA, 10]


def test_a_run_without_any_result_has_every_planned_row(tmp_path):
    """A run that committed nothing is all planned, nothing committed."""
    folder = Recorded(document({"a": [4, 5]}), np.array([], np.int64)).write(tmp_path / "run")
    frame = load_episodes(folder)
    assert frame["committed"].tolist() == [False, False]
    assert frame["seed"].tolist() == [4, 5]


def test_a_slice_has_the_rows_of_its_part(tmp_path):
    """A slice's frame begins at its first episode."""
    plan = document({"a": [4, 5, 6, 7]})
    folder = Recorded(plan, np.array([3]), slice="2/2").write(tmp_path / "run")
    frame = load_episodes(folder)
    assert frame["episode"].tolist() == [2, 3]
    assert frame["committed"].tolist() == [False, True]
    assert frame["seed"].tolist() == [6, 7]


def test_runs_stand_one_below_the_other(tmp_path):
    """Several runs share their categories, and each row says whose it is."""
    one = Recorded(document({"a": [1]}), np.arange(1)).write(tmp_path / "one", agent="x")
    two = Recorded(document({"b": [2, 3]}), np.arange(2)).write(tmp_path / "two", agent="y")
    frame = load_episodes([one, two], labels=["first", "second"])
    assert frame["run"].tolist() == ["first", "second", "second"]
    assert frame["agent"].tolist() == ["x", "y", "y"]
    assert frame["scenario_id"].tolist() == ["a", "b", "b"]
    assert [str(dtype) for dtype in frame.dtypes[["scenario_id", "run", "seed"]]] == [
        "category",
        "category",
        "uint64",
    ]


def test_parquet_alone_is_enough(played, tmp_path):
    """A folder with nothing but the tables gives the same frame, the agent too."""
    for table in LOADERS:
        copy(played / f"{table}.parquet", tmp_path)
    for table, load in LOADERS.items():
        expected = load(played, labels=["run"])
        pd.testing.assert_frame_equal(load(tmp_path, labels=["run"]), expected, obj=table)


@pytest.mark.parametrize("table", LOADERS)
def test_a_column_that_does_not_exist_is_refused(table, played):
    """The error names the column and lists those that there are."""
    with pytest.raises(ArtifactError, match=r"no column 'nothing'; they have episode, scenario_id"):
        LOADERS[table](played, ["nothing"])


@pytest.mark.parametrize("table", LOADERS)
def test_a_table_that_is_missing_names_the_remedy(table, played, tmp_path):
    """Whoever lacks a file is told the command that writes it."""
    for name in LOADERS:
        if name != table:
            copy(played / f"{name}.parquet", tmp_path)
    with pytest.raises(ArtifactError, match=rf"{table}.parquet: is missing; `dist-eval export"):
        LOADERS[table](tmp_path)


def test_a_file_without_a_declared_column_names_the_remedy(tmp_path):
    """A column that an older file does not have is an error, not an empty column."""
    folder = Recorded(document({"a": [4, 5]}), np.arange(2)).write(tmp_path / "run")
    path = folder / "episodes.parquet"
    pq.write_table(pq.read_table(path).drop_columns("moved"), path)
    with pytest.raises(ArtifactError, match=r"no such column: moved; `dist-eval export .*run`"):
        load_episodes(folder)
    assert "moved" not in load_episodes(folder, ["stayed"])


@pytest.mark.parametrize("lost", [["episodes.parquet"], ["episodes.parquet", "ledger.sqlite"]])
def test_the_remedy_helps(lost, played, tmp_path):
    """What the error says to do brings the same frame back, also from the artifact alone."""
    run = Path(copytree(played, tmp_path / "run"))
    for name in lost:
        (run / name).unlink()
    with pytest.raises(ArtifactError) as caught:
        load_episodes(run)
    command = re.search("`dist-eval (.*?)`", str(caught.value))[1].split()
    manifest = ["--manifest", played.parent / "input" / "manifest.json"] if len(lost) > 1 else []
    assert dist_eval(*command, *manifest).returncode == 0
    pd.testing.assert_frame_equal(load_episodes(run), load_episodes(played))


def test_a_table_that_is_older_than_the_ledger_is_refused(played, tmp_path):
    """Where the ledger has gone on, the numbers of the table are not the run's any more."""
    for path in played.iterdir():
        if path.is_file():
            copy(path, tmp_path)
    plan = document({"a": {"first": 0, "count": 8}})
    stale = Recorded(plan, np.arange(7)).write(tmp_path / "stale")
    copy(stale / "episodes.parquet", tmp_path)
    with pytest.raises(ArtifactError, match=r"out of date: it has 7 .* the ledger 8; `dist-eval"):
        load_episodes(tmp_path)


def test_a_table_that_does_not_tell_its_run_names_the_remedy(tmp_path):
    """A table of an earlier version, or of another program, has to be written anew."""
    folder = Recorded(document({"a": [4, 5]}), np.arange(2)).write(tmp_path / "run")
    path = folder / "episodes.parquet"
    pq.write_table(pq.read_table(path).replace_schema_metadata(), path)
    with pytest.raises(ArtifactError, match=r"does not tell which run .*`dist-eval export .*run`"):
        load_episodes(folder)


@pytest.mark.parametrize("rows", [[0, 0, 1], [0, 1], [1, 0, 2]])
def test_a_table_that_was_edited_is_refused(rows, tmp_path):
    """Rows that are repeated, missing or in another order are an error."""
    recorded = Recorded(document({"a": [4, 5, 6]}), np.arange(3))
    folder = recorded.write(tmp_path / "run")
    path = folder / "episodes.parquet"
    pq.write_table(pq.read_table(path).take(rows), path)
    with pytest.raises(ArtifactError, match="once and in order"):
        load_episodes(folder)
    if len(rows) != 3:
        with pytest.raises(ArtifactError, match="once and in order"):
            load_episodes(folder, ["steps"])


def test_every_name_that_a_loader_knows_can_be_asked_for(played):
    """Each column alone, of each table, is what it is in the whole frame."""
    for table, load in LOADERS.items():
        whole = load(played)
        for name in columns_of(table):
            pd.testing.assert_series_equal(load(played, [name])[name], whole[name])
    assert {column.name for column in ADDED} >= {"run", "agent", "committed"}
    assert set(PLANNED) <= set(columns_of("steps"))


def test_an_agent_that_is_a_function_has_a_run_too(tmp_path):
    """A run whose agent has no SPEC is loaded as any other."""
    path = write_manifest(tmp_path / "input", [(hall("one"), [1])])
    stay = lambda observation: dict.fromkeys(observation.active, "stay")  # noqa: E731
    evaluate(path, lambda: PolicyAgent(stay), out=tmp_path / "run")
    assert load_episodes(tmp_path / "run")["committed"].tolist() == [True]


def test_the_page_has_the_columns_that_loaders_add():
    """The list of added columns is generated from their declarations."""
    page = (Path(__file__).parents[2] / "docs" / "analysis.md").read_text(encoding="utf-8")
    rows = "\n".join(f"| `{one.name}` | {one.type} | {one.meaning} |" for one in ADDED)
    head = "| column | type | meaning |\n| --- | --- | --- |"
    assert f"<!-- added columns -->\n\n{head}\n{rows}\n\n<!-- end of added columns -->" in page
