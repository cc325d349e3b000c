"""The grid maps of the Moving AI Lab's benchmarks (`.map`) and the starts on them (`.scen`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from emberbench_dist.authoring.drawing import FLOOR, WALL
from emberbench_dist.contract.document import MAX_SIDE, Position, shown
from emberbench_dist.errors import MapError

# Water is crossed only from water, so somebody who comes on foot stands before a wall.
TERRAIN: Final = {
    ".": FLOOR,
    "G": FLOOR,
    "S": FLOOR,
    "@": WALL,
    "O": WALL,
    "T": WALL,
    "W": WALL,
}
_AS_DRAWN = str.maketrans(TERRAIN)
_NOT_TERRAIN = re.compile(rf"[^{re.escape(''.join(TERRAIN))}]")
_TYPES = ("octile", "tile")
_KEYS = ("type", "height", "width")
_WHOLE = re.compile(r"[0-9]{1,9}")
_NUMBER = re.compile(r"[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?")
_TABBED, _SPACED = re.compile(r"[^\t]+"), re.compile(r"\S+")
_COLUMNS = 9


@dataclass(frozen=True, slots=True)
class TerrainMap:
    """A map as rows of a drawing, floor and wall alone, and what was put right on the way."""

    rows: tuple[str, ...]
    notes: tuple[str, ...] = ()


class _Page:
    """The lines of a file, and an error for a place in them."""

    def __init__(self, data: bytes, source: str) -> None:
        text = data.decode("utf-8-sig", "replace")
        self.lines = [line.rstrip(" \t") for line in re.split(r"\r\n|\r|\n", text)]
        while self.lines and not self.lines[-1]:
            self.lines.pop()
        self.source = source

    def fail(self, line: int, column: int, rule: str) -> NoReturn:
        """Raise the error for a line and column, both from 0."""
        raise MapError(f"{self.source}: line {line + 1}, column {column + 1}: {rule}")


def read_map(data: bytes, source: str) -> TerrainMap:
    """Read a `.map` file: `type`, `height` and `width` in any order, `map`, then the rows.

    `.`, `G` and `S` (swamp) become floor, `@`, `O`, `T` and `W` (water) wall. Lines may end in any
    way, blank ones may follow. A last row that is too short goes on as wall, one that is too long
    is cut; the notes say so. `MapError` names line and column of everything else.
    """
    page = _Page(data, source)
    width, height, top = _read_header(page)
    lines = page.lines[top : top + height]
    if len(lines) < height:
        rule = f"the file ends after {len(lines)} of {height} rows"
        page.fail(len(page.lines), 0, rule)
    if len(page.lines) > top + height:
        page.fail(top + height, 0, f"there is more after the {height} rows of the map")
    notes = []
    if lines[-1] and len(lines[-1]) != width:
        notes.append(
            f"line {top + height}: the last row has {len(lines[-1])} of {width} columns; "
            "what lacks is wall, what is too much is left out"
        )
        lines[-1] = lines[-1][:width].ljust(width, "@")
    for number, line in enumerate(lines, start=top):
        _check_row(page, number, line, width)
    return TerrainMap(tuple(line.translate(_AS_DRAWN) for line in lines), tuple(notes))


def _check_row(page: _Page, number: int, line: str, width: int) -> None:
    wrong = _NOT_TERRAIN.search(line, 0, width)
    if wrong:
        page.fail(
            number, wrong.start(), f"{wrong[0]!r} is no terrain; there are {' '.join(TERRAIN)}"
        )
    if len(line) != width:
        page.fail(number, min(len(line), width), f"the row has {len(line)} of {width} columns")


def _read_header(page: _Page) -> tuple[int, int, int]:
    """Return width, height, and the number of the first row's line."""
    found: dict[str, int] = {}
    top = next((at for at, line in enumerate(page.lines) if line.strip() == "map"), None)
    for number, line in enumerate(page.lines[:top]):
        if line:
            key, value = _header_entry(page, number, list(_SPACED.finditer(line)))
            if key in found:
                page.fail(number, 0, f"{key} is here twice")
            found[key] = value
    if top is None:
        page.fail(len(page.lines), 0, "the file ends before its line `map`")
    missing = [key for key in _KEYS if key not in found]
    if missing:
        page.fail(top, 0, f"the map begins, but there was no {' and no '.join(missing)}")
    return found["width"], found["height"], top + 1


def _header_entry(page: _Page, number: int, words: list[re.Match[str]]) -> tuple[str, int]:
    """Return a key and its value; 0 for the type, of which nothing depends."""
    key = words[0][0]
    if key not in _KEYS:
        rule = f"{shown(key)} is no key; a header has {', '.join(_KEYS)}, map"
        page.fail(number, words[0].start(), rule)
    if len(words) != 2:
        column = words[2].start() if words[2:] else words[0].end()
        page.fail(number, column, f"{key} has one value, not {len(words) - 1}")
    value = words[1]
    if key == "type" and value[0] not in _TYPES:
        rule = f"the type must be {' or '.join(_TYPES)}, got {shown(value[0])}"
        page.fail(number, value.start(), rule)
    if key == "type":
        return key, 0
    if not (_WHOLE.fullmatch(value[0]) and 1 <= int(value[0]) <= MAX_SIDE):
        rule = f"{key} must be from 1 to {MAX_SIDE}, got {shown(value[0])}"
        page.fail(number, value.start(), rule)
    return key, int(value[0])


@dataclass(frozen=True, slots=True)
class Starts:
    """The different starts of a `.scen` file in its order, and how many lines repeat one."""

    positions: tuple[Position, ...]
    repeated: int


def read_starts(data: bytes, source: str, rows: Sequence[str]) -> Starts:
    """Read the starts of a `.scen` file of version 1 for a map's rows.

    `MapError` names line and column of what is malformed, of sizes that are not the map's, and
    of starts and goals off the grid or in a wall.
    """
    page = _Page(data, source)
    if not page.lines or page.lines[0].split() not in (["version", "1"], ["version", "1.0"]):
        page.fail(0, 0, "the first line must be `version 1`")
    found: dict[Position, None] = {}
    planned = 0
    for number, line in enumerate(page.lines[1:], start=1):
        if line:
            found[_read_start(page, number, line, rows)] = None
            planned += 1
    if not found:
        page.fail(len(page.lines), 0, "there is no start in it")
    return Starts(tuple(found), planned - len(found))


def _read_start(page: _Page, number: int, line: str, rows: Sequence[str]) -> Position:
    words = list((_TABBED if "\t" in line else _SPACED).finditer(line))
    if len(words) != _COLUMNS:
        rule = f"a line has {_COLUMNS} columns, this one {len(words)}"
        page.fail(number, len(line), rule)
    bucket, _, width, height, start_x, start_y, goal_x, goal_y, length = words
    for name, word in (("bucket", bucket), ("width", width), ("height", height)):
        if not _WHOLE.fullmatch(word[0]):
            page.fail(
                number, word.start(), f"the {name} must be a whole number, got {shown(word[0])}"
            )
    for name, word, size in (("width", width, len(rows[0])), ("height", height, len(rows))):
        if int(word[0]) != size:
            page.fail(number, word.start(), f"the {name} is {word[0]}, but the map's is {size}")
    if not _NUMBER.fullmatch(length[0]):
        page.fail(number, length.start(), f"the length must be a number, got {shown(length[0])}")
    _read_cell(page, number, "goal", (goal_x, goal_y), rows)
    return _read_cell(page, number, "start", (start_x, start_y), rows)


def _read_cell(
    page: _Page,
    number: int,
    what: str,
    place: tuple[re.Match[str], re.Match[str]],
    rows: Sequence[str],
) -> Position:
    x, y = place
    for name, word, size in (("x", x, len(rows[0])), ("y", y, len(rows))):
        if not (_WHOLE.fullmatch(word[0]) and int(word[0]) < size):
            rule = f"the {what}'s {name} must be from 0 to {size - 1}, got {shown(word[0])}"
            page.fail(number, word.start(), rule)
    position = (int(y[0]), int(x[0]))
    if rows[position[0]][position[1]] != FLOOR:
        page.fail(number, x.start(), f"the {what} at x {x[0]}, y {y[0]} is in a wall")
    return position
