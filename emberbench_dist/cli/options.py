"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])
Option = Callable[[Any], Any]


def together(*options: Option) -> Callable[[Command], Command]:
    """Return a decorator that adds options to a command; the help has them in this order."""

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


labels_option = click.option(
    "--label", "labels", metavar="NAME", multiple=True, help="A name for each run."
)
metric_option = click.option(
    "--metric",
    metavar="NAME",
    default="evacuation_rate",
    show_default=True,
    help="What differences and scenarios are shown in.",
)
