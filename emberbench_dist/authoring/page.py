"""Documents as files that people read and compare."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from emberbench_dist.contract.canonical import canonical_json


def page(document: Mapping[str, Any], spread: Collection[str] = ()) -> str:
    """Return JSON with one key a line, and one item a line in the lists under `spread`."""
    lines = []
    for key in sorted(document):
        text = canonical_json(document[key])
        if key in spread:
            items = ",\n  ".join(canonical_json(item) for item in document[key])
            text = f"[\n  {items}\n ]"
        lines.append(f' "{key}":{text}')
    return "{\n" + ",\n".join(lines) + "\n}\n"
