"""The Parquet tables: fixed columns, the artifact's values, the same file when written again."""

from __future__ import annotations

import json
from contextlib import closing

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from players import Accounts
from rows import contents, played

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.agents.execution import StepExecution
from emberbench_dist.artifacts import parquet
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.parquet import Origin, write_files, write_tables
from emberbench_dist.artifacts.parquet_columns import Columns
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.artifacts.tables import TABLE
from emberbench_dist.evaluation.episode import EpisodeResult, sealed
from emberbench_dist.evaluation.manifest import load_manifest
from emberbench_dist.simulator.record import record_episode
from manifests import hall, write_manifest

MAX_SEED = 2**64 - 1
INTEGERS = (
    *("people", "evacuated", "casualties", "casualties_entered_fire", "casualties_fire_spread"),
    *("unresolved", "trapped_at_end", "ever_trapped", "steps", "person_steps", "moved", "stayed"),
    *("blocked_boundary", "blocked_wall", "blocked_fire", "blocked_occupied", "blocked_conflict"),
    *("blocked_cycle", "burned_cells", "last_evacuation_step"),
)
FLOATS = ("evacuation_rate", "casualty_rate", "mean_evacuation_step")
# formats.md, "Run folder"; execution.parquet: model-interface.md, section 7.
SCHEMAS = {
    "episodes": [
        ("episode", pa.int64()),
        ("scenario_id", pa.string()),
        ("scenario_hash", pa.string()),
        ("seed", pa.uint64()),
        ("termination_reason", pa.string()),
        *((name, pa.int64()) for name in INTEGERS),
        *((name, pa.float64()) for name in FLOATS),
    ],
    "people": [
        ("episode", pa.int64()),
        ("scenario_id", pa.string()),
        ("seed", pa.uint64()),
        ("id", pa.string()),
        ("status", pa.string()),
        ("row", pa.int64()),
        ("col", pa.int64()),
        ("step", pa.int64()),
        ("exit", pa.string()),
        ("cause", pa.string()),
    ],
    "steps": [
        *((name, pa.int64()) for name in ("episode", "step", "active", "evacuated", "casualties")),
        *((name, pa.int64()) for name in ("burning", "ignited", "trapped")),
    ],
    "execution": [
        ("episode", pa.int64()),
        ("step", pa.int64()),
        ("seconds", pa.float64()),
        ("latency_seconds", pa.float64()),
        ("input_tokens", pa.int64()),
        ("output_tokens", pa.int64()),
        ("cost_usd", pa.float64()),
        ("retries", pa.int64()),
        ("model", pa.string()),
    ],
}
# Episode 3 is not committed: tables hold what is, beyond the artifact's prefix too.
COMMITTED = [0, 1, 2, 4, 5, 6, 7]


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    """Write and load a manifest of 8 episodes, the largest seed among them."""
    blocks = [
        (hall("small"), [MAX_SEED, 0, 2**63, 5]),
        (hall("large", 9, people=7), {"first": 100, "count": 4}),
    ]
    return load_manifest(write_manifest(tmp_path_factory.mktemp("input"), blocks))


@pytest.fixture(scope="module")
def results(manifest):
    """Play the committed episodes."""
    return played(manifest, COMMITTED)


def ledger_of(results):
    """Return a ledger in memory that holds these results, to be closed."""
    ledger = Ledger.create(None, {})
    ledger.begin_session("any")
    ledger.commit(reversed(results))
    return closing(ledger)


@pytest.fixture
def written(tmp_path, manifest, results):
    """Write all tables; return the run folder."""
    with ledger_of(results) as ledger:
        write_tables(manifest, ledger, RunFolder(tmp_path))
    return RunFolder(tmp_path)


def rows(folder, name):
    """Return the rows of a table as dictionaries."""
    return pq.read_table(folder.table(name)).to_pylist()


def test_there_is_a_file_for_each_table(tmp_path, written):
    """The run folder holds the four tables and no half of one."""
    assert written.path == tmp_path
    assert contents(tmp_path).keys() == {f"{name}.parquet" for name in SCHEMAS}


@pytest.mark.parametrize("name", SCHEMAS)
def test_columns_are_those_of_the_formats(written, name):
    """Names, order and types of the columns are fixed, in the file and as data."""
    assert [(field.name, field.type) for field in pq.read_schema(written.table(name))] == (
        SCHEMAS[name]
    )
    columns = TABLE[name].columns
    assert [(one.name, pa.type_for_alias(one.type)) for one in columns] == SCHEMAS[name]
    assert all(column.meaning for column in columns)


def test_episodes_hold_the_artifacts_values(written, results):
    """Each committed episode is a row, in order, with the values of its line, nulls included."""
    expected = []
    for result in results:
        line = json.loads(result.line)
        names = ("episode", "scenario_id", "scenario_hash", "seed", "termination_reason")
        expected.append({name: line[name] for name in names} | line["metrics"])
    found = rows(written, "episodes")
    assert found == expected
    assert [row["episode"] for row in found] == COMMITTED
    assert found[0]["seed"] == MAX_SEED
    assert {row["last_evacuation_step"] for row in found} > {None}


def test_people_hold_the_artifacts_values(written, results):
    """Each person of each episode is a row, by episode and id, with null where nothing applies."""
    expected = [
        {
            **{name: line[name] for name in ("episode", "scenario_id", "seed")},
            **{name: person[name] for name in ("id", "status", "step", "exit", "cause")},
            "row": person["position"][0],
            "col": person["position"][1],
        }
        for line in (json.loads(result.line) for result in results)
        for person in line["people"]
    ]
    found = rows(written, "people")
    assert found == expected
    assert {row["status"] for row in found} == {"active", "evacuated", "casualty"}
    assert {row["exit"] for row in found} == {None, "E1"}
    assert {row["cause"] for row in found} == {None, "fire_spread"}


def test_steps_follow_the_run_record(written, manifest):
    """Step 0 is the initial state; every later row counts what the run record tells."""
    expected = []
    for index in COMMITTED:
        episode = manifest.episode(index)
        scenario = manifest.scenarios[episode.scenario_id]
        record = record_episode(scenario, episode.seed, Greedy().act).to_dict()
        states = [record["initial_state"], *(step["state"] for step in record["steps"])]
        ignited = [0, *(len(step["ignitions"]) for step in record["steps"])]
        for state, ignitions in zip(states, ignited, strict=True):
            statuses = [person["status"] for person in state["people"]]
            expected.append(
                {
                    "episode": index,
                    "step": state["step"],
                    "active": statuses.count("active"),
                    "evacuated": statuses.count("evacuated"),
                    "casualties": statuses.count("casualty"),
                    "burning": len(state["burning"]),
                    "ignited": ignitions,
                    "trapped": len(state["trapped"]),
                }
            )
    found = rows(written, "steps")
    assert found == expected
    for name in ("evacuated", "casualties", "ignited", "trapped"):
        assert max(row[name] for row in found) > 0


def test_execution_tells_the_time_of_each_episode(written, results):
    """An episode has a row with its wall time, and under it one with that of each step."""
    found = rows(written, "execution")
    expected = []
    for result in results:
        known = json.loads(result.execution)
        assert len(known["step_seconds"]) == json.loads(result.line)["metrics"]["steps"]
        expected.append((result.episode, None, known["seconds"]))
        expected += [(result.episode, *timed) for timed in enumerate(known["step_seconds"])]
    assert [(row["episode"], row["step"], row["seconds"]) for row in found] == expected
    others = [name for name, _ in SCHEMAS["execution"][3:]]
    assert all(row[name] is None for row in found for name in others)


def test_execution_holds_what_an_agent_accounts_for(tmp_path, manifest):
    """With accounting each step has a row under its episode's, with null for what is unknown."""
    results = played(manifest, [0, 1], Accounts)
    with ledger_of(results) as ledger:
        write_tables(manifest, ledger, RunFolder(tmp_path))
    expected = []
    for result in results:
        nothing = dict.fromkeys(name for name, _ in SCHEMAS["execution"])
        times = json.loads(result.execution)
        expected.append(nothing | {"episode": result.episode, "seconds": times["seconds"]})
        known = {"episode": result.episode, "input_tokens": 7, "cost_usd": 0.5, "model": "stub"}
        expected += [
            nothing | known | {"step": step, "seconds": seconds}
            for step, seconds in enumerate(times["step_seconds"])
        ]
    assert rows(RunFolder(tmp_path), "execution") == expected


class Forgetful(Greedy):
    """Account for every other step, with each value at the edge of what it may be."""

    def __init__(self):
        """Start to count."""
        super().__init__()
        self.calls = 0

    def last_execution(self):
        """Report, or not."""
        self.calls += 1
        return StepExecution(2, 2**63 - 1, 0, 3, 1, "é") if self.calls % 2 else None


def test_execution_has_a_row_for_steps_that_were_not_accounted_for(tmp_path, manifest):
    """A step without accounting has only its time; whole numbers may stand for seconds."""
    with ledger_of(played(manifest, [1], Forgetful)) as ledger:
        write_tables(manifest, ledger, RunFolder(tmp_path))
    _, first, second, *_ = rows(RunFolder(tmp_path), "execution")
    assert first.pop("seconds") > 0
    assert second.pop("seconds") > 0
    assert first == {
        "episode": 1,
        "step": 0,
        "latency_seconds": 2.0,
        "input_tokens": 2**63 - 1,
        "output_tokens": 0,
        "cost_usd": 3.0,
        "retries": 1,
        "model": "é",
    }
    assert second == dict.fromkeys(first) | {"episode": 1, "step": 1}


def test_accounts_stay_with_their_steps_among_episodes_without_any(tmp_path, manifest):
    """Agents that account and agents that do not may have played the same run."""
    results = [*played(manifest, [0, 1]), *played(manifest, [2], Accounts), *played(manifest, [3])]
    bare = sealed(4, *results[0][1:-2], b'{"seconds": 0.5}')
    with ledger_of([*results, bare]) as ledger:
        write_tables(manifest, ledger, RunFolder(tmp_path))
    found = rows(RunFolder(tmp_path), "execution")
    reported = {row["episode"] for row in found if row["input_tokens"] == 7}
    assert reported == {2}
    assert all(row["model"] == "stub" for row in found if row["episode"] == 2 and row["step"])
    assert [row["seconds"] for row in found if row["episode"] == 4] == [0.5]
    assert all(row["seconds"] is not None for row in found)


@pytest.mark.parametrize(
    "odd",
    [
        {"input_tokens": 2**63},
        {"retries": 2**200},
        {"cost_usd": 10**400},
        {"model": "\ud800"},
    ],
    ids=["tokens", "retries", "cost", "model"],
)
def test_no_accounting_that_is_committed_spoils_the_tables(tmp_path, manifest, odd):
    """Whatever accounting the agent's check lets pass, the tables of its run can be written."""

    class Odd(Greedy):
        def last_execution(self):
            return StepExecution(**odd)

    committed = [play for play in played(manifest, [1], Odd) if isinstance(play, EpisodeResult)]
    with ledger_of(committed) as ledger:
        write_tables(manifest, ledger, RunFolder(tmp_path))
    assert len(rows(RunFolder(tmp_path), "episodes")) == len(committed)


def test_tables_written_twice_are_the_same_bytes(tmp_path, manifest, results):
    """Equal rows give equal files, also over what was there before."""
    with ledger_of(results) as ledger:
        write_tables(manifest, ledger, RunFolder(tmp_path))
        first = contents(tmp_path)
        write_tables(manifest, ledger, RunFolder(tmp_path))
    assert contents(tmp_path) == first


def test_a_run_without_steps_has_no_old_steps(tmp_path, manifest, results):
    """Where steps are not asked for, an earlier session's table of them goes away."""
    with ledger_of(results[:3]) as ledger:
        write_tables(manifest, ledger, RunFolder(tmp_path))
    with ledger_of(results) as ledger:
        write_tables(manifest, ledger, RunFolder(tmp_path), steps=False)
        write_tables(manifest, ledger, RunFolder(tmp_path), steps=False)
    assert contents(tmp_path).keys() == {f"{name}.parquet" for name in SCHEMAS} - {"steps.parquet"}
    assert len(rows(RunFolder(tmp_path), "episodes")) == len(results)


def test_tables_of_no_episode_have_columns_and_no_rows(tmp_path, manifest):
    """An empty run gives tables that can be read."""
    with ledger_of([]) as ledger:
        write_tables(manifest, ledger, RunFolder(tmp_path))
    for name, columns in SCHEMAS.items():
        table = pq.read_table(RunFolder(tmp_path).table(name))
        assert (table.num_rows, table.column_names) == (0, [column for column, _ in columns])


ORIGIN = Origin("test", "0" * 64, None, "1/1", 9, 9, None)


def test_row_groups_hold_50_000_rows(tmp_path):
    """Rows come in groups of a fixed size, the last one smaller, however they came in blocks."""
    blocks = [range(70_000), range(70_000, 70_001), range(70_001, 100_001)]

    def make(block):
        return [pa.array(block, pa.int64()), *(pa.nulls(len(block), pa.int64()) for _ in range(7))]

    write_files(RunFolder(tmp_path), {"steps": make}, blocks, ORIGIN)
    metadata = pq.read_metadata(tmp_path / "steps.parquet")
    groups = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    assert groups == [50_000, 50_000, 1]
    episodes = pq.read_table(tmp_path / "steps.parquet")["episode"].to_pylist()
    assert episodes == list(range(100_001))


def test_an_error_leaves_the_old_tables(tmp_path, manifest, results, monkeypatch):
    """Where one table cannot be written whole, all that were there stay."""
    with ledger_of(results) as ledger:
        write_tables(manifest, ledger, RunFolder(tmp_path))
        before = contents(tmp_path)

        def broken(_, __):
            raise KeyError

        monkeypatch.setattr(Columns, "people", broken)
        with pytest.raises(KeyError):
            write_tables(manifest, ledger, RunFolder(tmp_path))
    assert contents(tmp_path) == before


def test_large_blocks_are_those_of_small_ones(tmp_path, manifest, results, monkeypatch):
    """Cut into blocks of one episode, the same rows give the same files."""
    with ledger_of(results) as ledger:
        write_tables(manifest, ledger, RunFolder(tmp_path))
        before = contents(tmp_path)
        monkeypatch.setattr(parquet, "_BATCH_BYTES", 1)
        monkeypatch.setattr("emberbench_dist.artifacts.ledger._CHUNK", 1)
        write_tables(manifest, ledger, RunFolder(tmp_path))
    assert contents(tmp_path) == before
