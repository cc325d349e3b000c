"""Checks of Python, package and machine: each tells what is wrong and what to do."""

from __future__ import annotations

import resource
import shutil
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from emberbench_dist.doctor import machine
from emberbench_dist.doctor.finding import OK, PROBLEM, WARNING, Asked

ASKED = Asked(Path("results"))


def only(check, asked=ASKED):
    """Return the one finding of a check."""
    (found,) = check(asked)
    return found


def test_an_old_python_is_a_problem(monkeypatch):
    """What is older than 3.11 is named, with what to use."""
    monkeypatch.setattr(machine, "_LEAST_PYTHON", (99, 0))
    found = only(machine.python)
    assert (found.level, found.advice) == (PROBLEM, "use CPython 3.11 or newer")
    assert sys.executable in found.text


@pytest.mark.parametrize(
    ("name", "value", "level", "told"),
    [
        ("version", lambda _: "9.9.9", WARNING, "but 9.9.9 is installed"),
        ("built_in_manifests", dict, PROBLEM, "without its manifests"),
    ],
)
def test_an_install_that_is_not_this_one_is_told(monkeypatch, name, value, level, told):
    """A second copy and a package without its data are found."""
    monkeypatch.setattr(machine, name, value)
    found = only(machine.package)
    assert (found.level, told in found.text) == (level, True)


def test_a_package_that_is_not_installed_is_told(monkeypatch):
    """Without metadata the agents known by name are not found."""

    def absent(_):
        raise machine.PackageNotFoundError

    monkeypatch.setattr(machine, "version", absent)
    found = only(machine.package)
    assert (found.level, "not installed" in found.text) == (WARNING, True)


def test_pyarrow_that_cannot_be_imported_is_a_problem(monkeypatch):
    """The reason is told."""

    def broken(_):
        raise ImportError("libarrow.so is missing")

    monkeypatch.setattr(machine, "import_module", broken)
    found = only(machine.pyarrow)
    assert (found.level, found.text) == (PROBLEM, "cannot be imported (libarrow.so is missing)")


def test_an_extra_that_is_not_there_is_named_and_no_problem(monkeypatch):
    """What is missing, and the command that brings it."""
    monkeypatch.setattr(machine, "find_spec", lambda name: None if name == "scipy" else name)
    analysis, _, rl = machine.extras(ASKED)
    assert (analysis.level, rl.text) == (OK, "there")
    assert analysis.text == "not there (scipy): pip install 'emberbench-dist[analysis]'"


def test_fewer_cpus_than_there_are_is_told(monkeypatch):
    """Affinity and cgroups are named, as the cause that is looked for longest."""
    monkeypatch.setattr(machine, "available_cpus", lambda: 1)
    monkeypatch.setattr(machine.os, "cpu_count", lambda: 8)
    assert str(only(machine.cpus)).startswith("ok       CPUs: 1 of 8 may be used; affinity")


def test_little_memory_is_a_warning(monkeypatch, tmp_path):
    """A limit of the cgroup counts, and the advice has the number."""
    (tmp_path / "limit").write_text(f"{300 * 2**20}\n")
    monkeypatch.setattr(machine, "_MEMORY_LIMITS", (tmp_path / "none", tmp_path / "limit"))
    monkeypatch.setattr(machine, "available_cpus", lambda: 4)
    found = only(machine.memory)
    assert (found.level, found.text) == (WARNING, "300 MiB available")
    assert "needs 1,120 MiB" in found.advice


@pytest.mark.parametrize("path", ["/proc", "/nowhere"])
def test_little_shared_memory_is_a_warning(monkeypatch, path):
    """A small one, as containers have it, and none at all."""
    monkeypatch.setattr(machine, "_SHARED", Path(path))
    monkeypatch.setattr(
        machine.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(64, 0, 64 * 2**20)
    )
    found = only(machine.shared_memory)
    assert (found.level, "Ray will be slower" in found.advice) == (WARNING, True)


@pytest.mark.parametrize(
    ("soft", "level", "text"),
    [(256, WARNING, "at most 256"), (4096, OK, "at most 4,096"), (-1, OK, "no limit")],
)
def test_few_open_files_are_a_warning(monkeypatch, soft, level, text):
    """The limit of this process, and how to raise it."""
    limited = SimpleNamespace(RLIMIT_NOFILE=resource.RLIMIT_NOFILE, getrlimit=lambda _: (soft, -1))
    monkeypatch.setattr(machine, "resource", limited)
    found = only(machine.open_files)
    assert (found.level, found.text) == (level, text)


def test_a_long_temporary_folder_is_told(monkeypatch):
    """Sockets go elsewhere then."""
    monkeypatch.setattr(tempfile, "tempdir", "/dev/shm/" + "x" * 40)
    found = only(machine.temporary_folder)
    assert (found.level, "too long for Ray's sockets" in found.text) == (OK, True)


def test_a_temporary_folder_that_cannot_be_written_is_a_problem(monkeypatch):
    """Ray would not start."""
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    found = only(machine.temporary_folder)
    assert (found.level, found.text) == (PROBLEM, "/nowhere cannot be written")


def test_variables_are_named_and_their_values_are_not(monkeypatch):
    """A proxy matters for a cluster; its URL may hold a password."""
    monkeypatch.setenv("https_proxy", "http://me:hunter2@proxy")
    monkeypatch.setenv("RAY_ADDRESS", "hunter2")
    alone = list(machine.surroundings(ASKED))
    joined = list(machine.surroundings(Asked(Path("results"), "auto")))
    assert [finding.level for finding in (*alone, *joined)] == [OK, OK, WARNING]
    assert "hunter2" not in " ".join(map(str, (*alone, *joined)))
    assert "https_proxy" in joined[0].text
