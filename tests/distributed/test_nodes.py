"""What a joined cluster is told and asked before it plays: the code, requirements, each node."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from zipfile import ZipFile

import pytest
from test_cluster import Run

from emberbench_dist import __version__
from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.agents.code import code_of
from emberbench_dist.distributed.shipping import Luggage, pack
from emberbench_dist.distributed.worker import Setup, Worker
from emberbench_dist.errors import AgentSpecError, ClusterError, EvaluationError
from emberbench_dist.runner.evaluate import evaluate
from manifests import hall, write_manifest

EPISODES = 6
HERE = "emberbench_dist.agents.baselines"
# Plays only from a copy, with what lies beside it in the copy.
SHIPPED = f"""
from pathlib import Path

import log_of_steps
from {HERE} import Greedy

BESIDE = Path(__file__).with_name("weights.bin")


class Shipped(Greedy):
    def __init__(self):
        places = {{BESIDE.parent, Path(log_of_steps.__file__).parent}}
        if not all("working_dir_files" in str(place) for place in places):
            raise RuntimeError(f"not from a copy: {{places}}")
        self.weights = BESIDE.read_bytes()
        super().__init__()


class Fails(Shipped):
    def act(self, observation):
        raise RuntimeError(f"{{__file__}} of {{__name__}}")
"""
ONLY_HERE = f"""
if "working_dir_files" in __file__:
    import nowhere_else
from {HERE} import Greedy
"""


def test_exactly_what_is_listed_is_packed(agents, monkeypatch):
    """The archive has the files of the list and nothing else, the same bytes at any time."""
    monkeypatch.chdir(agents.parent)
    (agents / ".secret").write_text("key")
    code = code_of("agents/shipped.py:Shipped")
    pack(code, agents.parent / "first.zip")
    os.utime(agents / "weights.bin", (0, 0))
    pack(code, agents.parent / "again.zip")
    assert (agents.parent / "first.zip").read_bytes() == (agents.parent / "again.zip").read_bytes()
    with ZipFile(agents.parent / "first.zip") as packed:
        bodies = {name: packed.read(name) for name in packed.namelist()}
    assert bodies == {file.name: (agents / file.name).read_bytes() for file in code.files}
    (agents / "weights.bin").write_bytes(b"more")
    with pytest.raises(AgentSpecError, match=r"weights\.bin: was changed while it was sent"):
        pack(code, agents.parent / "late.zip")


def test_requirements_that_are_files_are_those_of_the_copy(agents, monkeypatch):
    """Files in the code are named where every node has them, others as pip is to take them."""
    monkeypatch.chdir(agents.parent)
    (agents / "tiny-1.0-py3-none-any.whl").write_bytes(b"wheel")
    (agents / "all.txt").write_text("torch")
    (agents.parent / "other.whl").write_bytes(b"wheel")
    pip = ["torch>=2", "agents/tiny-1.0-py3-none-any.whl", "-r agents/all.txt", "other.whl"]
    luggage = Luggage(code_of("agents/shipped.py:Shipped"), pip)
    with luggage.runtime_env() as wanted:
        assert wanted["pip"] == [
            "torch>=2",
            "${RAY_RUNTIME_ENV_CREATE_WORKING_DIR}/tiny-1.0-py3-none-any.whl",
            "-r ${RAY_RUNTIME_ENV_CREATE_WORKING_DIR}/all.txt",
            str(agents.parent / "other.whl"),
        ]
        assert Path(wanted["working_dir"]).is_file()
    assert not Path(wanted["working_dir"]).exists()
    for wrong in ("agents/missing.whl", "-r missing.txt"):
        with pytest.raises(EvaluationError, match=rf"{wrong}': there is no file '.*missing\."):
            Luggage(None, [wrong]).require_cluster("localhost:1")
    Luggage(None, ["/opt/of-the-nodes.whl", "torch"]).require_cluster("localhost:1")
    with pytest.raises(EvaluationError, match="install them yourself: pip install 'torch>=2' ag"):
        luggage.require_cluster(None)


@pytest.mark.parametrize(
    ("found", "problem", "told"),
    [
        ({}, "", ""),
        ({}, "agent 'x:A' cannot be imported: why", "node n: agent 'x:A' cannot be imported: why"),
        (
            {"emberbench_dist": "0.0.9"},
            "",
            f"has emberbench_dist 0.0.9, the driver {__version__}",
        ),
        ({"Python": "3.99"}, "", "node n has Python 3.99, the driver "),
        ({"Ray": "2.0.0"}, "", "node n has Ray 2.0.0, the driver "),
        ({"emberbench_dist": None}, "No module", "node n has no emberbench_dist (No module); inst"),
    ],
)
@pytest.mark.usefixtures("cluster")  # Ray is imported after it has its settings
def test_a_node_is_judged_by_versions_and_agent(found, problem, told):
    """One line says what differs first; nothing is said of a node that can play."""
    from emberbench_dist.distributed.nodes import judge, versions

    there = {name: text for name, text in (versions() | found).items() if text is not None}
    verdict = judge("node n", there, problem)
    assert told in verdict.problem
    assert bool(told) == bool(verdict.problem)
    assert verdict.of_agent == (not found)
    assert versions()["Python"] == ".".join(platform.python_version_tuple()[:2])


def test_a_worker_of_another_version_does_not_start():
    """A worker on a node that has just joined plays nothing before its version is known."""
    with pytest.raises(ClusterError, match=rf"^it has {__version__}, the driver 9\.9$"):
        Worker(Setup({}, "greedy", version="9.9"), 0)


@pytest.fixture
def manifest(tmp_path):
    """Write a manifest of a few short episodes."""
    return write_manifest(tmp_path / "input", [(hall("one"), {"first": 1, "count": EPISODES})])


@pytest.fixture
def agents(tmp_path):
    """Write agents with neighbours, which an ignore file hides."""
    folder = tmp_path / "agents"
    folder.mkdir()
    (folder / "shipped.py").write_text(SHIPPED)
    (folder / "only_here.py").write_text(ONLY_HERE)
    (folder / "log_of_steps.py").write_text("")
    (folder / "weights.bin").write_bytes(b"many")
    for ignore in (".gitignore", ".rayignore"):
        (folder / ignore).write_text("log*\n*.bin\n")
    return folder


@pytest.fixture
def run(host, start, tmp_path):
    """Return a function that starts `dist-eval` on the cluster."""
    return lambda *arguments, cwd=tmp_path: start(*arguments, "--address", host.address, cwd=cwd)


def end_of(process):
    """Return exit code and errors of a process."""
    told = process.communicate(timeout=120)[1]
    return process.returncode, [line for line in told.splitlines() if line.startswith("Error: ")]


def test_the_code_of_an_agent_is_on_every_node(run, agents, manifest, tmp_path):
    """A module plays from a copy that has its neighbours and weights, whatever git ignores."""
    asked = run(manifest, "--agent", "shipped:Shipped", "--out", tmp_path / "run", cwd=agents)
    assert end_of(asked) == (0, [])
    expected = evaluate(manifest, Greedy)
    assert (tmp_path / "run/artifact.jsonl").read_bytes() == expected.artifact


def test_a_failure_is_told_as_if_it_were_here(run, agents, manifest):
    """Error and traceback of a file's agent name the files and modules of this machine."""
    failed = run(manifest, "--agent", "agents/shipped.py:Fails", "--out", "run")
    told = failed.communicate(timeout=120)[1]
    where = f"{agents / 'shipped.py'} of shipped@{agents}"
    assert failed.returncode == 1
    assert f"Error: episode 0 (scenario one, seed 1, step 0): RuntimeError: {where}" in told
    assert f'File "{agents / "shipped.py"}"' in told
    assert "working_dir_files" not in told


def test_an_agent_that_a_node_cannot_import_is_bad_input(run, agents, manifest):
    """Before any episode, one line names node, agent and module: exit 2."""
    spec = f"{agents.name}/only_here.py:Greedy"
    code, errors = end_of(run(manifest, "--agent", spec, "--out", "run"))
    assert code == 2
    (told,) = errors
    assert told.startswith("Error: node ")
    assert "agent 'agents/only_here.py:Greedy' cannot be imported: ModuleNotFoundError" in told
    assert "'nowhere_else'" in told


def test_a_node_without_the_package(run, host, manifest, tmp_path):
    """One that joins is told of and not used; where it is there before the run, that ends it."""
    many = write_manifest(tmp_path / "many", [(hall("one"), {"first": 1, "count": 150})])
    process = run(many, "--agent", "misbehaving:Dawdles", "--out", "run")
    going = Run(process, tmp_path / "run", many)
    going.wait_for(lambda: going.committed() >= 1)
    assert host("add-without emberbench_dist") == 2
    told = next(line for line in process.stderr if line.startswith("node "))
    assert "has no emberbench_dist (No module named 'emberbench_dist'); install" in told
    assert told.endswith(" (it is not used)\n")
    assert going.playing() == ["0"]
    going.finish()
    code, (error,) = end_of(run(manifest, "--agent", "greedy", "--out", "other"))
    assert code == 3
    assert f"install emberbench-dist {__version__} in the Python of its Ray" in error
    assert host("kill") == 1
