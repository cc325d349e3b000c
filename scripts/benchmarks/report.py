"""What is told of results: a line each, a table for a page, and the ratios that are stored."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path

from benchmarks.rows import Result, Row, Scale

BEGIN, END = "<!-- table -->", "<!-- end of table -->"
Ratios = dict[str, float]
_BIG = 100
_MISSED, _ABSENT = "**missed**", "not measured"


def shortfalls(result: Result, ratios: Ratios | None, *, targets: bool) -> list[str]:
    """Say how a result falls short of its target, and of its stored ratio (None: do not ask)."""
    row, ratio, found = result.row, result.ratio, list[str]()
    if targets and not row.target.met_by(ratio):
        found.append("misses its target")
    if ratios is not None and row.name not in ratios:
        found.append("has no stored ratio")
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


def write(path: Path, rows: list[Row], results: list[Result], how: str) -> None:
    """Put results into the table between the marks of a page; keep rows that were not measured."""
    page = path.read_text(encoding="utf-8") if path.exists() else f"{BEGIN}{END}\n"
    before, begin, rest = page.partition(BEGIN)
    earlier, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"{path} has no marks {BEGIN} and {END} for the table")
    text = table(rows, results, how, earlier)
    path.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", encoding="utf-8")


def table(rows: list[Row], results: list[Result], how: str, earlier: str) -> str:
    """Return a Markdown table of all rows, each as measured now, earlier, or not at all."""
    known = {line.split("`")[1]: line for line in earlier.splitlines() if line.startswith("| `")}
    known |= {result.row.name: _cells(result.row, result, how) for result in results}
    lines = [known.get(row.name) or _cells(row, None, "") for row in rows]
    missed, absent = (sum(mark in line for line in lines) for mark in (_MISSED, _ABSENT))
    machine = f"Python {platform.python_version()}, {os.cpu_count()} CPUs"
    return "\n".join(
        [
            f"{machine}: {missed} of {len(lines) - absent} targets missed.",
            "",
            "| row | ours | plain | ratio | target | tolerance | | measured |",
            "| --- | --- | --- | ---: | --- | ---: | --- | --- |",
            *lines,
        ]
    )


def _cells(row: Row, result: Result | None, how: str) -> str:
    ours, plain, ratio, verdict = row.ours, row.plain, "", _ABSENT
    if result is not None:
        ours += f": {figure(result.ours)} {row.unit}"
        plain += f": {figure(result.plain)} {row.unit}"
        ratio = figure(result.ratio)
        verdict = "ok" if row.target.met_by(result.ratio) else _MISSED
    return (
        f"| `{row.name}` | {ours} | {plain} | {ratio} | {row.target} | {row.tolerance:.0%} | "
        f"{verdict} | {how} |"
    )


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
