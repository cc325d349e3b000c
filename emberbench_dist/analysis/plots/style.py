"""How every figure looks: colours that have a twin for dark pages, sizes, and file formats."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from io import BytesIO
from typing import Any, ParamSpec

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

P = ParamSpec("P")

# Inches. A figure of this width keeps its text readable on a page of 400 pixels.
WIDTH, _LEGEND_LINE = 4.8, 0.18

INK, MUTED, GRID, PAPER = "#1c2128", "#57606a", "#d3d9df", "#ffffff"
DEATH, QUEUE, WALL = "#c2410c", "#1d6fd1", "#808080"
# After Okabe and Ito, darkened until each is readable as text on white.
SERIES = ("#0b62b0", "#b23c00", "#00715a", "#93307f", "#6b5900", "#4a4f57")
LINES = ("-", (0, (5, 2)), (0, (5, 1.5, 1, 1.5)), (0, (1, 1.2)), (0, (8, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
HATCHES = ("", "//", "--", "\\\\", "xx", "||", "++")
# The same colours on a dark page, under the names that they have in its style sheet.
THEME = {
    INK: ("ink", "#e6edf3"),
    MUTED: ("muted", "#a3adb8"),
    GRID: ("grid", "#3a424b"),
    PAPER: ("paper", "#14161b"),
    SERIES[0]: ("series-1", "#6cb3f5"),
    SERIES[1]: ("series-2", "#ff9a5c"),
    SERIES[2]: ("series-3", "#45cfa8"),
    SERIES[3]: ("series-4", "#e59bd4"),
    SERIES[4]: ("series-5", "#dcc34a"),
    SERIES[5]: ("series-6", "#b9c1ca"),
}

_STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.labelsize": 10,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9,
    "figure.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "lines.linewidth": 1.6,
    "hatch.linewidth": 0.6,
    "savefig.dpi": 200,
    "svg.fonttype": "none",
    "svg.hashsalt": "emberbench",
    "pdf.fonttype": 42,
    "text.parse_math": False,  # an agent's name may have a dollar sign
}


def styled(plot: Callable[P, Figure]) -> Callable[P, Figure]:
    """Make a function draw in the house's style, whatever the user's own settings are."""

    @wraps(plot)
    def draw(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with _settings():
            return plot(*args, **kwargs)

    return draw


def encode(figure: Figure, format: str, *, transparent: bool = False) -> bytes:
    """Return a figure as a file's bytes: png, svg or pdf, the same for the same figure."""
    file = BytesIO()
    # What would say when or with what it was made.
    metadata = {"png": {"Software": None}, "pdf": {"CreationDate": None}}.get(
        format, {"Date": None}
    )
    with _settings():
        figure.savefig(file, format=format, metadata=metadata, transparent=transparent)
    return file.getvalue()


def new_figure(height: float, width: float = WIDTH) -> Figure:
    """Return an empty figure of that many inches whose parts find their places by themselves."""
    return Figure(figsize=(width, height), layout="constrained")


def color(index: int) -> str:
    """Return the colour of run `index`."""
    return SERIES[index % len(SERIES)]


def legend(figure: Figure, axes: Axes, names: Iterable[str]) -> None:
    """Name the runs above the plots, and make the figure as much higher."""
    handles, _ = axes.get_legend_handles_labels()
    labels = shortened(names, 40)
    columns = max(1, min(len(labels), 54 // (max(map(len, labels), default=0) + 6)))
    rows = -(-len(labels) // columns)
    figure.set_figheight(figure.get_figheight() + _LEGEND_LINE * rows)
    figure.legend(handles, labels, loc="outside upper left", ncols=columns, borderaxespad=0.2)


def shortened(names: Iterable[object], most: int) -> list[str]:
    """Return names of at most `most` characters, different ones if the given ones are."""
    given = [str(name) for name in names]
    found = [_without_middle(name, most) for name in given]
    if len(set(found)) == len(set(given)):
        return found
    # What tells them apart is in the middle: show that, from a little before.
    start = max(0, _common_start(given) - most // 3)
    return [f"…{_without_end(name[start:], most - 1)}" for name in given]


def _common_start(names: list[str]) -> int:
    """Return how many characters all names begin with."""
    columns = zip(*names, strict=False)
    return next((place for place, found in enumerate(columns) if len(set(found)) > 1), 0)


def _without_middle(name: str, most: int) -> str:
    tail = (most - 1) // 2
    return name if len(name) <= most else f"{name[: most - 1 - tail]}…{name[-tail:]}"


def _without_end(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


@contextmanager
def _settings() -> Iterator[None]:
    with mpl.rc_context(), warnings.catch_warnings():
        # A name in a script that the measuring font lacks: whoever shows the text has a font.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        mpl.rcdefaults()
        for name, value in _STYLE.items():
            mpl.rcParams[name] = value
        yield
