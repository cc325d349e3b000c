"""An episode that hangs: it is named while the run waits, and ends it where that is asked for."""

from __future__ import annotations

import json
import re

import pytest
from misbehaving import Sick

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.runner.evaluate import evaluate
from manifests import hall, write_manifest

HANGING = 5


@pytest.fixture
def manifest(tmp_path):
    """Write a manifest of 8 episodes, one of which hangs."""
    blocks = [
        (hall("before"), {"first": 1, "count": HANGING}),
        (hall("hangs", Sick.dies), [3]),
        (hall("after", 7), [1, 2]),
    ]
    return write_manifest(tmp_path / "input", blocks)


def assert_undisturbed(folder, manifest):
    """Compare artifact and traces with those of an agent that never hangs."""
    expected = evaluate(manifest, Greedy)
    assert (folder / "artifact.jsonl").read_bytes() == expected.artifact
    assert (folder / "traces.jsonl").read_bytes() == expected.traces


def test_status_names_what_is_played(start, dist_eval, manifest, tmp_path):
    """While an episode hangs, status tells its number, worker and seconds; afterwards nothing."""
    process = start(manifest, "--agent", "misbehaving:Hangs", "--out", "run", "--in-process")
    hanging = re.compile(rf"episode {HANGING} on worker 0 for (\d+) s")
    seconds: list[int] = []
    while not (seconds and seconds[-1] >= 1):
        assert process.poll() is None, process.communicate()
        asked = dist_eval("status", "run", "--json")
        running = json.loads(asked.stdout)["running"] if asked.returncode == 0 else []
        seconds += [int(found[1]) for text in running if (found := hanging.fullmatch(text))]
    assert seconds == sorted(seconds)
    lines = dist_eval("status", "run").stdout.splitlines()
    assert lines[0] == "test with misbehaving:Hangs: running"
    assert lines[1].startswith("5 of 8 episodes committed, 0 failed, 3 pending")
    assert lines[2].startswith("spent: ")
    assert re.fullmatch(rf"running: {hanging.pattern}", lines[3])
    (tmp_path / "mended").touch()
    assert process.wait(60) == 0
    assert len(dist_eval("status", "run").stdout.splitlines()) == 3
    assert not (tmp_path / "run/playing").exists()
    assert_undisturbed(tmp_path / "run", manifest)


@pytest.mark.parametrize("at_once", [1, 3])
def test_a_stall_ends_the_run(dist_eval, manifest, tmp_path, at_once):
    """With --stall-after a hanging episode ends the run by name, all others committed."""
    command = (manifest, "--agent", "misbehaving:Hangs", "--out", "run", "--concurrency", at_once)
    asked = dist_eval(*command, "--workers", 2, "--stall-after", 2)
    assert asked.returncode == 3
    message = (
        r"Error: nothing was committed for \d+ s; "
        rf"running: episode {HANGING} on worker [01] for \d+ s\n"
        r"1 episodes are left\. Go on with: dist-eval .* --stall-after 2 --resume\n"
    )
    assert re.search(message, asked.stderr)
    assert "Traceback" not in asked.stderr
    with Ledger.reading(tmp_path / "run/ledger.sqlite") as ledger:
        assert ledger.committed() == [range(HANGING), range(HANGING + 1, 8)]
        assert (ledger.failures(), ledger.crashes()) == ([], {})
    assert json.loads(dist_eval("status", "run", "--json").stdout)["outcome"] == "crashed"
    (tmp_path / "mended").touch()
    assert dist_eval(*command, "--resume", "--in-process").returncode == 0
    assert_undisturbed(tmp_path / "run", manifest)


def test_in_one_process_nobody_watches(dist_eval, manifest):
    """--stall-after is refused where the only worker is the process itself."""
    asked = dist_eval(manifest, "--in-process", "--stall-after", 2)
    assert asked.returncode == 2
    assert "--in-process has no workers to watch: no --stall-after" in asked.stderr
