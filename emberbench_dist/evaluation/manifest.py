"""The evaluation manifest: which episodes there are, never expanded in memory."""

from __future__ import annotations

import zlib
from array import array
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path, PurePosixPath
from typing import Any

from emberbench_dist.contract.canonical import canonical_json, parse_json, sha256_hex
from emberbench_dist.contract.document import Node, shown
from emberbench_dist.contract.scenario import (
    MAX_SEED,
    SCENARIO_ID,
    Scenario,
    load_scenario,
    parse_scenario,
    read_document,
)
from emberbench_dist.contract.scenario import broken_rules as scenario_rules
from emberbench_dist.contract.survey import Survey
from emberbench_dist.contract.versions import (
    MANIFEST_VERSION,
    METRICS_VERSION,
    OBSERVATION_VERSION,
    SIMULATOR_VERSION,
)
from emberbench_dist.errors import ManifestError, ScenarioError
from emberbench_dist.evaluation.suites import find_manifest

MAX_EPISODES = 2**63 - 1
HASH = r"[0-9a-f]{64}"
_UNKNOWN = ""  # a scenario whose name a survey does not know


@dataclass(frozen=True, slots=True)
class Episode:
    """One play: its number in the manifest, its scenario and its seed."""

    index: int
    scenario_id: str
    seed: int

    def __reduce__(self) -> tuple[type[Episode], tuple[int, str, int]]:
        """Travel as three values: the pickling of dataclasses is slow, and episodes are many."""
        return Episode, (self.index, self.scenario_id, self.seed)


@dataclass(frozen=True, slots=True)
class Block:
    """Some seeds of one scenario: a range, or an array of unsigned 64-bit integers."""

    scenario_id: str
    seeds: Sequence[int]


@dataclass(frozen=True, slots=True)
class Manifest:
    """A checked manifest with its scenarios; episodes are found by number, never listed.

    `packed` is the document as read, compressed, and `paths` where each scenario was, so that
    a ledger can keep both.
    """

    manifest_id: str
    description: str
    manifest_hash: str
    scenarios: dict[str, Scenario]
    blocks: tuple[Block, ...]
    packed: bytes
    paths: dict[str, str]
    _ends: tuple[int, ...]

    def __len__(self) -> int:
        """Return the number of episodes."""
        return self._ends[-1]

    def documents(self) -> dict[str, bytes]:
        """Return the manifest (`manifest`) and each scenario (`./` path), to restore them."""
        scenarios = {
            f"./{path}": canonical_json(self.scenarios[name].to_dict()).encode()
            for name, path in self.paths.items()
        }
        return {"manifest": zlib.decompress(self.packed), **scenarios}

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

    def runs(self, episodes: range) -> Iterator[tuple[str, Sequence[int]]]:
        """Yield scenario id and seeds of consecutive episodes, as many at a time as have one."""
        first = episodes.start
        for number in range(bisect_right(self._ends, first), len(self.blocks)):
            if first >= episodes.stop:
                return
            block, end = self.blocks[number], min(self._ends[number], episodes.stop)
            start = self._ends[number] - _size(block)
            yield block.scenario_id, block.seeds[first - start : end - start]
            first = end


def load_manifest(path: str | Path) -> Manifest:
    """Read a manifest file, or a built-in one by name, with its scenarios.

    `ManifestError` or `ScenarioError` name file, place and rule.
    """
    path = find_manifest(path)
    return parse_manifest(_text(path), path.parent, source=str(path))


def _text(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ManifestError(f"{path}: cannot be read: {error.strerror}") from error


def parse_manifest(text: bytes, folder: Path, *, source: str) -> Manifest:
    """Check a manifest's text with its scenarios, which are in a folder."""
    return _parse(text, source, lambda place: load_scenario(_inside(place, folder)))


def restore_manifest(text: bytes, scenarios: Mapping[str, bytes], *, source: str) -> Manifest:
    """Check a manifest again that was kept with its scenarios, by path, in a ledger."""

    def kept(place: Node) -> Scenario:
        name = f"./{place.text()}"
        if name not in scenarios:
            place.fail("is not among the scenarios that were kept")
        return parse_scenario(parse_json(scenarios[name]), source=place.value)

    return _parse(text, source, kept)


def broken_rules(path: str | Path) -> list[str]:
    """Return every rule that a manifest and its scenarios break, each with its place.

    None are broken where `load_manifest` accepts the manifest. `ManifestError` for a file that
    is no JSON.
    """
    path = find_manifest(path)
    survey = Survey.of(_document(_text(path), str(path)))
    _read(survey, lambda place: _surveyed(place, path.parent))
    return survey.findings


def _surveyed(place: Node, folder: Path) -> Scenario | None:
    """Return a scenario, or note what is wrong with it where the manifest names it."""
    file = _inside(place, folder)
    try:
        document = read_document(file)
    except ScenarioError as error:
        place.fail(str(error))
    rules = scenario_rules(document)
    for rule in rules:
        place.breaks(f"{file}: {rule}")
    return None if rules else parse_scenario(document, source=str(file))


def _parse(text: bytes, source: str, scenario_at: Callable[[Node], Scenario]) -> Manifest:
    root = Node(_document(text, source), source, ManifestError)
    name, description, paths, scenarios, blocks = _read(root, scenario_at)
    return Manifest(
        manifest_id=name,
        description=description,
        manifest_hash=_manifest_hash(root.value),
        scenarios=scenarios,
        blocks=blocks,
        packed=zlib.compress(text, 1),
        paths=paths,
        _ends=tuple(accumulate(map(_size, blocks))),
    )


def _document(text: bytes, source: str) -> Any:
    try:
        return parse_json(text)
    except ValueError as error:
        raise ManifestError(f"{source}: {error}") from error


def _read(
    root: Node, scenario_at: Callable[[Node], Scenario | None]
) -> tuple[str, str, dict[str, str], dict[str, Scenario], tuple[Block, ...]]:
    """Check a manifest; return id, description, path and scenario by scenario id, and blocks."""
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
            node.breaks(f"is {node.value!r}, but this program runs {running!r}")
    paths, scenarios = _parse_scenarios(scenario_list, scenario_at)
    blocks = _parse_blocks(block_list, paths)
    return name.match(SCENARIO_ID), description.text(), paths, scenarios, blocks


def _manifest_hash(document: dict[str, Any]) -> str:
    """Hash the document without its description and without any path."""
    kept = {key: value for key, value in document.items() if key != "description"}
    kept["scenarios"] = [
        {key: value for key, value in entry.items() if key != "path"}
        for entry in document["scenarios"]
    ]
    return sha256_hex(canonical_json(kept))


def _parse_scenarios(
    node: Node, scenario_at: Callable[[Node], Scenario | None]
) -> tuple[dict[str, str], dict[str, Scenario]]:
    """Return path and scenario by scenario id."""
    paths: dict[str, str] = {}
    scenarios: dict[str, Scenario] = {}
    for item in node.items(least=1):
        name, digest, path = item.members("scenario_id", "scenario_hash", "path")
        scenario_id = name.attempt(partial(name.match, SCENARIO_ID))
        if scenario_id in paths:
            name.breaks(f"scenario {scenario_id!r} is listed twice")
            scenario_id = None
        digest.match(HASH)
        scenario = path.attempt(partial(scenario_at, path))
        if scenario_id is None:  # in a survey; the file may know it
            scenario_id = scenario.scenario_id if scenario else _UNKNOWN
        paths[scenario_id] = path.text()
        if scenario is None:
            continue
        if scenario.scenario_id != scenario_id:
            path.breaks(f"holds scenario {scenario.scenario_id!r}, not {scenario_id!r}")
        elif scenario.scenario_hash != digest.value:
            digest.breaks(
                f"does not match {path.value}, which has the hash {scenario.scenario_hash}"
            )
        scenarios[scenario_id] = scenario
    return paths or {_UNKNOWN: ""}, scenarios


def _inside(node: Node, folder: Path) -> Path:
    """Require a relative path that stays inside the manifest's folder, links followed."""
    told = node.text()
    plain = PurePosixPath(told)
    if not told or "\0" in told or plain.is_absolute() or ".." in plain.parts:
        node.fail(f"must be a path inside the manifest's folder, got {node.value!r}")
    path = folder / plain
    try:
        inside = path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links; no name for a file
        node.fail(f"{shown(node.value)} is no file: {error}")
    if not inside:
        node.fail(f"{node.value!r} leaves the manifest's folder through a link")
    return path


def _parse_blocks(node: Node, listed: Collection[str]) -> tuple[Block, ...]:
    """Return the blocks; in a survey those that break no rule by themselves."""
    found: list[tuple[Node, Block]] = []
    for item in node.items(least=1):
        block = item.attempt(partial(_parse_block, item, listed))
        if block is not None:
            found.append((item, block))
    _require_different_seeds(found)
    blocks = tuple(block for _, block in found)
    episodes = sum(map(_size, blocks))
    if episodes > MAX_EPISODES:
        node.breaks(f"plans {episodes} episodes; {MAX_EPISODES} are the most")
    return blocks


def _parse_block(node: Node, listed: Collection[str]) -> Block:
    name, seeds = node.members("scenario_id", "seeds")
    scenario_id = name.text()
    if scenario_id not in listed and _UNKNOWN not in listed:
        name.breaks(f"scenario {scenario_id!r} is not listed under scenarios")
    if isinstance(seeds.value, dict):
        first, count = seeds.attempt(partial(_parse_range, seeds)) or (0, 1)
        if first + count - 1 > MAX_SEED:
            seeds.breaks("goes past the largest seed, 2**64 - 1")
        return Block(scenario_id, range(first, first + count))
    found = array("Q", (item.integer(0, MAX_SEED) for item in seeds.items(least=1)))
    return Block(scenario_id, found)


def _parse_range(node: Node) -> tuple[int, int]:
    first, count = node.members("first", "count")
    return first.integer(0, MAX_SEED), count.integer(1, MAX_SEED)


def _size(block: Block) -> int:
    """Return the number of seeds, also where `len` of a range would overflow."""
    seeds = block.seeds
    return seeds[-1] - seeds[0] + 1 if isinstance(seeds, range) else len(seeds)


def _require_different_seeds(blocks: Sequence[tuple[Node, Block]]) -> None:
    """Require that no (scenario, seed) pair occurs twice, without expanding a range."""
    spans: dict[str, list[tuple[int, int, int]]] = {}
    for number, (_, block) in enumerate(blocks):
        known = spans.setdefault(block.scenario_id, [])
        if isinstance(block.seeds, range):
            known.append((block.seeds[0], block.seeds[-1], number))
        else:
            known.extend((seed, seed, number) for seed in block.seeds)
    for scenario_id, known in spans.items():
        known.sort()
        for (_, last, _), (first, _, number) in pairwise(known):
            if first <= last:
                node, _ = blocks[number]
                node.breaks(f"seed {first} of scenario {scenario_id!r} is planned twice")
