"""What is told of results: a line each, a table for a page, and the ratios that are stored."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path

from benchmarks.rows import Result, Row, Scale

BEGIN, END = "<!-- table -->\n", "\n<!-- end of table -->"
Ratios = dict[str, float]
_BIG = 100


def shortfalls(result: Result, ratios: Ratios | None, *, targets: bool) -> list[str]:
    """Say how a result falls short of its target, and of its stored ratio (None: do not ask)."""
    row, ratio, found = result.row, result.ratio, list[str]()
    if targets and not row.target.met_by(ratio):
        found.append("misses its target")
    if ratios is not None and row.name not in ratios:
        found.append("nothing is stored of it")
    elif ratios is not None and row.target.worse(ratio, ratios[row.name], row.tolerance):
        known, share = ratios[row.name], f"{row.tolerance:.0%}"
        found.append(f"is worse than the stored {figure(known)} by more than {share}")
    return found


def line(result: Result) -> str:
    """Return the line of a row, without what is bad about it."""
    row = result.row
    verdict = "ok" if row.target.met_by(result.ratio) else "missed"
    sides = f"{figure(result.ours)} against {figure(result.plain)} {row.unit}"
    tolerance = f"tolerance {row.tolerance:.0%}"
    return (
        f"{row.name:20} {figure(result.ratio):>8}  target {row.target!s:8} {verdict:6}  "
        f"{tolerance:14}  {sides}: {row.ours} / {row.plain}"
    )


def table(results: list[Result], missing: list[Row], scale: Scale, repeats: int) -> str:
    """Return a Markdown table of all rows."""
    head = (
        f"Scale `{scale}`, medians of {repeats}, Python {platform.python_version()}, "
        f"{os.cpu_count()} CPUs.\n\n"
        "| row | ours | plain | ratio | target | |\n| --- | --- | --- | ---: | --- | --- |\n"
    )
    lines = [_cells(result) for result in results]
    lines += [
        f"| `{row.name}` | {row.ours} | {row.plain} | | {row.target} | not measured |"
        for row in missing
    ]
    return head + "\n".join(lines)


def _cells(result: Result) -> str:
    row = result.row
    verdict = "ok" if row.target.met_by(result.ratio) else "**missed**"
    ours, plain = (f"{figure(side)} {row.unit}" for side in (result.ours, result.plain))
    return (
        f"| `{row.name}` | {row.ours}: {ours} | {row.plain}: {plain} | {figure(result.ratio)} | "
        f"{row.target} | {verdict} |"
    )


def write(path: Path, text: str) -> None:
    """Put a table between the marks of a page, or into a file of its own."""
    page = path.read_text(encoding="utf-8") if path.exists() else BEGIN + END
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"{path} has no marks {BEGIN.strip()} and {END.strip()} for the table")
    path.write_text(before + begin + "\n" + text + "\n" + end + after, encoding="utf-8")


def load(path: Path, scale: Scale) -> Ratios:
    """Return the ratios that are stored for a scale."""
    stored = json.loads(path.read_text()) if path.exists() else {}
    return dict(stored.get(scale, {}))


def store(path: Path, scale: Scale, results: list[Result]) -> None:
    """Store ratios, and keep those of other rows and scales."""
    stored = json.loads(path.read_text()) if path.exists() else {}
    stored.setdefault(scale, {}).update(
        {result.row.name: float(f"{result.ratio:.4g}") for result in results}
    )
    path.write_text(json.dumps(stored, indent=2, sort_keys=True) + "\n")


def figure(value: float) -> str:
    """Write a number as short as it may be read."""
    return f"{value:,.0f}" if value >= _BIG else f"{value:.3g}"
