"""The options that say who plays, and how a program or a server is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from emberbench_dist.agents.registry import is_remote
from emberbench_dist.agents.text import MAX_TIMEOUT_SECONDS, TIMEOUT_SECONDS, RemoteOptions

Command = TypeVar("Command", bound=Callable[..., Any])

_DEFAULT = "greedy"
# Each option that names an agent, and what it puts before its value to make a SPEC.
_NAMING = {"agent": "", "agent_command": "command:"}


def agent_options(command: Command) -> Command:
    """Add --agent, --agent-command and how to ask to a command."""
    command = asking_options(command)
    for option in (
        click.option(
            "--agent-command",
            metavar="CMD",
            help="A program: an observation a line in, a payload a line out.",
        ),
        click.option(
            "--agent",
            metavar="SPEC",
            help="A known name, package.module:factory, or path/to/file.py:factory.  "
            f"[default: {_DEFAULT}]",
        ),
    ):
        command = option(command)
    return command


def asking_options(command: Command) -> Command:
    """Add --agent-timeout to a command."""
    return click.option(
        "--agent-timeout",
        metavar="S",
        type=click.FloatRange(0, MAX_TIMEOUT_SECONDS, min_open=True),
        help=f"Seconds that a program has for each step.  [default: {TIMEOUT_SECONDS:g}]",
    )(command)


def asked_spec(options: dict[str, Any]) -> str:
    """Return the SPEC that is asked for, in whichever way."""
    given = {name: options[name] for name in _NAMING if options[name] is not None}
    if len(given) > 1:
        names = " and ".join(f"--{name.replace('_', '-')}" for name in given)
        raise click.UsageError(f"{names} both name an agent: give one")
    return next((_NAMING[name] + value for name, value in given.items()), _DEFAULT)


def remote_options(spec: str, options: dict[str, Any]) -> RemoteOptions:
    """Return how to ask; refuse what an agent in Python would not heed."""
    given = {
        "timeout_seconds": options["agent_timeout"],
    }
    given = {name: value for name, value in given.items() if value is not None}
    if given and not is_remote(spec):
        raise click.UsageError("--agent-timeout is for --agent-command")
    return RemoteOptions(**given)
