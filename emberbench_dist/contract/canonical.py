"""Canonical JSON: one text for one value, and a strict way back."""

from __future__ import annotations

import hashlib
import json
from typing import Any, NoReturn

_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
)

_MAX_SHOWN = 60


def canonical_json(value: object) -> str:
    """Return the canonical text: sorted keys, no white space, ASCII only; ValueError for NaN."""
    return _ENCODER.encode(value)


def sha256_hex(data: bytes | str) -> str:
    """Return the lower-case hex SHA-256 of `data` (text as UTF-8)."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def parse_json(data: bytes | str) -> Any:
    """Parse JSON strictly: UTF-8 without BOM, no duplicate key, no NaN or Infinity.

    Raises ValueError with the rule that was broken and, where known, line and column.
    """
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"is not UTF-8 (byte {error.start})") from error
    if text.startswith("\ufeff"):
        raise ValueError("starts with a byte order mark; save it as UTF-8 without BOM")
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ValueError(f"is not JSON: {error.msg} ({place})") from error
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error
    except ValueError as error:
        if "int_max_str_digits" in str(error):
            raise ValueError("holds an integer of more than 4300 digits") from error
        raise


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for name, value in pairs:
        if name in document:
            raise ValueError(f"has the key {name[:_MAX_SHOWN]!r} twice in one object")
        document[name] = value
    return document


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"holds {name}, which is not JSON")
