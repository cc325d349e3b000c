"""What attempts at episodes have cost: time, and what agents report. It never reaches the artifact.

An execution record is JSON that is not canonical: wall time of the episode and of each step, and
the agent's report of each step where it gives any.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, NamedTuple

from emberbench_dist.agents.execution import StepExecution

_DIGITS = 6
# What a report has of amounts, in the order of telling, how a sum is written, and of what it is.
_AMOUNTS = {
    "latency_seconds": ("{:,.1f}", "s latency"),
    "input_tokens": ("{:,}", "tokens in"),
    "output_tokens": ("{:,}", "tokens out"),
    "cost_usd": ("{:,.4f}", "USD"),
    "retries": ("{:,}", "retries"),
}


def execution_record(
    seconds: float,
    step_seconds: Sequence[float] = (),
    reports: Sequence[StepExecution | None] = (),
) -> bytes:
    """Return the execution record of an attempt."""
    return json.dumps(
        {
            "seconds": round(seconds, _DIGITS),
            "step_seconds": [round(step, _DIGITS) for step in step_seconds],
            "steps": [
                None if report is None else StepExecution.to_dict(report) for report in reports
            ],
        }
    ).encode()


class LostAttempt(NamedTuple):
    """An attempt that brought no result: why, and its execution record (empty: not known)."""

    episode: int
    reason: str
    execution: bytes = b""


@dataclass(frozen=True, slots=True)
class Spent:
    """Sums over attempts: wall time of episodes and, where agents report, what their steps cost.

    An amount is None where no step reported it. `reported` counts the steps with a report, and
    `models` those that each model answered.
    """

    attempts: int = 0
    seconds: float = 0.0
    steps: int = 0
    reported: int = 0
    latency_seconds: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    retries: int | None = None
    models: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, records: Iterable[bytes]) -> Spent:
        """Sum execution records; an empty one is an attempt of which nothing is known."""
        known = json.loads(b"[%s]" % b",".join(record or b"{}" for record in records))
        reports = [report for one in known for report in one.get("steps", ()) if report]
        amounts = {
            name: [report[name] for report in reports if report[name] is not None]
            for name in (_AMOUNTS if reports else ())
        }
        return cls(
            attempts=len(known),
            seconds=sum(one.get("seconds", 0.0) for one in known),
            steps=sum(len(one.get("step_seconds", ())) for one in known),
            reported=len(reports),
            models=dict(Counter(report["model"] for report in reports if report["model"])),
            **{name: sum(values) for name, values in amounts.items() if values},
        )

    @classmethod
    def from_json(cls, text: str) -> Spent:
        """Return what `to_json` told; `ValueError` for anything else."""
        try:
            return cls(**json.loads(text))
        except TypeError as error:
            raise ValueError(f"these are no sums: {text}") from error

    def to_json(self) -> str:
        """Return the sums as JSON."""
        return json.dumps(self.to_dict())

    def __add__(self, other: Spent) -> Spent:
        """Return the sum of both."""
        models = Counter(self.models) + Counter(other.models)
        return Spent(**{**_sums(self, other), "models": dict(models)})

    def to_dict(self) -> dict[str, Any]:
        """Return the sums by name, seconds and cost to a millionth, models in order."""
        values = asdict(self)
        for name, value in values.items():
            if isinstance(value, float):
                values[name] = round(value, _DIGITS)
        return {**values, "models": dict(sorted(self.models.items()))}

    def __str__(self) -> str:
        """Say it in one line."""
        told = [f"{self.seconds:,.1f} s in {self.steps:,} steps"]
        told += [f"{amount} {_AMOUNTS[name][1]}" for name, amount in self.reports().items()]
        return ", ".join(told) + (f" by {', '.join(sorted(self.models))}" if self.models else "")

    def reports(self) -> dict[str, str]:
        """Return the amounts that agents reported, as text by name."""
        sums = ((name, form, getattr(self, name)) for name, (form, _) in _AMOUNTS.items())
        return {name: form.format(value) for name, form, value in sums if value is not None}


def _sums(one: Spent, other: Spent) -> dict[str, Any]:
    """Return the sum of each number; what neither knows stays unknown."""
    names = [entry.name for entry in fields(Spent) if entry.name != "models"]
    pairs = {name: (getattr(one, name), getattr(other, name)) for name in names}
    return {
        name: None if pair == (None, None) else sum(value for value in pair if value is not None)
        for name, pair in pairs.items()
    }
