"""The tables of docs/leaderboard.md and docs/baselines.md, from what is committed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any, NamedTuple

from fire_known import is_exact
from reference_folders import summary

from emberbench_dist.agents.registry import load_agent
from emberbench_dist.analysis import compare
from emberbench_dist.analysis.statistics.comparison import Pairing, Resampled, Row
from emberbench_dist.artifacts.export import export_tables
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.contract.scenario import Scenario
from emberbench_dist.evaluation.manifest import Manifest
from emberbench_dist.simulator.simulator import Simulator

FIRST = "greedy"
# What a submission says of itself.
STATED = ("agent", "by", "cost", "trained_on")
# Names of sizes, and the most cells that a map of that size has.
SIZES = {"to 32 x 32": 32**2, "to 64 x 64": 64**2, "to 128 x 128": 128**2, "larger": 2048**2}


class Entry(NamedTuple):
    """A result: its mean rates, and by scenario (None: over all) how it differs from `greedy`."""

    name: str
    submitted: bool
    planned: float
    committed: float
    rates: Mapping[str, float]
    rows: Mapping[str | None, Row]


def changed_pages(
    manifest: Manifest, folders: Sequence[Path], bounds: Mapping[str, float], docs: Path
) -> dict[Path, str]:
    """Return the text of the pages that are not what the results in these folders give."""
    board, tables = docs / "leaderboard.md", docs / "baselines.md"
    entries = entries_of(manifest, folders)
    planner = {entry.name: entry.rows for entry in entries if not entry.submitted}["reserve"]
    texts = {
        board: with_blocks(
            board,
            board=ranking(entries),
            scenarios=rates(manifest, entries),
            submissions=submissions(folder for folder in folders if is_submitted(folder)),
        ),
        tables: with_blocks(tables, scenarios=bounded(manifest, planner, bounds)),
    }
    return {path: text for path, text in texts.items() if path.read_text(encoding="utf-8") != text}


def with_blocks(page: Path, **blocks: str) -> str:
    """Return a page with what is between the marks `name` and `end of name` replaced."""
    text = page.read_text(encoding="utf-8")
    for name, block in blocks.items():
        start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        whole = f"{start}{block}\n{end}"
        marked = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
        text, count = marked.subn(lambda _, whole=whole: whole, text)
        if count != 1:
            raise SystemExit(f"{page}: must have the marks of {name!r} once")
    return text


def entries_of(manifest: Manifest, folders: Sequence[Path]) -> list[Entry]:
    """Return what the results come to, the best first, each but `greedy` compared with it."""
    with TemporaryDirectory() as place:
        runs = [exported(manifest, folder, Path(place, *folder.parts[-3:])) for folder in folders]
        first = runs[[folder.name for folder in folders].index(FIRST)]
        found = [
            entry_of(manifest, folder, () if run == first else compare(first, run).pairings)
            for folder, run in zip(folders, runs, strict=True)
        ]
    return sorted(found, key=lambda entry: (-entry.planned, entry.name))


def exported(manifest: Manifest, folder: Path, place: Path) -> Path:
    """Write the tables of an artifact elsewhere; return where."""
    run = RunFolder(place)
    run.create()
    export_tables(RunFolder(folder), run, steps=False, manifest=manifest)
    return place


def entry_of(manifest: Manifest, folder: Path, pairings: Sequence[Pairing]) -> Entry:
    """Return what a result comes to."""
    told = summary((folder / "artifact.jsonl").read_bytes(), "")
    mean = told["totals"]["mean_episode_evacuation_rate"] or 0.0
    return Entry(
        name=folder.name,
        submitted=is_submitted(folder),
        planned=mean * told["committed"] / len(manifest),
        committed=mean,
        rates=told["mean_evacuation_rate"],
        rows={row.scenario: row for pairing in pairings for row in pairing.rows},
    )


def ranking(entries: Sequence[Entry]) -> str:
    """Return a line for each result, over all episodes."""
    lines = [
        "| agent | rate | of committed | minus greedy | by episode | by scenario | w/t/l |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for entry in entries:
        cells = [called(entry), f"{entry.planned:.3f}", f"{entry.committed:.3f}"]
        row = entry.rows.get(None)
        if row is None:
            cells += [""] * 4
        else:
            cells += [f"{row.difference_planned:+.3f}", span(row.by_episode), span(row.by_scenario)]
            cells += [f"{row.wins}/{row.ties}/{row.losses}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def called(entry: Entry) -> str:
    """Return the name of a result: a built-in agent's as code, a submission's in bold."""
    return f"**{entry.name}**" if entry.submitted else f"`{entry.name}`"


def is_submitted(folder: Path) -> bool:
    """Say whether a folder is a submission's."""
    return folder.parts[-3] == "submissions"


def submissions(folders: Iterable[Path]) -> str:
    """Return a line for each submission: what it says of itself."""
    lines = [
        f"| **{folder.name}** | {' | '.join(stated(folder / 'submission.json'))} |"
        for folder in folders
    ]
    head = f"| submission | {' | '.join(STATED)} |".replace("_", " ")
    return "\n".join([head, f"| --- |{' --- |' * len(STATED)}", *lines]) if lines else "None yet."


def stated(document: Path) -> list[str]:
    """Return what a submission says, or end with what is wrong with it."""
    try:
        said = json.loads(document.read_text(encoding="utf-8"))
        texts = [said.pop(key) for key in STATED]
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise SystemExit(f"{document}: must be an object with the keys {STATED}") from error
    if said or not all(isinstance(text, str) and text.isprintable() and text for text in texts):
        raise SystemExit(f"{document}: must say in one line each: {', '.join(STATED)}")
    return [text.replace("|", "\\|") for text in texts]


def span(found: Resampled | None) -> str:
    """Return an interval in words."""
    if found is None or found.interval.low is None:
        return "not defined"
    return f"{found.interval.low:+.3f} to {found.interval.high:+.3f}"


def rates(manifest: Manifest, entries: Sequence[Entry]) -> str:
    """Return a line for each scenario: the mean rates of all, in percent."""
    lines = [
        f"| scenario | {' | '.join(map(called, entries))} |",
        f"| --- |{' ---: |' * len(entries)}",
    ]
    for scenario in manifest.scenarios:
        cells = [f"{100 * entry.rates.get(scenario, 0.0):.1f}" for entry in entries]
        lines.append(f"| {scenario} | {' | '.join(cells)} |")
    return "\n".join(lines)


def bounded(manifest: Manifest, rows: Mapping[str | None, Row], bounds: Mapping[str, float]) -> str:
    """Return a line for each scenario: greedy, another, and what nobody can exceed."""
    lines = [
        "| scenario | `greedy` | `reserve` | wins/ties/losses | fire known |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    pairs = {name: rows[name].pairs for name in manifest.scenarios}
    whole = fsum(bounds[name] * pairs[name] for name in pairs) / sum(pairs.values())
    for scenario in (*manifest.scenarios, None):
        row, exact = rows[scenario], scenario is None or is_exact(manifest.scenarios[scenario])
        bound = f"{whole if scenario is None else bounds[scenario]:.3f}"
        cells = [scenario or "all", *(f"{rate:.3f}" for rate in (row.mean_a, row.mean_b))]
        cells += [f"{row.wins}/{row.ties}/{row.losses}", bound if exact else f"≤ {bound}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def costs(manifest: Manifest, names: Sequence[str]) -> str:
    """Return a line for each agent: what a decision costs, by the size of the map."""
    sizes: dict[str, list[Scenario]] = {size: [] for size in SIZES}
    for scenario in manifest.scenarios.values():
        sizes[size_of(scenario)].append(scenario)
    there = {size: scenarios for size, scenarios in sizes.items() if scenarios}
    lines = [f"| agent | {' | '.join(there)} |", f"| --- |{' ---: |' * len(there)}"]
    for name in names:
        cells = [f"{cost(scenarios, load_agent(name)):.1f}" for scenarios in there.values()]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def size_of(scenario: Scenario) -> str:
    """Return to which sizes of maps a scenario's belongs."""
    cells = scenario.map.width * scenario.map.height
    return next(name for name, most in SIZES.items() if cells <= most)


def cost(scenarios: Sequence[Scenario], agent: Callable[[], Any]) -> float:
    """Return the time of decisions over that of the simulator's steps, under seed 1."""
    spent = [0.0, 0.0]
    for scenario in scenarios:
        play, player = Simulator(scenario, 1), agent()
        while not play.state.terminated:
            started = process_time()
            seen = play.observe()
            observed = process_time()
            given = player.act(seen)
            decided = process_time()
            play.step(given)
            spent[0] += decided - observed
            spent[1] += process_time() - decided + observed - started
    return spent[0] / spent[1]
