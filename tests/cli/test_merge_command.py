"""`dist-eval run --slice` and `merge`: however a manifest is cut, the merge is the whole run."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest
from commands import dist_eval as command
from commands import folder_in_memory
from rows import contents

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.runner.evaluate import evaluate
from manifests import hall, write_manifest

COUNT = 10
TABLES = ("episodes", "people", "steps")


@pytest.fixture
def room():
    """Return a folder where nothing waits for a disk."""
    with folder_in_memory() as room:
        yield room


@pytest.fixture
def manifest(room):
    """Write a manifest of ten short episodes."""
    blocks = [(hall("one", people=1), {"first": 1, "count": 6}), (hall("two", 8), [1, 2, 3, 4])]
    return write_manifest(room / "input", blocks)


@pytest.fixture
def play(room, manifest):
    """Return a function that plays a slice into a folder of that name."""

    def call(part, *options, agent="greedy", of=manifest, name=None):
        folder = room / (name or part.replace("/", "of"))
        run = "run", of, "--in-process", "--agent", agent, "--out", folder, "--slice", part
        done = command(*run, *options)
        assert done.returncode == 0, done.stderr
        return folder

    return call


@pytest.mark.parametrize("parts", range(1, 8))
def test_all_slices_merged_are_the_whole_run(room, manifest, play, parts):
    """For any number of slices: artifact, traces and tables are those of one run."""
    whole = room / "whole"
    assert command("run", manifest, "--in-process", "--out", whole).returncode == 0
    folders = [play(f"{part}/{parts}", name=f"part-{part}") for part in range(1, parts + 1)]
    out = room / "merged"
    done = command("merge", out, *reversed(folders))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"10 of 10 episodes in {out}/artifact.jsonl\n"
    undisturbed = evaluate(manifest, Greedy)
    assert (out / "artifact.jsonl").read_bytes() == undisturbed.artifact
    assert (out / "traces.jsonl").read_bytes() == undisturbed.traces
    for table in TABLES:
        assert pq.read_table(out / f"{table}.parquet") == pq.read_table(whole / f"{table}.parquet")
    assert contents(out).keys() == contents(whole).keys()
    assert command("verify", out, "--in-process").returncode == 0
    status = json.loads(command("status", out, "--json").stdout)
    assert (status["outcome"], status["committed"], status["slice"]) == ("complete", 10, "1/1")


def test_more_slices_than_episodes(room, play):
    """A slice may be empty; merged with the others it adds nothing."""
    few = write_manifest(room / "few", [(hall("one", people=1), [1, 2])])
    folders = [play(f"{part}/3", of=few) for part in (1, 2, 3)]
    assert command("merge", room / "merged", *folders).returncode == 0
    assert (room / "merged/artifact.jsonl").read_bytes() == evaluate(few, Greedy).artifact


def test_a_slice_has_no_artifact(play):
    """A slice holds ledger and tables; its artifact would not be one."""
    folder = play("2/3")
    assert contents(folder).keys() == {
        *("ledger.sqlite", "run.json", "run.lock", "execution.parquet"),
        *(f"{table}.parquet" for table in TABLES),
    }
    assert pq.read_table(folder / "episodes.parquet")["episode"].to_pylist() == [3, 4, 5]
    status = json.loads(command("status", folder, "--json").stdout)
    assert status.items() >= {"slice": "2/3", "episodes": 3, "committed": 3, "pending": 0}.items()
    assert json.loads((folder / "run.json").read_bytes())["slice"] == "2/3"


def test_a_slice_is_resumed_as_the_same_slice(manifest, play):
    """A slice is resumed with its own text only; another one, or none, is refused by name."""
    folder = play("2/3")
    before = contents(folder)
    run = "run", manifest, "--in-process", "--out", folder, "--resume"
    for options, told in (
        (("--slice", "1/3"), "is slice 2/3 of its manifest, not 1/3; choose another folder"),
        (("--slice", "2/4"), "is slice 2/3 of its manifest, not 2/4; choose another folder"),
        ((), "is slice 2/3 of its manifest, not 1/1; choose another folder"),
    ):
        refused = command(*run, *options)
        assert refused.returncode == 2
        assert refused.stderr == f"Error: {folder}: {told}\n"
    assert contents(folder) == before
    assert command(*run, "--slice", "2/3").returncode == 0


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "1/0", "a/b", "1/2/3", "-1/3", "1 / 3"])
def test_a_bad_slice_is_one_line(room, manifest, text):
    """A text that names no slice is refused before anything is made."""
    refused = command("run", manifest, "--in-process", "--slice", text, "--out", room / "run")
    assert refused.returncode == 2
    assert refused.stderr == f"Error: a slice is PART/PARTS, such as 3/16, not '{text}'\n"
    assert not (room / "run").exists()


def test_slices_have_default_folders_of_their_own(room, manifest, monkeypatch):
    """Without --out each slice goes to a folder that says which one it is."""
    monkeypatch.chdir(room)
    for part in ("1/2", "2/2"):
        assert command("run", manifest, "--in-process", "--slice", part).returncode == 0
    folders = [room / f"results/test-{part}of2/greedy" for part in (1, 2)]
    assert command("merge", "merged", *folders).returncode == 0


def test_what_does_not_fit_is_one_line(room, play):
    """Another manifest, another agent, or another result: exit 2, one line, and no run in OUT."""
    first, second = play("1/2"), play("2/2")
    other = write_manifest(room / "other", [(hall("one", people=1), {"first": 1, "count": 9})])
    cases = [
        ([first, play("2/2", of=other, name="foreign")], "foreign: has manifest_hash "),
        ([first, play("2/2", agent="stay", name="stay")], "stay: has agent_spec stay, but "),
        ([first], "episode 5 is in none of the folders; finish that slice, or merge what there"),
        ([second], "episode 0 is in none of the folders; "),
        ([first, room / "nowhere"], "nowhere/ledger.sqlite: there is no run here"),
    ]
    for parts, told in cases:
        refused = command("merge", room / "out", *parts)
        assert (refused.returncode, refused.stdout) == (2, "")
        (line,) = refused.stderr.splitlines()
        assert told in line
        assert contents(room / "out").keys() <= {"run.lock"}
    assert command("merge", room / "out", first, second).returncode == 0


def test_an_agent_that_is_not_deterministic_is_found(room, play):
    """Slices that overlap in an episode that came out otherwise are refused by name."""
    first = play("1/1", agent="keepers:Rolls")
    second = play("1/1", agent="keepers:Rolls", name="again")
    refused = command("merge", room / "out", first, second)
    assert refused.returncode == 2
    assert f" has one result in {first} and another in {second}: " in refused.stderr


def test_a_folder_that_holds_a_run_is_refused(room, play):
    """Neither a finished run, nor a merge, nor one of the parts is merged into."""
    parts = [play("1/2"), play("2/2")]
    assert command("merge", room / "out", *parts).returncode == 0
    for folder in (room / "out", parts[0]):
        before = contents(folder)
        refused = command("merge", folder, *parts)
        assert refused.returncode == 2
        assert refused.stderr == (f"Error: {folder}: already holds a run; choose another folder\n")
        assert contents(folder) == before


def test_a_partial_merge_is_resumed(room, manifest, play):
    """With --partial what there is becomes a run that resume completes to the same bytes."""
    out = room / "out"
    done = command("merge", out, play("1/5"), play("4/5"), "--partial", "--no-steps")
    assert done.returncode == 0
    assert done.stdout == f"2 of 10 episodes in {out}/artifact.jsonl\n"
    assert not (out / "steps.parquet").exists()
    status = json.loads(command("status", out, "--json").stdout)
    assert (status["outcome"], status["committed"], status["pending"]) == ("failed", 4, 6)
    assert command("run", manifest, "--in-process", "--resume", "--out", out).returncode == 0
    assert (out / "artifact.jsonl").read_bytes() == evaluate(manifest, Greedy).artifact


def test_merge_needs_parts(room):
    """Without a folder to merge there is nothing to do."""
    refused = command("merge", room / "out")
    assert refused.returncode == 2
    assert "Missing argument 'DIR...'" in refused.stderr
    assert not (room / "out").exists()
