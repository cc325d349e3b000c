"""Canonical JSON: one text for one value, and a strict way back."""

from __future__ import annotations

import hashlib
import json
from typing import Any, NoReturn

_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
)


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
        if text.startswith("\ufeff"):
            raise ValueError("starts with a byte order mark; save it as UTF-8 without BOM")
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise ValueError(f"is not UTF-8 (byte {error.start})") from error
    except json.JSONDecodeError as error:
        raise ValueError(
            f"is not JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        ) from error
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in document if names.count(name) > 1)
        raise ValueError(f"has the key {twice!r} twice in one object")
    return document


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"holds {name}, which is not JSON")
