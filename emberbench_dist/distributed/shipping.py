"""What a run takes along to a cluster: the agent's code, and what Ray is to install for it."""

from __future__ import annotations

import secrets
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from emberbench_dist.agents.code import AgentCode
from emberbench_dist.distributed.worker import Setup, Shipped
from emberbench_dist.errors import AgentSpecError, EvaluationError

_IN_COPY = "${RAY_RUNTIME_ENV_CREATE_WORKING_DIR}"  # Ray puts the folder of the copy there
_FILES = (".whl", ".txt")  # a requirement that ends so is the path of a file
_ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    # A process that asks for no GPU, as one that only tries to import the agent, may see them.
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


@dataclass(frozen=True, slots=True)
class Luggage:
    """The agent's code, and requirements in the words of pip."""

    code: AgentCode | None = None
    pip: Sequence[str] = ()

    def require_cluster(self, address: str | None) -> None:
        """Refuse requirements where there is no other machine, and code that is too large."""
        if address is None and self.pip:
            raise EvaluationError(
                "requirements are installed on a cluster that is joined by its address; on this "
                f"machine, install them yourself: pip install {shlex.join(self.pip)}"
            )
        if address is None:
            return
        for requirement in self.pip:
            path, _ = _as_path(requirement)
            if path.suffix in _FILES and not path.is_absolute() and not path.is_file():
                raise EvaluationError(
                    f"requirement {requirement!r}: there is no file {str(path)!r}"
                )
        if self.code is not None:
            self.code.require_sendable()

    def packed_for(self, setup: Setup) -> Setup:
        """Return a setup for workers that have a copy of the code."""
        code = self.code
        if code is None or code.folder is None:
            return setup
        # What lies in the folder is taken from the copy alone: elsewhere it may be of yesterday.
        others = [path for path in setup.import_paths if not _is_in(path, code.folder)]
        return setup._replace(
            shipped=Shipped(str(code.folder), code.file), import_paths=tuple(others)
        )

    @contextmanager
    def runtime_env(self) -> Iterator[dict[str, Any]]:
        """Yield what `ray.init` is told; the code is in a file that lives as long as this."""
        wanted: dict[str, Any] = {"env_vars": dict(_ENVIRONMENT)}
        if self.pip:
            wanted["pip"] = [_everywhere(line, self.code) for line in self.pip]
        with tempfile.TemporaryDirectory() as folder:
            if self.code is not None and self.code.folder is not None:
                archive = Path(folder, "code.zip")
                # Each run has a copy of its own. Ray takes archives of one content for one, and
                # what a node thinks it has of an earlier run may be gone.
                pack(self.code, archive, secrets.token_bytes(16))
                # Of a folder Ray would leave out what it finds in ignore files.
                wanted["working_dir"] = str(archive)
            yield wanted


def pack(code: AgentCode, archive: Path, comment: bytes = b"") -> None:
    """Write exactly the listed files, in order, without their times: one content, one archive.

    `comment` makes it another one. `AgentSpecError` where a file is not as it was listed.
    """
    with ZipFile(archive, "w", ZIP_DEFLATED) as packed:
        packed.comment = comment
        for file in code.files:
            try:
                body = file.path.read_bytes()
            except OSError as error:
                raise AgentSpecError(f"{file.path}: cannot be read: {error.strerror}") from error
            if sha256(body).hexdigest() != file.sha256:
                raise AgentSpecError(f"{file.path}: was changed while it was sent; start again")
            packed.writestr(ZipInfo(file.name), body, ZIP_DEFLATED)


def _everywhere(requirement: str, code: AgentCode | None) -> str:
    """Return a requirement that every node understands: a file in the code is one of the copy."""
    path, option = _as_path(requirement)
    if not path.is_file():
        return requirement
    for file in code.files if code is not None else ():
        if file.path.resolve() == path.resolve():
            return f"{option}{_IN_COPY}/{file.name}"
    return option + str(path.resolve())


def _as_path(requirement: str) -> tuple[Path, str]:
    """Return what would be the path in a requirement, and the option before it."""
    option, found, name = requirement.partition("-r ")
    is_list = bool(found) and not option
    return (Path(name.strip()), "-r ") if is_list else (Path(requirement), "")


def _is_in(path: str, folder: Path) -> bool:
    return Path(path).resolve().is_relative_to(folder)
