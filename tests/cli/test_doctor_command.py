"""`dist-eval doctor`: lines for people, JSON for tickets, and the exit code."""

from __future__ import annotations

import json
import re

import pytest
from commands import dist_eval

from emberbench_dist.cli import doctor
from emberbench_dist.doctor.finding import OK, PROBLEM, WARNING, Finding

NOWHERE = "--address", "127.0.0.1:1"


def test_a_problem_is_exit_3_and_a_line(tmp_path):
    """Each check has its line, and what is not there is the last; no traceback is printed."""
    done = dist_eval("doctor", "--out", tmp_path, *NOWHERE)
    assert (done.returncode, done.stderr) == (3, "")
    lines = done.stdout.splitlines()
    assert all(re.match(r"(ok     |warning|problem)  [^:]+: .", line) for line in lines)
    assert lines[-1].startswith("problem  Ray: no Ray cluster can be joined at 127.0.0.1:1: ")
    assert not list(tmp_path.iterdir())


def test_json_says_the_same(tmp_path, monkeypatch):
    """One object with version, verdict and every finding; no variable's value is in it."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    monkeypatch.setenv("http_proxy", "http://me:hunter2@proxy")
    done = dist_eval("doctor", "--out", tmp_path, "--json", *NOWHERE)
    told = json.loads(done.stdout)
    assert (done.returncode, told["fit"]) == (3, False)
    assert {finding["level"] for finding in told["findings"]} <= {OK, WARNING, PROBLEM}
    assert told["findings"][-1]["name"] == "Ray"
    assert "hunter2" not in done.stdout


@pytest.mark.parametrize(("level", "code"), [(OK, 0), (WARNING, 0), (PROBLEM, 3)])
def test_only_problems_count(monkeypatch, level, code):
    """A warning keeps nobody from a run."""
    monkeypatch.setattr(doctor, "examine", lambda _: iter([Finding("it", level, "so")]))
    done = dist_eval("doctor")
    assert (done.returncode, done.stdout) == (code, f"{level:8} it: so\n")
