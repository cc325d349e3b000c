"""Figures: bytes that depend on the data alone, texts that can be read, colours for every page."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from itertools import pairwise, product
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import FillBetweenPolyCollection
from matplotlib.colors import to_rgb
from matplotlib.text import Text

from emberbench_dist.analysis import plots
from emberbench_dist.analysis.plots.style import (
    DEATH,
    GRID,
    INK,
    MUTED,
    PAPER,
    QUEUE,
    SERIES,
    THEME,
    shortened,
)
from emberbench_dist.analysis.plots.svg import themed_svg
from emberbench_dist.contract.observation import Exit, GridMap

# Names as agents and scenarios may have them, and a great many.
NAMES = ["greedy", "my_package.a_long_module:" + "Factory" * 12, "$x_1$ <b>&", "日本語の名前"]
SCENARIOS = [f"a-scenario-with-a-long-common-name-{number:03d}-{'x' * 60}" for number in range(20)]
WORLD = GridMap(30, 4, ((1, 1), (2, 2)), (Exit("E1", (0, 29)), Exit("E2", (3, 0))))


def curves(steps=50):
    """Return rows of one run as `survival` takes them."""
    step = np.arange(steps)
    share = step / steps / 2
    rows = {"step": step, "low": share * 0.8, "middle": share, "high": share * 1.2}
    parts = [pd.DataFrame({"status": status, **rows}) for status in ("evacuated", "casualty")]
    return pd.concat(parts)


def survival(runs=NAMES):
    """Draw curves of some runs."""
    return plots.survival({run: curves(50 + place) for place, run in enumerate(runs)})


def differences(scenarios=SCENARIOS):
    """Draw intervals: some have none, some begin or end at zero."""
    value = np.linspace(1, -1, len(scenarios))
    low = np.where(np.arange(len(scenarios)) % 5, value - 0.3, np.nan)
    rows = {"scenario_id": scenarios, "difference": value, "low": low, "high": low + 0.6}
    return plots.differences(pd.DataFrame(rows), "difference of evacuation_rate")


def distribution(runs=NAMES):
    """Draw differences of some, of no and of equal pairs."""
    values = [pd.Series([0.1, -0.5, 0.0]), pd.Series([], dtype=float), pd.Series([0.0, 0.0])]
    return plots.difference_distribution(
        {f"{run} - {runs[0]}": values[place % 3] for place, run in enumerate(runs)}, "difference"
    )


def heat(runs=NAMES):
    """Draw a table with a value that is missing, and one over planned episodes."""
    values = np.linspace(0, 1, len(SCENARIOS) * len(runs)).reshape(len(SCENARIOS), len(runs))
    values[3, 0] = np.nan
    table = pd.DataFrame(values, index=SCENARIOS, columns=runs)
    return plots.scenario_heat(table, "mean evacuation_rate", table.fillna(0.0))


def movement(runs=NAMES):
    """Draw shares of outcomes."""
    outcomes = ["moved", "stayed", "blocked_occupied"]
    shares = np.linspace(0, 1, len(outcomes) * len(runs)).reshape(len(outcomes), len(runs))
    return plots.movement(pd.DataFrame(shares, index=outcomes, columns=runs))


def cumulative(runs=NAMES):
    """Draw values of some runs; one has none."""
    values = {run: pd.Series([0.001, 0.1, 3.0, None]) for run in runs}
    return plots.cumulative({**values, runs[0]: pd.Series([], dtype=float)}, "seconds per episode")


def places(runs=NAMES):
    """Draw maps on which something happened, or nothing."""
    cells = np.zeros((WORLD.height, WORLD.width))
    cells[0, 5] = 2.5
    found = {
        run: {"casualties": cells * place, "waiting": cells * 0} for place, run in enumerate(runs)
    }
    return plots.place_heat(WORLD, found)


DRAWINGS = [survival, differences, distribution, heat, movement, cumulative, places]
OF_RUNS = [survival, distribution, heat, movement, cumulative, places]


def extents(figure):
    """Return the box of each text that is drawn, in pixels, and that of the figure."""
    laid_out(figure)
    hidden = set(outside(figure))
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]
    return [(text, text.get_window_extent()) for text in texts if text not in hidden], figure.bbox


def outside(figure):
    """Yield the labels of ticks beyond the ends of an axis, which are not drawn."""
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        low, high = sorted(axis.get_view_interval())
        for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
            if not low <= tick.get_loc() <= high:
                yield tick.label1
                yield tick.label2


def laid_out(figure):
    """Give each part its final place."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        FigureCanvasAgg(figure).draw()
    return figure


def luminance(color):
    """Return the relative luminance of a colour (WCAG 2)."""
    parts = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in to_rgb(color)
    ]
    return float(np.dot((0.2126, 0.7152, 0.0722), parts))


def contrast(one, other):
    """Return the contrast of two colours (WCAG 2), from 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize(
    ("draw", "format"), [*product(DRAWINGS, ("png", "svg")), (places, "pdf"), (survival, "pdf")]
)
def test_the_same_data_give_the_same_bytes(draw, format):
    """Neither the time nor what was drawn before shows in a file."""
    assert plots.encode(draw(), format) == plots.encode(draw(), format)


@pytest.mark.parametrize("draw", DRAWINGS)
def test_the_settings_of_the_user_do_not_show(draw):
    """A figure is the same whatever `rcParams` are, and leaves them as they were."""
    plain = plots.encode(draw(), "svg")
    with mpl.rc_context({"font.size": 30, "axes.grid": True, "svg.fonttype": "path"}):
        before = dict(mpl.rcParams)
        assert plots.encode(draw(), "svg") == plain
        assert dict(mpl.rcParams) == before


def test_nothing_touches_pyplot():
    """Drawing needs no global state of matplotlib's."""
    script = (
        "import sys, pandas as pd; from emberbench_dist.analysis import plots;"
        "figure = plots.movement(pd.DataFrame({'a': [1.0]}, index=['moved']));"
        "plots.encode(figure, 'png'); plots.encode(figure, 'svg'); print(*sys.modules)"
    )
    loaded = subprocess.check_output([sys.executable, "-c", script], text=True).split()
    assert "matplotlib.figure" in loaded
    assert "matplotlib.pyplot" not in loaded


@pytest.mark.parametrize("draw", DRAWINGS)
def test_no_text_is_cut_off(draw):
    """Every text lies inside its figure, however long names are."""
    texts, whole = extents(draw())
    for text, box in texts:
        inside = box.x0 >= -1 and box.x1 <= whole.x1 + 1 and box.y0 >= -1 and box.y1 <= whole.y1 + 1
        assert inside, text.get_text()


@pytest.mark.parametrize("draw", OF_RUNS)
@pytest.mark.parametrize("runs", [1, 2, 9])
def test_any_number_of_runs_can_be_drawn(draw, runs):
    """One run and more runs than there are colours have figures in which plots keep their room."""
    figure = laid_out(draw([f"run-{number}" for number in range(runs)]))
    assert all(axes.get_window_extent().height > 0.25 * figure.dpi for axes in figure.axes)


def test_labels_of_rows_do_not_overlap():
    """However many scenarios there are, each has a line of its own."""
    for draw in (differences, heat):
        figure = laid_out(draw())
        boxes = [label.get_window_extent() for label in figure.axes[0].get_yticklabels()]
        assert len(boxes) == len(SCENARIOS)
        assert all(upper.y0 >= lower.y1 for upper, lower in pairwise(boxes))


def test_bands_are_only_drawn_where_they_can_be_told_apart():
    """More than four runs have lines alone."""
    for runs, bands in ((4, 8), (5, 0)):
        figure = survival([str(number) for number in range(runs)])
        found = figure.findobj(FillBetweenPolyCollection)
        assert len(found) == bands


def test_a_run_without_an_episode_leaves_its_colour_to_nobody():
    """The second run looks the same whether the first has a curve or not."""
    looks = []
    for first in (curves(), curves().head(0)):
        figure = plots.survival({"first": first, "second": curves()})
        lines = [line for line in figure.axes[0].lines if line.get_label() == "second"]
        looks += [(line.get_color(), line.get_linestyle()) for line in lines]
    assert looks[0] == looks[1]
    assert len(looks) == 2


def test_an_interval_without_zero_has_a_filled_mark():
    """Filled and empty marks tell what an interval says of zero; none tells nothing."""
    rows = pd.DataFrame(
        {
            "scenario_id": list("abcd"),
            "difference": [0.5, 0.1, -0.1, -0.5],
            "low": [0.2, -0.1, np.nan, -0.9],
            "high": [0.9, 0.3, np.nan, -0.1],
        }
    )
    marks = [
        line for line in plots.differences(rows, "x").axes[0].lines if line.get_marker() == "o"
    ]
    found = {line.get_markerfacecolor(): [*line.get_xdata()] for line in marks}
    assert found == {SERIES[0]: [0.5, -0.5], PAPER: [0.1, -0.1]}


def test_a_cell_has_its_number_and_the_one_over_planned_episodes():
    """A mean stands alone where it is the same over planned episodes; a missing one is a dash."""
    table = pd.DataFrame({"a": [0.5, np.nan, 0.25]}, index=list("xyz"))
    figure = plots.scenario_heat(table, "rate", pd.DataFrame({"a": [0.5, 0.0, 0.125]}))
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts == ["0.50", "\N{EN DASH} / 0.00", "0.25 / 0.12"]


def test_a_map_is_opaque_where_most_happened_and_clear_where_nothing_did():
    """Cells that differ look different on any background, and walls are grey."""
    cells = np.zeros((WORLD.height, WORLD.width))
    cells[0, 3], cells[0, 4] = 1.0, 4.0
    figure = plots.place_heat(WORLD, {"a": {"casualties": cells, "waiting": cells * 0}})
    image = np.asarray(figure.axes[0].images[0].get_array())
    assert image[0, 5, 3] == 0 < image[0, 3, 3] < image[0, 4, 3] == 1
    assert tuple(image[0, 4, :3]) == pytest.approx(to_rgb(DEATH))
    assert len(set(image[1, 1, :3])) == 1
    assert image[1, 1, 3] > 0


@pytest.mark.parametrize("color", [INK, MUTED, *SERIES])
def test_colours_are_read_on_light_and_dark_pages(color):
    """Ink, quiet ink and every run's colour have a contrast of 4.5 on both papers."""
    assert contrast(color, PAPER) >= 4.5
    assert contrast(THEME[color][1], THEME[PAPER][1]) >= 4.5


@pytest.mark.parametrize("color", [DEATH, QUEUE])
def test_heat_is_seen_on_light_and_dark_pages(color):
    """The strongest cells have a contrast of 3 on both papers."""
    assert contrast(color, PAPER) >= 3
    assert contrast(color, THEME[PAPER][1]) >= 3


@pytest.mark.parametrize("draw", DRAWINGS)
def test_a_page_decides_on_colours_and_fonts(draw):
    """An embedded figure has texts as texts, no colour or font of its own, and is well formed."""
    svg = themed_svg(draw(), "name", "A <label> & more")
    tree = ET.fromstring(svg.replace("xlink:", ""))
    assert tree.attrib["aria-label"] == "A <label> & more"
    assert tree.attrib["viewBox"].startswith("0 0 345.6 ")
    assert "width" not in tree.attrib
    assert any(element.tag == "text" for element in tree.iter())
    styles = " ".join(element.get("style", "") for element in tree.iter())
    assert "DejaVu" not in styles
    assert "#" not in styles.replace("url(#", ""), "a colour that no theme knows"
    used = set(re.findall(r"var\(--([\w-]+)\)", styles))
    assert used <= {name for name, _ in THEME.values()}
    assert used >= {"ink"}
    assert GRID not in svg


def test_ids_of_figures_on_a_page_are_different():
    """What is referred to has an id that no other figure has, and nothing else has one."""
    one, other = (themed_svg(movement(), name, "label") for name in ("one", "other"))
    ids = [re.findall(r'id="([^"]+)"', text) for text in (one, other)]
    assert ids[0]
    assert not set(ids[0]) & set(ids[1])
    for text, names in zip((one, other), ids, strict=True):
        assert len(set(names)) == len(names)
        assert set(re.findall(r'(?:url\(|href=")#([^")]+)', text)) == set(names)


@pytest.mark.parametrize(
    ("names", "most", "short"),
    [
        (["short", "names"], 5, ["short", "names"]),
        (["abcdefghij", "klmnopqrst"], 7, ["abc…hij", "klm…rst"]),
        (["same-start-one-end", "same-start-two-end"], 9, ["…rt-one-…", "…rt-two-…"]),
        (["equal-names-here"] * 2, 7, ["equ…ere"] * 2),
        ([], 5, []),
    ],
)
def test_short_names_tell_apart_what_long_ones_do(names, most, short):
    """The middle is left out, unless that is where the names differ."""
    found = shortened(names, most)
    assert len(set(found)) == len(set(names))
    assert all(len(name) <= most for name in found)
    assert found == short
