"""The house's rules about imports, sizes and public names, read from the source itself."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import emberbench_dist as eb

PACKAGE = Path(eb.__file__).parent
MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
# Each layer imports itself and what stands above it here; layers in one row not each other.
ROWS = (
    ("apart", "errors", "lazy"),
    ("contract",),
    ("simulator",),
    ("agents",),
    ("evaluation",),
    ("artifacts", "authoring"),
    ("runner",),
    ("distributed", "analysis", "rl"),
    ("doctor",),
    ("cli",),
)
ROW = {layer: number for number, layers in enumerate(ROWS) for layer in layers}
# How names of modules begin that alone may import a library; what is not listed may be nowhere.
HOMES = {
    "sqlite3": "artifacts/database.py",
    "pyarrow": ("artifacts/parquet", "artifacts/publishing/stores.py"),
    "filelock": "artifacts/run_folder.py",
    "ray": "distributed/",
    "jinja2": "analysis/",
    "markupsafe": "analysis/",
    "matplotlib": "analysis/",
    "numpy": ("analysis/", "rl/"),
    "pandas": "analysis/",
    "PIL": "analysis/",
    "scipy": "analysis/",
    "gymnasium": "rl/",
    "pettingzoo": "rl/",
    "click": "cli/",
    "click_default_group": "cli/",
    "rich": "cli/",
}
# What would let chance, clock or machine into a result.
IMPURE = {"random", "time", "os", "uuid", "datetime"}
MAX_LINES = 400

# formats.md, "Python names that stay".
NAMES_THAT_STAY = {
    "Action",
    "Agent",
    "AgentFactory",
    "EmberBenchError",
    "EvaluationError",
    "InvalidActionError",
    "ManifestError",
    "ModelOutputError",
    "Observation",
    "ObservationFormatError",
    "PolicyAgent",
    "ReplayError",
    "ScenarioError",
    "SimulationError",
    "SimulationState",
    "Simulator",
    "StepRecord",
    "canonical_json",
    "check_actions",
    "evaluate",
    "evaluate_distributed",
    "load_manifest",
    "load_observation",
    "load_scenario",
    "parse_actions",
    "parse_observation",
    "parse_scenario",
    "serialize_actions",
    "serialize_observation",
}


def layer_of(module):
    """Return the layer of a module, which is its folder, or its name at the top."""
    return module.partition("/")[0].removesuffix(".py")


def imported(source):
    """Yield the dotted name of every import anywhere in a source, also within functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute, so that they can be read and checked"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def violations(module, source):
    """Return what in a module's imports breaks the layers, a home, or purity."""
    found, layer = [], layer_of(module)
    for name in imported(source):
        top, _, rest = name.partition(".")
        if top == "emberbench_dist":
            other = rest.partition(".")[0]
            if other not in (layer, "__version__") and ROW.get(other, len(ROWS)) >= ROW[layer]:
                found.append(f"{module} imports {other}, which is not below it")
        elif top in HOMES:
            if not module.startswith(HOMES[top]):
                found.append(f"{module} imports {top}, whose home is {HOMES[top]}")
        elif top not in sys.stdlib_module_names:
            found.append(f"{module} imports {top}, which has no home")
        if layer in ("contract", "simulator") and top in IMPURE:
            found.append(f"{module} imports {top}")
    return found


def type_checking_imports(source):
    """Return name and home of each import that only type checkers see."""
    (block,) = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    return {alias.name: node.module for node in block.body for alias in node.names}


def test_there_is_something_to_check():
    """The package is found, with every layer that the rules speak of."""
    assert {layer_of(module) for module in MODULES} - {"__init__"} >= ROW.keys() - {"analysis"}


@pytest.mark.parametrize("module", [name for name in MODULES if name != "__init__.py"])
def test_imports_go_down(module):
    """A module imports only lower layers, and each third party only from its one home."""
    assert violations(module, (PACKAGE / module).read_text()) == []


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        ("agents/x.py", "import emberbench_dist.runner.run", "imports runner"),
        ("distributed/x.py", "from emberbench_dist.analysis import frames", "imports analysis"),
        ("artifacts/x.py", "def f():\n    from emberbench_dist.cli import main", "imports cli"),
        ("errors.py", "from emberbench_dist.contract import rng", "imports contract"),
        ("cli/x.py", "from emberbench_dist import evaluate", "imports evaluate"),
        ("runner/x.py", "import ray.util as u", "imports ray"),
        ("artifacts/tables.py", "import sqlite3", "imports sqlite3"),
        ("evaluation/x.py", "from pyarrow import parquet", "imports pyarrow"),
        ("agents/x.py", "import numpy", "imports numpy"),
        ("distributed/x.py", "from emberbench_dist.doctor import disk", "imports doctor"),
        ("artifacts/publishing/place.py", "from pyarrow import fs", "imports pyarrow"),
        ("rl/x.py", "from emberbench_dist.analysis import frames", "imports analysis"),
        ("analysis/x.py", "import gymnasium.spaces", "imports gymnasium"),
        ("distributed/x.py", "from pettingzoo import ParallelEnv", "imports pettingzoo"),
        ("agents/x.py", "import requests", "imports requests"),
        ("simulator/x.py", "from time import monotonic", "imports time"),
        ("contract/x.py", "def f():\n    import os.path", "imports os"),
    ],
)
def test_the_checks_see_violations(module, source, complaint):
    """Every kind of wrong import is found, however it is written and wherever it stands."""
    (found,) = violations(module, source)
    assert complaint in found


@pytest.mark.parametrize("module", MODULES)
def test_modules_are_short(module):
    """No module has 400 lines or more."""
    assert len((PACKAGE / module).read_text().splitlines()) < MAX_LINES


def test_importing_the_package_loads_no_third_party():
    """A fresh `import emberbench_dist` loads itself and the standard library alone."""
    script = (
        "import sys; before = set(sys.modules); import emberbench_dist; "
        "print(*(set(sys.modules) - before))"
    )
    loaded = subprocess.check_output([sys.executable, "-c", script], text=True).split()
    tops = {name.partition(".")[0] for name in loaded}
    assert "emberbench_dist" in tops
    assert tops - {"emberbench_dist"} <= sys.stdlib_module_names


@pytest.mark.parametrize("name", ["evaluate", "load_manifest", "Simulator"])
def test_playing_in_one_process_needs_no_cluster(name):
    """The names that one process needs come with the standard library alone."""
    script = f"import sys; from emberbench_dist import {name}; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", script], text=True).split()
    assert not (set(HOMES) - {"sqlite3"}) & set(loaded)


def test_public_names_are_the_ones_type_checkers_see():
    """`__all__`, the imports for type checkers and the lazy homes tell of the same names."""
    checked = type_checking_imports((PACKAGE / "__init__.py").read_text())
    assert sorted(eb.__all__) == sorted(checked)
    assert checked == {name: f"emberbench_dist.{home}" for name, home in eb._HOME.items()}
    assert dir(eb) == sorted(eb.__all__)


@pytest.mark.parametrize("name", sorted(eb.__all__))
def test_every_public_name_resolves(name):
    """A public name is what its home calls by that name."""
    home = __import__(f"emberbench_dist.{eb._HOME[name]}", fromlist=[name])
    assert getattr(eb, name) is getattr(home, name)


def test_names_that_stay_are_public():
    """Every name that users may rely on is there."""
    assert set(eb.__all__) >= NAMES_THAT_STAY


def test_unknown_names_are_attribute_errors():
    """A name that is not public is refused as any module refuses it."""
    with pytest.raises(AttributeError, match="no attribute 'evaluate_all'"):
        eb.evaluate_all  # noqa: B018 - the look-up is what is tested
