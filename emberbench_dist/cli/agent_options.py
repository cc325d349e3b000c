"""The options that say who plays, and how a program or a server is asked."""

from __future__ import annotations

from typing import Any

import click

from emberbench_dist.agents.registry import is_remote
from emberbench_dist.agents.remote.text import (
    MAX_RETRIES,
    MAX_TIMEOUT_SECONDS,
    RETRIES,
    TIMEOUT_SECONDS,
    RemoteOptions,
)
from emberbench_dist.cli.options import together

_DEFAULT = "greedy"
# Each option that names an agent, and what it puts before its value to make a SPEC.
_NAMING = {"agent": "", "agent_command": "command:", "agent_url": "url:"}
# Each option that says how to ask, its place in `RemoteOptions`, and what it is for.
_ASKING = {
    "agent_timeout": ("timeout_seconds", ("command", "url")),
    "agent_retries": ("retries", ("url",)),
    "agent_headers": ("headers_from", ("url",)),
}


# How a program or a server is asked.
asking_options = together(
    click.option(
        "--agent-timeout",
        metavar="S",
        type=click.FloatRange(0, MAX_TIMEOUT_SECONDS, min_open=True),
        help=f"Seconds for each answer.  [default: {TIMEOUT_SECONDS:g}]",
    ),
    click.option(
        "--agent-retries",
        metavar="N",
        type=click.IntRange(0, MAX_RETRIES),
        help=f"Retries where a server was not reached or busy.  [default: {RETRIES}]",
    ),
    click.option(
        "--agent-headers",
        metavar="NAME",
        help="Environment variable that holds HTTP headers, one a line.",
    ),
)

# Who plays, and how to ask.
agent_options = together(
    click.option(
        "--agent",
        metavar="SPEC",
        help="A known name, package.module:factory, or path/to/file.py:factory.  "
        f"[default: {_DEFAULT}]",
    ),
    click.option(
        "--agent-command", metavar="CMD", help="A program: an observation a line on its input."
    ),
    click.option("--agent-url", metavar="URL", help="A server: POST of an observation."),
    asking_options,
)


def asked_spec(options: dict[str, Any]) -> str:
    """Return the SPEC that is asked for, in whichever way."""
    given = {name: options[name] for name in _NAMING if options[name] is not None}
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(map(_flag, given))} name different agents: give one")
    return next((_NAMING[name] + value for name, value in given.items()), _DEFAULT)


def remote_options(spec: str, options: dict[str, Any]) -> RemoteOptions:
    """Return how to ask; refuse what the agent would not heed."""
    given = dict[str, Any]()
    for name, (place, kinds) in _ASKING.items():
        if options[name] is None:
            continue
        if not is_remote(spec, kinds):
            suited = " and ".join(f"--agent-{kind}" for kind in kinds)
            raise click.UsageError(f"{_flag(name)} is for {suited}")
        given[place] = options[name]
    return RemoteOptions(**given)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
