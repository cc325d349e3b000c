"""An episode as pictures: an animation, a sheet of the steps that matter, a scenario's plan."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from io import BytesIO
from math import ceil

from PIL import Image, ImageDraw, ImageFont

from emberbench_dist.analysis.episodes.key_steps import key_steps
from emberbench_dist.analysis.episodes.playback import Playback, fire_of
from emberbench_dist.contract.document import Position
from emberbench_dist.contract.observation import GridMap, Status
from emberbench_dist.contract.scenario import Scenario

Colour = tuple[int, int, int]
Point = tuple[float, float]

PAGE: Colour = (255, 255, 255)
INK: Colour = (28, 31, 38)
QUIET: Colour = (91, 98, 112)
GROUNDS: dict[str, Colour] = {
    "floor": (255, 255, 255),
    "wall": (107, 115, 131),
    "exit": (185, 236, 208),
    "fire": (255, 194, 122),
}
MESH: Colour = (233, 236, 242)
INKS: dict[str, Colour] = {
    "fire": (194, 65, 12),
    "exit": (11, 107, 58),
    "active": (31, 95, 191),
    "trapped": (138, 31, 184),
    "casualty": (17, 19, 24),
}
LEGEND = (
    ("active", "floor", "active"),
    ("trapped", "floor", "trapped"),
    ("casualty", "fire", "casualty"),
    ("fire", "fire", "fire"),
    ("exit", "exit", "exit"),
    ("", "wall", "wall"),
)
# Each ends in shades between an ink and its ground, so that a palette of them shows smooth edges.
_SHADES = 8
_MARGIN = 16
_LINE = 20
_GAP = 24
_LEAST_WIDTH = 330
_LARGEST_CELL, _SMALLEST_PERSON = 32, 3
_SHEET_SIDE, _SHEET_COLUMNS = 330, 4
_PLAN_SIDE = 960
_GIF_SIDE = 480
_GIF_FRAMES, _GIF_PIXELS = 300, 200_000_000  # all of them are held in memory
_GIF_MILLISECONDS = 20_000
_PACE = (60, 250)
_PAUSE = 2_500


def animation(plays: Sequence[Playback]) -> bytes:
    """Return a GIF that plays every step, or evenly chosen ones of very many, and then pauses."""
    last = max(play.steps for play in plays)
    film = _Film(plays, _GIF_SIDE)
    wide, high = film.size
    stride = ceil((last + 1) / min(_GIF_FRAMES, max(2, _GIF_PIXELS // (wide * high))))
    steps = [*range(0, last, stride), last]
    pace = min(max(_GIF_MILLISECONDS // len(steps), _PACE[0]), _PACE[1])
    palette = _palette()
    first, *rest = (
        frame.quantize(palette=palette, dither=Image.Dither.NONE)
        for frame in (film.whole(step) for step in steps)
    )
    file = BytesIO()
    first.save(
        file,
        "GIF",
        save_all=True,
        append_images=rest,
        duration=[pace] * (len(steps) - 1) + [_PAUSE],
        loop=0,
    )
    return file.getvalue()


def sheet(plays: Sequence[Playback]) -> bytes:
    """Return a PNG with the key steps of an episode in reading order, each with its caption."""
    film = _Film(plays, _SHEET_SIDE)
    tiles = [film.tile(step, caption) for step, caption in key_steps(plays).items()]
    columns = min(len(tiles), max(1, _SHEET_COLUMNS // len(plays)))
    rows = ceil(len(tiles) / columns)
    wide, high = tiles[0].width + _GAP, tiles[0].height + _GAP
    head = _head(plays[0].title, columns * wide - _GAP)
    page = Image.new(
        "RGB",
        (columns * wide - _GAP + 2 * _MARGIN, head.height + rows * high + 2 * _MARGIN),
        PAGE,
    )
    page.paste(head, (_MARGIN, _MARGIN))
    for number, tile in enumerate(tiles):
        row, column = divmod(number, columns)
        page.paste(tile, (_MARGIN + column * wide, _MARGIN + head.height + row * high))
    return _png(page)


def plan(scenario: Scenario) -> bytes:
    """Return a PNG of a scenario before anything happens, with title and legend."""
    world = scenario.map
    cell = _cell_of(world, _PLAN_SIDE)
    grid = _ground(world, cell)
    for position in scenario.ignitions:
        _put(grid, position, _glyph("fire", "fire", cell), cell)
    person = _glyph("active", "floor", max(cell, _SMALLEST_PERSON))
    for standing in scenario.people:
        _put(grid, standing.position, person, cell)
    people = len(scenario.people)
    title = f"{scenario.scenario_id}, {world.width} by {world.height}, {people} people"
    head = _head(title, max(grid.width + 2, _LEAST_WIDTH))
    size = (head.width + 2 * _MARGIN, head.height + grid.height + 2 * _MARGIN + 2)
    page = Image.new("RGB", size, PAGE)
    page.paste(head, (_MARGIN, _MARGIN))
    top = _MARGIN + head.height
    edge = (_MARGIN, top, _MARGIN + grid.width + 1, top + grid.height + 1)
    ImageDraw.Draw(page).rectangle(edge, outline=GROUNDS["wall"])
    page.paste(grid, (_MARGIN + 1, top + 1))
    return _png(page)


def _png(page: Image.Image) -> bytes:
    file = BytesIO()
    page.save(file, "PNG", optimize=True)
    return file.getvalue()


class _Film:
    """The pictures of an episode, to be asked for in the order of their steps."""

    def __init__(self, plays: Sequence[Playback], side: int) -> None:
        fire = fire_of(plays)
        self._last = max(play.steps for play in plays)
        self._panels = [_Panel(play, fire, side) for play in plays]
        self._width = max(panel.width for panel in self._panels)
        self._head = _head(plays[0].title, len(plays) * (self._width + _GAP) - _GAP)

    @property
    def size(self) -> tuple[int, int]:
        """Return width and height of the picture of a step."""
        high = self._head.height + _LINE + self._panels[0].height
        return (self._head.width + 2 * _MARGIN, high + 2 * _MARGIN)

    def whole(self, step: int) -> Image.Image:
        """Return the picture of a step with title and legend."""
        tile = self.tile(step, f"step {step} of {self._last}")
        page = Image.new("RGB", self.size, PAGE)
        page.paste(self._head, (_MARGIN, _MARGIN))
        page.paste(tile, (_MARGIN, _MARGIN + self._head.height))
        return page

    def tile(self, step: int, caption: str) -> Image.Image:
        """Return all panels at a step, under a caption."""
        panels = [panel.picture(step) for panel in self._panels]
        wide = self._width + _GAP
        tile = Image.new("RGB", (len(panels) * wide - _GAP, panels[0].height + _LINE), PAGE)
        _write(tile, (0, 0), caption, INK, tile.width)
        for number, panel in enumerate(panels):
            tile.paste(panel, (number * wide, _LINE))
        return tile


class _Panel:
    """One run's grid; the ground is kept and only ever burns further."""

    def __init__(self, play: Playback, fire: dict[Position, int], side: int) -> None:
        world = play.scenario.map
        self._play = play
        self._cell = _cell_of(world, side)
        self._ground = _ground(world, self._cell)
        self._grid = self._ground.size
        self.width = max(self._grid[0] + 2, _LEAST_WIDTH)
        self.height = self._grid[1] + 2 * _LINE + 2
        self._unburnt = sorted(fire.items(), key=lambda item: item[1], reverse=True)

    def picture(self, step: int) -> Image.Image:
        """Return the grid after a step, under the run's name and its counts."""
        while self._unburnt and self._unburnt[-1][1] <= step:
            position, _ = self._unburnt.pop()
            self._put(self._ground, position, "fire", "fire")
        picture = Image.new("RGB", (self.width, self.height), PAGE)
        ended = f" · ended at step {self._play.steps}" if step >= self._play.steps else ""
        _write(picture, (0, 0), self._play.label + ended, INK, self.width)
        active, trapped, evacuated, lost = self._play.counts(step)
        told = f"active {active} (trapped {trapped}) · evacuated {evacuated} · casualties {lost}"
        _write(picture, (0, _LINE), told, QUIET, self.width)
        edge = (0, 2 * _LINE, self._grid[0] + 1, self._grid[1] + 2 * _LINE + 1)
        ImageDraw.Draw(picture).rectangle(edge, outline=GROUNDS["wall"])
        picture.paste(self._peopled(step), (1, 2 * _LINE + 1))
        return picture

    def _peopled(self, step: int) -> Image.Image:
        grid, play = self._ground.copy(), self._play
        everybody = play.at(step)
        size = max(self._cell, _SMALLEST_PERSON)
        for person in everybody:
            if person.status is Status.CASUALTY:
                self._put(grid, person.position, "casualty", "fire", size)
        for person in everybody:
            if person.status is Status.ACTIVE:
                kind = "trapped" if play.is_trapped(person, step) else "active"
                self._put(grid, person.position, kind, "floor", size)
        return grid

    def _put(
        self, grid: Image.Image, position: Position, kind: str, ground: str, size: int = 0
    ) -> None:
        _put(grid, position, _glyph(kind, ground, size or self._cell), self._cell)


def _cell_of(world: GridMap, side: int) -> int:
    """Return the size of a cell, in pixels, with which a map fits into a square."""
    return max(1, min(side // world.width, side // world.height, _LARGEST_CELL))


def _ground(world: GridMap, cell: int) -> Image.Image:
    """Return floor, walls and exits."""
    size = (world.width * cell, world.height * cell)
    ground = Image.new("RGB", size, MESH if cell >= 8 else GROUNDS["floor"])
    if cell >= 8:
        floor = _glyph("", "floor", cell)
        for row in range(world.height):
            for col in range(world.width):
                _put(ground, (row, col), floor, cell)
    wall, exit = _glyph("", "wall", cell), _glyph("exit", "exit", cell)
    for position in world.obstacles:
        _put(ground, position, wall, cell)
    for door in world.exits:
        _put(ground, door.position, exit, cell)
    return ground


def _put(grid: Image.Image, position: Position, glyph: Image.Image, cell: int) -> None:
    """Paste a glyph over the middle of a cell."""
    over = (glyph.width - cell) // 2
    row, col = position
    grid.paste(glyph, (col * cell - over, row * cell - over))


@lru_cache(maxsize=256)
def _glyph(kind: str, ground: str, cell: int) -> Image.Image:
    """Return the square of a cell, drawn large and scaled down for smooth edges."""
    mesh = 1 if cell >= 8 else 0
    size = cell - mesh
    fine = 8 * size
    large = Image.new("RGB", (fine, fine), GROUNDS[ground])
    draw = ImageDraw.Draw(large)
    if kind and cell < 5:
        large.paste(INKS[kind], (0, 0, fine, fine))
    elif kind:
        _draw(draw, kind, fine)
    square = Image.new("RGB", (cell, cell), MESH)
    square.paste(large.resize((size, size), Image.Resampling.BOX), (0, 0))
    return square


def _draw(draw: ImageDraw.ImageDraw, kind: str, size: int) -> None:
    """Draw what stands on a cell: a shape of its own for each, so that colour alone never tells."""
    ink, half = INKS[kind], size / 2
    if kind == "active":
        draw.ellipse((0.14 * size, 0.14 * size, 0.86 * size, 0.86 * size), ink)
    elif kind == "trapped":
        reach = 0.48 * size
        draw.polygon(
            [
                (half, half - reach),
                (half + reach, half),
                (half, half + reach),
                (half - reach, half),
            ],
            ink,
        )
    elif kind == "fire":
        draw.polygon(
            [(half, 0.14 * size), (0.82 * size, 0.82 * size), (0.18 * size, 0.82 * size)], ink
        )
    elif kind == "casualty":
        near, far, width = 0.24 * size, 0.76 * size, round(0.2 * size)
        draw.line((near, near, far, far), ink, width)
        draw.line((near, far, far, near), ink, width)
    else:
        thick = round(0.1 * size)
        draw.rectangle((0, 0, size - 1, size - 1), outline=ink, width=thick)
        left, right = 0.34 * size, 0.66 * size
        for height in (0.26, 0.5, 0.74):
            draw.line((left, height * size, right, height * size), ink, thick)
        draw.line((left, 0.22 * size, left, 0.78 * size), ink, thick)


def _head(title: str, width: int) -> Image.Image:
    """Return the title, and the legend in as many lines as it takes."""
    font = _font()
    entries = [
        (kind, ground, word, 26 + ceil(font.getlength(word))) for kind, ground, word in LEGEND
    ]
    places, x, y = [], 0, _LINE + 4
    for *_, length in entries:
        if x and x + length > width:
            x, y = 0, y + _LINE
        places.append((x, y))
        x += length + 14
    head = Image.new("RGB", (width, y + _LINE + 8), PAGE)
    _write(head, (0, 0), title, INK, width)
    for (kind, ground, word, _), (x, y) in zip(entries, places, strict=True):
        box = Image.new("RGB", (18, 18), GROUNDS["wall"])
        box.paste(_glyph(kind, ground, 17).crop((0, 0, 16, 16)), (1, 1))
        head.paste(box, (x, y))
        _write(head, (x + 24, y), word, QUIET, width)
    return head


@lru_cache(maxsize=1)
def _font() -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
    return ImageFont.load_default(13)


def _write(image: Image.Image, at: Point, text: str, ink: Colour, width: int) -> None:
    """Write a line, cut off where it would leave the picture."""
    font, room = _font(), width - at[0]
    while text and font.getlength(text) > room:
        text = text[:-1]
    ImageDraw.Draw(image).text(at, text, ink, font)


def _palette() -> Image.Image:
    """Return every colour of the pictures, with the shades at the edges of glyphs and letters."""
    pairs = [
        *((ink, GROUNDS[ground]) for kind, ground, _ in LEGEND if kind for ink in [INKS[kind]]),
        (INK, PAGE),
        (QUIET, PAGE),
        (MESH, GROUNDS["wall"]),
    ]
    colours = dict.fromkeys(
        _between(ink, ground, part / (_SHADES - 1))
        for ink, ground in pairs
        for part in range(_SHADES)
    )
    palette = Image.new("P", (1, 1))
    palette.putpalette([level for colour in colours for level in colour])
    return palette


def _between(one: Colour, other: Colour, part: float) -> Colour:
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(one, other, strict=True))
    return red, green, blue
