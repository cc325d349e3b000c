"""`dist-eval repair`, and what the other commands say of a damaged ledger."""

from __future__ import annotations

import shutil
import signal
import sqlite3
from contextlib import closing

import pytest
from commands import dist_eval as command
from commands import played_room
from dying import Drivers
from rows import contents

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.runner.evaluate import evaluate
from manifests import hall

COUNT = 30


@pytest.fixture(scope="module")
def room():
    """Play a run in a folder where nothing waits for a disk."""
    with played_room([(hall("one", people=1), {"first": 1, "count": COUNT})]) as room:
        yield room


@pytest.fixture
def manifest(room):
    """Return the manifest of the run."""
    return room / "input/manifest.json"


@pytest.fixture
def damaged(room):
    """Return a function that copies the run and damages the copy."""
    folder = room / "damaged"

    def damage(how):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(room / "run", folder)
        how(folder / "ledger.sqlite")
        return folder

    return damage


def sql(*statements):
    """Return how to damage a database past the ledger."""

    def change(path):
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            for statement in statements:
                connection.execute(statement)

    return change


def overwrite(place, new):
    """Return how to overwrite some bytes of a file."""

    def change(path):
        with path.open("r+b") as file:
            file.seek(place)
            file.write(new)

    return change


def cut(path):
    """Cut the last page off."""
    path.write_bytes(path.read_bytes()[:-4096])


def require_undisturbed(folder, manifest):
    """Resume; require the bytes of an undisturbed run, and a result that verifies."""
    again = command("run", manifest, "--in-process", "--no-steps", "--resume", "--out", folder)
    assert again.returncode == 0, again.stderr
    assert (folder / "artifact.jsonl").read_bytes() == evaluate(manifest, Greedy).artifact
    assert command("verify", folder, "--in-process").returncode == 0


def test_repair_names_what_is_to_be_played_again(damaged, manifest):
    """Repair tells how many rows are kept and which are dropped; resume plays those."""
    folder = damaged(sql("UPDATE episodes SET steps = x'77' WHERE episode IN (3, 17)"))
    done = command("repair", folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "28 rows kept, 2 damaged rows dropped\n"
        "episodes 3, 17 are to be played again: dist-eval run … --resume\n"
    )
    assert '"committed": 28,' in command("status", folder, "--json").stdout
    require_undisturbed(folder, manifest)


def test_repair_names_the_first_of_many(damaged, manifest):
    """Of very many dropped rows the first twenty are named."""
    folder = damaged(sql("UPDATE episodes SET steps = x'77' WHERE episode > 1"))
    told = command("repair", folder).stdout
    assert told.startswith("2 rows kept, 28 damaged rows dropped\nepisodes 2, 3, 4, ")
    assert ", 20, 21 … are to be played again" in told
    require_undisturbed(folder, manifest)


def test_repair_tells_of_rows_without_a_trace(damaged, manifest):
    """Rows that cannot even be named are counted."""
    folder = damaged(sql("DELETE FROM episodes WHERE episode = 4"))
    assert command("repair", folder).stdout == (
        "29 rows kept, 0 damaged rows dropped, 1 not to be found\n"
    )
    require_undisturbed(folder, manifest)


def test_repair_of_a_damaged_head(damaged, manifest):
    """Where the file is no database any more, all is an error but repair, which keeps every row."""
    folder = damaged(overwrite(0, bytes(4096)))
    failed = command("run", manifest, "--in-process", "--resume", "--out", folder)
    assert failed.returncode == 2
    assert f"Error: {folder}/ledger.sqlite: is damaged" in failed.stderr
    assert command("repair", folder).stdout == "30 rows kept, 0 damaged rows dropped\n"
    require_undisturbed(folder, manifest)


def test_repair_with_the_manifest(damaged, manifest):
    """Where the copy of the manifest is damaged repair asks for it; binding comes from run.json."""
    folder = damaged(sql("UPDATE documents SET body = x'7B'", "DELETE FROM meta"))
    before = contents(folder)
    asked = command("repair", folder)
    assert asked.returncode == 2
    assert "`dist-eval repair --manifest` replaces it" in asked.stderr
    other = command("repair", folder, "--manifest", "smoke-v1")
    assert other.returncode == 2
    assert "neither its ledger nor its run.json says that it is a run of manifest smoke-v1" in (
        other.stderr
    )
    missing = command("repair", folder, "--manifest", "nowhere.json")
    assert "nowhere.json: there is no such file" in missing.stderr
    assert contents(folder) == before
    done = command("repair", folder, "--manifest", manifest)
    assert done.stdout == "30 rows kept, 0 damaged rows dropped\n"
    require_undisturbed(folder, manifest)


def test_repair_where_no_run_is(tmp_path):
    """Where there is nothing to repair nothing is made."""
    refused = command("repair", tmp_path / "nowhere")
    assert refused.returncode == 2
    assert refused.stderr == f"Error: {tmp_path}/nowhere/ledger.sqlite: there is no run here\n"
    assert not (tmp_path / "nowhere").exists()


def test_repair_waits_for_no_driver(start, tmp_path, manifest):
    """A folder that a driver has is not repaired."""
    folder = tmp_path / "run"
    process = start(manifest, "--in-process", "--agent", "players:Slow", "--out", folder)
    while not (folder / "run.json").exists():
        assert process.poll() is None
    refused = command("repair", folder)
    assert refused.returncode == 2
    assert f"is in use by process {process.pid} on " in refused.stderr


def untyped(statement):
    """Return how to change a database past its types, as a changed byte of a row's head does."""
    loosen = (
        "UPDATE sqlite_schema SET sql = replace(replace(replace(sql, "
        "' STRICT, ', ' '), ' STRICT', ''), ' NOT NULL', '')"
    )
    restore = "UPDATE sqlite_schema SET sql = ? WHERE name = ?"

    def change(path):
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            strict = connection.execute("SELECT sql, name FROM sqlite_schema").fetchall()
            connection.execute("PRAGMA writable_schema = ON")
            connection.execute(loosen)
        sql(statement)(path)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA writable_schema = ON")
            connection.executemany(restore, strict)

    return change


DAMAGES = {
    "magic": overwrite(0, b"X"),
    "schema": overwrite(100, bytes(300)),
    "binding": overwrite(4096, bytes(4096)),
    "no binding": sql("DELETE FROM meta"),
    "a key": sql("UPDATE meta SET key = 'slicf' WHERE key = 'slice'"),
    "slice": sql("UPDATE meta SET value = '1/!' WHERE key = 'slice'"),
    "episodes": sql("UPDATE meta SET value = 'x' WHERE key = 'episodes'"),
    "row": sql("UPDATE episodes SET steps = x'77' WHERE episode = 3"),
    "line's type": untyped("UPDATE episodes SET line = NULL WHERE episode = 3"),
    "binding's type": untyped("UPDATE meta SET value = x'00' WHERE key = 'slice'"),
    "session's type": untyped("UPDATE sessions SET committed = NULL"),
    "cut": cut,
}
COMMANDS = {
    "verify": ("verify", ..., "--in-process"),
    "record": ("record", ..., "--episode", "3"),
    "merge": ("merge", "merged", ...),
    "resume": ("run", "manifest", "--in-process", "--resume", "--out", ...),
    "status": ("status", ...),
}


# What is damaged there is nothing that these need.
SOUND_ENOUGH = {
    *(("status", "row"), ("status", "line's type")),
    ("record", "session's type"),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_names_a_damaged_ledger(damaged, room, manifest, name, damage):
    """Whatever of a ledger is damaged, each command that needs it says so in one line, exit 2."""
    folder = damaged(DAMAGES[damage])
    places = {...: folder, "manifest": manifest, "merged": room / f"merged-{damage}"}
    told = command(*[places.get(one, one) for one in COMMANDS[name]])
    if (name, damage) in SOUND_ENOUGH:
        assert told.returncode == 0
        return
    assert told.returncode == 2
    (line,) = told.stderr.splitlines()
    assert line.startswith(f"Error: {folder}")


BETWEEN_THE_ROWS = overwrite(36, bytes([0, 0, 0, 3]))  # free pages, of which there are none


def test_damage_between_the_rows_is_one_line(damaged, manifest):
    """Where every row is sound and the database is not, verify tells that in one line too."""
    folder = damaged(BETWEEN_THE_ROWS)
    told = command("verify", folder, "--in-process")
    assert told.returncode == 2
    (line,) = told.stderr.splitlines()
    assert line.startswith(f"Error: {folder}/ledger.sqlite: ")
    assert "damaged" in line
    assert command("repair", folder).stdout == "30 rows kept, 0 damaged rows dropped\n"
    require_undisturbed(folder, manifest)


@pytest.mark.parametrize("left", [0, 30])
def test_damage_that_resume_does_not_meet_does_no_harm(damaged, manifest, left):
    """Resume tells of damage that is in its way, or comes to the bytes of an undisturbed run."""

    def change(path):
        if left:
            sql("DELETE FROM episodes", "VACUUM", "UPDATE sessions SET committed = 0")(path)
        BETWEEN_THE_ROWS(path)

    folder = damaged(change)
    done = command("run", manifest, "--in-process", "--no-steps", "--resume", "--out", folder)
    if left:  # pages are needed
        (line,) = done.stderr.splitlines()
        assert (done.returncode, line.startswith(f"Error: {folder}/ledger.sqlite: ")) == (2, True)
    else:
        assert done.returncode == 0
        assert (folder / "artifact.jsonl").read_bytes() == evaluate(manifest, Greedy).artifact
    assert command("repair", folder).returncode == 0
    require_undisturbed(folder, manifest)


@pytest.mark.parametrize("content", [None, "", "{", "[]", '{"sessions": 5}', '{"outcome": []}'])
def test_a_run_json_that_is_lost_is_written_anew(damaged, manifest, content):
    """Without run.json, or with garbage for it, a run is resumed; nothing else is touched."""
    folder = damaged(lambda _: None)
    before = contents(folder)
    (folder / "run.json").unlink()
    if content is not None:
        (folder / "run.json").write_text(content)
    assert command("status", folder).returncode == 0
    require_undisturbed(folder, manifest)
    after = contents(folder)
    assert b'"outcome": "complete"' in after["run.json"]
    changed = {name for name in before | after if before.get(name) != after.get(name)}
    assert changed <= {"run.json", "ledger.sqlite"}


def test_status_never_writes(room, manifest):
    """Asked again and again, status changes no byte: of a run that is done, killed, or damaged."""
    killed = room / "killed"
    with Drivers() as drivers:
        points = drivers.call(13, "run", manifest, "--in-process", "--out", killed)
    assert (points.code, points.points[-1]) == (-signal.SIGKILL, "commit written")
    broken = shutil.copytree(room / "run", room / "broken")
    overwrite(0, b"X")(broken / "ledger.sqlite")
    for folder, code in ((room / "run", 0), (killed, 0), (broken, 2)):
        before = contents(folder)
        times = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
        answers = {command("status", folder)[:2] for _ in range(20)}
        assert {answer[0] for answer in answers} == {code}
        assert len(answers) == 1
        assert contents(folder) == before
        assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == times
