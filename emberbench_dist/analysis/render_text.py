"""An episode as text: one frame a step, plain characters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from emberbench_dist.analysis.playback import Playback, fire_of
from emberbench_dist.contract.document import Position
from emberbench_dist.contract.observation import Status

LEGEND = "# wall   . floor   E exit   * fire   @ active   ! trapped   x casualty"
_GAP = "   "


def text_of(plays: Sequence[Playback]) -> str:
    """Return the title, the legend and a frame for each step, the plays side by side."""
    first, last = plays[0], max(play.steps for play in plays)
    title = f"{first.title}\n{LEGEND}\n"
    return "\n".join([title, *(_frame(plays, step, last) for step in range(last + 1))])


def _frame(plays: Sequence[Playback], step: int, last: int) -> str:
    fire = fire_of(plays)
    columns = [[*_told(play, step), *_rows(play, fire, step)] for play in plays]
    widths = [max(map(len, column)) for column in columns]
    lines = [
        _GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in zip_longest(*columns, fillvalue="")
    ]
    return "\n".join([f"step {step} of {last}", *lines, ""])


def _told(play: Playback, step: int) -> Iterator[str]:
    active, trapped, evacuated, casualties = play.counts(step)
    yield play.label + (f", ended at step {play.steps}" if step >= play.steps else "")
    yield f"active {active} (trapped {trapped}), evacuated {evacuated}, casualties {casualties}"


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
