"""What agents print goes to the run's log, and the command prints only what is its own."""

from __future__ import annotations

from manifests import hall, write_manifest

EPISODES = 3


def test_agents_print_into_the_log(dist_eval, tmp_path):
    """Megabytes on both streams, from Python and C, go to run.log and nowhere else."""
    manifest = write_manifest(tmp_path / "input", [(hall("one"), {"first": 1, "count": EPISODES})])
    asked = dist_eval(manifest, "--agent", "misbehaving:Prints", "--out", "run", "--workers", 1)
    assert asked.returncode == 0
    assert asked.stderr == "Starting Ray …\n"
    assert asked.stdout.splitlines()[0].strip() == f"{EPISODES} of {EPISODES} episodes"
    assert asked.stdout.splitlines()[-1] == "results: run"
    assert len(asked.stdout) < 2000
    log = (tmp_path / "run/run.log").read_text()
    for stream in (1, 2):
        assert log.count(f"from Python to {stream} " + "p" * 2**20) == EPISODES
        assert log.count(f"from C to {stream} " + "c" * 2**20) == EPISODES
