"""Optional accounting: what one step cost. It never reaches the artifact."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Protocol, runtime_checkable

from emberbench_dist.errors import EvaluationError


@dataclass(frozen=True, slots=True)
class StepExecution:
    """What an agent reports of one `act`; None where it does not know.

    `latency_seconds` and `cost_usd` are floats, the token counts and `retries` integers,
    none negative; `model` names the model that answered.
    """

    latency_seconds: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    retries: int | None = None
    model: str | None = None

    def __post_init__(self) -> None:
        """Refuse values of another kind, so that sums mean something."""
        for name, kinds in _KINDS.items():
            value = getattr(self, name)
            if value is None:
                continue
            if type(value) not in kinds or (kinds is not _TEXT and not 0 <= value < float("inf")):
                raise EvaluationError(f"StepExecution.{name} cannot be {value!r}")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


_TEXT = (str,)
_KINDS: dict[str, tuple[type, ...]] = {
    "latency_seconds": (int, float),
    "input_tokens": (int,),
    "output_tokens": (int,),
    "cost_usd": (int, float),
    "retries": (int,),
    "model": _TEXT,
}


@runtime_checkable
class ReportsExecution(Protocol):
    """An agent that accounts for each step."""

    def last_execution(self) -> StepExecution | None:
        """Return the accounting of the latest `act`, or None."""
        ...
