"""What is to be seen of an episode."""

from __future__ import annotations

import numpy as np
import pytest
import worlds

from emberbench_dist.errors import EvaluationError
from emberbench_dist.rl import parallel_env

WORLD = """
    a . E
    # b *
    c . *
"""
AFTER = "step 1: active 2, out 0, lost 1\n.@E\n#.x\n@.*\n"


def played(render_mode):
    """Return an environment in which b has gone into the fire."""
    env = parallel_env(worlds.scenario(WORLD, interval=2), render_mode=render_mode)
    env.reset()
    env.step({"a": 3, "b": 3, "c": 0})
    return env


def test_text_shows_what_hides_the_rest():
    """People stand in front of fire, and the counts tell of those who are not on the map."""
    assert f"{played('ansi').render()}\n" == AFTER


def test_human_prints_the_text(capsys):
    """The mode for people at a terminal returns nothing."""
    assert played("human").render() is None
    assert capsys.readouterr().out == AFTER


def test_a_picture_has_a_colour_for_each_symbol():
    """Cells are squares of one colour, and what differs in the text differs in the picture."""
    env = played("rgb_array")
    image = env.render()
    assert (image.dtype, image.shape) == (np.uint8, (3 * 16, 3 * 16, 3))
    cells = image.reshape(3, 16, 3, 16, 3).transpose(0, 2, 1, 3, 4).reshape(9, 256, 3)
    assert (cells == cells[:, :1]).all()
    colours = [tuple(cell[0].tolist()) for cell in cells]
    text = "".join(AFTER.splitlines()[1:])
    pairs = set(zip(text, colours, strict=True))
    assert len(pairs) == len(set(text)) == len(set(colours)) == 6


def test_a_picture_of_a_large_map_stays_small():
    """Cells shrink as the map grows."""
    env = parallel_env("expo-64x64", render_mode="rgb_array")
    env.reset()
    assert env.render().shape == (512, 512, 3)


def test_rendering_needs_a_mode():
    """Without a mode the error says what to give."""
    with pytest.raises(EvaluationError, match="give parallel_env a render_mode"):
        played(None).render()
