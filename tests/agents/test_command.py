"""An agent that is a program: what it is given, what it answers, and that nothing is left of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tracemalloc
from functools import partial
from pathlib import Path

import pytest
from builders import case_id
from programs import (
    PLAYS,
    WEST,
    West,
    is_alive,
    numbers,
    python,
    shell,
    wait_until_gone,
)
from worlds import simulator

from emberbench_dist.agents.conformance import RULES, check_agent
from emberbench_dist.agents.registry import load_agent
from emberbench_dist.agents.remote.command import CommandAgent, split_command
from emberbench_dist.agents.remote.text import MAX_ANSWER_BYTES, RemoteOptions
from emberbench_dist.errors import (
    AgentSpecError,
    AgentTimeoutError,
    ModelOutputError,
    RemoteAgentError,
)
from emberbench_dist.runner.evaluate import evaluate
from manifests import hall, write_manifest

SEEN = simulator("E a . *").observe()
ANSWER = '{"action_schema_version":"1.0","actions":{"a":"west"},"step":0}'


class Hasty(CommandAgent):
    """Give a program that does not leave little time."""

    grace_seconds = 0.2


@pytest.fixture
def agent(tmp_path, monkeypatch):
    """Return a function that starts a command; its folder is below a folder that stays empty."""
    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    started = []

    def agent(command, **options):
        options.setdefault("log", tmp_path / "log")
        started.append(Hasty(command, **options))
        return started[-1]

    yield agent
    for each in started:
        each.close()
    assert list(place.iterdir()) == []


# Well-behaved programs


def test_a_program_plays_like_its_twin_in_python(tmp_path):
    """A program, started for each episode, gives the same bytes as an agent in Python."""
    path = write_manifest(tmp_path, [(hall("one"), [1, 2]), (hall("two", 8), [5])])
    command = python(tmp_path / "west.py", PLAYS)
    assert evaluate(path, partial(CommandAgent, command)).artifact == evaluate(path, West).artifact


def test_each_episode_has_a_program_of_its_own(tmp_path):
    """What a program remembers, in memory or in its folder, ends with the episode."""
    code = WEST + (
        "from pathlib import Path\n"
        "assert not list(Path().iterdir())\n"
        "for number, line in enumerate(sys.stdin):\n"
        "    Path('memory').touch()\n"
        "    observation = json.loads(line)\n"
        "    assert observation['step'] == number\n"
        "    print(payload(observation))\n"
    )
    path = write_manifest(tmp_path, [(hall("one"), [1, 2, 3])])
    factory = partial(CommandAgent, python(tmp_path / "remembers.py", code))
    assert evaluate(path, factory).outcome == "complete"


def test_each_step_is_accounted_for(agent):
    """Latency and retries are reported, and nothing that is not known."""
    asked = agent(shell(f"read seen; echo '{ANSWER}'"))
    assert asked.act(SEEN) == {"a": "west"}
    told = asked.last_execution().to_dict()
    assert told.pop("latency_seconds") > 0
    assert {name for name, value in told.items() if value is not None} == {"retries"}
    assert told["retries"] == 0


def test_payloads_larger_than_any_pipe_get_through(agent):
    """A program may write while it is written to: both sides of megabytes go on."""
    big = b"x" * 2**22
    assert agent("cat").exchange(big) == big


def test_signals_are_as_any_program_expects_them(agent, tmp_path):
    """Neither what Python ignores nor what the keeper ignores is ignored in the program."""
    asked = agent(shell(f"read seen; grep SigIgn /proc/self/status >&2; echo '{ANSWER}'"))
    asked.act(SEEN)
    asked.close()
    assert int((tmp_path / "log").read_text().split()[1], 16) == 0


def test_an_answer_of_the_largest_size_is_taken(agent):
    """An answer may have 16 MiB with its newline."""
    size = MAX_ANSWER_BYTES - 1
    asked = agent(shell(f"read seen; head -c {size} /dev/zero; echo; cat"))
    assert len(asked.exchange(b"")) == size


@pytest.mark.usefixtures("agent")
def test_a_program_can_be_checked(tmp_path):
    """The check plays a program as any agent, finds what it does wrong, and leaves none behind."""
    plays = python(tmp_path / "west.py", PLAYS)
    assert check_agent(partial(CommandAgent, plays)).holds == tuple(rule.id for rule in RULES)
    report = check_agent(partial(CommandAgent, shell("echo Hi!; cat")))
    assert report.broken == ("returns",)
    assert "step 0: action payload is not JSON" in str(report)


# What a program can see

LOOKS = (
    WEST
    + """
import os

def look():
    return {
        "arguments": sys.argv[1:],
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "files": os.listdir(),
        "descriptors": {name: os.readlink(f"/proc/self/fd/{name}").partition(":")[0]
                        for name in os.listdir("/proc/self/fd")
                        if os.path.exists(f"/proc/self/fd/{name}")},
        "blocked": open("/proc/self/status").read().partition("SigBlk:")[2].split()[0],
        "session": os.getsid(0) == os.getpid(),
    }

seen = look()
for line in sys.stdin:
    print(json.dumps(seen | {"line": line}), file=sys.stderr)
    print(payload(json.loads(line)))
"""
)
PRIVATE_SEED = 0xDEC0DE15BADC0FFE


def test_a_program_sees_nothing_but_the_observation(tmp_path, monkeypatch):
    """All that a program can see of its own process is declared; nothing private is there."""
    monkeypatch.setenv("SECRET", "hunter2")
    document = hall("hidden-scenario") | {"description": "hidden description"}
    path = write_manifest(tmp_path / "hidden-input", [(document, [PRIVATE_SEED])])
    log = tmp_path / "log"
    factory = partial(CommandAgent, python(tmp_path / "looks.py", LOOKS, "--model", "m"), log=log)
    result = evaluate(path, factory, tmp_path / "hidden-run")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(lines) == result.summary.totals["steps"]
    for number, found in enumerate(lines):
        observation = json.loads(found.pop("line"))
        assert observation.pop("step") == number
        assert sorted(observation) == [
            *("allowed_actions", "burning", "map", "observation_version", "people", "rules")
        ]
        folder = found.pop("folder")
        assert found == {
            "arguments": ["--model", "m"],
            "environment": {
                "HOME": folder,
                "LANG": "C.UTF-8",
                "PATH": "/usr/local/bin:/usr/bin:/bin",
                "PYTHONUNBUFFERED": "1",
                "TMPDIR": folder,
            },
            "files": [],
            "descriptors": {"0": "pipe", "1": "pipe", "2": "pipe"},
            "blocked": "0" * 16,
            "session": True,
        }
        assert not Path(folder).exists()
    text = log.read_text().lower()
    private = ("hidden", "hunter2", str(PRIVATE_SEED), f"{PRIVATE_SEED:x}", str(os.getpid()))
    assert not [word for word in private if word in text]


def test_an_environment_can_be_given(agent, tmp_path):
    """What Python code adds to the environment is there beside the rest."""
    asked = agent(
        shell(f"read seen; echo \"$MODEL $LANG\" >&2; echo '{ANSWER}'"),
        environment={"MODEL": "m", "LANG": "C"},
    )
    asked.act(SEEN)
    asked.close()
    assert (tmp_path / "log").read_text() == "m C\n"


# Bad programs


BAD = {
    "true": "ended without an answer, with exit code 0",
    shell("exit 3"): "ended without an answer, with exit code 3",
    shell("kill -SEGV $$"): "ended without an answer, with exit code 139",
    shell("echo one >&2; echo two >&2; exit 3"): (
        "ended without an answer, with exit code 3; its last line on standard error: 'two'"
    ),
    shell("printf half; exit 3"): "ended in the middle of its answer, with exit code 3",
    shell("exec >&-; sleep 600"): "closed its standard output without an answer",
    shell("kill -9 $PPID; sleep 600"): "ended without an answer, with exit code 137",
    "cat /dev/zero": "answered with more than 16 MiB",
    str(Path(__file__).parent / "no-interpreter"): (
        "ended without an answer, with exit code 127; its last line on standard error: "
    ),
}


@pytest.mark.parametrize("command", BAD, ids=case_id)
def test_a_program_that_cannot_be_asked_is_told_in_one_line(agent, command, tmp_path):
    """Whatever a program does instead of answering, the error says what."""
    if command.endswith("no-interpreter"):
        command = str(tmp_path / "no-interpreter")
        Path(command).write_text("#!/nowhere/at/all\n")
        Path(command).chmod(0o755)
    with pytest.raises(RemoteAgentError) as caught:
        agent(command).act(SEEN)
    name = command if command in BAD else str(Path(__file__).parent / "no-interpreter")
    assert str(caught.value).startswith(f"the agent's program {BAD[name]}")
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    "script",
    [
        "sleep 600",
        "printf half; sleep 600",
        "trap '' TERM HUP INT; while :; do sleep 1; done",
        "kill -STOP $$",
        "while :; do :; done",
    ],
)
def test_a_program_that_does_not_answer_is_ended(agent, script, tmp_path):
    """It gets its timeout, then it is gone, though it ignores SIGTERM or stands still."""
    asked = agent(shell(f"echo $$ > {tmp_path}/pid; {script}"), timeout_seconds=0.5)
    with pytest.raises(AgentTimeoutError, match=r"did not answer within 0\.5 s"):
        asked.act(SEEN)
    assert not any(map(is_alive, numbers(tmp_path / "pid", 1)))


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("yes", "is not JSON"),
        ("echo", "is not JSON"),
        ("echo '<html>'", "is not JSON"),
        (r"printf '\377\n'", "is not UTF-8"),
        (f"printf '{ANSWER}\\r\\n'", "is not in canonical form"),
        (f"echo ' {ANSWER}'", "is not in canonical form"),
        ('echo "$seen"', "unknown key"),
        (f"echo '{ANSWER.replace('west', 'up')}'", "must be one of"),
        (f"echo '{ANSWER.replace(':0', ':1')}'", "step"),
    ],
)
def test_an_invalid_answer_fails_the_step(agent, script, message):
    """An answer that is no payload of this step is refused, never asked for again."""
    asked = agent(shell(f"read seen; {script}; sleep 600"))
    with pytest.raises(ModelOutputError, match=f"^step 0: .*{message}"):
        asked.act(SEEN)


def test_an_answer_too_many_fails_the_next_step(agent):
    """A line that nobody asked for is taken for the next answer, and is of another step."""
    world = simulator("E . a . *")
    asked = agent(shell(f"read seen; echo '{ANSWER}'; echo '{ANSWER}'; cat > /dev/null"))
    world.step(asked.act(world.observe()))
    with pytest.raises(ModelOutputError, match=r"^step 1: .*step: must be 1, got 0"):
        asked.act(world.observe())


def test_a_program_that_leaves_early_fails_the_next_step(agent):
    """One good answer does not make up for a missing one."""
    world = simulator("E . a . *")
    asked = agent(shell(f"read seen; echo '{ANSWER}'"))
    world.step(asked.act(world.observe()))
    with pytest.raises(RemoteAgentError, match="ended without an answer, with exit code 0"):
        asked.act(world.observe())


@pytest.mark.parametrize(
    "script", ["yes x | head -c 1000000000", "head -c 1000000000 /dev/zero", "yes ''"]
)
def test_a_flood_takes_bounded_memory(agent, script):
    """A gigabyte of output is not kept: of a line not more than the limit, of lines even less."""
    tracemalloc.start()
    try:
        asked = agent(shell(f"{script}; sleep 600"))
        with pytest.raises((RemoteAgentError, ModelOutputError)):
            asked.act(SEEN)
        asked.close()
        assert tracemalloc.get_traced_memory()[1] < 5 * MAX_ANSWER_BYTES
    finally:
        tracemalloc.stop()


def test_a_flood_of_errors_does_not_fill_the_log(agent, tmp_path):
    """Of what a program writes to standard error in an episode, a megabyte is kept."""
    asked = agent(shell(f"read seen; head -c 10000000 /dev/zero >&2; echo '{ANSWER}'"))
    asked.act(SEEN)
    asked.close()
    log = (tmp_path / "log").read_bytes()
    assert 2**20 < len(log) < 2**20 + 100
    assert log.endswith(b"\n(more of this episode is left out)\n")


# Nothing is left

FORKS = """
import os, sys, time

def note():
    with open(sys.argv[1], "a") as file:
        file.write(f"{os.getpid()}\\n")

def child(*, daemon):
    if os.fork():
        return
    if daemon:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.close(1)
        os.close(2)
    note()
    os.execve("/bin/sh", ["sh", "-c", "trap '' TERM; while :; do sleep 1; done"], {})

note()
child(daemon=False)
child(daemon=True)
"""
FORKS_AND_PLAYS = FORKS + PLAYS
FORKS_AND_LEAVES = (
    FORKS + "while open(sys.argv[1]).read().count('\\n') < 3:\n    time.sleep(0.01)\n"
)
FORKS_AND_HANGS = FORKS + "time.sleep(600)\n"


@pytest.mark.parametrize("code", [FORKS_AND_PLAYS, FORKS_AND_LEAVES, FORKS_AND_HANGS])
def test_a_program_goes_with_its_children(agent, tmp_path, code):
    """Children, also those that made themselves independent and ignore SIGTERM, are gone."""
    noted = tmp_path / "pids"
    asked = agent(python(tmp_path / "forks.py", code, noted), timeout_seconds=2)
    processes = numbers(noted, 3)
    if code is FORKS_AND_PLAYS:
        asked.act(SEEN)
        assert all(map(is_alive, processes))
    else:
        with pytest.raises(RemoteAgentError):
            asked.act(SEEN)
    asked.close()
    assert not any(map(is_alive, processes))


def test_a_killed_evaluator_leaves_no_program(tmp_path):
    """SIGKILL of the evaluating process ends the program, its children and its folder."""
    noted, place = tmp_path / "pids", tmp_path / "place"
    place.mkdir()
    command = python(tmp_path / "forks.py", FORKS_AND_HANGS, noted)
    code = (
        "from programs import *; from emberbench_dist.agents.remote.command import CommandAgent;"
        f"CommandAgent.grace_seconds = 0.2; agent = CommandAgent({command!r});"
        "agent.exchange(b'seen')"
    )
    evaluator = subprocess.Popen(
        [sys.executable, "-c", code],
        env={
            **os.environ,
            "TMPDIR": str(place),
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path]),
        },
    )
    processes = numbers(noted, 3)
    assert len(list(place.iterdir())) == 1
    os.kill(evaluator.pid, signal.SIGKILL)
    evaluator.wait()
    wait_until_gone(processes)
    while any(place.iterdir()):
        pass


def test_a_closed_agent_holds_nothing(agent):
    """A closed agent has no descriptors, cannot be asked, and may be closed again."""

    def descriptors():
        return len(list(Path("/proc/self/fd").iterdir()))

    before = descriptors()
    asked = agent("cat")
    assert descriptors() > before
    asked.close()
    asked.close()
    assert descriptors() == before
    with pytest.raises(RemoteAgentError, match="was ended"):
        asked.act(SEEN)


def test_what_a_program_leaves_in_its_folder_is_removed(agent):
    """Files and folders, however deep, go with the episode; the fixture looks."""
    asked = agent(shell(f"read seen; mkdir -p a/b; touch a/b/c $HOME/d; echo '{ANSWER}'; cat"))
    asked.act(SEEN)


# Naming a program


def test_a_command_is_split_without_a_shell(monkeypatch):
    """Quotes hold words together; nothing is expanded, and no shell runs."""
    monkeypatch.setenv("X", "expanded")
    words = split_command("sh -c 'a b' \"c d\" e\\ f $X *.py `id` ; > x")
    assert words[1:] == ["-c", "a b", "c d", "e f", "$X", "*.py", "`id`", ";", ">", "x"]
    assert Path(words[0]).is_absolute()


def test_files_of_the_working_folder_are_found_from_elsewhere(tmp_path, monkeypatch):
    """A program and the files among its arguments get absolute paths; other words stay."""
    monkeypatch.chdir(tmp_path)
    for name in ("bot", "weights.bin"):
        Path(name).touch(mode=0o755)
    Path("folder").mkdir()
    assert split_command("./bot weights.bin folder none --x=weights.bin " + "y" * 5000) == [
        *(str(tmp_path / "bot"), str(tmp_path / "weights.bin"), "folder", "none"),
        *("--x=weights.bin", "y" * 5000),
    ]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "must be a program and its arguments"),
        ("  ", "must be a program and its arguments"),
        ("a\0b", "must be a program and its arguments"),
        ("no-such-program --x", "there is no program 'no-such-program' on the PATH"),
        ("./none", "there is no program './none' in this folder"),
        ("/none/at all", "there is no program '/none/at' in this folder"),
        ("./plain", "there is no program './plain' in this folder"),
        ("sh -c 'x", "No closing quotation"),
    ],
)
def test_a_command_that_leads_nowhere_is_refused_before_the_run(
    tmp_path, monkeypatch, command, message
):
    """No such program, one that may not be run, half a quotation: an `AgentSpecError`."""
    monkeypatch.chdir(tmp_path)
    Path("plain").touch(mode=0o644)
    with pytest.raises(AgentSpecError) as caught:
        load_agent(f"command:{command}")
    assert str(caught.value) == f"agent command {command!r}: {message}".replace(": must", " must")


def test_a_spec_carries_its_options(tmp_path):
    """Timeout and log of the options are those of every agent that the SPEC makes."""
    options = RemoteOptions(timeout_seconds=7, log=str(tmp_path / "log"))
    agent = load_agent(f"command:{shell('echo built >&2')}", options)()
    assert agent.timeout_seconds == 7
    agent.close()
    assert (tmp_path / "log").read_text() == "built\n"


@pytest.mark.parametrize("seconds", [0, -1, 86_401, float("inf"), float("nan")])
def test_a_timeout_that_cannot_be_kept_is_refused(seconds):
    """More than nothing, at most a day; both where an option and where an agent has it."""
    with pytest.raises(AgentSpecError, match="more than 0 and at most 86400 seconds"):
        RemoteOptions(timeout_seconds=seconds)
    with pytest.raises(AgentSpecError, match="more than 0 and at most 86400 seconds"):
        CommandAgent("cat", timeout_seconds=seconds)
