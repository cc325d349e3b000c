"""The reference results: every built-in agent on a manifest, and the pages made from them.

What is there already is not played again. `--check` plays a sample again, or with `--all`
everything, and compares bytes; it writes nothing. `--costs` measures what decisions cost, which
is not the same on each machine, for docs/baselines.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from functools import cache, partial
from hashlib import sha256
from math import inf
from pathlib import Path
from shutil import copyfile

from fire_known import best_possible
from reference_folders import folder_faults, origin, page, summary
from reference_pages import changed_pages, costs, with_blocks

from emberbench_dist import evaluate_distributed, load_manifest
from emberbench_dist.agents.interface import FreshAgents
from emberbench_dist.agents.registry import load_agent
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.evaluation.episode import EpisodeResult, Player
from emberbench_dist.evaluation.manifest import Manifest
from emberbench_dist.evaluation.verify import Verifier
from emberbench_dist.runner.pool import InProcessPool
from emberbench_dist.runner.verify import verify_files

ROOT = Path(__file__).resolve().parent.parent

BASELINES = (
    *("stay", "counting", "shuffle", "greedy"),
    *("fire-aware", "flow", "lookahead", "reserve"),
)
# Of the sample: the agent that is played on every map, and for the others the most cells.
_EVERYWHERE, _MOST_CELLS = "greedy", 1500


def main() -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("manifest", nargs="?", default="public-v1", help="default: %(default)s")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument("--all", action="store_true", help="check every episode")
    parser.add_argument("--costs", action="store_true", help="measure costs, nothing else")
    parser.add_argument("--results", type=Path, default=ROOT / "results", help="their folder")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="the pages' folder")
    options = parser.parse_args()
    manifest = load_manifest(options.manifest)
    if options.check:
        found = list(faults(options, manifest))
        print("".join(f"{fault}\n" for fault in found), end="", file=sys.stderr)
        return 1 if found else 0
    if options.costs:
        tables = options.docs / "baselines.md"
        pages = {tables: with_blocks(tables, costs=costs(manifest, BASELINES))}
    else:
        make(manifest, options.results)
        verify(manifest, options.results)
        pages = pages_of(manifest, options.results, options.docs)
    for path, text in pages.items():
        path.write_text(text, encoding="utf-8")
    return 0


def faults(options: argparse.Namespace, manifest: Manifest) -> Iterator[str]:
    """Yield what is not as it would be made."""
    folder = reference(manifest, options.results)
    broken = [fault for name in BASELINES for fault in folder_faults(manifest, name, folder / name)]
    yield from broken
    if not broken:
        yield from differences(options, manifest)
        verify(manifest, options.results)
        for path in pages_of(manifest, options.results, options.docs):
            yield f"{path}: is not what the results give"


def reference(manifest: Manifest, results: Path) -> Path:
    """Return where the reference results of a manifest are."""
    return results / "reference" / manifest.manifest_id


def submissions(manifest: Manifest, results: Path) -> list[Path]:
    """Return the folders of what others have submitted."""
    found = (results / "submissions" / manifest.manifest_id).glob("*/artifact.jsonl")
    return sorted(path.parent for path in found)


def pages_of(manifest: Manifest, results: Path, docs: Path) -> dict[Path, str]:
    """Return the pages that the results change."""
    folder = reference(manifest, results)
    folders = [*(folder / name for name in BASELINES), *submissions(manifest, results)]
    bounds = json.loads((folder / "fire-known.json").read_text())["mean_evacuation_rate"]
    return changed_pages(manifest, folders, bounds, docs)


def make(manifest: Manifest, results: Path) -> None:
    """Play what is missing on all cores, and write its folders."""
    folder = reference(manifest, results)
    for name in BASELINES:
        if not is_of(manifest, folder / name / "run.json"):
            # A run that was stopped goes on; those of other manifests are elsewhere.
            run = results / "playing" / manifest.manifest_hash[:12] / name
            evaluate_distributed(manifest, name, run, resume=True, steps=False)
            write(manifest, name, RunFolder(run), folder / name)
    bounds = folder / "fire-known.json"
    if not is_of(manifest, bounds):
        rates = best_possible(manifest)
        told = {"manifest_hash": manifest.manifest_hash, "mean_evacuation_rate": rates}
        bounds.write_text(page(told), encoding="utf-8")


def is_of(manifest: Manifest, document: Path) -> bool:
    """Say whether a document is there and speaks of this very manifest."""
    known = json.loads(document.read_text()) if document.is_file() else {}
    return bool(known.get("manifest_hash") == manifest.manifest_hash)


def write(manifest: Manifest, name: str, run: RunFolder, folder: Path) -> None:
    """Write what is kept of a run."""
    folder.mkdir(parents=True, exist_ok=True)
    artifact, traces = run.artifact.read_bytes(), sha256(run.traces.read_bytes())
    copyfile(run.artifact, folder / "artifact.jsonl")
    for kind, document in (
        ("summary", summary(artifact, traces.hexdigest())),
        ("run", origin(manifest, name, artifact)),
    ):
        (folder / f"{kind}.json").write_text(page(document), encoding="utf-8")


def verify(manifest: Manifest, results: Path) -> None:
    """Replay every submission; `ArtifactError` for one that is not what its traces give."""
    for folder in submissions(manifest, results):
        run, pool = RunFolder(folder), InProcessPool(Verifier(manifest.scenarios).verify)
        verify_files(manifest, run.artifact, run.traces, partial(nullcontext, pool))


def sample(manifest: Manifest, name: str) -> list[int]:
    """Return the episodes that are played again to check a baseline.

    Of one, which is quick, the first and the last of each scenario; of the others the first of
    each scenario on a small map.
    """
    spans: dict[str, list[int]] = {}
    for index in range(len(manifest)):
        spans.setdefault(manifest.episode(index).scenario_id, []).append(index)
    if name == _EVERYWHERE:
        return [index for span in spans.values() for index in (span[0], span[-1])]
    maps = {scenario: manifest.scenarios[scenario].map for scenario in spans}
    return [
        spans[scenario][0]
        for scenario, world in maps.items()
        if world.width * world.height <= _MOST_CELLS
    ]


def differences(options: argparse.Namespace, manifest: Manifest) -> Iterator[str]:
    """Yield which episodes are others when they are played again."""
    for name in BASELINES:
        artifact = reference(manifest, options.results) / name / "artifact.jsonl"
        lines = artifact.read_bytes().splitlines()[1:-1]
        chosen = range(len(manifest)) if options.all else sample(manifest, name)
        with ProcessPoolExecutor() as pool:
            play = partial(played, options.manifest, name)
            for index, line in zip(chosen, pool.map(play, chosen, chunksize=5), strict=True):
                if lines[index : index + 1] != [line]:
                    yield f"{artifact}: line {index + 2} (episode {index}) is not what is played"


def played(manifest: str, name: str, index: int) -> bytes:
    """Play an episode; return its artifact line, without newline."""
    known = _loaded(manifest)
    player = Player(known.scenarios, FreshAgents(load_agent(name)))
    (result,) = player.play([known.episode(index)], inf)
    assert isinstance(result, EpisodeResult), result
    return result.line


_loaded = cache(load_manifest)
