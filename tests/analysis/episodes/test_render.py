"""One episode as a file: pictures and text show what the simulator did, in the same bytes."""

from __future__ import annotations

from io import BytesIO
from itertools import pairwise

import pytest
import truth
from PIL import Image, ImageChops
from truth import AGENTS, EPISODES, ODD_IDS

from emberbench_dist.analysis.episodes import image as render_image
from emberbench_dist.analysis.episodes.key_steps import key_steps
from emberbench_dist.analysis.episodes.playback import playbacks
from emberbench_dist.analysis.episodes.render import as_text, render
from emberbench_dist.errors import EvaluationError, RunFolderError

LABYRINTH, HALL = 0, 2
LETTERS = {
    "floor": ".",
    "wall": "#",
    "exit": "E",
    "fire": "*",
    "active": "@",
    "trapped": "!",
    "casualty": "x",
}
INKS = {**render_image.INKS, "floor": (255, 255, 255), "wall": render_image.GROUNDS["wall"]}


def plays_of(runs, episode):
    """Return an episode as each run played it."""
    (plays,) = playbacks(runs, [episode])
    return plays


def frames_of(text):
    """Return the lines of each frame, without the title."""
    return [frame.splitlines() for frame in text.split("\nstep ")[1:]]


@pytest.mark.parametrize("episode", range(3))
def test_text_shows_every_step(runs, episode):
    """Each frame has the letters of what is in every cell, the runs side by side."""
    document, seed = EPISODES[episode]
    text = as_text(runs, episode)
    title, legend, *_ = text.splitlines()
    assert title == f"{document['scenario_id']}, seed {seed} (episode {episode})"
    assert legend == "# wall   . floor   E exit   * fire   @ active   ! trapped   x casualty"
    assert text.isascii()
    frames = frames_of(text)
    last = max(truth.steps(agent, episode) for agent in AGENTS)
    assert [frame[0] for frame in frames] == [f"{step} of {last}" for step in range(last + 1)]
    for step, (_, names, counts, *rows) in enumerate(frames):
        told = [truth.cells(AGENTS, agent, episode, step) for agent in AGENTS]
        drawn = [[*row.split("   ")] for row in rows if row]
        assert [["".join(LETTERS[kind] for kind in row) for row in grid] for grid in told] == [
            [cell.strip() for cell in column if cell.strip()]
            for column in zip(*(filter(None, row) for row in drawn), strict=True)
        ]
        for agent in AGENTS:
            ended = f"{agent}, ended at step {truth.steps(agent, episode)}"
            assert (ended in names) == (step >= truth.steps(agent, episode))
        assert counts.count("active ") == len(AGENTS)


def test_text_of_one_run_is_narrow(runs):
    """A single run has one column, and no line ends with a blank."""
    text = as_text(runs[:1], HALL)
    assert all(len(line) <= 80 for line in text.splitlines())
    assert not any(line.endswith(" ") for line in text.splitlines())
    assert text.endswith("\n")


@pytest.mark.parametrize("agent", AGENTS)
def test_a_grid_shows_every_step(runs, agent):
    """The middle of every cell has the ink of what is there; a person hides an exit's letter."""
    plays = plays_of(runs, LABYRINTH)
    (play,) = [play for play in plays if play.label == agent]
    film = render_image._Panel(play, render_image.fire_of(plays), 330)
    cell, left, top = film._cell, 1, 2 * render_image._LINE + 1
    for step in range(max(play.steps for play in plays) + 1):
        picture = film.picture(step)
        told = truth.cells(AGENTS, agent, LABYRINTH, step)
        for row in range(12):
            for col in range(12):
                at = left + col * cell + (cell - 1) // 2, top + row * cell + (cell - 1) // 2
                assert picture.getpixel(at) == INKS[told[row][col]], (step, row, col)


def test_an_animation_plays_every_step(runs, tmp_path):
    """A GIF has the picture of each step, runs for ever, and rests at the end."""
    render(runs[:2], LABYRINTH, tmp_path / "x.gif")
    plays = plays_of(runs[:2], LABYRINTH)
    film = render_image._Film(plays, render_image._GIF_SIDE)
    last = max(play.steps for play in plays)
    with Image.open(tmp_path / "x.gif") as gif:
        assert (gif.format, gif.info["loop"]) == ("GIF", 0)
        assert max(gif.size) <= 1100
        assert gif.n_frames == last + 1
        for step in range(last + 1):
            gif.seek(step)
            assert gif.info["duration"] >= (2000 if step == last else 60)
            shown, true = gif.convert("RGB"), film.whole(step)
            assert shown.size == true.size
            worst = max(high for _, high in ImageChops.difference(shown, true).getextrema())
            assert worst <= 24, "the palette is close to every colour"


def test_a_long_animation_leaves_steps_out(runs, monkeypatch):
    """Of very many steps evenly chosen ones are shown, always with the first and the last."""
    monkeypatch.setattr(render_image, "_GIF_FRAMES", 5)
    shown = []
    whole = render_image._Film.whole
    monkeypatch.setattr(
        render_image._Film, "whole", lambda film, step: (shown.append(step), whole(film, step))[1]
    )
    plays = plays_of(runs, LABYRINTH)
    with Image.open(BytesIO(render_image.animation(plays))) as gif:
        assert gif.n_frames == len(shown) <= 6
    last = max(play.steps for play in plays)
    assert (shown[0], shown[-1]) == (0, last)
    assert len({after - before for before, after in pairwise(shown[:-1])}) == 1


def test_a_sheet_has_the_key_steps(runs, tmp_path):
    """A PNG is as wide as its columns, and its tiles are those of the key steps."""
    render(runs, LABYRINTH, tmp_path / "x.png")
    plays = plays_of(runs, LABYRINTH)
    film = render_image._Film(plays, render_image._SHEET_SIDE)
    with Image.open(tmp_path / "x.png") as png:
        assert png.format == "PNG"
        high = png.height
        for number, (step, caption) in enumerate(key_steps(plays).items()):
            tile = film.tile(step, caption)
            rest = len(key_steps(plays)) - number
            top = high - render_image._MARGIN - rest * (tile.height + render_image._GAP)
            left = render_image._MARGIN
            seen = png.crop((left, top, left + tile.width, top + tile.height))
            assert seen.convert("RGB").tobytes() == tile.tobytes(), step


@pytest.mark.parametrize("episode", range(3))
def test_key_steps_tell_the_story(runs, episode):
    """Start, end and the first of every event are there, in order, and not too many."""
    plays = plays_of(runs, episode)
    steps = key_steps(plays)
    assert list(steps) == sorted(steps)
    assert len(steps) <= 12
    assert steps[0].startswith("step 0: start")
    assert steps[max(play.steps for play in plays)].endswith("end")
    records = [truth.record(agent, episode) for agent in AGENTS]
    entries = sorted((step for record in records for step in record.steps), key=lambda s: s.step)
    for reason, events in {
        "the fire spreads": [step.step for step in entries if step.ignitions],
        "the first is out": [step.step for step in entries if step.evacuations],
        "the first is lost": [step.step for step in entries if step.casualties],
        "the first is trapped": [step.step for step in entries if step.state.trapped],
    }.items():
        told = [step for step, caption in steps.items() if reason in caption]
        assert told == events[:1]


@pytest.mark.parametrize("suffix", ["png", "gif", "html", "txt", "PNG"])
def test_the_same_episode_gives_the_same_bytes(runs, tmp_path, suffix):
    """Nothing of time or chance is in a file, and nothing else is left beside it."""
    for name in ("one", "two"):
        render(runs[1:], HALL, tmp_path / f"{name}.{suffix}")
    assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"two.{suffix}").read_bytes()
    assert len(list(tmp_path.iterdir())) == 2


def test_odd_ids_and_labels_do_no_harm(runs, tmp_path):
    """A label in any script is drawn, or at least does not stop the drawing."""
    odd = [(label, folder) for label, (_, folder) in zip(ODD_IDS[2:], runs, strict=True)]
    for suffix in ("png", "gif", "html", "txt"):
        render(odd, HALL, tmp_path / f"x.{suffix}")
    assert ODD_IDS[2] in (tmp_path / "x.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["x.jpg", "x", ".png", "x.gif.bak"])
def test_an_unknown_suffix_is_refused_at_once(tmp_path, name):
    """Before anything is read, the suffixes that there are are named."""
    with pytest.raises(EvaluationError, match=r"the suffixes are \.png, \.gif, \.html and \.txt"):
        render([("gone", tmp_path / "gone")], 0, tmp_path / name)


def test_what_cannot_be_written_is_refused(runs, tmp_path):
    """An output in a folder that does not exist is named, and nothing is made."""
    with pytest.raises(RunFolderError, match=r"gone/x\.txt: cannot be written: No such file"):
        render(runs, HALL, tmp_path / "gone" / "x.txt")
    assert list(tmp_path.iterdir()) == []
