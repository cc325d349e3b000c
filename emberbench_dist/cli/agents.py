"""`dist-eval agents`: what a SPEC may name."""

from __future__ import annotations

import click

from emberbench_dist.agents.registry import known_agents


@click.command(name="agents")
def command() -> None:
    """List the agents known by name, built in or of installed packages."""
    agents = known_agents()
    width = max(map(len, agents), default=0)
    for name, entry in agents.items():
        click.echo(f"{name:<{width}}  {entry.value}")
