"""Killed at any crash point, a run, resume, merge or repair loses nothing and comes out the same.

A crash point stands before and after every durable write. Real processes die there one by one.
"""

from __future__ import annotations

import shutil
from contextlib import closing
from itertools import count

import pytest
from commands import dist_eval, folder_in_memory
from dying import NEVER, Drivers
from rows import contents

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.errors import LedgerError
from emberbench_dist.runner.evaluate import evaluate
from manifests import hall, write_manifest

TABLES = {f"{name}.parquet" for name in ("episodes", "people", "steps", "execution")}
FILES = {"ledger.sqlite", "artifact.jsonl", "traces.jsonl", "run.json"} | TABLES
TRANSACTIONS = {"session", "commit", "files"}


@pytest.fixture(scope="module")
def drivers():
    """Start drivers that die."""
    with Drivers() as drivers:
        yield drivers


@pytest.fixture
def room():
    """Return a folder where nothing waits for a disk."""
    with folder_in_memory() as folder:
        yield folder


@pytest.fixture
def manifest(room):
    """Write a manifest of four short episodes in two halls."""
    return write_manifest(
        room / "input", [(hall("one", people=2), [1, 2]), (hall("two", 8, people=1), [3, 4])]
    )


@pytest.fixture
def undisturbed(manifest):
    """Return artifact and traces of an undisturbed run."""
    result = evaluate(manifest, Greedy)
    return result.artifact, result.traces


def canonical(folder):
    """Return the canonical bytes of a run folder."""
    return (folder / "artifact.jsonl").read_bytes(), (folder / "traces.jsonl").read_bytes()


def rows(folder):
    """Return every committed row as it stands in the ledger; none where there is no ledger yet."""
    try:
        with Ledger.reading(folder / "ledger.sqlite") as ledger:
            ledger.check()
            return list(ledger.results())
    except LedgerError as error:
        assert "there is no run here" in str(error)  # noqa: PT017 - damage would be another error
        return []


def assert_whole(folder, undisturbed, before=()):
    """Require the undisturbed bytes, every row that was there before, and nothing left beside."""
    assert canonical(folder) == undisturbed
    after = rows(folder)
    assert len(after) == 4
    assert [row for row in after if row in before] == list(before)
    assert contents(folder).keys() == FILES | {"run.lock"}


def named(files, transactions=TRANSACTIONS):
    """Return the crash points that stand around these writes."""
    renames = {f"{name} {what}" for name in files for what in ("written", "renamed")}
    return renames | {
        f"{name} {what}" for name in transactions for what in ("written", "committed")
    }


def deaths(drivers, prepare, *arguments):
    """Yield a folder for each crash point, after a driver died there; then check the last one."""
    for passing in count(1):
        folder = prepare(passing)
        death = drivers.call(passing, *[folder if one is ... else one for one in arguments])
        if not death.killed:
            assert (death.code, len(death.points)) == (0, passing - 1)
            return
        assert len(death.points) == passing
        yield folder


def test_every_durable_write_has_its_crash_points(drivers, room, manifest, undisturbed):
    """Every file of a finished run, and every transaction, has crash points around its write."""
    death = drivers.call(NEVER, "run", manifest, "--in-process", "--out", room / "run")
    assert death.code == 0
    assert_whole(room / "run", undisturbed)
    assert set(death.points) == named({*FILES, "run.owner.json"}) | {"failures.parquet removed"}
    assert death.points.count("commit committed") == 4
    assert death.points.count("run.json renamed") == 2


def test_a_run_that_dies_anywhere_is_resumed(drivers, room, manifest, undisturbed):
    """Killed at any crash point, a run keeps what it committed and resumes to the same bytes."""
    run = "run", manifest, "--in-process", "--out", ...
    counts = []
    for folder in deaths(drivers, lambda passing: room / f"{passing}", *run):
        before = rows(folder)
        counts.append(len(before))
        assert dist_eval("run", manifest, "--in-process", "--out", folder, "--resume")[0] == 0
        assert_whole(folder, undisturbed, before)
    assert counts == sorted(counts)
    assert set(counts) == set(range(5))


def test_a_resume_that_dies_anywhere_is_resumed(drivers, room, manifest, undisturbed):
    """The same holds for a driver that dies while it resumes half a run."""
    run = "run", manifest, "--in-process", "--out"
    half = drivers.call(12, *run, room / "half")
    assert half.points[-1] == "commit committed"
    committed = rows(room / "half")
    assert len(committed) == 2

    def prepare(passing):
        return shutil.copytree(room / "half", room / f"{passing}")

    for folder in deaths(drivers, prepare, *run, ..., "--resume"):
        before = rows(folder)
        assert before[:2] == committed
        assert dist_eval(*run, folder, "--resume").returncode == 0
        assert_whole(folder, undisturbed, before)


def test_a_run_that_dies_again_and_again(drivers, room, manifest, undisturbed):
    """Killed at crash point 1, resumed and killed at crash point 2, and so on: it gets done."""
    folder, before = room / "run", []
    for passing in count(1):
        death = drivers.call(passing, "run", manifest, "--in-process", "--out", folder, "--resume")
        after = rows(folder)
        assert after[: len(before)] == before
        before = after
        if not death.killed:
            assert death.code == 0
            break
    assert_whole(folder, undisturbed, before)


def test_a_failure_survives_a_death_anywhere(drivers, room):
    """Killed around any write that tells of a failure, a resumed run fails in the same way."""
    run = "run", trapping(room), "--in-process", "--agent", "players:Raises", "--out"
    undisturbed = room / "undisturbed"
    known = drivers.call(NEVER, *run, undisturbed)
    assert known.code == 1
    assert {"failures.parquet written", "failures.parquet renamed"} < set(known.points)
    for passing, point in enumerate(known.points, start=1):
        if point.partition(" ")[0] in ("commit", "failures.parquet", "run.json"):
            folder = room / f"{passing}"
            assert drivers.call(passing, *run, folder).points == known.points[:passing]
            again = dist_eval(*run, folder, "--resume")
            assert again.returncode == 1
            assert "Error: episode 1 (scenario trap, seed 4, step 1): ValueError" in again.stderr
            assert canonical(folder) == canonical(undisturbed)
            assert (folder / "failures.parquet").exists()


def test_a_mended_run_forgets_its_failure_wherever_it_died(drivers, room):
    """Killed around any write that ends a failure, the run is complete once it is resumed."""
    manifest = trapping(room)
    failed = "run", manifest, "--in-process", "--agent", "players:Raises", "--out", room / "failed"
    assert dist_eval(*failed).returncode == 1
    run = "run", manifest, "--in-process", "--resume", "--agent-changed", "--out"
    undisturbed = evaluate(manifest, Greedy).artifact
    known = drivers.call(NEVER, *run, shutil.copytree(room / "failed", room / "mended"))
    for passing, point in enumerate(known.points, start=1):
        if point.partition(" ")[0] in ("session", "commit", "failures.parquet"):
            folder = shutil.copytree(room / "failed", room / f"{passing}")
            assert drivers.call(passing, *run, folder).points == known.points[:passing]
            assert dist_eval(*run, folder).returncode == 0
            assert (folder / "artifact.jsonl").read_bytes() == undisturbed
            assert not (folder / "failures.parquet").exists()


def trapping(room):
    """Write a manifest of a short episode and one that springs the traps of agents."""
    return write_manifest(room / "input", [(hall("one", people=1), [1]), (hall("trap", 9), [4])])


def test_a_merge_that_dies_anywhere(drivers, room, manifest, undisturbed):
    """A merge that died is done again, or resumed where its ledger is there; its parts stay."""
    parts = [room / "a", room / "b"]
    for number, part in enumerate(parts, start=1):
        run = "run", manifest, "--in-process", "--out", part, "--slice", f"{number}/2"
        assert dist_eval(*run).returncode == 0
    before = [contents(part) for part in parts]
    merged = set()
    for folder in deaths(drivers, lambda passing: room / f"{passing}", "merge", ..., *parts):
        has_ledger = (folder / "ledger.sqlite").exists()
        merged.add(has_ledger)
        if has_ledger:
            again = dist_eval("run", manifest, "--in-process", "--out", folder, "--resume")
        else:
            again = dist_eval("merge", folder, *parts)
        assert again.returncode == 0, again.stderr
        assert_whole(folder, undisturbed)
    assert merged == {False, True}
    assert [contents(part) for part in parts] == before


def test_a_repair_that_dies_anywhere(drivers, room, manifest, undisturbed):
    """A repair that died is done again: sound rows stay as they are, the damaged one is played."""
    damaged = room / "damaged"
    assert dist_eval("run", manifest, "--in-process", "--out", damaged).returncode == 0
    sound = rows(damaged)
    with closing(Ledger.open(damaged / "ledger.sqlite")) as ledger:
        ledger._connection.execute("UPDATE episodes SET steps = x'77' WHERE episode = 2")

    def prepare(passing):
        return shutil.copytree(damaged, room / f"{passing}")

    for folder in deaths(drivers, prepare, "repair", ...):
        assert dist_eval("repair", folder).returncode == 0
        assert rows(folder) == [sound[0], sound[1], sound[3]]
        again = dist_eval("run", manifest, "--in-process", "--out", folder, "--resume")
        assert again.returncode == 0
        assert canonical(folder) == undisturbed
        assert [row for row in rows(folder) if row.episode != 2] == rows_but(sound, 2)
        assert contents(folder).keys() == FILES | {"run.lock", "ledger.damaged.sqlite"}


def rows_but(rows, episode):
    """Return rows without that of an episode."""
    return [row for row in rows if row.episode != episode]
