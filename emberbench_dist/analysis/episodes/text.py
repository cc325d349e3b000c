"""An episode as text: one frame a step, plain characters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from emberbench_dist.analysis.episodes.playback import Playback, fire_of
from emberbench_dist.contract.document import Position
from emberbench_dist.contract.observation import Status

LEGEND = "# wall   . floor   E exit   * fire   @ active   ! trapped   x casualty"
_GAP = "   "


def text_of(plays: Sequence[Playback]) -> str:
    """Return the title, the legend and a frame for each step, the plays side by side."""
    fire, last = fire_of(plays), max(play.steps for play in plays)
    films = [
        [[*_told(play, step), *_rows(play, fire, step)] for step in range(last + 1)]
        for play in plays
    ]
    widths = [max(len(line) for column in film for line in column) for film in films]
    parts = [f"{plays[0].title}\n{LEGEND}\n"]
    for step, columns in enumerate(zip(*films, strict=True)):
        lines = [
            _GAP.join(map(str.ljust, row, widths)).rstrip() for row in zip(*columns, strict=True)
        ]
        parts.append("\n".join([f"step {step} of {last}", *lines, ""]))
    return "\n".join(parts)


def _told(play: Playback, step: int) -> Iterator[str]:
    active, trapped, out, lost = play.counts(step)
    yield play.label + (f", ended at step {play.steps}" if step >= play.steps else "")
    yield f"active {active} (trapped {trapped}), out {out}, lost {lost}"


def _rows(play: Playback, fire: dict[Position, int], step: int) -> Iterator[str]:
    world = play.scenario.map
    marks = dict.fromkeys(world.obstacles, "#")
    marks.update({exit.position: "E" for exit in world.exits})
    marks.update({position: "*" for position, since in fire.items() if since <= step})
    for person in play.at(step):
        if person.status is Status.CASUALTY:
            marks[person.position] = "x"
    for person in play.at(step):
        if person.status is Status.ACTIVE:
            marks[person.position] = "!" if play.is_trapped(person, step) else "@"
    for row in range(world.height):
        yield "".join([marks.get((row, col), ".") for col in range(world.width)])
