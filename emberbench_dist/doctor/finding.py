"""What a check finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

OK, WARNING, PROBLEM = "ok", "warning", "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: what was looked at, how it is, and, unless that is well, what to do."""

    name: str
    level: str
    text: str
    advice: str = ""

    def __str__(self) -> str:
        """Return the line."""
        advice = f"; {self.advice}" if self.advice else ""
        return f"{self.level:8} {self.name}: {self.text}{advice}"


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked about: the folder for runs, and a cluster (None: a Ray of one's own)."""

    out: Path
    address: str | None = None


Check = Callable[[Asked], Iterator[Finding]]
