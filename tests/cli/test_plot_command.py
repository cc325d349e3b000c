"""`dist-eval plot`: a figure as a file."""

from __future__ import annotations

import pytest
from commands import dist_eval
from studies import play, write_manifest_of

_STARTS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Play two agents."""
    folder = tmp_path_factory.mktemp("runs")
    manifest = write_manifest_of(folder / "input")
    return [play(manifest, name, folder / name) for name in ("stay", "greedy")]


@pytest.mark.parametrize("format", _STARTS)
def test_the_suffix_says_which_kind_of_file_is_written(folders, tmp_path, format):
    """Each format is written as such, the same at every call, with a caption on the screen."""
    out, again = tmp_path / f"figure.{format}", tmp_path / f"again.{format}"
    done = dist_eval("plot", "differences", *folders, "--out", out)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("greedy \N{MINUS SIGN} stay, by scenario. Mean evac")
    assert done.stdout.endswith(f"\nfigure: {out}\n")
    assert out.read_bytes().startswith(_STARTS[format])
    dist_eval("plot", "differences", *folders, "--out", again)
    assert again.read_bytes() == out.read_bytes()


def test_a_figure_is_a_png_of_its_name_unless_it_is_called_otherwise(
    folders, tmp_path, monkeypatch
):
    """Without --out, the picture lies in the working folder."""
    monkeypatch.chdir(tmp_path)
    assert dist_eval("plot", "map", *folders, "--scenario", "wide").returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["map.png"]


def test_a_metric_and_a_scenario_can_be_chosen(folders, tmp_path):
    """The caption tells what is drawn."""
    out = tmp_path / "figure.svg"
    heat = dist_eval("plot", "heat", *folders, "--metric", "steps", "--out", out)
    assert heat.stdout.startswith("steps by scenario and run. Mean steps (steps played)")
    curve = dist_eval("plot", "survival", *folders, "--scenario", "wide", "--out", out)
    assert curve.stdout.startswith("wide. ")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["speed"], "there is no figure 'speed'; there are survival, differences, distribution"),
        (["heat", "--metric", "speed"], "there is no metric 'speed'; there are people"),
        (["heat", "--out", "figure.gif"], "--out ends with .png, .svg, .pdf, not '.gif'"),
        (["heat", "--out", "nowhere/figure.png"], "nowhere/figure.png: cannot be written"),
        (["map"], "a map needs --scenario, one of narrow, wide, widest"),
        (["survival", "--scenario", "x"], "there is no scenario 'x'; there are narrow, wide"),
        (["cost_usd"], "there is no cost_usd to draw"),
    ],
)
def test_bad_input_is_refused_in_one_line_and_leaves_nothing(
    folders, arguments, told, tmp_path, monkeypatch
):
    """The exit code is 2, the message says what is wrong, and there is no file."""
    monkeypatch.chdir(tmp_path)
    figure, *options = arguments
    done = dist_eval("plot", figure, *folders, *options)
    assert done.returncode == 2
    assert told in done.stderr.splitlines()[-1]
    assert [*tmp_path.iterdir()] == []
