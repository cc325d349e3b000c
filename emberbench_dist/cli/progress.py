"""What a user sees of a run: a bar on a terminal, plain lines elsewhere, and the summary."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from emberbench_dist.artifacts.artifact import Summary
from emberbench_dist.runner.drive import Progress as RunProgress
from emberbench_dist.runner.run import RunResult

_SECONDS_BETWEEN_LINES = 10.0
_SLOW_SECONDS = 5.0


class Reporter:
    """Show progress on standard error."""

    def __init__(self) -> None:
        """Bind to standard error as it is now, whatever is redirected later."""
        self._console = Console(stderr=True, highlight=False)
        self._bar: Progress | None = None
        self._next_line = 0.0
        self._note = ""

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        (self._bar.console if self._bar else self._console).print(text, soft_wrap=True)

    @contextmanager
    def shown(self, planned: int) -> Iterator[None]:
        """Show a bar of `planned` episodes on a terminal, a line now and then elsewhere."""
        if not self._console.is_terminal:
            self._next_line = time.monotonic() + _SECONDS_BETWEEN_LINES
            yield
            return
        columns = (
            TextColumn("episodes"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[failures]}"),
            TextColumn("{task.fields[slow]}"),
        )
        with Progress(*columns, console=self._console, transient=True) as bar:
            bar.add_task("episodes", total=planned, rate="", failures="", slow="")
            self._bar = bar
            yield
        self._bar = None

    def count(self, done: int) -> None:
        """Take in how many are done, where there is no more to tell."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done)

    def report(self, progress: RunProgress) -> None:
        """Take in how far the run is."""
        rate = f"{progress.played / progress.seconds:.1f}/s" if progress.seconds else ""
        failures = f"{progress.failed} failed" if progress.failed else ""
        slow = _slow(progress)
        if progress.note != self._note:
            self._note = progress.note
            if progress.note:
                self.say(progress.note)
        if self._bar is not None:
            task = self._bar.task_ids[0]
            self._bar.update(
                task, completed=progress.committed, rate=rate, failures=failures, slow=slow
            )
        elif time.monotonic() >= self._next_line:
            self._next_line += _SECONDS_BETWEEN_LINES
            parts = f"{progress.committed} of {progress.planned} episodes", rate, failures, slow
            self.say(", ".join(part for part in parts if part))


def _slow(progress: RunProgress) -> str:
    """Name the episode that runs the longest, once it is worth a word."""
    if not progress.running or progress.running[0].seconds < _SLOW_SECONDS:
        return ""
    return str(progress.running[0])


def print_summary(result: RunResult) -> None:
    """Print the headline table and where the results are, on standard output."""
    console = Console(highlight=False)
    console.print(_table(result.summary, result))
    if result.folder is not None:
        console.print(f"results: {result.folder}", soft_wrap=True)


def _table(summary: Summary, result: RunResult) -> Table:
    totals = summary.totals
    table = Table("metric", "value", title=f"{summary.committed} of {summary.episodes} episodes")
    table.columns[1].justify = "right"
    for name in ("people", "evacuated", "casualties", "unresolved"):
        table.add_row(name, f"{totals[name]:,}")
    for name, rate in (
        ("evacuation rate", totals["evacuation_rate"]),
        ("casualty rate", totals["casualties"] / totals["people"] if totals["people"] else None),
        ("mean episode evacuation rate", totals["mean_episode_evacuation_rate"]),
    ):
        table.add_row(name, "-" if rate is None else f"{rate:.1%}")
    table.add_row("time in episodes", f"{result.spent.seconds:,.1f} s")
    for name, amount in result.spent.reports().items():
        table.add_row(name.replace("_", " "), amount)
    if result.lost.attempts:
        table.add_row("lost attempts", f"{result.lost.attempts:,} ({result.lost.seconds:,.1f} s)")
    if result.played:
        table.add_row("episodes played now", f"{result.played:,}")
        table.add_row("episodes/s", f"{result.played / result.seconds:.1f}")
    return table
