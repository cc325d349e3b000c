"""One episode as a file: a sheet of key steps, an animation, a page, or text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from emberbench_dist.analysis.episodes.playback import Labelled, Playback, playbacks
from emberbench_dist.analysis.episodes.player import page_of
from emberbench_dist.analysis.episodes.text import text_of
from emberbench_dist.artifacts.durable import replacing
from emberbench_dist.errors import EvaluationError


def render(runs: Sequence[Labelled], episode: int, out: Path) -> None:
    """Write an episode, as every run played it side by side, in the format that a suffix names.

    `.png` is a sheet of at most 12 key steps, `.gif` plays them all, `.html` is the player, `.txt`
    is for a terminal. The same episode gives the same bytes. Raises as `playbacks` does,
    `EvaluationError` for another suffix, `RunFolderError` where `out` cannot be written.
    """
    form = _form(out)
    (plays,) = playbacks(runs, [episode])
    content = form(plays)
    with replacing(out) as file:
        file.write(content)


def as_text(runs: Sequence[Labelled], episode: int) -> str:
    """Return the frames of an episode as text; raises as `playbacks` does."""
    (plays,) = playbacks(runs, [episode])
    return text_of(plays)


def _form(out: Path) -> Callable[[Sequence[Playback]], bytes]:
    match out.suffix.lower():
        case ".txt":
            return lambda plays: text_of(plays).encode()
        case ".html":
            return lambda plays: page_of([tuple(plays)]).encode()
        case ".png" | ".gif" as suffix:
            return _picture(suffix)
        case suffix:
            raise EvaluationError(
                f"{out}: cannot write {suffix or 'a file without a suffix'}; "
                "the suffixes are .png, .gif, .html and .txt"
            )


def _picture(suffix: str) -> Callable[[Sequence[Playback]], bytes]:
    from emberbench_dist.analysis.episodes import image  # noqa: PLC0415 - only here it needs Pillow

    return image.animation if suffix == ".gif" else image.sheet
