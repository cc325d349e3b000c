"""The evaluation manifest: which episodes there are, never expanded in memory."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path, PurePosixPath
from typing import Any

from emberbench_dist.contract.canonical import canonical_json, parse_json, sha256_hex
from emberbench_dist.contract.document import Node
from emberbench_dist.contract.scenario import MAX_SEED, SCENARIO_ID, Scenario, load_scenario
from emberbench_dist.contract.versions import (
    MANIFEST_VERSION,
    METRICS_VERSION,
    OBSERVATION_VERSION,
    SIMULATOR_VERSION,
)
from emberbench_dist.errors import ManifestError
from emberbench_dist.evaluation.suites import find_manifest

HASH = r"[0-9a-f]{64}"


@dataclass(frozen=True, slots=True)
class Episode:
    """One play: its number in the manifest, its scenario and its seed."""

    index: int
    scenario_id: str
    seed: int


@dataclass(frozen=True, slots=True)
class Block:
    """Some seeds of one scenario: a range, or an array of unsigned 64-bit integers."""

    scenario_id: str
    seeds: Sequence[int]


@dataclass(frozen=True, slots=True)
class Manifest:
    """A checked manifest with its scenarios; episodes are found by number, never listed."""

    manifest_id: str
    description: str
    manifest_hash: str
    scenarios: dict[str, Scenario]
    blocks: tuple[Block, ...]
    _ends: tuple[int, ...]

    def __len__(self) -> int:
        """Return the number of episodes."""
        return self._ends[-1]

    def episode(self, index: int) -> Episode:
        """Return episode `index`, counted from 0 in block order, then seed order."""
        if not 0 <= index < len(self):
            raise ManifestError(
                f"manifest {self.manifest_id}: there is no episode {index}; "
                f"they are 0 to {len(self) - 1}"
            )
        number = bisect_right(self._ends, index)
        block = self.blocks[number]
        start = self._ends[number] - len(block.seeds)
        return Episode(index, block.scenario_id, block.seeds[index - start])


def load_manifest(path: str | Path) -> Manifest:
    """Read a manifest file, or a built-in one by name, with its scenarios.

    `ManifestError` or `ScenarioError` name file, place and rule.
    """
    path = find_manifest(path)
    try:
        document = parse_json(path.read_bytes())
    except OSError as error:
        raise ManifestError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ManifestError(f"{path}: {error}") from error
    return _parse(Node(document, str(path), ManifestError), path.parent)


def _parse(root: Node, folder: Path) -> Manifest:
    version, name, description, simulator, observation, metrics, scenario_list, block_list = (
        root.members(
            "manifest_version",
            "manifest_id",
            "description",
            "simulator_version",
            "observation_version",
            "metrics_version",
            "scenarios",
            "blocks",
        )
    )
    for node, running in (
        (version, MANIFEST_VERSION),
        (simulator, SIMULATOR_VERSION),
        (observation, OBSERVATION_VERSION),
        (metrics, METRICS_VERSION),
    ):
        if node.text() != running:
            node.fail(f"is {node.value!r}, but this program runs {running!r}")
    scenarios = _parse_scenarios(scenario_list, folder)
    blocks = [_parse_block(node, scenarios) for node in block_list.items(least=1)]
    _require_different_seeds(block_list, blocks)
    return Manifest(
        manifest_id=name.match(SCENARIO_ID),
        description=description.text(),
        manifest_hash=_manifest_hash(root.value),
        scenarios=scenarios,
        blocks=tuple(blocks),
        _ends=tuple(accumulate(len(block.seeds) for block in blocks)),
    )


def _manifest_hash(document: dict[str, Any]) -> str:
    """Hash the document without its description and without any path."""
    kept = {key: value for key, value in document.items() if key != "description"}
    kept["scenarios"] = [
        {key: value for key, value in entry.items() if key != "path"}
        for entry in document["scenarios"]
    ]
    return sha256_hex(canonical_json(kept))


def _parse_scenarios(node: Node, folder: Path) -> dict[str, Scenario]:
    scenarios: dict[str, Scenario] = {}
    for item in node.items(least=1):
        name, digest, path = item.members("scenario_id", "scenario_hash", "path")
        scenario_id = name.match(SCENARIO_ID)
        if scenario_id in scenarios:
            name.fail(f"scenario {scenario_id!r} is listed twice")
        digest.match(HASH)
        scenario = load_scenario(_inside(path, folder))
        if scenario.scenario_id != scenario_id:
            path.fail(f"holds scenario {scenario.scenario_id!r}, not {scenario_id!r}")
        if scenario.scenario_hash != digest.value:
            digest.fail(f"does not match {path.value}, which has the hash {scenario.scenario_hash}")
        scenarios[scenario_id] = scenario
    return scenarios


def _inside(node: Node, folder: Path) -> Path:
    """Require a relative path that stays inside the manifest's folder, links followed."""
    plain = PurePosixPath(node.text())
    if not node.value or "\0" in node.value or plain.is_absolute() or ".." in plain.parts:
        node.fail(f"must be a path inside the manifest's folder, got {node.value!r}")
    path = folder / plain
    if not path.resolve().is_relative_to(folder.resolve()):
        node.fail(f"{node.value!r} leaves the manifest's folder through a link")
    return path


def _parse_block(node: Node, scenarios: dict[str, Scenario]) -> Block:
    name, seeds = node.members("scenario_id", "seeds")
    scenario_id = name.text()
    if scenario_id not in scenarios:
        name.fail(f"scenario {scenario_id!r} is not listed under scenarios")
    if isinstance(seeds.value, dict):
        first_node, count_node = seeds.members("first", "count")
        first, count = first_node.integer(0, MAX_SEED), count_node.integer(1, MAX_SEED)
        if first + count - 1 > MAX_SEED:
            seeds.fail("goes past the largest seed, 2**64 - 1")
        return Block(scenario_id, range(first, first + count))
    found = array("Q", (item.integer(0, MAX_SEED) for item in seeds.items(least=1)))
    return Block(scenario_id, found)


def _require_different_seeds(node: Node, blocks: list[Block]) -> None:
    """Require that no (scenario, seed) pair occurs twice, without expanding a range."""
    spans: dict[str, list[tuple[int, int, int]]] = {}
    for number, block in enumerate(blocks):
        known = spans.setdefault(block.scenario_id, [])
        if isinstance(block.seeds, range):
            known.append((block.seeds[0], block.seeds[-1], number))
        else:
            known.extend((seed, seed, number) for seed in block.seeds)
    for scenario_id, known in spans.items():
        known.sort()
        for (_, last, _), (first, _, number) in pairwise(known):
            if first <= last:
                node.at(number).fail(f"seed {first} of scenario {scenario_id!r} is planned twice")
