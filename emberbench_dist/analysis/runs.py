"""Run folders by name or pattern, and what is known of each before a table is read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path

from emberbench_dist.analysis.plan import Plan, block_size
from emberbench_dist.artifacts.durable import read_json
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.parquet import Origin, read_origin
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.errors import ArtifactError, RunFolderError
from emberbench_dist.evaluation.slices import Slice


@dataclass(frozen=True, slots=True)
class Run:
    """One run: how it is called here, who played, what was planned, how much is committed.

    `plan` has the planned episodes, all of the manifest or of the run's slice.
    """

    label: str
    path: Path
    agent: str
    manifest_id: str
    manifest_hash: str
    plan: Plan
    committed: int

    @property
    def episodes(self) -> range:
        """Return the numbers of the planned episodes."""
        return self.plan.episodes

    @property
    def planned(self) -> int:
        """Return the number of planned episodes."""
        return len(self.episodes)

    @property
    def complete(self) -> bool:
        """Say whether every planned episode is committed."""
        return self.committed == self.planned


Runs = str | Path | Run | Iterable[str | Path | Run]


def find_runs(runs: Runs, labels: Sequence[str] | None = None) -> list[Run]:
    """Return the runs of folders or patterns, in order; those of a pattern by name.

    A run is called by its label, or by as many last parts of its path as tell it from the others;
    a `Run` stays what it is. `RunFolderError` for no run, a folder that is named twice, or wrong
    labels; `ArtifactError` for tables that are missing or out of date.
    """
    named = [runs] if isinstance(runs, str | Path | Run) else list(runs)
    if named and labels is None and all(isinstance(run, Run) for run in named):
        return [run for run in named if isinstance(run, Run)]
    folders = _folders(run.path if isinstance(run, Run) else run for run in named)
    names = _ends(folders) if labels is None else _checked(labels, len(folders))
    for folder, name in zip(folders, names, strict=True):
        _require_text(folder, name)
    return [_run(folder, name) for folder, name in zip(folders, names, strict=True)]


def require_current(path: Path, table: str) -> Origin:
    """Return what a table tells of its run; `ArtifactError` where it is missing or out of date."""
    folder = RunFolder(path)
    file = folder.table(table)
    if not file.is_file():
        raise ArtifactError(f"{file}: is missing; {remedy(path)}")
    try:
        origin = read_origin(file)
    except ArtifactError as error:
        raise ArtifactError(f"{error}; {remedy(path)}") from error
    if folder.ledger.is_file():
        with Ledger.reading(folder.ledger) as ledger:
            committed = sum(count for _, _, count in ledger.sessions())
        if committed != origin.committed:
            raise ArtifactError(
                f"{file}: is out of date: it has {origin.committed} committed episodes, "
                f"the ledger {committed}; {remedy(path)}"
            )
    return origin


def remedy(path: Path) -> str:
    """Return what to do about a table that cannot be used."""
    return f"`dist-eval export {path}` writes it anew"


def _folders(names: Iterable[str | Path]) -> list[Path]:
    found = [folder for name in names for folder in _matching(name)]
    if not found:
        raise RunFolderError("no run folder is named")
    places = Counter(folder.resolve() for folder in found)
    twice = [folder for folder, count in places.items() if count > 1]
    if twice:
        raise RunFolderError(f"{twice[0]}: is named twice")
    return found


def _matching(name: str | Path) -> list[Path]:
    path = Path(name)
    if path.is_dir():
        return [path]
    if not has_magic(str(name)):
        raise RunFolderError(f"{path}: there is no such run folder")
    found = [Path(match) for match in sorted(glob(str(name), recursive=True))]  # noqa: PTH207 - a Path takes no absolute pattern
    runs = [path for path in found if _holds_run(RunFolder(path))]
    if not runs:
        raise RunFolderError(f"{name}: matches no run folder")
    return runs


def _holds_run(folder: RunFolder) -> bool:
    places = folder.ledger, folder.artifact, folder.table("episodes")
    return any(place.is_file() for place in places)


def _ends(folders: list[Path]) -> list[str]:
    """Return the shortest ends of the paths that are all different."""
    parts = [folder.resolve().parts for folder in folders]
    for length in range(1, max(map(len, parts))):
        ends = ["/".join(path[-length:]) for path in parts]
        if len(set(ends)) == len(ends):
            return ends
    return [str(folder.resolve()) for folder in folders]


def _checked(labels: Sequence[str], runs: int) -> list[str]:
    names = [labels] if isinstance(labels, str) else list(labels)
    if len(names) != runs:
        raise RunFolderError(f"{len(names)} labels are given for {runs} runs")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise RunFolderError(f"the label {twice[0]!r} is given twice")
    return names


def _require_text(folder: Path, name: str) -> None:
    """Refuse a name that no table and no page can hold."""
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise RunFolderError(
            f"{str(folder)!r}: the run's name is not valid UTF-8; give it a label that is"
        ) from error


def _run(path: Path, label: str) -> Run:
    folder = RunFolder(path)
    origin = require_current(path, "episodes")
    if origin.manifest is None:
        raise ArtifactError(
            f"{folder.table('episodes')}: does not tell which episodes are planned; "
            f"`dist-eval export {path} --manifest M` writes it anew"
        )
    document = json.loads(origin.manifest)
    total = sum(map(block_size, document["blocks"]))
    told = read_json(folder.run_json).get("agent_spec") or origin.agent_spec
    return Run(
        label=label,
        path=path,
        agent=str(told or "unknown"),
        manifest_id=origin.manifest_id,
        manifest_hash=origin.manifest_hash,
        plan=Plan(document, Slice.parse(origin.slice).episodes(total)),
        committed=origin.committed,
    )
