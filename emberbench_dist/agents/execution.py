"""Optional accounting: what one step cost. It never reaches the artifact."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Protocol, runtime_checkable

from emberbench_dist.contract.document import plain_text
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
            if value is not None and not (type(value) in kinds and _holds(value)):
                told = plain_text(partial(repr, value))
                raise EvaluationError(f"StepExecution.{name} cannot be {told}")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, amounts as floats."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in ("latency_seconds", "cost_usd"):
            if values[name] is not None:
                values[name] = float(values[name])
        return values


def _holds(value: float | str) -> bool:
    """Say whether a table can hold a value: text that is text, numbers of 64 bits."""
    if isinstance(value, str):
        return not any("\ud800" <= character <= "\udfff" for character in value)
    return 0 <= value < (2**63 if isinstance(value, int) else math.inf)


_KINDS: dict[str, tuple[type, ...]] = {
    "latency_seconds": (int, float),
    "input_tokens": (int,),
    "output_tokens": (int,),
    "cost_usd": (int, float),
    "retries": (int,),
    "model": (str,),
}


@runtime_checkable
class ReportsExecution(Protocol):
    """An agent that accounts for each step."""

    def last_execution(self) -> StepExecution | None:
        """Return the accounting of the latest `act`, or None."""
        ...
