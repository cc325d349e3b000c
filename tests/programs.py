"""Programs that play over their standard streams, well and badly, and what is left of them."""

from __future__ import annotations

import shlex
import sys
import time
from contextlib import suppress
from pathlib import Path

# Sends everybody west, as `players.west` does in Python.
WEST = """
import json, sys

def payload(observation):
    active = [person["id"] for person in observation["people"] if person["status"] == "active"]
    answer = {
        "action_schema_version": "1.0",
        "actions": dict.fromkeys(active, "west"),
        "step": observation["step"],
    }
    return json.dumps(answer, separators=(",", ":"), sort_keys=True)
"""
PLAYS = WEST + "for line in sys.stdin:\n    print(payload(json.loads(line)))\n"


class West:
    """Do the same in Python."""

    def act(self, observation):
        """Send everybody west."""
        return dict.fromkeys(observation.active, "west")


def python(path, code, *arguments):
    """Write a program in Python; return the command that runs it."""
    path.write_text(code)
    return shlex.join([sys.executable, "-S", str(path), *map(str, arguments)])


def shell(script):
    """Return the command that runs a shell script."""
    return shlex.join(["sh", "-c", script])


def is_alive(process):
    """Say whether a process is there, and no zombie."""
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    return False


def numbers(path, count):
    """Wait until a file has so many lines, and return the number in each."""
    while not path.exists() or path.read_text().count("\n") < count:
        time.sleep(0.01)
    return [int(line) for line in path.read_text().split()]


def wait_until_gone(processes):
    """Wait until none of the processes is alive; for ever where one stays."""
    while any(map(is_alive, processes)):
        time.sleep(0.01)
