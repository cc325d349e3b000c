"""The list of checks, and that none of them can spoil the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from emberbench_dist.doctor.cluster import ray
from emberbench_dist.doctor.disk import disk, sqlite
from emberbench_dist.doctor.examine import CHECKS, examine
from emberbench_dist.doctor.finding import OK, PROBLEM, WARNING, Asked, Finding

ASKED = Asked(Path("results"))


def well(_):
    """Find nothing wrong."""
    yield Finding("well", OK, "there")


def breaks_off(_):
    """Find something, then raise what is no error of ours."""
    yield Finding("half", WARNING, "low", "make room")
    raise ZeroDivisionError("division\nby zero")


def test_a_check_that_raises_is_a_problem_and_the_others_go_on():
    """What it had found is kept, its error is one line, and the next check is asked."""
    found = list(examine(ASKED, [well, breaks_off, well]))
    assert [finding.level for finding in found] == [OK, WARNING, PROBLEM, OK]
    assert str(found[2]) == (
        "problem  breaks off: the check itself failed: ZeroDivisionError: division by zero; "
        "report it"
    )


def test_a_line_says_level_name_how_it_is_and_what_to_do():
    """The levels stand under each other; nothing is advised where all is well."""
    assert str(Finding("CPUs", OK, "2 of 2")) == "ok       CPUs: 2 of 2"
    assert str(Finding("disk", WARNING, "low", "make room")) == "warning  disk: low; make room"


def test_ray_comes_last():
    """What takes seconds is told after what takes none."""
    assert CHECKS[-1] is ray
    assert len(set(CHECKS)) == len(CHECKS)


@pytest.mark.parametrize("check", [one for one in CHECKS if one not in {ray, disk, sqlite}])
def test_each_check_of_the_machine_finds_something_here(check):
    """Here, where the tests run, no check is silent, and none finds a problem."""
    found = list(check(ASKED))
    assert found
    assert not [finding for finding in found if finding.level == PROBLEM]
