"""The pages do what they say: every command and example in them is run.

The word after a block's language says what becomes of it:

| fence | what the test does |
| --- | --- |
| `console` | runs each line after `$ `, and compares what follows it with what is printed |
| `console ctrl-c` | the same, and presses Ctrl-C at the first result; numbers may differ |
| `console setup` | does not run it; it needs a network, or is these tests |
| `python` | runs it |
| `text output` | compares it with what the block before it printed |
| `python NAME`, `json NAME` | saves it under that name |

The blocks of a page share a folder and run in order. In expected output a line `...` stands for
any lines; speed, time, white space and the lines of tables are not compared.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from worlds import actions, simulator

from emberbench_dist.agents.conformance import RULES
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.tables import TABLES
from emberbench_dist.cli.run import command as run_command
from emberbench_dist.contract import versions
from emberbench_dist.contract.canonical import parse_json
from emberbench_dist.errors import LedgerError
from emberbench_dist.evaluation.manifest import load_manifest
from emberbench_dist.evaluation.metrics import FLOAT_METRICS, INTEGER_METRICS
from emberbench_dist.evaluation.suites import built_in_manifests

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
QUICKSTART = ROOT / "scripts" / "quickstart"
SETUP = {"scripts/test", ". .venv/bin/activate"}

FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)]*)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
RATE = re.compile(
    r"[\d.,]+(?= episodes/s)|(?<=episodes/s │ )[\d.,]+|"
    r"(?<=time in episodes │ )[\d.,]+|(?<=spent: )[\d.,]+|(?<=attempts, )[\d.,]+"
)
PROGRESS = re.compile(r"\d+ of \d+ episodes(?:, .*)?")
BOX = re.compile("[─━┏┓└┘┡┩┳╇┴]+")


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    place: str
    language: str
    mark: str
    text: str

    def commands(self) -> Iterator[tuple[str, str]]:
        """Yield each command of a console block and the output shown under it."""
        first, *parts = re.split(r"^\$ ", self.text, flags=re.MULTILINE)
        assert not first, f"{self.place}: a console block starts with `$ `"
        for part in parts:
            line, _, shown = part.partition("\n")
            yield line, shown


def blocks_of(page: Path) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            f"{page.name}:{text.count(chr(10), 0, match.start()) + 1}",
            match[1],
            match[2] or "",
            match[3],
        )
        for match in FENCE.finditer(text)
    ]


class Reader:
    """Somebody who follows a page in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        """Lay out what a checkout has: manifests, scripts, an environment to install in."""
        self.folder = folder
        self.printed = ""
        (folder / "manifests").symlink_to(ROOT / "manifests")
        (folder / "scripts").mkdir()
        for script in (QUICKSTART, ROOT / "scripts" / "generate_suite"):
            (folder / "scripts" / script.name).symlink_to(script)
        # Quickstart's `python -m pip install` does nothing here; its dist-eval is the real one.
        environment = folder / ".venv" / "bin"
        environment.mkdir(parents=True)
        write_script(environment / "python", '[ "$1 $2 $3" = "-m pip install" ]')
        (environment / "dist-eval").symlink_to(BIN / "dist-eval")

    def follow(self, block: Block) -> None:
        """Do what a block says."""
        match block.language, block.mark:
            case ("python", "") | ("console", "" | "ctrl-c" | "setup"):
                getattr(self, f"_{block.language}")(block)
            case "text", "output":
                require_same(block.place, block.text, self.printed)
            case "python" | "json", name if name:
                (self.folder / name).write_text(block.text)
            case "json", "":
                parse_json(block.text)
            case language, mark:
                assert (language, mark) == ("text", ""), f"{block.place}: unknown kind of block"

    def _python(self, block: Block) -> None:
        (self.folder / "example.py").write_text(block.text)
        code = self._run([sys.executable, "example.py"])
        assert code == 0, f"{block.place}: exit code {code}\n{self.printed}"

    def _console(self, block: Block) -> None:
        for line, shown in block.commands():
            if block.mark == "setup":
                assert line in SETUP, f"{block.place}: {line} is to be run"
                continue
            interrupted = block.mark == "ctrl-c"
            code = self._run(["bash", "-o", "pipefail", "-c", line], interrupt=interrupted)
            assert code == (130 if interrupted else 0), f"{block.place}: {line}\n{self.printed}"
            require_same(block.place, shown, self.printed, numbers=not interrupted)

    def _run(self, arguments: list[str], *, interrupt: bool = False) -> int:
        """Run a command, keep what it prints on both streams, return its exit code."""
        environment = {
            **os.environ,
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "COLUMNS": "80",
            "PYTHONUTF8": "1",
            "PYTHONUNBUFFERED": "1",
        }
        known = self._ledgers()
        process = subprocess.Popen(
            arguments,
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        with process:
            if interrupt:
                self._wait_for_a_result(process, known)
                process.send_signal(signal.SIGINT)
            self.printed = process.communicate()[0]
        return process.returncode

    def _wait_for_a_result(self, process: subprocess.Popen[str], known: set[Path]) -> None:
        """Wait until a run that is not `known` has committed an episode."""
        while process.poll() is None:
            if any(committed(ledger) for ledger in self._ledgers() - known):
                return
            time.sleep(0.01)

    def _ledgers(self) -> set[Path]:
        return set(self.folder.glob("results/**/ledger.sqlite"))


def write_script(path: Path, command: str) -> None:
    """Write a shell script of one command."""
    path.unlink(missing_ok=True)
    path.write_text(f"#!/bin/sh\n{command}\n")
    path.chmod(0o755)


def committed(ledger: Path) -> int:
    """Return the number of episodes of a running driver's ledger."""
    try:
        with Ledger.reading(ledger) as reading:
            return reading.prefix()
    except LedgerError:  # it is being created
        return 0


def require_same(place: str, shown: str, printed: str, *, numbers: bool = True) -> None:
    """Compare what a page shows with what was printed."""
    pattern = "".join(
        r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"\n"
        for line in comparable(shown, numbers=numbers)
    )
    found = "".join(f"{line}\n" for line in comparable(printed, numbers=numbers))
    assert re.fullmatch(pattern, found), f"{place} shows\n{shown}\nbut this was printed\n{printed}"


def comparable(text: str, *, numbers: bool) -> list[str]:
    """Return lines without what differs from run to run, and without the lines of tables."""
    lines = (BOX.sub(" ", line) for line in text.splitlines() if not PROGRESS.fullmatch(line))
    plain = (RATE.sub("N", " ".join(line.split())) for line in lines)
    return [line if numbers else re.sub(r"\d[\d.,]*", "N", line) for line in plain if line]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_and_example_of_a_page_does_what_the_page_shows(page, tmp_path):
    """Whoever follows a page from top to bottom sees what the page shows."""
    reader = Reader(tmp_path)
    for block in blocks_of(page):
        reader.follow(block)


def test_the_pages_have_examples_of_every_kind():
    """A fence that the pattern misses would be an example that nobody runs."""
    for page in PAGES:
        fences = re.findall(r"^ *(?:```|~~~)", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert len(fences) == 2 * len(blocks_of(page)), page.name
    kinds = {(block.language, block.mark) for page in PAGES for block in blocks_of(page)}
    assert kinds >= {("console", ""), ("console", "ctrl-c"), ("python", ""), ("text", "output")}


@pytest.mark.parametrize("name", ["quickstart", "test"])
def test_a_script_is_valid_bash_and_executable(name):
    """Both commands of the readme start."""
    script = ROOT / "scripts" / name
    assert os.access(script, os.X_OK)
    checked = subprocess.run(["bash", "-n", script], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.parametrize(
    ("is_run", "said"), [(False, "called with ()"), (True, "called with (--resume)")]
)
def test_quickstart_resumes_a_run_that_is_there(is_run, said, tmp_path):
    """The first call evaluates; one that finds a run goes on with it."""
    Reader(tmp_path)
    write_script(tmp_path / ".venv" / "bin" / "dist-eval", 'echo "called with ($*)"')
    if is_run:
        (tmp_path / "results" / "public-v1" / "greedy").mkdir(parents=True)
        (tmp_path / "results" / "public-v1" / "greedy" / "ledger.sqlite").touch()
    printed = subprocess.check_output([tmp_path / "scripts" / "quickstart"], text=True)
    assert printed.startswith(f"{said}\n\nresults/public-v1/greedy holds every episode")


def test_quickstart_ends_like_the_evaluation_that_it_starts(tmp_path):
    """Where the evaluation fails, its exit code is quickstart's, and nothing is promised."""
    Reader(tmp_path)
    write_script(tmp_path / ".venv" / "bin" / "dist-eval", "exit 3")
    result = subprocess.run(
        [tmp_path / "scripts" / "quickstart"], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stdout, result.stderr) == (3, "", "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_leads_somewhere_inside_the_project(page):
    """A link names a file of the project, and a heading that is in it."""
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        assert path.is_file(), f"{page.name}: {target}"
        assert path.is_relative_to(ROOT), f"{page.name}: {target}"
        assert not anchor or anchor in anchors(path), f"{page.name}: {target}"


def anchors(page: Path) -> set[str]:
    """Return what a link to a heading of the page is called."""
    headings = HEADING.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_readme_leads_to_every_page():
    """No page is left out of the readme's table."""
    linked = set(LINK.findall((ROOT / "README.md").read_text(encoding="utf-8")))
    assert {page.relative_to(ROOT).as_posix() for page in PAGES[1:]} <= linked


@pytest.mark.parametrize("page", [*PAGES, QUICKSTART], ids=lambda page: page.stem)
def test_a_page_speaks_of_the_project_alone(page):
    """No page names a tracker's entry, a host, or a place on somebody's machine."""
    text = page.read_text(encoding="utf-8").removeprefix("#!/usr/bin/env bash\n")
    forbidden = {
        "a tracker's entry": r"\bissues?\b|#\d",
        "a host": r"\b[\w-]+\.(?:org|com|net|io|dev|ai)\b|://(?!localhost:)",
        "a place on a machine": r"(?<![\w.>*-])/(?:\w+/)|~/",
        "a place outside": r"\.\./(?!README|CHANGELOG|LICENSE)",
    }
    for what, pattern in forbidden.items():
        found = re.search(pattern, text, re.IGNORECASE)
        assert found is None, f"{page.name} names {what}: {found}"


def test_the_columns_are_those_of_the_tables():
    """The list of Parquet columns is generated from the tables' definition."""
    page = (ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")
    expected = f"<!-- columns -->\n{columns()}\n\n<!-- end of columns -->"
    assert expected in page, f"docs/evaluation.md must have\n{expected}"


def columns() -> str:
    """Return the list of Parquet columns as a page shows it."""
    tables = (
        [
            f"\n`{table.name}.parquet`:\n",
            "| column | type | unit | meaning |",
            "| --- | --- | --- | --- |",
            *(
                f"| `{column.name}` | {column.type} | {column.unit} | {column.meaning} |"
                for column in table.columns
            ),
        ]
        for table in TABLES
    )
    return "\n".join(line for table in tables for line in table)


def rows_under(page: str, heading: str) -> list[list[str]]:
    """Return the cells of all table rows in a page's section."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_metric_is_explained():
    """The table of metrics has all of them, in the order of the Parquet columns."""
    names = [row[0].strip("`") for row in rows_under("evaluation.md", "Metrics")]
    assert names == ["metric", "---", *INTEGER_METRICS, *FLOAT_METRICS]


def test_every_rule_of_the_check_is_listed():
    """The table of rules has all of them, as the check reports them."""
    listed = rows_under("model-interface.md", "Check your agent")[2:]
    assert listed == [[f"`{rule.id}`", str(rule.section), rule.text] for rule in RULES]


def test_every_option_is_explained():
    """The table of `dist-eval run` has every argument and option of the command."""
    explained = " ".join(row[0] for row in rows_under("evaluation.md", "Running"))
    for parameter in run_command.params:
        name = parameter.opts[0] if isinstance(parameter, click.Option) else "MANIFEST"
        assert re.search(rf"`{name}\b", explained), name


def test_every_version_is_named():
    """The table of versions has the numbers of the program."""
    named = dict(rows_under("formats.md", "Versions")[2:])
    assert named == {
        "simulator": versions.SIMULATOR_VERSION,
        "scenario schema": versions.SCENARIO_SCHEMA_VERSION,
        "observation": versions.OBSERVATION_VERSION,
        "action payload": versions.ACTION_SCHEMA_VERSION,
        "run record": versions.RECORD_VERSION,
        "manifest": versions.MANIFEST_VERSION,
        "metrics": versions.METRICS_VERSION,
        "artifact": versions.ARTIFACT_VERSION,
    }


@pytest.mark.parametrize("name", built_in_manifests())
def test_every_built_in_manifest_is_listed_with_its_size(name):
    """The page says how many episodes a built-in manifest has."""
    (row,) = [row for row in rows_under("evaluation.md", "Running") if row[0] == "`MANIFEST`"]
    size = len(load_manifest(built_in_manifests()[name]))
    assert re.search(rf"`{name}` \({size}\b", row[2])


COLLISIONS = [row for row in rows_under("simulation.md", "Collisions") if "`" in row[1]]


@pytest.mark.parametrize("row", COLLISIONS, ids=lambda row: row[0])
def test_a_drawn_collision_ends_as_drawn(row):
    """Each drawing of the collision table, played, gives the outcome beside it."""
    case, drawing, intent, outcome = (cell.replace("`", "") for cell in row)
    world = simulator(
        drawing.replace(" / ", "\n"), enter_fire="blocked" if "blocked" in case else "casualty"
    )
    record = world.step(actions(intent))
    assert ", ".join(f"{move.id} {move.outcome}" for move in record.movements) == outcome
