"""`dist-eval render`: the files it writes, and one line for everything it refuses."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from commands import dist_eval

from emberbench_dist.analysis.episodes.render import as_text

HEADS = {".png": b"\x89PNG", ".gif": b"GIF89a", ".html": b"<!doctype html>", ".txt": b"odd-hall"}


@pytest.mark.parametrize("suffix", HEADS)
def test_a_suffix_chooses_the_form(runs, tmp_path, suffix):
    """Each suffix gives a file of its kind, silently."""
    (_, one), (_, other), _ = runs
    path = tmp_path / f"x{suffix}"
    assert dist_eval("render", one, other, "--episode", 2, "--out", path) == (0, "", "")
    assert path.read_bytes().startswith(HEADS[suffix])


def test_without_a_file_text_is_printed(runs):
    """Text for the terminal needs no file; runs are called by their folders."""
    paths = [folder for _, folder in runs]
    assert dist_eval("render", *paths, "--episode", 2) == (0, as_text(runs, 2), "")


def test_folders_of_one_name_are_told_apart(runs, monkeypatch):
    """Where the last parts of the paths are the same, whole paths are the names."""
    _, folder = runs[0]
    monkeypatch.chdir(folder)
    done = dist_eval("render", folder, ".", "--episode", 2)
    assert done.returncode == 0
    assert f"\n{folder}  " in done.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--episode", "3"), "manifest test: there is no episode 3; they are 0 to 2"),
        (("--episode", str(2**70)), "there is no episode"),
        (("--episode", "-1"), "-1 is not in the range x>=0"),
        (("--episode", "one"), "'one' is not a valid integer"),
        ((), "Missing option '--episode'"),
        (("--episode", "0", "--out", "."), "is a directory"),
        (("--episode", "0", "--out", "x.jpg"), "x.jpg: cannot write .jpg; the suffixes are"),
        (("--episode", "0", "--out", "x"), "x: cannot write a file without a suffix; the suffixes"),
        (("--episode", "0", "--out", "gone/x.gif"), "gone/x.gif: cannot be written: No such file"),
        (("nowhere", "--episode", "0"), "nowhere/ledger.sqlite: there is no run here"),
    ],
)
def test_what_cannot_be_rendered_is_refused(runs, tmp_path, monkeypatch, arguments, told):
    """An episode that there is not, a form that there is not, a place that there is not: exit 2."""
    monkeypatch.chdir(tmp_path)
    failed = dist_eval("render", runs[0][1], *arguments)
    assert (failed.returncode, failed.stdout) == (2, "")
    (line,) = [line for line in failed.stderr.splitlines() if line.startswith("Error")]
    assert told in line
    assert list(Path().iterdir()) == []


def test_a_run_must_be_named():
    """Without a run folder the usage is shown."""
    failed = dist_eval("render", "--episode", 0)
    assert failed.returncode == 2
    assert "Missing argument 'DIR...'" in failed.stderr


@pytest.mark.parametrize(("suffix", "code"), [("png", 2), ("gif", 2), ("html", 0), ("txt", 0)])
def test_only_pictures_need_pillow(runs, tmp_path, monkeypatch, suffix, code):
    """Without Pillow a picture is refused with what to install; page and text are written."""
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.delitem(sys.modules, "emberbench_dist.analysis.episodes.image", raising=False)
    monkeypatch.delattr("emberbench_dist.analysis.episodes.image", raising=False)
    path = tmp_path / f"x.{suffix}"
    done = dist_eval("render", runs[0][1], "--episode", 2, "--out", path)
    assert done.returncode == code
    assert path.exists() == (code == 0)
    assert ("PIL: install emberbench-dist[analysis]" in done.stderr) == (code == 2)
