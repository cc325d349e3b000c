"""The console script: register the commands, and turn every end into an exit code."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

import click
from click_default_group import DefaultGroup

from emberbench_dist import __version__
from emberbench_dist.errors import ClusterError, DiskFullError, EmberBenchError, UploadError

if TYPE_CHECKING:
    from collections.abc import Sequence

COMPLETE, BAD_INPUT, NOT_FINISHED, INTERRUPTED = 0, 2, 3, 130

# What the extra `analysis` brings; without it the other commands work.
_EXTRA = {"jinja2", "matplotlib", "numpy", "pandas", "PIL", "scipy"}

# One file a command, imported only when it is called; the text is its line in the help.
_COMMANDS = {
    "run": "Evaluate an agent on a manifest (the default command).",
    "status": "Say how far a run is.",
    "verify": "Check a result without its agent.",
    "audit": "Play committed episodes again and compare.",
    "record": "Write the run record of a committed episode.",
    "replay": "Check a run record.",
    "compare": "Compare runs on the same scenarios and seeds.",
    "report": "Write one page about one or more runs.",
    "plot": "Draw a figure of one or more runs.",
    "render": "Draw an episode: a picture, an animation, or a page that plays it.",
    "scenario": "Draw, import, show and check scenarios.",
    "manifest": "Build, show and check manifests.",
    "merge": "Join the slices of a run.",
    "publish": "Copy a complete run to an object store or a folder.",
    "export": "Make the Parquet tables again.",
    "repair": "Drop the damaged rows of a ledger.",
    "doctor": "Check machine, folder and cluster before a run.",
    "agents": "List the agents known by name.",
    "check-agent": "Say which rules an agent breaks.",
}


class _Commands(DefaultGroup):  # type: ignore[misc] # click-default-group has no types
    """A group that imports a command when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in order of use."""
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command; an unknown name goes to the default one as an argument."""
        wanted = cmd_name if cmd_name in _COMMANDS else self.default_cmd_name
        if wanted not in self.commands:
            self.add_command(
                import_module(f"emberbench_dist.cli.{wanted.replace('-', '_')}").command
            )
        return super().get_command(ctx, cmd_name)  # type: ignore[no-any-return]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help without importing any command."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(
    cls=_Commands,
    default="run",
    default_if_no_args=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__)
def cli() -> None:
    """Evaluate decision models on EMBERBench, with byte-identical results.

    With no arguments: the manifest public-v1 with the agent greedy on a local Ray, into
    results/public-v1/greedy. `dist-eval run --help` has the options.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0, 1 agent, 2 input, 3 not finished, 130 interrupted."""
    sys.exit(_exit_code(arguments))


def _exit_code(arguments: Sequence[str] | None) -> int:
    try:
        code = cli.main(args=arguments, prog_name="dist-eval", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return BAD_INPUT
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        return INTERRUPTED
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        click.echo(f"Error: this needs {error.name}: install emberbench-dist[analysis]", err=True)
        return BAD_INPUT
    except EmberBenchError as error:
        click.echo(f"Error: {error}", err=True)
        unfinished = isinstance(error, ClusterError | DiskFullError | UploadError)
        return NOT_FINISHED if unfinished else BAD_INPUT
    return code if isinstance(code, int) else COMPLETE
