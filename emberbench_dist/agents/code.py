"""Where an agent's code comes from, and a digest that tells when it has changed."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, packages_distributions, version
from pathlib import Path
from types import ModuleType

from emberbench_dist import __version__
from emberbench_dist.agents.files import (
    MAX_BYTES,
    CodeFile,
    files_in,
    sha256_of,
)
from emberbench_dist.agents.registry import is_remote, known_agents
from emberbench_dist.contract.canonical import canonical_json, sha256_hex
from emberbench_dist.errors import AgentSpecError

_SHOWN = 5
_HASH_LENGTH = 64
_INSTALLED = {"site-packages", "dist-packages"}
_OWN = {"emberbench-dist": __version__}


@dataclass(frozen=True, slots=True)
class AgentCode:
    """What an agent is made of.

    `parts` has the hash of each file, or the version of each package. `folder` and `files` are
    what other machines need of it (None: nothing), `file` the agent's own file among them.
    `obstacle` says why the folder cannot be sent.
    """

    source: str
    parts: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None
    files: tuple[CodeFile, ...] = ()
    file: str | None = None
    obstacle: str = ""

    @property
    def digest(self) -> str:
        """Return one hash of all parts, sorted by name."""
        return sha256_hex(canonical_json(dict(self.parts)))

    def to_text(self) -> str:
        """Return what a ledger keeps of it."""
        return canonical_json({"source": self.source, "parts": dict(self.parts)})

    def changes_since(self, kept: str) -> str:
        """Say in one line how it differs from what a ledger has kept; empty if it does not."""
        try:
            before = json.loads(kept)["parts"]
        except (ValueError, KeyError, TypeError):
            return "what the run knows of it is damaged"
        return _changes(before, self.parts)

    def require_sendable(self) -> None:
        """Raise `AgentSpecError` where the folder cannot be sent."""
        if self.obstacle:
            raise AgentSpecError(self.obstacle)
        if self.file is not None and self.file not in self.parts:
            raise AgentSpecError(
                f"{self.file}: files of such a name are left out of an agent's code; rename it"
            )


def code_of(
    spec: str, code_dir: str | Path | None = None, leave_out: Iterable[Path] = ()
) -> AgentCode:
    """Return the code of an agent that has been loaded.

    `code_dir` is its folder: by default that of its file, or the one that its module was imported
    from. `leave_out` are folders in it that are not code. `AgentSpecError` where the folder is
    none, or does not hold the agent's file.
    """
    target, colon, _ = spec.rpartition(":")
    if code_dir is not None and (not colon or is_remote(spec)):
        raise AgentSpecError(
            f"agent {spec!r} has no folder of code: --code-dir is for module:factory and "
            "file.py:factory"
        )
    given = None if code_dir is None else _folder(code_dir)
    if is_remote(spec):
        return _of_remote(spec)
    if not colon:
        return _of_entry(known_agents()[spec])
    if target.endswith(".py"):
        path = Path(target).resolve()
        folder = path.parent if given is None else given
        if not path.is_relative_to(folder):
            raise AgentSpecError(f"agent {spec!r}: {path} is not in the code folder {folder}")
        return _of_folder(folder, leave_out, path.relative_to(folder).as_posix())
    return _of_module(target, given, leave_out)


def folder_code(code_dir: str | Path, leave_out: Iterable[Path] = ()) -> AgentCode:
    """Return the code in a folder, of which no SPEC is known."""
    return _of_folder(_folder(code_dir), leave_out)


def use_code_dir(code_dir: str | Path | None) -> None:
    """Let modules be imported from the folder of an agent's code, before any other."""
    if code_dir is not None and str(folder := _folder(code_dir)) not in sys.path:
        sys.path.insert(0, str(folder))


def _folder(code_dir: str | Path) -> Path:
    folder = Path(code_dir).resolve()
    if not folder.is_dir():
        raise AgentSpecError(f"{code_dir}: is no folder of code")
    return folder


def _of_remote(spec: str) -> AgentCode:
    """Return the files that a command names; what is on the PATH is the machine's, not ours."""
    kind, _, target = spec.partition(":")
    if kind == "url":
        return AgentCode("server")
    words = shlex.split(target)
    paths = {word: Path(word) for word in words[1:] + [word for word in words[:1] if "/" in word]}
    return AgentCode(
        "program", {word: _told(path) for word, path in paths.items() if path.is_file()}
    )


def _told(path: Path) -> str:
    size = path.stat().st_size
    return sha256_of(path) if size <= MAX_BYTES else f"{size} bytes"


def _of_entry(entry: EntryPoint) -> AgentCode:
    if entry.dist is None or entry.dist.name == "emberbench-dist":
        return AgentCode("package", _OWN)
    return AgentCode("package", {entry.dist.name: entry.dist.version})


def _of_module(name: str, folder: Path | None, leave_out: Iterable[Path]) -> AgentCode:
    top = name.partition(".")[0]
    root = _root(sys.modules.get(top))
    if folder is not None and folder != root:
        raise AgentSpecError(f"module {top} was imported from {root}, not from {folder}")
    if top == "emberbench_dist":
        return AgentCode("package", _OWN)
    if root is None:
        return AgentCode("module")
    if not _INSTALLED.isdisjoint(root.parts):
        owners = packages_distributions().get(top, [])
        return AgentCode("package", {owner: version(owner) for owner in sorted(set(owners))})
    return _of_folder(root, leave_out)


def _root(module: ModuleType | None) -> Path | None:
    """Return the folder that a module was imported from; None where it is in none."""
    places = [*getattr(module, "__path__", [])] or [getattr(module, "__file__", None) or ""]
    root = Path(places[0]).resolve().parent
    return root if places[0] and root.is_dir() else None


def _of_folder(folder: Path, leave_out: Iterable[Path], file: str | None = None) -> AgentCode:
    try:
        files = files_in(folder, leave_out)
    except AgentSpecError as error:
        # Nothing is sent on one machine, so this is no mistake there; what was imported counts.
        parts = {name: sha256_of(path) for name, path in sorted(_loaded_from(folder).items())}
        return AgentCode("folder", parts, folder, (), file, str(error))
    parts = {one.name: one.sha256 for one in files}
    return AgentCode("folder", parts, folder, files, file)


def _loaded_from(folder: Path) -> dict[str, Path]:
    """Return the files of a folder that were imported."""
    places = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    paths = {Path(place).resolve() for place in places if isinstance(place, str)}
    return {
        path.relative_to(folder).as_posix(): path
        for path in paths
        if path.is_relative_to(folder) and path.is_file()
    }


def _changes(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    kinds = {
        "changed": [name for name in before if name in now and before[name] != now[name]],
        "added": [name for name in now if name not in before],
        "removed": [name for name in before if name not in now],
    }

    def in_words(name: str) -> str:
        versions = [parts[name] for parts in (before, now) if name in parts]
        is_file = any(len(text) == _HASH_LENGTH for text in versions)
        return name if is_file else f"{name} {' -> '.join(versions)}"

    return "; ".join(
        f"{kind}: {_listed(sorted(names), in_words)}" for kind, names in kinds.items() if names
    )


def _listed(names: list[str], in_words: Callable[[str], str]) -> str:
    more = len(names) - _SHOWN
    listed = ", ".join(map(in_words, names[:_SHOWN]))
    return f"{listed} and {more} more" if more > 0 else listed
