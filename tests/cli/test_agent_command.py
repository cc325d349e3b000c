"""`dist-eval run --agent-command`: any program plays, on Ray as in one process."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from commands import dist_eval as call
from programs import PLAYS, West, is_alive, numbers, python, shell, wait_until_gone

from emberbench_dist.agents.interface import FreshAgents
from emberbench_dist.agents.registry import load_agent
from emberbench_dist.cli.workers import alone
from emberbench_dist.evaluation.episode import Player
from emberbench_dist.runner.evaluate import evaluate

# Notes itself, its keepers' parent and a child, and hangs in the first episode until mended.
STUBBORN = PLAYS.replace("for line in sys.stdin:", "for line in sys.stdin:\n    hang()").replace(
    "import json, sys",
    """import json, os, subprocess, sys, time

def parent(process):
    return open(f"/proc/{process}/stat").read().rpartition(") ")[2].split()[1]

worker = parent(parent(os.getppid()))
print("playing", file=sys.stderr)

def hang():
    if not os.path.exists(sys.argv[2]):
        child = subprocess.Popen(["sleep", "600"], start_new_session=True)
        with open(sys.argv[1], "a") as file:
            file.write(f"{worker}\\n{os.getpid()}\\n{child.pid}\\n")
        time.sleep(600)
""",
)


def test_a_killed_worker_leaves_no_program(start, tmp_path, manifest):
    """Its episode starts over with a new program; the old one is gone, and the bytes are right."""
    noted, mended = tmp_path / "noted", tmp_path / "mended"
    command = python(tmp_path / "stubborn.py", STUBBORN, noted, mended)
    run = start(manifest, "--agent-command", command, "--workers", "1", "--out", "here")
    worker, *programs = numbers(noted, 3)
    assert all(map(is_alive, programs))
    mended.touch()
    os.kill(worker, signal.SIGKILL)
    wait_until_gone(programs)
    told = run.communicate(timeout=120)[1]
    assert run.returncode == 0, told
    expected = evaluate(manifest, West).artifact
    assert (tmp_path / "here/artifact.jsonl").read_bytes() == expected
    assert (tmp_path / "here/run.log").read_text().count("playing\n") == 41


def test_an_interrupted_run_leaves_no_program(start, tmp_path, manifest):
    """A driver that is stopped at once, its cluster with it, leaves no program."""
    noted = tmp_path / "noted"
    command = python(tmp_path / "stubborn.py", STUBBORN, noted, tmp_path / "mended")
    run = start(manifest, "--agent-command", command, "--workers", "1", "--out", "here")
    programs = numbers(noted, 3)
    run.send_signal(signal.SIGINT)
    assert "Stopping" in run.stderr.read(12) + run.stderr.read(2000)
    wait_until_gone(programs)
    assert run.wait(60) == 130


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Work in the test's folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_in_one_process_it_is_the_same(here, manifest):
    """The program's words go to the run's log, the command to run.json, the bytes are the same."""
    python(here / "west.py", PLAYS + "print('done', file=sys.stderr)\n")
    done = call(
        manifest, "--agent-command", "python3 west.py", "--in-process", "--agent-timeout", "30"
    )
    assert (done.returncode, "done" in done.stderr) == (0, False)
    (folder,) = here.glob("results/test/*")
    assert folder.name == "command-python3-west.py"
    assert (folder / "artifact.jsonl").read_bytes() == evaluate(manifest, West).artifact
    assert (folder / "run.log").read_text() == "done\n" * 40
    assert json.loads((folder / "run.json").read_text())["agent_spec"] == "command:python3 west.py"
    again = call(manifest, "--agent", "command:python3 west.py", "--in-process", "--resume")
    assert again.returncode == 0


@pytest.mark.usefixtures("here")
def test_a_program_that_fails_ends_the_run_like_any_agent(manifest):
    """Exit code 1, and one line with the program's last words."""
    command = shell("echo no weights >&2; exit 3")
    done = call(manifest, "--agent-command", command, "--in-process", "--out", "here")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-2] == (
        "Error: episode 0 (scenario one, seed 1, step 0): RemoteAgentError: the agent's program "
        "ended without an answer, with exit code 3; its last line on standard error: 'no weights'"
    )


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--agent-command", "none"), "agent command 'none': there is no program 'none' on the"),
        (("--agent-command", "./x y"), "agent command './x y': there is no program './x' in this"),
        (("--agent-command", ""), "agent command '' must be a program and its arguments"),
        (("--agent-command", "'"), 'agent command "\'": No closing quotation'),
        (("--agent-command", "cat", "--agent", "stay"), "--agent and --agent-command name dif"),
        (("--agent-command", "cat", "--agent-timeout", "0"), "Invalid value for '--agent-timeout'"),
        (("--agent-command", "cat", "--agent-timeout", "nan"), "an agent's timeout must be more"),
        (("--agent-timeout", "3"), "--agent-timeout is for --agent-command and --agent-url"),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(manifest, arguments, message):
    """Exit code 2, one line that says what is wrong, and no run folder."""
    done = call(manifest, *arguments, "--in-process")
    assert done.returncode == 2
    assert f"Error: {message}" in done.stderr
    assert not Path("results").exists()


def test_an_audit_asks_the_program_again(here, manifest, monkeypatch):
    """`dist-eval audit` plays with the program of the run, with a timeout of its own."""
    asked = []

    def on_ray(setup, *_, **__):
        asked.append(setup)
        factory = load_agent(setup.agent_spec, setup.remote)
        return alone(Player(setup.scenarios, FreshAgents(factory)).play)

    monkeypatch.setattr("emberbench_dist.cli.audit.on_ray", on_ray)
    python(here / "west.py", PLAYS)
    call(manifest, "--agent-command", "python3 west.py", "--in-process", "--out", "here")
    done = call("audit", "here", "--sample", "3", "--agent-timeout", "30")
    assert (done.returncode, done.stdout[:6]) == (0, "3 of 3"), done.stderr
    assert [setup.remote.timeout_seconds for setup in asked] == [30]
