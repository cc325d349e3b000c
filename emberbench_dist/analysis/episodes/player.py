"""The player: episodes packed into a fragment of HTML that plays them, alone or side by side."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from emberbench_dist.analysis.episodes.playback import DEEDS, Labelled, Playback, fire_of, playbacks
from emberbench_dist.contract.scenario import Scenario
from emberbench_dist.errors import EvaluationError
from emberbench_dist.simulator.state import Cause

_TEMPLATES = Path(__file__).with_name("templates")
_SCRIPTS = ("player-data.js", "player-words.js", "player-pictures.js", "player.js")  # in one scope
_LETTERS = {deed: chr(ord("a") + number) for number, deed in enumerate(DEEDS)}
_CAUSES = {Cause.ENTERED_FIRE: -1, Cause.FIRE_SPREAD: -2}
_NEVER = -1
_HEADLINES = ("people", "evacuated", "casualties", "unresolved", "ever_trapped", "steps")
Plays = tuple[Playback, ...]  # one episode, as each run played it
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>EMBERBench player</title>
<style>
body {{ margin: 0 auto; max-width: 100rem; padding: 1rem; }}
@media (prefers-color-scheme: dark) {{ body {{ background: #14161b; }} }}
</style>
</head>
<body data-player>
{section}
</body>
</html>
"""


def page_of(episodes: Iterable[Plays]) -> str:
    """Return a page of its own that plays these episodes."""
    return _PAGE.format(section=_section(episodes))


def player_section(runs: Sequence[Labelled], episodes: Iterable[int]) -> str:
    """Return a self-contained fragment of HTML that plays these episodes of one or more runs.

    `runs` are (label, run folder); `episodes` are numbers of the manifest, each committed in
    every run. The same input gives the same bytes. Raises as `playbacks` does, and
    `EvaluationError` where no episode is chosen.
    """
    return _section(playbacks(runs, dict.fromkeys(episodes)))


def _section(episodes: Iterable[Plays]) -> str:
    script = "\n".join(_template(name) for name in _SCRIPTS)
    return (
        '<section class="ember-player" tabindex="-1" aria-label="Episode player">\n'
        f"<style>\n{_template('player.css')}</style>\n{_template('player.html')}"
        f'<script type="application/json">{_embedded(pack(episodes))}</script>\n'
        f'<script>\n(() => {{\n"use strict";\n{script}}})();\n</script>\n</section>\n'
    )


def pack(episodes: Iterable[Plays]) -> dict[str, Any]:
    """Return the player's data: headlines to read at once, and all the rest compressed.

    Maps are stored once a scenario, the fire once an episode: it is the same in every run.
    """
    labels: list[str] = []
    worlds: dict[str, str] = {}
    packed = []
    for plays in episodes:
        labels = [play.label for play in plays]
        first = plays[0]
        if first.scenario.scenario_id not in worlds:
            worlds[first.scenario.scenario_id] = _compressed(_world(first.scenario))
        packed.append(
            {
                "episode": first.episode.index,
                "scenario": first.scenario.scenario_id,
                "seed": str(first.episode.seed),  # an unsigned 64-bit integer is no number there
                "results": [[play.metrics[name] for name in _HEADLINES] for play in plays],
                "data": _compressed(_scenes(plays)),
            }
        )
    if not packed:
        raise EvaluationError("the player needs an episode to play; none was chosen")
    return {
        "runs": labels,
        "headlines": _HEADLINES,
        "deeds": [[action.value, outcome.value] for action, outcome in DEEDS],
        "worlds": worlds,
        "episodes": packed,
    }


def _world(scenario: Scenario) -> dict[str, Any]:
    """Return a map and its people: cells are row * width + column, walls are run lengths."""
    grid = scenario.map
    walls = {row * grid.width + col for row, col in grid.obstacles}
    runs = groupby(range(grid.width * grid.height), key=walls.__contains__)
    lengths = [(wall, sum(1 for _ in cells)) for wall, cells in runs]
    return {
        "width": grid.width,
        "height": grid.height,
        "walls": [0] * lengths[0][0] + [length for _, length in lengths],
        "exits": [
            [exit.id, exit.position[0] * grid.width + exit.position[1]] for exit in grid.exits
        ],
        "people": [
            [person.id, person.position[0] * grid.width + person.position[1]]
            for person in scenario.people
        ],
    }


def _scenes(plays: Plays) -> dict[str, Any]:
    """Return the step at which each cell ignites, and what each run's people do."""
    grid, fire = plays[0].scenario.map, fire_of(plays)
    return {
        "fire": [
            fire.get((row, col), _NEVER) for row in range(grid.height) for col in range(grid.width)
        ],
        "plays": [_scene(play) for play in plays],
    }


def _scene(play: Playback) -> dict[str, Any]:
    """Return deeds as letters, and by person the step of its end and of its trapping."""
    ids = [person.id for person in play.scenario.people]
    exits = {exit.id: number for number, exit in enumerate(play.scenario.map.exits)}
    ends = {
        **{name: (step, exits[exit]) for name, (step, exit) in play.evacuated.items()},
        **{name: (step, _CAUSES[cause]) for name, (step, cause) in play.lost.items()},
    }
    return {
        "deeds": "".join([_LETTERS[deed] for deeds in play.deeds for deed in deeds]),
        "ends": [ends.get(name, (_NEVER, 0))[0] for name in ids],
        "fates": [ends.get(name, (_NEVER, 0))[1] for name in ids],
        "trapped": [play.trapped.get(name, _NEVER) for name in ids],
    }


def _compressed(value: Any) -> str:
    text = json.dumps(value, separators=(",", ":"))
    return b64encode(zlib.compress(text.encode(), 9)).decode()


def _template(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def _embedded(value: Any) -> str:
    """Return JSON that is safe inside a script element, whatever its texts are."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c")
