"""`dist-eval status` and `agents`: what they tell, and that they only read."""

from __future__ import annotations

import json
import re
import time

import pyarrow.compute as pc
import pyarrow.parquet as pq

from manifests import hall, write_manifest


def test_status_of_a_complete_run(dist_eval, tmp_path, manifest):
    """Status counts committed, failed and pending, and touches nothing."""
    dist_eval(manifest, "--in-process", "--out", "here")
    before = {path.name: path.read_bytes() for path in (tmp_path / "here").iterdir()}
    status = json.loads(dist_eval("status", "here", "--json").stdout)
    rate = status.pop("episodes_per_second")
    assert rate > 0
    spent, lost = status.pop("spent"), status.pop("lost")
    assert (spent["attempts"], spent["input_tokens"], lost["attempts"]) == (40, None, 0)
    assert 0 < spent["seconds"] < 40 / rate
    assert status == {
        "manifest_id": "test",
        "agent": "greedy",
        "outcome": "complete",
        "episodes": 40,
        "committed": 40,
        "failed": 0,
        "pending": 0,
        "sessions": 1,
        "slice": "1/1",
        "running": [],
        "failures": [],
    }
    assert {path.name: path.read_bytes() for path in (tmp_path / "here").iterdir()} == before
    told = dist_eval("status", "here").stdout.splitlines()
    assert told[0] == "test with greedy: complete"
    assert told[1].startswith("40 of 40 episodes committed, 0 failed, 0 pending; ")
    assert re.fullmatch(rf"spent: [\d.]+ s in {spent['steps']} steps", told[2])
    assert len(told) == 3


def test_status_sums_what_agents_account_for(dist_eval, tmp_path):
    """What was spent is summed over sessions, once each; what failed attempts cost stands apart."""
    manifest = write_manifest(tmp_path, [(hall("one"), [3, 4]), (hall("trap", 9), [5])])
    options = "--in-process", "--agent", "players:AccountsAndFailsOnce", "--out", "here"
    assert dist_eval(manifest, *options).returncode == 1
    told = dist_eval(manifest, *options, "--resume")
    assert told.returncode == 0
    status = json.loads(dist_eval("status", "here", "--json").stdout)
    spent, lost = status["spent"], status["lost"]
    table = pq.read_table(tmp_path / "here/execution.parquet")
    assert (spent["attempts"], spent["reported"]) == (3, spent["steps"])
    assert spent["steps"] == pc.count(table["step"]).as_py()
    assert spent["input_tokens"] == 7 * spent["steps"] == pc.sum(table["input_tokens"]).as_py()
    assert spent["models"] == {"stub": spent["steps"]}
    assert (lost["attempts"], lost["steps"], lost["input_tokens"]) == (1, 1, 7)
    text = dist_eval("status", "here").stdout
    assert re.search(
        rf"^spent: .* s in \d+ steps, {7 * spent['steps']} tokens in, .* by stub$",
        text,
        re.MULTILINE,
    )
    assert re.search(
        r"^lost: 1 attempts, .* s in 1 steps, 7 tokens in, .* by stub$", text, re.MULTILINE
    )
    assert re.search(rf"input tokens +│ +{7 * spent['steps']}", told.stdout)
    assert re.search(r"lost attempts +│ +1 \(", told.stdout)


def test_status_of_a_failed_run(dist_eval, tmp_path):
    """Status names the failed episode."""
    manifest = write_manifest(tmp_path, [(hall("one"), [3]), (hall("trap", 9), [2**64 - 1])])
    dist_eval(manifest, "--in-process", "--agent", "players:Raises", "--out", "here")
    status = json.loads(dist_eval("status", "here", "--json").stdout)
    assert (status["outcome"], status["committed"], status["failed"], status["pending"]) == (
        "failed",
        1,
        1,
        1,
    )
    (failure,) = status["failures"]
    assert failure == (
        "episode 1 (scenario trap, seed 18446744073709551615, step 1): "
        "ValueError: no plan for step 1"
    )


def test_status_during_a_run(start, dist_eval, manifest):
    """Status works while a driver writes, which it does not disturb; its counts never fall."""
    process = start(manifest, "--in-process", "--agent", "players:Slow", "--out", "here")
    counts = []
    while process.poll() is None:
        asked = dist_eval("status", "here", "--json")
        if asked.returncode == 0:
            status = json.loads(asked.stdout)
            counts.append(status["committed"])
            assert status["committed"] + status["pending"] == 40
        time.sleep(0.1)
    assert process.returncode == 0
    assert counts == sorted(counts)
    assert len(set(counts)) > 2


def test_agents_are_listed(dist_eval):
    """The agents known by name are listed with where they live."""
    listed = [line.split() for line in dist_eval("agents").stdout.splitlines()]
    assert ["greedy", "emberbench_dist.agents.baselines:Greedy"] in listed
    names = [name for name, _ in listed]
    assert names == sorted(names)
    assert {"counting", "greedy", "shuffle", "stay"} <= set(names)


def test_help_names_every_command(dist_eval):
    """Help lists the commands, also without a default to run."""
    told = dist_eval("--help").stdout
    for name in ("run", "status", "agents"):
        assert f"\n  {name} " in told
    assert "--agent SPEC" in dist_eval("run", "--help").stdout
