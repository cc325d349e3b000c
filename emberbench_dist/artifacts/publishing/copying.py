"""How a run is copied to a place: its files first, and last the list that says they are there.

`published.json` is the only word on what a place holds: `run` names the run that has the place,
`files` lists, with size and SHA-256, what is there, whole and read back. While files are being
replaced, and before the first are there, the list is empty.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from emberbench_dist.artifacts.publishing.stores import CHUNK, Store
from emberbench_dist.errors import PublishError, UploadError

PUBLISHED = "published.json"
PUBLISHED_VERSION = "1.0"
_ADVICE = "choose another place, or replace it by `dist-eval publish --overwrite`"
_ENTRIES = {"published_version", "run", "files"}

# Told of every chunk, so that somebody can see that there is progress.
Beat = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class File:
    """A file as it is to arrive."""

    path: Path
    size: int
    sha256: str

    @property
    def name(self) -> str:
        """Return the name that it has at either place."""
        return self.path.name


def claim(
    store: Store, run: Mapping[str, Any] | None, names: Iterable[str], *, overwrite: bool = False
) -> None:
    """Require that a place is free or has this run, and can be written.

    `run` is None where it has not begun; `names` are those of a run's files. `PublishError` says
    whose the place is, or what the store refused.
    """
    there = _read_published(store)
    taken = "" if overwrite else _taken(store, there, run, names)
    if taken:
        raise PublishError(f"{taken} is there already; {_ADVICE}")
    _put_published(store, there or _published(None, ()))


def copy(
    store: Store, run: Mapping[str, Any], files: list[File], names: Iterable[str], beat: Beat
) -> list[str]:
    """Copy what is not there yet, list it, and return the names of what was copied.

    The place has been claimed. `UploadError` where a file did not arrive as it was sent.
    """
    missing = [file for file in files if not _arrived(store, file, beat)]
    known = {file.name for file in files}
    stale = [name for name in names if name not in known and store.size(name) is not None]
    wanted = _published(run, files)
    if not missing and not stale and _read_published(store) == wanted:
        return []
    _put_published(store, _published(run, ()))
    for file in missing:
        store.put(file.name, _beating(_chunks(file.path), beat))
        if not _arrived(store, file, beat):
            raise UploadError(f"{file.name}: arrived otherwise than it was sent; publish it again")
    for name in stale:
        store.remove(name)
    _put_published(store, wanted)
    return [file.name for file in missing]


def local_file(path: Path, beat: Beat) -> File:
    """Return a file of this machine as it is now."""
    size, digest = _measured(_beating(_chunks(path), beat))
    return File(path, size, digest)


def _arrived(store: Store, file: File, beat: Beat) -> bool:
    """Say whether a store has the file; what has its size is read back."""
    if store.size(file.name) != file.size:
        return False
    return _measured(_beating(store.read(file.name), beat)) == (file.size, file.sha256)


def _chunks(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                yield chunk
    except OSError as error:
        raise UploadError(f"{path}: cannot be read: {error.strerror}") from error


def _beating(chunks: Iterable[bytes], beat: Beat) -> Iterator[bytes]:
    for chunk in chunks:
        beat(len(chunk))
        yield chunk


def _measured(chunks: Iterable[bytes]) -> tuple[int, str]:
    size, digest = 0, sha256()
    for chunk in chunks:
        size += len(chunk)
        digest.update(chunk)
    return size, digest.hexdigest()


def _published(run: Mapping[str, Any] | None, files: Iterable[File]) -> dict[str, Any]:
    listed = {file.name: {"sha256": file.sha256, "size": file.size} for file in files}
    return {
        "published_version": PUBLISHED_VERSION,
        "run": None if run is None else dict(run),
        "files": listed,
    }


def _put_published(store: Store, document: dict[str, Any]) -> None:
    store.put(PUBLISHED, [(json.dumps(document, indent=2) + "\n").encode()])


def _read_published(store: Store) -> dict[str, Any] | None:
    """Return the list of a place; one that we did not write is of nobody's run."""
    if store.size(PUBLISHED) is None:
        return None
    try:
        document = json.loads(b"".join(store.read(PUBLISHED)))
        if document.keys() == _ENTRIES and document["published_version"] == PUBLISHED_VERSION:
            return dict(document)
    except (ValueError, AttributeError, RecursionError):
        pass
    return _published({}, ())


def _taken(
    store: Store,
    there: Mapping[str, Any] | None,
    run: Mapping[str, Any] | None,
    names: Iterable[str],
) -> str:
    """Return what of somebody else's is at a place; empty where it is free or has this run."""
    if there is None:  # nor may a file be there that no list speaks of
        return next((f"a {name}" for name in names if store.size(name) is not None), "")
    return "" if there["run"] in (None, run) else _named(there["run"])


def _named(run: Any) -> str:
    try:
        return "a run of {manifest_id} with {agent_spec} (begun {started} on {host})".format(**run)
    except (KeyError, TypeError):
        return f"a {PUBLISHED} that this program did not write"
