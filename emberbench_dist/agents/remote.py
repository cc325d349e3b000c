"""Agents that need no Python of the evaluator's: a program, and how SPEC and options name it."""

from __future__ import annotations

from functools import partial

from emberbench_dist.agents.command import CommandAgent, split_command
from emberbench_dist.agents.interface import AgentFactory
from emberbench_dist.agents.text import RemoteOptions, TextAgent

__all__ = ["CommandAgent", "RemoteOptions", "TextAgent", "remote_factory"]


def remote_factory(kind: str, target: str, options: RemoteOptions) -> AgentFactory:
    """Return the factory of a SPEC `command:CMD`; `AgentSpecError` where it leads nowhere."""
    assert kind == "command"
    split_command(target)
    return partial(CommandAgent, target, timeout_seconds=options.timeout_seconds, log=options.log)
