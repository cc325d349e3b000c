"""How SPEC and options name an agent that is a program or a server."""

from __future__ import annotations

from functools import partial

from emberbench_dist.agents.interface import AgentFactory
from emberbench_dist.agents.remote.command import CommandAgent, split_command
from emberbench_dist.agents.remote.text import RemoteOptions
from emberbench_dist.agents.remote.url import UrlAgent, endpoint_of, headers_in


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
