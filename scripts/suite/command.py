"""The command line of `scripts/generate_suite`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from emberbench_dist.authoring.page import page
from emberbench_dist.contract.observation import ENTER_FIRE, FIRE_MODELS
from emberbench_dist.contract.scenario import MAX_SEED, parse_scenario
from emberbench_dist.errors import EmberBenchError
from suite.families import FAMILIES
from suite.files import suite_files
from suite.generate import LARGEST, SMALLEST, Wish, generate
from suite.table import table

MANIFESTS = Path(__file__).resolve().parents[2] / "manifests"

_ABOUT = "Write the built-in suite, the same bytes each time; or print a place of a family."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command == "family":
        try:
            write_place(options)
        except EmberBenchError as error:
            parser.exit(2, f"generate_suite: {error}\n")
        except OSError as error:
            parser.exit(2, f"generate_suite: {error.filename}: {error.strerror}\n")
        return 0
    if options.table:
        print(table())
        return 0
    files = suite_files()
    if options.check:
        return check(options.out, files)
    (options.out / "scenarios").mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (options.out / name).write_bytes(text.encode())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="generate_suite", description=_ABOUT)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="compare, write nothing")
    what.add_argument("--table", action="store_true", help="print the table of docs/suite.md")
    parser.add_argument("--out", type=Path, default=MANIFESTS, help="default: %(default)s")
    commands = parser.add_subparsers(dest="command", metavar="family")
    family = commands.add_parser("family", help="print a scenario of a family")
    family.add_argument("family", choices=FAMILIES, metavar="NAME", help=", ".join(FAMILIES))
    family.add_argument(
        "--size", type=int, required=True, help=f"width and height, {SMALLEST} to {LARGEST}"
    )
    family.add_argument("--seed", type=_seed, default=0, help="of all that is drawn; default: 0")
    for name in ("people", "exits", "ignitions"):
        family.add_argument(f"--{name}", type=int, metavar="N", help="default: by the size")
    family.add_argument("--id", dest="name", metavar="ID", help="default: NAME-SEED-SIZExSIZE")
    family.add_argument("--fire-model", choices=FIRE_MODELS, help="default, as all rules: drawn")
    family.add_argument("--probability", type=float, metavar="P", dest="spread_probability")
    family.add_argument("--interval", type=int, metavar="N", dest="spread_interval")
    family.add_argument("--enter-fire", choices=ENTER_FIRE)
    family.add_argument("--exits-flammable", action=argparse.BooleanOptionalAction)
    family.add_argument("--max-steps", type=int, metavar="N", help="default: by the distances")
    family.add_argument("--out", type=Path, metavar="FILE", dest="file", help="default: print it")
    return parser


def _seed(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= MAX_SEED):
        raise argparse.ArgumentTypeError(f"must be from 0 to {MAX_SEED}, got {text!r}")
    return int(text)


def write_place(options: argparse.Namespace) -> None:
    """Print the scenario that the options wish, or write it to a file."""
    names = (
        *("fire_model", "spread_probability", "spread_interval"),
        *("enter_fire", "exits_flammable", "max_steps"),
    )
    rules: dict[str, Any] = {
        name: value for name in names if (value := getattr(options, name)) is not None
    }
    wish = Wish(
        family=options.family,
        size=options.size,
        seed=options.seed,
        people=options.people,
        exits=options.exits,
        ignitions=options.ignitions,
        rules=rules,
        name=options.name,
    )
    document = generate(wish).to_dict()
    parse_scenario(document, source=options.family)
    if options.file is None:
        sys.stdout.write(page(document))
    else:
        options.file.write_bytes(page(document).encode())


def check(folder: Path, files: dict[str, str]) -> int:
    """Return 1, and name the file and line, at the first difference from `files`."""
    for name, text in files.items():
        path = folder / name
        if not path.is_file():
            print(f"{path}: is missing", file=sys.stderr)
            return 1
        found = path.read_bytes()
        if found != text.encode():
            line = first_difference(found, text.encode())
            print(f"{path}: line {line} is not what the suite says", file=sys.stderr)
            return 1
    return 0


def first_difference(found: bytes, expected: bytes) -> int:
    """Return the number, from 1, of the first line that differs."""
    lines = zip_longest(found.split(b"\n"), expected.split(b"\n"))
    return next(number for number, (a, b) in enumerate(lines, start=1) if a != b)
