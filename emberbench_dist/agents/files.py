"""The files of a folder that are an agent's code, each with its size and hash."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path

from emberbench_dist.errors import AgentSpecError

MIB = 2**20
MAX_BYTES = 100 * MIB
MAX_FILES = 10_000
_SHOWN = 5

# What no agent is made of. Hidden names are left out, too: tools keep their state there, and
# people their keys.
_FOLDERS = {"__pycache__", "node_modules", "venv"}
_BYTECODE = (".pyc", ".pyo")
_LEFT_BY_EDITORS = ("~", ".swp", ".bak", ".orig", ".tmp", ".partial", ".ipynb")
_WRITTEN_BY_RUNS = (".log", ".parquet", ".sqlite", ".sqlite-journal")
_PAGES_AND_PICTURES = (".html", ".svg", ".png", ".gif", ".pdf")
_ENDINGS = (*_BYTECODE, *_LEFT_BY_EDITORS, *_WRITTEN_BY_RUNS, *_PAGES_AND_PICTURES)
# What marks a folder as a run's, or as a virtual environment.
_MARKS = ("ledger.sqlite", "run.lock", "pyvenv.cfg")


@dataclass(frozen=True, slots=True)
class CodeFile:
    """A file of an agent's code: its name relative to the folder, where it is, size and hash."""

    name: str
    path: Path
    size: int
    sha256: str


def files_in(folder: Path, leave_out: Iterable[Path] = ()) -> tuple[CodeFile, ...]:
    """Return the files of an agent's code, sorted by name.

    Links are followed. `AgentSpecError` beyond `MAX_BYTES` or `MAX_FILES`, before anything is
    read, and for what cannot be read or named.
    """
    skipped = {path.resolve() for path in leave_out}
    found = dict[str, tuple[Path, int]]()
    for path, size in _walk(folder, skipped, frozenset()):
        if len(found) == MAX_FILES:
            raise AgentSpecError(f"{folder}: has more than {MAX_FILES:,} files; {_ADVICE}")
        found[_name(path, folder)] = path, size
    _require_small(folder, found)
    return tuple(
        CodeFile(name, path, size, sha256_of(path)) for name, (path, size) in sorted(found.items())
    )


_ADVICE = (
    "name a smaller folder with --code-dir, or install what is large on every node and leave it "
    "out of the folder"
)


def sha256_of(path: Path) -> str:
    """Return the hash of a file's bytes; `AgentSpecError` where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(path, error) from error


def _walk(folder: Path, skipped: set[Path], above: frozenset[Path]) -> Iterator[tuple[Path, int]]:
    """Yield files below a folder and their sizes; what a link leads back to is not entered."""
    try:
        entries = list(os.scandir(folder))
    except OSError as error:
        raise _unreadable(folder, error) from error
    real = folder.resolve()
    names = {entry.name for entry in entries}
    if above and (real in above or real in skipped or not names.isdisjoint(_MARKS)):
        return
    for entry in entries:
        path = Path(entry.path)
        if entry.is_dir():
            if not _is_foreign(path, at_top=not above):
                yield from _walk(path, skipped, above | {real})
        elif (size := _size(path)) is not None:
            yield path, size


def _is_foreign(folder: Path, *, at_top: bool) -> bool:
    """Say whether a folder's name tells that it holds no code of the agent."""
    name = folder.name
    if name.startswith(".") or name in _FOLDERS:
        return True
    return at_top and name == "results" and not (folder / "__init__.py").exists()


def _size(path: Path) -> int | None:
    """Return the size of a file that may be code, also by a link; None for all else."""
    if path.name.startswith(".") or path.name.endswith(_ENDINGS):
        return None
    try:
        found = path.stat()
    except FileNotFoundError:  # a link that leads nowhere
        return None
    except OSError as error:
        raise _unreadable(path, error) from error
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def _name(path: Path, folder: Path) -> str:
    name = path.relative_to(folder).as_posix()
    if "\\" in name or not name.isprintable():
        raise AgentSpecError(
            f"{str(path)!a}: a file of an agent's code has a name that not every node can "
            "have; rename it, or move it out of the folder"
        )
    return name


def _require_small(folder: Path, found: dict[str, tuple[Path, int]]) -> None:
    total = sum(size for _, size in found.values())
    if total <= MAX_BYTES:
        return
    largest = sorted(((size, name) for name, (_, size) in found.items()), reverse=True)[:_SHOWN]
    told = ", ".join(f"{name} ({size / MIB:,.1f} MiB)" for size, name in largest)
    raise AgentSpecError(
        f"{folder}: is {total / MIB:,.1f} MiB of files, and an agent's code may have "
        f"{MAX_BYTES // MIB} MiB; the largest are {told}; {_ADVICE}"
    )


def _unreadable(path: Path, error: OSError) -> AgentSpecError:
    return AgentSpecError(
        f"{path}: cannot be read, but belongs to the agent's code: {error.strerror}; "
        "make it readable, or move it out of the folder"
    )
