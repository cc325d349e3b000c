"""Which files are an agent's code, what they are bound to a run as, and when they have changed."""

from __future__ import annotations

import importlib
import json
import os
import sys
from hashlib import sha256
from importlib.metadata import version

import pytest

from emberbench_dist.agents import files
from emberbench_dist.agents.code import code_of, use_code_dir
from emberbench_dist.agents.files import files_in
from emberbench_dist.agents.registry import CodeCopy, load_agent
from emberbench_dist.errors import AgentSpecError, RunFolderError
from emberbench_dist.runner.evaluate import evaluate
from manifests import hall, write_manifest

CODE = ["mine.py", "package/__init__.py", "package/data/weights.bin", "prompt.md", "settings.json"]
NO_CODE = [
    "mine.pyc",
    "mine.py~",
    ".mine.py.swp",
    "mine.py.bak",
    "notes.ipynb",
    "run.log",
    "episodes.parquet",
    "report.html",
    "replay.svg",
    "ledger.sqlite",
    ".env",
    ".git/HEAD",
    ".venv/lib/big.py",
    "package/__pycache__/x.py",
    "package/node_modules/x.js",
    "environment/pyvenv.cfg",
    "environment/lib/x.py",
    "results/smoke-v1/notes.txt",
    "elsewhere/run/ledger.sqlite",
    "elsewhere/run/traces.jsonl",
]


def names(folder, leave_out=()):
    """Return what is listed of a folder."""
    return [file.name for file in files_in(folder, leave_out)]


def test_only_code_is_listed(write, folder):
    """The list has sources and data, and nothing that tools, editors and runs leave beside them."""
    for name in [*CODE, *NO_CODE]:
        write(name, f"of {name}")
    assert names(folder) == CODE
    assert [(file.size, file.sha256) for file in files_in(folder)] == [
        (len(f"of {name}"), sha256(f"of {name}".encode()).hexdigest()) for name in CODE
    ]


def test_a_package_called_results_is_code(write, folder):
    """A folder of that name is left out only where it cannot be imported as a package."""
    write("results/__init__.py")
    assert names(folder) == ["results/__init__.py"]


def test_the_run_folder_is_left_out(write, folder):
    """What a run writes below the code is no part of it, also before it has a ledger."""
    write("mine.py")
    write("out/artifact.jsonl")
    assert names(folder, leave_out=[folder / "out"]) == ["mine.py"]
    assert names(folder, leave_out=[folder]) == ["mine.py", "out/artifact.jsonl"]


def test_links_are_followed_but_not_in_circles(write, folder, tmp_path_factory):
    """A link stands for what it leads to, once; one that leads nowhere for nothing."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "weights.bin").write_bytes(b"many")
    write("code/mine.py")
    (folder / "code/weights.bin").symlink_to(outside / "weights.bin")
    (folder / "code/again").symlink_to(folder / "code")
    (folder / "code/nowhere.py").symlink_to(folder / "missing.py")
    (folder / "code/other").symlink_to(outside)
    os.mkfifo(folder / "code/pipe")
    assert names(folder / "code") == ["mine.py", "other/weights.bin", "weights.bin"]


def test_a_file_that_cannot_be_read_is_named(write, folder):
    """What belongs to the code and cannot be read is an error that says what to do."""
    write("mine.py")
    (folder / "memory.bin").symlink_to("/proc/self/mem")
    told = r"memory\.bin: cannot be read, but belongs to the agent's code: .*; make it readable, or"
    with pytest.raises(AgentSpecError, match=told):
        files_in(folder)


def test_a_name_that_cannot_be_printed_is_refused(folder):
    """A file's name is shown, hashed and sent as text."""
    (folder / os.fsdecode(b"w\xff.bin")).write_bytes(b"")
    with pytest.raises(AgentSpecError, match=r"w\\udcff\.bin': .* has a name that not every node"):
        files_in(folder)


def test_a_folder_that_is_too_large_names_its_largest_files(write, folder, monkeypatch):
    """Beyond the limit nothing is listed; the error has the largest files and what to do."""
    for number in range(7):
        write(f"w{number}.bin", b"x" * (number * 1000))
    monkeypatch.setattr(files, "MAX_BYTES", 21_000)
    assert len(files_in(folder)) == 7
    monkeypatch.setattr(files, "MAX_BYTES", 20_999)
    with pytest.raises(
        AgentSpecError, match=r"largest are w6\.bin \(0\.0 MiB\), w5.*w2.* --code-dir"
    ):
        files_in(folder)
    monkeypatch.setattr(files, "MAX_FILES", 6)
    with pytest.raises(AgentSpecError, match="has more than 6 files"):
        files_in(folder)


def test_of_a_large_folder_what_was_imported_counts(write, folder, monkeypatch):
    """On one machine a large folder is no mistake: its imported files are bound, none is sent."""
    write("mine.py", "import beside\nfrom players import Slow\n")
    write("beside.py", "")
    write("other.py", "")
    load_agent("mine.py:Slow")
    monkeypatch.setattr(files, "MAX_BYTES", 1)
    code = code_of("mine.py:Slow")
    assert (sorted(code.parts), code.files) == (["beside.py", "mine.py"], ())
    with pytest.raises(AgentSpecError, match=r"the largest are .*mine\.py"):
        code.require_sendable()
    assert folder == code.folder


def test_an_agent_whose_own_file_is_left_out_cannot_be_sent(write):
    """A hidden agent plays here, and is refused by a cluster before it is missed there."""
    write(".hidden.py")
    code = code_of(".hidden.py:Agent")
    with pytest.raises(AgentSpecError, match=r"^\.hidden\.py: files of such a name are left out"):
        code.require_sendable()


@pytest.mark.parametrize("spec", ["agents/mine.py:Agent", "agents/../agents/mine.py:Agent"])
def test_the_code_of_a_file_is_its_folder(write, folder, spec):
    """By default the folder of the agent's file is its code; another one must hold the file."""
    write("agents/mine.py")
    write("other/one.py")
    assert code_of(spec).folder == folder / "agents"
    whole = code_of(spec, ".")
    assert (whole.folder, whole.file) == (folder, "agents/mine.py")
    assert sorted(whole.parts) == ["agents/mine.py", "other/one.py"]
    with pytest.raises(AgentSpecError, match=r"mine\.py is not in the code folder .*other"):
        code_of(spec, "other")
    with pytest.raises(AgentSpecError, match="nowhere: is no folder of code"):
        code_of(spec, "nowhere")


def test_the_code_of_a_module_is_where_it_was_imported_from(write, folder):
    """That is the working folder, or the one that --code-dir names."""
    write("first_package/agents/__init__.py")
    load_agent("first_package.agents:Agent")
    code = code_of("first_package.agents:Agent")
    assert (code.folder, sorted(code.parts)) == (folder, ["first_package/agents/__init__.py"])
    write("lib/second_module.py")
    use_code_dir("lib")
    load_agent("second_module:Agent")
    assert code_of("second_module:Agent", "lib").folder == folder / "lib"
    with pytest.raises(AgentSpecError, match=r"second_module was imported from .*lib, not"):
        code_of("second_module:Agent", ".")


@pytest.mark.parametrize(
    ("spec", "source", "parts"),
    [
        ("greedy", "package", {"emberbench-dist": version("emberbench-dist")}),
        ("emberbench_dist.agents.baselines:Stay", "package", {"emberbench-dist": "0.1.0"}),
        ("pytest:main", "package", {"pytest": version("pytest")}),
        ("url:http://localhost:1/", "server", {}),
        ("command:python3 west.py -v", "program", {"west.py": sha256(b"west").hexdigest()}),
        ("command:./west.py", "program", {"./west.py": sha256(b"west").hexdigest()}),
        ("command:cat", "program", {}),
    ],
)
def test_what_is_installed_or_elsewhere_is_told_by_version_or_file(write, spec, source, parts):
    """Packages are known by their versions, programs by their files; nothing of them is sent."""
    write("west.py", "west")
    code = code_of(spec)
    if "emberbench-dist" in parts:
        parts = {"emberbench-dist": sys.modules["emberbench_dist"].__version__}
    assert (code.source, dict(code.parts), code.folder) == (source, parts, None)
    if ":" not in spec or source != "package":
        with pytest.raises(AgentSpecError, match=r"--code-dir is for module:factory and file\.py"):
            code_of(spec, ".")


def test_changes_are_told_by_file(write, folder):
    """With another digest comes what was changed, added and removed; with the same, nothing."""
    for name in ("mine.py", "a.txt", "b.txt"):
        write(name, name)
    kept = code_of("mine.py:Agent")
    os.utime(folder / "a.txt", (0, 0))
    assert code_of("mine.py:Agent").changes_since(kept.to_text()) == ""
    write("a.txt", "other")
    (folder / "b.txt").unlink()
    for number in range(7):
        write(f"new{number}.txt")
    now = code_of("mine.py:Agent")
    assert now.digest != kept.digest
    assert now.changes_since(kept.to_text()) == (
        "changed: a.txt; added: new0.txt, new1.txt, new2.txt, new3.txt, new4.txt and 2 more; "
        "removed: b.txt"
    )
    old = json.dumps({"source": "package", "parts": {"emberbench-dist": "0.0.1"}})
    told = code_of("greedy").changes_since(old)
    assert told.startswith("changed: emberbench-dist 0.0.1 -> ")
    assert now.changes_since("no JSON") == "what the run knows of it is damaged"


def test_a_copy_is_imported_under_the_names_of_the_original(write, folder):
    """A copied file is called as it is at home, finds its neighbours, and reads beside itself."""
    text = (
        "from pathlib import Path\nimport copied_neighbour\n"
        "def make():\n    return Path(__file__).with_name('w.txt').read_text() + "
        "copied_neighbour.X\n"
    )
    write("home/inner/mine.py", "raise RuntimeError('the original was imported')")
    write("copy/inner/mine.py", text)
    write("copy/inner/w.txt", "weights")
    write("copy/inner/copied_neighbour.py", "X = '!'")
    copy = CodeCopy(folder / "copy", folder / "home", "inner/mine.py")
    factory = load_agent("home/inner/mine.py:make", copy=copy)
    assert factory() == "weights!"
    assert factory.__module__ == f"mine@{folder / 'home/inner'}"
    del sys.modules[factory.__module__]


def test_python_binds_a_folder_where_asked(write, folder, tmp_path_factory):
    """`evaluate` checks the folder that it is given, and goes on with a changed one on request."""
    manifest = write_manifest(tmp_path_factory.mktemp("input"), [(hall("one"), [1, 2])])
    write("code/bound_agent.py", "from emberbench_dist.agents.baselines import Stay\n")
    sys.path.insert(0, "code")
    importlib.invalidate_caches()
    stay = load_agent("bound_agent:Stay")
    run = folder / "code" / "run"
    first = evaluate(manifest, stay, run, code_dir="code")
    assert evaluate(manifest, stay, run, resume=True, code_dir="code").played == 0
    bound = {"resume": True, "code_dir": "code", "agent_changed": False}
    assert evaluate(manifest, stay, run, **bound).played == 0
    write("code/more.py")
    with pytest.raises(RunFolderError, match=r"is not that of the run \(added: more\.py\)"):
        evaluate(manifest, stay, run, **bound)
    again = evaluate(manifest, stay, run, resume=True, code_dir="code")
    assert (again.outcome, first.outcome) == ("complete", "complete")
