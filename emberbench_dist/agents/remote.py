"""Agents that need no Python of the evaluator's, and how SPEC and options name them."""

from __future__ import annotations

from functools import partial

from emberbench_dist.agents.command import CommandAgent, split_command
from emberbench_dist.agents.interface import AgentFactory
from emberbench_dist.agents.text import RemoteOptions, TextAgent
from emberbench_dist.agents.url import UrlAgent, endpoint_of, headers_in

__all__ = ["CommandAgent", "RemoteOptions", "TextAgent", "UrlAgent", "remote_factory"]


def remote_factory(kind: str, target: str, options: RemoteOptions) -> AgentFactory:
    """Return the factory of a SPEC `command:CMD` or `url:URL`.

    `AgentSpecError` where it leads nowhere, or the options do not.
    """
    if kind == "command":
        split_command(target)
        return partial(
            CommandAgent, target, timeout_seconds=options.timeout_seconds, log=options.log
        )
    endpoint_of(target)
    headers = headers_in(options.headers_from) if options.headers_from else {}

    def factory() -> UrlAgent:
        return UrlAgent(
            target,
            timeout_seconds=options.timeout_seconds,
            retries=options.retries,
            headers=headers,
        )

    return factory
