"""`dist-eval export`: tables again, here or elsewhere; what is refused leaves everything alone."""

from __future__ import annotations

import pytest
from commands import dist_eval
from rows import contents

from emberbench_dist.artifacts.run_folder import RunFolder

TABLES = ("episodes", "people", "steps", "execution")


def test_tables_come_back(run, room):
    """Tables that were removed are written again, and the command says which and where."""
    for name in TABLES:
        (run / f"{name}.parquet").unlink()
    done = dist_eval("export", run)
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        f"episodes, people, steps, execution in {run}\n",
        "",
    )
    for name in TABLES:
        written = (run / f"{name}.parquet").read_bytes()
        assert written == (room / "run" / f"{name}.parquet").read_bytes()


def test_without_a_ledger_the_manifest_gives_the_steps(run, room, tmp_path):
    """An artifact alone is enough for two tables, with the manifest for three."""
    for path in run.glob("ledger*"):
        path.unlink()
    refused = dist_eval("export", run, "--out", tmp_path / "out")
    assert refused.returncode == 2
    assert refused.stderr == (
        f"Error: {run}/artifact.jsonl: without a ledger, steps need the manifest test: "
        "give --manifest, or leave them out with --no-steps\n"
    )
    done = dist_eval("export", run, "--out", tmp_path / "out", "--no-steps")
    assert done.stdout == f"episodes, people in {tmp_path}/out\n"
    given = "--manifest", room / "input/manifest.json"
    done = dist_eval("export", run, "--out", tmp_path / "out", *given)
    assert done.stdout == f"episodes, people, steps in {tmp_path}/out\n"


def test_while_a_driver_is_at_work_tables_are_written_elsewhere_only(run, tmp_path):
    """The folder of a running driver is left to it; what is committed can be had elsewhere."""
    with RunFolder(run).locked():
        before = contents(run)
        refused = dist_eval("export", run)
        assert refused.returncode == 2
        assert refused.stderr == (
            f"Error: {run}: a driver is at work there; --out writes the tables elsewhere\n"
        )
        done = dist_eval("export", run, "--out", tmp_path / "out")
        assert done.returncode == 0, done.stderr
        assert contents(run) == before
    assert contents(tmp_path / "out").keys() == {"run.lock", *(f"{one}.parquet" for one in TABLES)}


@pytest.mark.parametrize("there", ["ledger.sqlite", "artifact.jsonl"])
def test_the_folder_of_another_run_is_refused(run, tmp_path, there):
    """Tables of one run are not put among the results of another."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / there).write_bytes(b"precious")
    refused = dist_eval("export", run, "--out", tmp_path / "other")
    told = f"Error: {tmp_path}/other: already holds a run; choose another folder\n"
    assert (refused.returncode, refused.stderr) == (2, told)
    assert contents(tmp_path / "other") == {there: b"precious"}


@pytest.mark.parametrize("made", [True, False])
def test_where_no_run_is_nothing_is_made(tmp_path, made):
    """A folder without a run, or none, is refused in one line."""
    folder = tmp_path / "empty"
    if made:
        folder.mkdir()
    refused = dist_eval("export", folder, "--out", tmp_path / "out")
    assert (refused.returncode, refused.stderr) == (
        2,
        f"Error: {folder}: there is no run here\n",
    )
    assert folder.exists() == made


def test_a_damaged_ledger_is_told(run):
    """A ledger that cannot be read is told with what to do, and the tables stay."""
    (run / "ledger.sqlite").write_bytes(b"SQLite format 3\0" + bytes(9000))
    before = contents(run)
    refused = dist_eval("export", run)
    assert refused.returncode == 2
    assert refused.stderr.startswith(f"Error: {run}/ledger.sqlite: ")
    assert contents(run) | {"run.lock": b""} == before | {"run.lock": b""}
