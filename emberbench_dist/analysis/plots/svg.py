"""A figure as SVG for a page: it scales, and takes its colours from the page's style sheet."""

from __future__ import annotations

import re
from html import escape

from markupsafe import Markup
from matplotlib.figure import Figure

from emberbench_dist.analysis.plots.style import THEME, encode

_HEAD = re.compile(r"<\?xml.*?<svg[^>]*?(viewBox=\"[^\"]*\")[^>]*>", re.DOTALL)
# What a page does not need: who drew it, names of parts, and a style that would reach the page.
_NEEDLESS = re.compile(r"\s*(?:<metadata>.*?</metadata>|<!--.*?-->|<style.*?</style>)", re.DOTALL)
_NUMBERS = re.compile(r' (?:d|x|y|transform)="[^"]*"')
_FRACTION = re.compile(r"(\.\d\d)\d+")
_ID = re.compile(r' id="([^"]+)"')
_REFERENCE = re.compile(r'(?:url\(|href=")#([^")]+)')
_FAMILY = re.compile(r"font-family: [^;\"]*")
_FILL = re.compile(r' fill="([^"]*)"')
_STYLE = re.compile(r' style="[^"]*"')


def themed_svg(figure: Figure, name: str, label: str) -> Markup:
    """Return an `<svg>` element; `name` keeps its ids apart from those of other figures.

    Colours are variables of the page's style sheet, texts are texts, in the page's font.
    """
    text = _NEEDLESS.sub("", encode(figure, "svg", transparent=True).decode())
    head = f'<svg class="plot" role="img" aria-label="{escape(label)}" '
    text = _HEAD.sub(lambda match: f"{head}{match[1]}>", text, count=1)
    text = _NUMBERS.sub(lambda match: _FRACTION.sub(r"\1", match[0]), text)
    text = _FILL.sub(r' style="fill: \1"', text)
    text = _STYLE.sub(lambda match: _themed(match[0]), text)
    return Markup(_own_ids(text, name).strip())  # noqa: S704 - matplotlib escapes its texts


def _themed(style: str) -> str:
    for drawn, (variable, _) in THEME.items():
        style = style.replace(drawn, f"var(--{variable})")
    return _FAMILY.sub("font-family: inherit", style)


def _own_ids(text: str, name: str) -> str:
    """Keep the ids that something refers to, under names that no other figure has."""
    used = set(_REFERENCE.findall(text))
    text = _ID.sub(lambda match: f' id="{name}-{match[1]}"' if match[1] in used else "", text)
    return _REFERENCE.sub(lambda match: match[0].replace("#", f"#{name}-"), text)
