"""`run.json`: who ran what, where and when. Nothing in it is needed to go on with a run."""

from __future__ import annotations

import platform
import socket
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import Any

from emberbench_dist import __version__
from emberbench_dist.agents.code import AgentCode
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
    """One driver's session: the head of `run.json`, and the last of the sessions below it."""

    def __init__(
        self,
        path: Path | None,
        binding: dict[str, Any],
        command: list[str],
        code: AgentCode | None = None,
    ) -> None:
        """Tell that the run is going on (None: tell nobody)."""
        self._path = path
        earlier = read_json(path) if path else {}
        sessions = earlier.get("sessions")
        self._binding = binding
        self._earlier = sessions if isinstance(sessions, list) else []
        self._session: dict[str, Any] = {
            "command": command,
            "host": socket.gethostname(),
            "versions": _versions(),
            "started": timestamp(),
            "ended": None,
            "outcome": RUNNING,
        }
        if code is not None:
            told = {"source": code.source, "digest": code.digest}
            self._session["agent_code"] = told
        self._write()

    def end(self, outcome: str, sums: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Tell how the session ended, and what the run has cost by then."""
        self._session |= {"ended": timestamp(), "outcome": outcome, **sums}
        self._write()

    def _write(self) -> None:
        if self._path is not None:
            sessions = [*self._earlier, self._session]
            write_json(self._path, {**self._binding, **self._session, "sessions": sessions})


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "emberbench_dist": __version__}
    for name in ("ray", "pyarrow"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
