"""Publish a complete run: what is copied, and the process that does it.

A store's library may hang, or abort the interpreter at its end. So it works in a process of its
own, which is given up when it is silent for too long, and no exit code depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emberbench_dist.apart import Send, apart
from emberbench_dist.artifacts.artifact import require_sound
from emberbench_dist.artifacts.durable import read_json
from emberbench_dist.artifacts.publishing.copying import claim, copy, local_file
from emberbench_dist.artifacts.publishing.place import Place
from emberbench_dist.artifacts.publishing.stores import open_store
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.artifacts.tables import TABLE
from emberbench_dist.errors import PublishError, RunFolderError, UploadError
from emberbench_dist.evaluation.slices import Slice

# A chunk of a file goes over any line within it.
PATIENCE_SECONDS = 120.0
_OPTIONAL = {"steps", "failures"}
_BINDING = ("manifest_id", "manifest_hash", "agent_spec", "slice")


@dataclass(frozen=True, slots=True)
class Published:
    """What a publication did: names of all files, which of them were copied, and their bytes."""

    files: tuple[str, ...]
    copied: tuple[str, ...]
    size: int


@dataclass(frozen=True, slots=True)
class _Task:
    place: Place
    run: dict[str, Any]
    paths: list[Path]
    names: list[str]
    overwrite: bool


def check_place(place: Place, folder: RunFolder) -> None:
    """Require that the run of a folder, begun or not, may go to a place that can be written.

    The place then has a `published.json` that lists what it listed before, or nothing.
    """
    run = _identity(read_json(folder.run_json))
    with _told_of(place, PublishError):
        for _ in apart(_check, place, run, _names(folder), patience=PATIENCE_SECONDS):
            pass


def publish(folder: RunFolder, place: Place, *, overwrite: bool = False) -> Published:
    """Copy a complete run to a place; what is there already is read back and left.

    `RunFolderError` where there is no complete run, `ArtifactError` where its artifact is damaged,
    `PublishError` where the place is another run's (unless `overwrite`) or cannot be used,
    `UploadError` where copying did not come to its end: calling it again goes on.
    """
    run, paths = _complete(folder)
    if place.scheme == "file" and Path(place.path).resolve() == folder.path.resolve():
        raise PublishError(f"{place.url}: is the run folder itself; choose another place")
    task = _Task(place, run, paths, _names(folder), overwrite)
    with _told_of(place, UploadError):
        *_, done = apart(_publish, task, patience=PATIENCE_SECONDS)
    assert isinstance(done, Published)
    return done


def _check(send: Send, place: Place, run: dict[str, Any] | None, names: list[str]) -> None:
    del send
    claim(open_store(place), run, names)


def _publish(send: Send, task: _Task) -> None:
    store = open_store(task.place)
    claim(store, task.run, task.names, overwrite=task.overwrite)
    try:
        files = [local_file(path, send) for path in task.paths]
        copied = copy(store, task.run, files, task.names, send)
    except PublishError as error:
        raise UploadError(str(error)) from error
    names = tuple(file.name for file in files)
    send(Published(names, tuple(copied), sum(file.size for file in files)))


@contextmanager
def _told_of(place: Place, kind: type[PublishError]) -> Iterator[None]:
    """Name the place in every error; what the process itself did is an error of some kind."""
    try:
        yield
    except PublishError as error:
        raise type(error)(f"{place.url}: {error}") from error
    except (TimeoutError, ChildProcessError) as error:
        raise kind(f"{place.url}: {error}") from error


def _complete(folder: RunFolder) -> tuple[dict[str, Any], list[Path]]:
    """Return which run a folder holds, and its files, artifact first and run.json last."""
    known = read_json(folder.run_json)
    run = _identity(known)
    if run is None:
        raise RunFolderError(f"{folder.path}: there is no run here, or its run.json is damaged")
    if folder.in_use():
        raise RunFolderError(f"{folder.path}: a driver is at work there; publish it afterwards")
    if known.get("outcome") != "complete":
        raise RunFolderError(
            f"{folder.path}: is not complete, and only complete runs are published: "
            "finish it with --resume"
        )
    whole = Slice.parse(run["slice"]).parts == 1
    results = [folder.artifact, folder.traces] if whole else []
    tables = [folder.table(name) for name in TABLE]
    absent = [
        path
        for path in (*results, *(folder.table(name) for name in TABLE.keys() - _OPTIONAL))
        if not path.exists()
    ]
    if absent:
        raise RunFolderError(f"{min(absent)}: is missing; `dist-eval run … --resume` writes it")
    if whole:
        require_sound(folder.artifact)
    return run, [*results, *(path for path in tables if path.exists()), folder.run_json]


def _identity(known: dict[str, Any]) -> dict[str, Any] | None:
    """Return what tells a run from every other, by its run.json; None where that does not say."""
    try:
        first = known["sessions"][0]
        return {
            **{key: str(known[key]) for key in _BINDING},
            **{key: str(first[key]) for key in ("started", "host")},
        }
    except (KeyError, IndexError, TypeError):
        return None


def _names(folder: RunFolder) -> list[str]:
    """Return the names of every file that a run may publish."""
    return [path.name for path in (*folder.results(TABLE), folder.run_json)]
