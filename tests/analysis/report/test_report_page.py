"""The report in a real browser: readable at any width and in the dark, by mouse and keyboard."""

from __future__ import annotations

import re

import pytest
from browser import overflow, visit
from studies import played_runs

from emberbench_dist.analysis.report.page import report_page
from emberbench_dist.analysis.runs import find_runs

# The contrast of each visible text with what lies behind it, and its size on the screen.
LOOK = """() => {
  const luminance = (color) => {
    const parts = color.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255);
    const linear = parts.map(
      (part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const paper = luminance(getComputedStyle(document.body).backgroundColor);
  const drawn = [...document.querySelectorAll('svg.plot text')];
  const said = [...document.querySelectorAll(
    'h1, h2, h3, p, a, th, td, dt, dd, caption, figcaption, summary')];
  return [...drawn, ...said].filter((element) => !element.closest('.ember-player')
      && element.checkVisibility()).map((element) => {
    const style = getComputedStyle(element);
    const ink = luminance(element.closest('svg') ? style.fill : style.color);
    const svg = element.closest('svg');
    const scale = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
    return [(Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05),
            parseFloat(style.fontSize) * scale, element.textContent];
  });
}"""
# Texts of a drawing that lie on each other, or stick out of it.
CLASHES = """() => [...document.querySelectorAll('svg.plot')].flatMap((svg) => {
  const frame = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll('text')].map(
    (text) => [text, text.getBoundingClientRect()]);
  const out = texts.filter(([, box]) => box.left < frame.left - 1 || box.right > frame.right + 1);
  const over = texts.flatMap(([text, box], index) => texts.slice(index + 1).filter(([, other]) =>
    Math.min(box.right, other.right) - Math.max(box.left, other.left) > 1 &&
    Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top) > 3
  ).map(([other]) => [text, other]));
  return [...out.map(([text]) => [text]), ...over].map((found) =>
    [svg.getAttribute('aria-label'), ...found.map((text) => text.textContent)]);
})"""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Write the page about all runs."""
    with played_runs() as folders:
        labels = ["greedy", "fails", "a-run:with_a_long_name" * 3]
        runs = find_runs([folders[name] for name in ("greedy", "fails", "costly")], labels)
        page = report_page(runs)
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(page, encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [400, 1600])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_readable(browser, path, width, scheme):
    """Nothing is wider than the window, each text is large enough and has contrast."""
    with visit(browser, path, width=width, color_scheme=scheme) as page:
        assert overflow(page) <= 0
        texts = page.evaluate(LOOK)
        assert len(texts) > 300
        assert [text for contrast, _, text in texts if contrast < 4.5] == []
        assert [text for _, size, text in texts if size < 8] == []


def test_it_is_dark_where_that_is_wanted(browser, path):
    """The page follows the reader's setting."""
    found = {}
    for scheme in ("light", "dark"):
        with visit(browser, path, color_scheme=scheme) as page:
            found[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert found == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 22, 27)"}


@pytest.mark.parametrize("width", [400, 1600])
def test_texts_of_a_figure_do_not_lie_on_each_other(browser, path, width):
    """In the browser's own font, no label covers another or leaves its figure."""
    with visit(browser, path, width=width) as page:
        assert page.evaluate(CLASHES) == []


def test_the_keyboard_reaches_everything(browser, path):
    """The first stop skips to the results; tables that scroll can be reached and scrolled."""
    with visit(browser, path, width=400) as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "content"
        page.keyboard.press("Tab")
        table = page.evaluate_handle("document.activeElement")
        assert table.get_attribute("class") == "scroll"
        assert table.get_attribute("aria-label") == "Rates and counts"
        assert table.evaluate("(area) => area.scrollWidth > area.clientWidth")
        page.keyboard.press("ArrowRight")
        while table.evaluate("(area) => area.scrollLeft") == 0:
            page.wait_for_timeout(10)


def test_everything_has_a_name(browser, path):
    """Who does not see the page hears what each part is: headings, figures, tables, sections."""
    with visit(browser, path) as page:
        assert page.get_by_role("heading", level=1).count() == 1
        assert page.get_by_role("main").count() == 1
        assert page.locator("table.data > caption").count() == page.locator("table.data").count()
        for role in ("figure", "region", "img"):
            parts = page.get_by_role(role)
            assert parts.count() > 2
            assert parts.count() == page.get_by_role(role, name=re.compile(r"\w")).count()
        links = page.locator("nav a")
        for place in range(links.count()):
            links.nth(place).click()
            assert page.locator(":target h2").inner_text() == links.nth(place).inner_text()


def test_numbers_unfold(browser, path):
    """The numbers behind a figure are there on demand."""
    with visit(browser, path) as page:
        figure = page.locator("#figure-movement")
        assert not figure.locator("table").is_visible()
        figure.locator("summary").click()
        assert figure.locator("table").is_visible()


def test_the_player_is_on_the_page(browser, path):
    """Episodes can be played there."""
    with visit(browser, path) as page:
        player = page.locator("#episodes .ember-player")
        player.get_by_role("button", name="Play").wait_for()
