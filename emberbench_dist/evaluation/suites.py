"""The built-in manifests, shipped with the package."""

from __future__ import annotations

from pathlib import Path

from emberbench_dist.errors import EmberBenchError, ManifestError, ScenarioError

_PACKAGE = Path(__file__).parents[1]


def built_in_manifests() -> dict[str, Path]:
    """Return the built-in manifests by name."""
    # Beside the modules in an installed package, beside the package in a checkout.
    folders = (_PACKAGE / "manifests", _PACKAGE.parent / "manifests")
    folder = next((folder for folder in folders if folder.is_dir()), _PACKAGE)
    return {path.stem: path for path in sorted(folder.glob("*.json"))}


def find_manifest(name: str | Path) -> Path:
    """Return the manifest file that `name` means: a path, or a built-in name."""
    return _find(name, built_in_manifests(), "manifests", ManifestError)


def find_scenario(name: str | Path) -> Path:
    """Return the scenario file that `name` means: a path, or the id of a built-in scenario."""
    folders = {path.parent / "scenarios" for path in built_in_manifests().values()}
    known = {path.stem: path for folder in folders for path in sorted(folder.glob("*.json"))}
    return _find(name, known, "scenarios", ScenarioError)


def _find(
    name: str | Path, known: dict[str, Path], kind: str, error: type[EmberBenchError]
) -> Path:
    path = Path(name)
    try:
        exists, is_file = path.exists(), path.is_file()
    except (OSError, ValueError):  # no file system takes such a name
        exists = is_file = False
    if is_file or (exists and str(name) not in known):
        return path
    if str(name) not in known:
        names = ", ".join(known)
        raise error(f"{name}: there is no such file, and the built-in {kind} are {names}")
    return known[str(name)]
