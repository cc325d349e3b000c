"""`dist-eval report`: what it writes and says, and how it ends."""

from __future__ import annotations

import pytest
from commands import dist_eval
from studies import play, write_manifest_of


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Play two agents; one is not complete."""
    folder = tmp_path_factory.mktemp("runs")
    manifest = write_manifest_of(folder / "input")
    return {name: play(manifest, name, folder / name) for name in ("greedy", "fails")}


def test_a_report_is_written_and_an_incomplete_run_is_named(folders, tmp_path):
    """The page is there, and standard error says what is missing in it."""
    out = tmp_path / "page.html"
    done = dist_eval("report", folders["greedy"], folders["fails"], "--out", out)
    assert (done.returncode, done.stdout) == (0, f"report: {out}\n")
    assert done.stderr == (
        f"Note: {folders['fails']} is not complete: 12 of 18 planned episodes are committed.\n"
    )
    page = out.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert page.endswith("</html>\n")


def test_a_page_is_report_html_unless_it_is_called_otherwise(folders, tmp_path, monkeypatch):
    """Without --out, the page lies in the working folder."""
    monkeypatch.chdir(tmp_path)
    done = dist_eval("report", folders["greedy"], "--episodes", "none")
    assert done.stdout == "report: report.html\n"
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_the_episodes_that_are_asked_for_are_embedded(folders, tmp_path):
    """A list of numbers and ranges chooses them; none leaves the player out."""
    sizes = {}
    for asked, told in (("3,1-2", "3 episodes."), ("0", "1 episode."), ("none", None)):
        out = tmp_path / "page.html"
        done = dist_eval("report", folders["greedy"], "--out", out, "--episodes", asked)
        assert done.returncode == 0
        page = out.read_text(encoding="utf-8")
        assert (f"<p>{told}</p>" in page) == ("ember-player" in page) == (told is not None)
        sizes[asked] = len(page)
    assert sizes["3,1-2"] > sizes["0"] > sizes["none"]


def test_runs_are_called_by_their_labels(folders, tmp_path):
    """A label for each run stands in the title."""
    labels = ("--label", "first", "--label", "second one")
    out = tmp_path / "page.html"
    done = dist_eval("report", *folders.values(), *labels, "--out", out, "--episodes", "none")
    assert done.returncode == 0
    assert "<title>test: first and second one</title>" in out.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "Missing argument 'RUN...'"),
        (["nowhere"], "nowhere: "),
        (["greedy", "--metric", "speed"], "there is no metric 'speed'; there are people, evac"),
        (["greedy", "--episodes", "1;2"], "--episodes takes numbers such as 3,17,20-25, or none"),
        (["greedy", "--episodes", "3-2"], "--episodes: 3-2 is no range"),
        (["greedy", "--episodes", "0-5000"], "--episodes takes at most 1000 episodes"),
        (["greedy", "--label", "a", "--label", "b"], "label"),
        (["greedy", "--episodes", "18"], "greedy: episode 18 is not committed"),
        (["fails", "--episodes", "6"], "episode 6 is not committed"),
        (["greedy", "--out", "nowhere/page.html"], "nowhere/page.html: cannot be written"),
        (["greedy", "--out", "greedy"], "'greedy' is a directory"),
    ],
)
def test_bad_input_is_refused_in_one_line_and_leaves_nothing(
    folders, arguments, told, tmp_path, monkeypatch
):
    """The exit code is 2, the message says what is wrong, and there is no page."""
    monkeypatch.chdir(tmp_path)
    for name, folder in folders.items():
        (tmp_path / name).symlink_to(folder)
    done = dist_eval("report", *arguments)
    assert done.returncode == 2
    assert told in done.stderr.splitlines()[-1]
    assert {path.name for path in tmp_path.iterdir()} == set(folders)


def test_a_page_that_was_there_survives_a_failure(folders, tmp_path):
    """What could not be written anew stays as it was."""
    out = tmp_path / "page.html"
    out.write_text("before")
    assert dist_eval("report", folders["greedy"], "--out", out, "--episodes", "99").returncode == 2
    assert out.read_text() == "before"
    assert [*tmp_path.iterdir()] == [out]
