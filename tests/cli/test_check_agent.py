"""`dist-eval check-agent`: what it prints of an agent, and how it ends."""

from __future__ import annotations

import json
import os
import signal

import pytest
from commands import dist_eval as command

from emberbench_dist.agents.conformance import RULES

AGENTS = """
import time
from emberbench_dist.agents.baselines import Greedy

print("imported")

class Shouts(Greedy):
    def act(self, observation):
        print("thinking")
        return {person: action.upper() for person, action in super().act(observation).items()}

class Garbles(Greedy):
    def act(self, observation):
        raise ValueError("[red]no\\x1b[31m\\nplan[/blue]")

class Hangs(Greedy):
    def act(self, observation):
        print("asleep", flush=True)
        time.sleep(600)

def takes_one(name):
    return Greedy()
"""


@pytest.fixture
def agents(tmp_path):
    """Write the agents; return the SPEC of one."""
    path = tmp_path / "checked_agents.py"
    path.write_text(AGENTS)
    return lambda name: f"{path}:{name}"


@pytest.mark.parametrize("name", ["stay", "greedy", "counting", "shuffle"])
def test_the_built_in_agents_pass(name):
    """The command ends with 0 where no rule is broken, and lists every rule."""
    done = command("check-agent", name)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(rule.id in done.stdout for rule in RULES)
    last = f"{name} breaks 0 of {len(RULES)} rules; {len(RULES) - 1} hold, 1 not checked"
    assert done.stdout.splitlines()[-1] == last


def test_a_broken_rule_is_shown_with_its_text_and_evidence(agents):
    """The command ends with 1 and says where what was seen."""
    done = command("check-agent", agents("Shouts"))
    assert done.returncode == 1
    told = " ".join(done.stdout.replace("│", " ").split())
    assert "legal-actions 2 broken Each value is an Action or its text" in told
    assert "busy-room, step 0:" in told
    assert "got 'WEST'" in told
    assert f"breaks 1 of {len(RULES)} rules" in told


def test_json_is_the_whole_report(agents):
    """Machines get each rule with verdict, evidence and reason, and nothing else on the stream."""
    done = command("check-agent", agents("Shouts"), "--json")
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert (told["agent"], told["ok"]) == (agents("Shouts"), False)
    assert [rule["id"] for rule in told["rules"]] == [rule.id for rule in RULES]
    verdicts = {rule["id"]: rule["verdict"] for rule in told["rules"]}
    assert [name for name, verdict in verdicts.items() if verdict == "broken"] == ["legal-actions"]
    (broken,) = [rule for rule in told["rules"] if rule["verdict"] == "broken"]
    assert broken["section"] == 2
    assert {"episode", "step", "seen"} == broken["evidence"][0].keys()
    (reason,) = [rule["reason"] for rule in told["rules"] if rule["id"] == "accounting"]
    assert reason == "the agent has no last_execution(), which it need not have"


def test_what_an_agent_prints_goes_to_standard_error(dist_eval, agents):
    """In a process of its own, too, standard output has the report alone."""
    done = dist_eval("check-agent", agents("Shouts"), "--json")
    assert json.loads(done.stdout)["ok"] is False
    assert set(done.stderr.split()) == {"imported", "thinking"}


def test_what_an_agent_says_is_shown_as_it_is(agents):
    """Neither markup nor control characters of a message reach the terminal."""
    done = command("check-agent", agents("Garbles"))
    assert done.returncode == 1
    assert "\x1b" not in done.stdout
    told = "".join(done.stdout.replace("│", " ").split())
    assert "ValueError:[red]no\\x1b[31mplan[/blue]" in told


def test_an_agent_that_hangs_is_given_up(agents):
    """The limit is an option."""
    done = command("check-agent", agents("Hangs"), "--step-limit", "0.2", "--json")
    assert done.returncode == 1
    (broken,) = [rule for rule in json.loads(done.stdout)["rules"] if rule["verdict"] == "broken"]
    assert broken["id"] == "returns"


def test_ctrl_c_ends_the_check_and_the_agent(start, agents):
    """Pressed on a terminal, it reaches both processes; the agent's says nothing and is gone."""
    process = start("check-agent", agents("Hangs"))
    assert process.stderr.readline() == "imported\n"
    assert process.stderr.readline() == "asleep\n"
    os.killpg(process.pid, signal.SIGINT)
    printed, told = process.communicate(timeout=60)
    assert (process.returncode, printed, told.strip()) == (130, "", "Interrupted.")
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nobody"], "there is no agent named 'nobody'"),
        (["missing.py:Agent"], "there is no agent file 'missing.py'"),
        (["json:no_such"], "json has no 'no_such'"),
        ([], "Missing argument 'SPEC'"),
        (["greedy", "--step-limit", "0"], "Invalid value for '--step-limit'"),
    ],
)
def test_bad_input_ends_with_2(arguments, message):
    """A SPEC that leads to no factory is bad input, not a broken rule."""
    done = command("check-agent", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""


def test_a_factory_with_arguments_is_a_bad_spec(agents):
    """Where `run` would not start with a SPEC, neither does the check."""
    done = command("check-agent", agents("takes_one"))
    assert done.returncode == 2
    assert "the factory is called without arguments" in done.stderr
