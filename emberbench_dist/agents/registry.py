"""From an agent SPEC to an agent factory.

A SPEC is a name in the entry-point group `emberbench_dist.agents`, `package.module:factory`,
`path/to/file.py:factory`, `command:CMD` (a program) or `url:URL` (a server).
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import traceback
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emberbench_dist.agents.remote.text import RemoteOptions
from emberbench_dist.contract.document import class_name, plain_text
from emberbench_dist.errors import AgentSpecError

if TYPE_CHECKING:
    from types import ModuleType

    from emberbench_dist.agents.interface import AgentFactory

_MAX_SHOWN = 1000
GROUP = "emberbench_dist.agents"

REMOTE = ("command", "url")
_DEFAULTS = RemoteOptions()


@dataclass(frozen=True, slots=True)
class CodeCopy:
    """A copy of an agent's code: where it is here, where it was there, the agent's file in both."""

    here: Path
    there: Path
    file: str | None


def known_agents() -> dict[str, EntryPoint]:
    """Return the registered agents by name, sorted; `AgentSpecError` for a name taken twice."""
    found: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        other = found.setdefault(entry.name, entry)
        if other.value != entry.value:
            raise AgentSpecError(
                f"the agent name {entry.name!r} is registered twice, for {other.value} and "
                f"{entry.value}; give the one you mean as module:factory"
            )
    return found


def is_remote(spec: str, kinds: tuple[str, ...] = REMOTE) -> bool:
    """Say whether a SPEC names something that is asked by text, of one of some kinds."""
    kind, colon, _ = spec.partition(":")
    return bool(colon) and kind in kinds


def load_agent(
    spec: str, options: RemoteOptions = _DEFAULTS, copy: CodeCopy | None = None
) -> AgentFactory:
    """Return the factory that `spec` names; `AgentSpecError` says what is wrong with it.

    `options` say how to ask where the SPEC is no Python. Code is imported from `copy` where it
    was copied; its modules are called as they are there.
    """
    if is_remote(spec):
        # Loaded here: whoever plays in Python needs none of it.
        from emberbench_dist.agents.remote.factory import remote_factory  # noqa: PLC0415

        kind, _, target = spec.partition(":")
        return remote_factory(kind, target, options)
    target, colon, attribute = spec.rpartition(":")
    if not colon:
        entry = known_agents().get(spec)
        if entry is None:
            raise AgentSpecError(
                f"there is no agent named {spec!r}; known are {', '.join(known_agents())}, "
                "or give package.module:factory or path/to/file.py:factory"
            )
        target, _, attribute = entry.value.partition(":")
    if not target or not attribute:
        raise AgentSpecError(f"{spec!r} must be module:factory or file.py:factory")
    return _factory_in(_import(spec, target, copy), spec, attribute)


def _import(spec: str, target: str, copy: CodeCopy | None) -> ModuleType:
    try:
        if not target.endswith(".py"):
            return _import_module(target, copy.here if copy else Path.cwd())
        if copy is None or copy.file is None:
            return _import_file(Path(target))
        return _import_file(copy.here / copy.file, copy.there / copy.file)
    except AgentSpecError:
        raise
    except BaseException as error:  # user code may raise anything while it is imported
        if isinstance(error, KeyboardInterrupt):
            raise
        raise AgentSpecError(f"agent {spec!r} cannot be imported: {_in_one_line(error)}") from error


def _import_module(name: str, folder: Path) -> ModuleType:
    # A console script does not have the working directory on its path; `python -m` does.
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    return importlib.import_module(name)


def _import_file(path: Path, known_as: Path | None = None) -> ModuleType:
    if not path.is_file():
        raise AgentSpecError(f"there is no agent file {str(path)!r}")
    path = path.resolve()
    called = known_as or path
    name = f"{called.stem}@{called.parent}"
    if name in sys.modules:
        return sys.modules[name]
    found = importlib.util.spec_from_file_location(name, path)
    if found is None or found.loader is None:
        raise AgentSpecError(f"{str(path)!r} is not a Python file")
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    # Its neighbours can be imported, as if it had been started with `python file.py`.
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    try:
        found.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _factory_in(module: ModuleType, spec: str, attribute: str) -> AgentFactory:
    factory: Any = module
    for name in attribute.split("."):
        try:
            factory = getattr(factory, name, None)
        except Exception as error:
            raise AgentSpecError(f"agent {spec!r}: {_in_one_line(error)}") from error
        if factory is None:
            raise AgentSpecError(f"agent {spec!r}: {module.__name__} has no {attribute!r}")
    if not callable(factory):
        raise AgentSpecError(
            f"agent {spec!r}: {attribute!r} is {class_name(factory)}, not a factory"
        )
    try:
        inspect.signature(factory).bind()
    except TypeError as error:
        raise AgentSpecError(
            f"agent {spec!r}: the factory is called without arguments, but {error}"
        ) from error
    except ValueError:  # a callable of C has no signature; calling it will tell
        pass
    return factory  # type: ignore[no-any-return]


def _in_one_line(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    text = " ".join(plain_text(lambda: str(error)).split())
    return f"{class_name(error)}: {text[:_MAX_SHOWN]}{place}"
