"""Agents that need no Python of the evaluator's: a program, or a server behind a URL.

Each name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from emberbench_dist.lazy import names_of

if TYPE_CHECKING:
    from emberbench_dist.agents.remote.command import CommandAgent
    from emberbench_dist.agents.remote.text import RemoteOptions, TextAgent
    from emberbench_dist.agents.remote.url import UrlAgent

_HOME = {"CommandAgent": "command", "RemoteOptions": "text", "TextAgent": "text", "UrlAgent": "url"}

__all__ = [  # noqa: PLE0604 - the keys are the names
    *_HOME
]

__getattr__, __dir__ = names_of(__name__, _HOME)
