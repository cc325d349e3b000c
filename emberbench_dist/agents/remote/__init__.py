"""Agents that need no Python of the evaluator's: a program, or a server behind a URL.

Each name is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emberbench_dist.agents.remote.command import CommandAgent
    from emberbench_dist.agents.remote.text import RemoteOptions, TextAgent
    from emberbench_dist.agents.remote.url import UrlAgent

_HOME = {"CommandAgent": "command", "RemoteOptions": "text", "TextAgent": "text", "UrlAgent": "url"}

__all__ = [  # noqa: PLE0604 - the keys are the names
    *_HOME
]


def __getattr__(name: str) -> Any:
    """Import a name from its home."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(_HOME)
