"""`run.json`: who ran what, where and when. Nothing in it is needed to go on with a run."""

from __future__ import annotations

import platform
import socket
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from emberbench_dist import __version__
from emberbench_dist.artifacts.durable import read_json, write_json
from emberbench_dist.artifacts.run_folder import timestamp

RUNNING, COMPLETE, FAILED, CRASHED, INTERRUPTED = (
    "running",
    "complete",
    "failed",
    "crashed",
    "interrupted",
)


class Session:
    """One driver's session: the head of `run.json`, with the sessions before it below."""

    def __init__(self, path: Path | None, binding: dict[str, Any], command: list[str]) -> None:
        """Tell that the run is going on (None: tell nobody)."""
        self._path = path
        earlier = read_json(path) if path else {}
        sessions = earlier.pop("sessions", [])
        if earlier:
            sessions = [*sessions, {key: earlier[key] for key in earlier if key not in binding}]
        self._document = {
            **binding,
            "command": command,
            "host": socket.gethostname(),
            "versions": _versions(),
            "started": timestamp(),
            "ended": None,
            "outcome": RUNNING,
            "sessions": sessions,
        }
        self._write()

    def end(self, outcome: str) -> None:
        """Tell how the session ended."""
        self._document |= {"ended": timestamp(), "outcome": outcome}
        self._write()

    def _write(self) -> None:
        if self._path is not None:
            write_json(self._path, self._document)


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "emberbench_dist": __version__}
    for name in ("ray", "pyarrow"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
