"""The wheel: what it ships works from any folder, without the checkout."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """Build the wheel as pip does, and unpack it."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT],
        check=True,
    )
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_manifests_ship(unpacked):
    """Every built-in manifest and scenario of the checkout is in the wheel, the same bytes."""
    here = sorted(path.relative_to(ROOT) for path in (ROOT / "manifests").rglob("*.json"))
    assert len(here) > 12
    for path in here:
        shipped = unpacked / "emberbench_dist" / path
        assert shipped.read_bytes() == (ROOT / path).read_bytes()


def test_it_runs_from_any_folder(unpacked, tmp_path):
    """Unpacked anywhere, the package finds its manifests and plays one."""
    code = (
        f"import sys; sys.path.insert(0, {str(unpacked)!r});"
        "import emberbench_dist; print(emberbench_dist.__file__, flush=True);"
        "from emberbench_dist.cli.main import main; main(['smoke-v1', '--in-process'])"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(str(unpacked))
    assert (tmp_path / "results/smoke-v1/greedy/artifact.jsonl").is_file()


def test_templates_ship(unpacked):
    """What the pages of the analysis are made of is in the wheel, the same bytes."""
    here = sorted((ROOT / "emberbench_dist").glob("analysis/*/templates/*"))
    assert {path.suffix for path in here} == {".html", ".css", ".js"}
    for path in here:
        assert (unpacked / path.relative_to(ROOT)).read_bytes() == path.read_bytes()


def test_licence_ships(unpacked):
    """The licence is in the wheel."""
    (licence,) = unpacked.glob("*.dist-info/licenses/LICENSE")
    assert "Apache License" in licence.read_text()
