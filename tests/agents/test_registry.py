"""From SPEC to factory: registered names, modules and files."""

from __future__ import annotations

import sys
from functools import reduce
from importlib.metadata import EntryPoint

import pytest

from emberbench_dist.agents import registry
from emberbench_dist.agents.baselines import Counting, Greedy, Shuffle, Stay
from emberbench_dist.agents.registry import known_agents, load_agent
from emberbench_dist.errors import AgentSpecError

AGENT = "class Agent:\n    def act(self, observation):\n        return {}\n"


@pytest.fixture
def registered(monkeypatch):
    """Return a function that replaces the registered agents: (name, value) pairs."""

    def register(*pairs):
        found = [EntryPoint(name, value, registry.GROUP) for name, value in pairs]

        def entry_points(*, group):
            assert group == "emberbench_dist.agents"
            return found

        monkeypatch.setattr(registry, "entry_points", entry_points)

    return register


# Names


@pytest.mark.parametrize(
    ("name", "agent"),
    [("stay", Stay), ("greedy", Greedy), ("counting", Counting), ("shuffle", Shuffle)],
)
def test_a_built_in_name_is_its_class(name, agent):
    """The installed package registers its baselines under these names."""
    assert load_agent(name) is agent


def test_known_agents_are_sorted():
    """The names come in order, each with where it leads."""
    found = known_agents()
    assert list(found) == sorted(found)
    assert found["greedy"].value == "emberbench_dist.agents.baselines:Greedy"
    assert {"stay", "greedy", "counting", "shuffle"} <= set(found)


def test_an_agent_of_another_package_is_found_by_its_name(registered, write):
    """Whatever is registered in the group can be named."""
    write("theirs/__init__.py", "")
    write("theirs/planner.py")
    registered(("zeta", "theirs.planner:Agent"), ("alpha", "nowhere:Agent"))
    assert list(known_agents()) == ["alpha", "zeta"]
    assert load_agent("zeta").__module__ == "theirs.planner"


def test_a_name_that_is_registered_twice_is_refused(registered, refusal):
    """Two packages that take one name are told, for whichever name is asked."""
    registered(("mine", "b:Agent"), ("other", "c:Agent"), ("mine", "a:Agent"))
    expected = (
        "the agent name 'mine' is registered twice, for a:Agent and b:Agent; "
        "give the one you mean as module:factory"
    )
    assert refusal("mine") == expected
    assert refusal("other") == expected
    with pytest.raises(AgentSpecError):
        known_agents()


def test_a_name_that_is_registered_twice_for_the_same_is_fine(registered, write):
    """An installation that lists itself twice, as an editable one may, is no conflict."""
    write("theirs.py")
    registered(("mine", "theirs:Agent"), ("mine", "theirs:Agent"))
    assert load_agent("mine").__name__ == "Agent"


@pytest.mark.parametrize("name", ["", "Greedy", "greedy ", "agent.py", "json", "a/b", "\ud800"])
def test_an_unknown_name_lists_what_is_known(registered, refusal, name):
    """The error names the agents that are registered, and the other two forms."""
    registered(("beta", "b:B"), ("alpha", "a:A"))
    assert refusal(name) == (
        f"there is no agent named {name!r}; known are alpha, beta, "
        "or give package.module:factory or path/to/file.py:factory"
    )


@pytest.mark.parametrize("value", ["nowhere", "nowhere:", ":Agent"])
def test_a_registration_without_a_factory_is_refused(registered, refusal, value):
    """An entry point that names only a module leads to no factory."""
    registered(("mine", value))
    assert refusal("mine") == "'mine' must be module:factory or file.py:factory"


def test_a_registration_that_leads_nowhere_is_refused(registered, refusal):
    """An entry point whose module is not there is told under its name."""
    registered(("mine", "nowhere:Agent"))
    assert refusal("mine").startswith("agent 'mine' cannot be imported: ModuleNotFoundError: ")


# Modules


def test_a_factory_in_a_module():
    """`package.module:factory` is that attribute."""
    assert load_agent("emberbench_dist.agents.baselines:Greedy") is Greedy


def test_a_module_of_the_working_folder(write):
    """The working folder is searched, also by a console script, and before all others."""
    sys.path[:] = [entry for entry in sys.path if entry not in ("", ".")]
    write("mine.py")
    write("package/__init__.py", "")
    write("package/inner.py", "from mine import Agent as Other\n" + AGENT)
    assert load_agent("mine:Agent").__module__ == "mine"
    assert load_agent("package.inner:Agent").__module__ == "package.inner"
    assert load_agent("package.inner:Other") is load_agent("mine:Agent")


FACTORIES = """
import functools

class Outer:
    class Inner:
        def act(self, observation): ...

    @staticmethod
    def make(): ...

class Factory:
    def __call__(self): ...

def with_defaults(model="m", *arguments, temperature=0.5, **options): ...
def needs(model): ...

ready = Factory()
bound = ready.__call__
partial = functools.partial(needs, "m")
short = lambda: None
empty = dict
"""


@pytest.mark.parametrize(
    "attribute",
    [
        *("Outer.Inner", "Outer.make", "Outer", "Factory", "with_defaults", "ready", "bound"),
        *("partial", "short", "empty"),
    ],
)
def test_any_callable_without_required_arguments_is_a_factory(write, attribute):
    """Classes, functions, methods, partials, instances, nested ones too, as they are."""
    write("factories.py", FACTORIES)
    found = load_agent(f"factories:{attribute}")
    assert found == reduce(getattr, attribute.split("."), sys.modules["factories"])


# Files


@pytest.mark.parametrize("form", ["mine.py", "./mine.py", "sub/../mine.py", "{folder}/mine.py"])
def test_a_factory_in_a_file(folder, write, form):
    """A path, relative or absolute, leads to the file's attribute."""
    write("mine.py")
    write("sub/other.py")
    factory = load_agent(f"{form.format(folder=folder)}:Agent")
    assert factory().act(None) == {}
    assert sys.modules[factory.__module__].__file__ == str(folder / "mine.py")


def test_a_file_in_a_folder_of_any_name(write):
    """Blanks, dots and colons in a path are no obstacle."""
    write("my agents/v1.0: new/the agent.py")
    assert load_agent("my agents/v1.0: new/the agent.py:Agent")().act(None) == {}


def test_neighbours_of_a_file_can_be_imported(write):
    """A file imports what lies beside it, as if it had been started by `python file.py`."""
    write("sub/neighbour.py", "ANSWER = {'from': 'neighbour'}\n")
    write(
        "sub/mine.py",
        "from neighbour import ANSWER\n"
        "class Agent:\n    def act(self, _):\n        return ANSWER\n",
    )
    assert load_agent("sub/mine.py:Agent")().act(None) == {"from": "neighbour"}


def test_files_of_one_name_are_different_files(write):
    """Two files with the same name in two folders do not stand in for each other."""
    for name in ("one", "two"):
        write(f"{name}/agent.py", f"def factory():\n    return {name!r}\n")
    assert load_agent("one/agent.py:factory")() == "one"
    assert load_agent("two/agent.py:factory")() == "two"
    assert load_agent("one/agent.py:factory")() == "one"


def test_a_file_does_not_hide_a_module_of_its_name(write):
    """A file named like a module of the program is loaded, and the module stays what it is."""
    json = sys.modules["json"]
    write("sub/json.py")
    assert load_agent("sub/json.py:Agent")().act(None) == {}
    assert sys.modules["json"] is json


def test_a_file_is_run_once(write):
    """Loading the same file again gives the same factory, under whichever spelling."""
    write("mine.py", "RUNS = []\nRUNS.append(1)\n" + AGENT)
    assert load_agent("mine.py:Agent") is load_agent("./mine.py:Agent")


def test_a_file_may_define_dataclasses(write):
    """The module is known while it runs, which dataclasses with postponed annotations need."""
    write(
        "mine.py",
        "from __future__ import annotations\nfrom dataclasses import dataclass\nimport typing\n\n"
        "@dataclass\nclass Agent:\n    size: typing.ClassVar[int] = 3\n    name: str = 'x'\n\n"
        "    def act(self, _):\n        return {}\n",
    )
    assert load_agent("mine.py:Agent")() == load_agent("mine.py:Agent")("x")


def test_a_file_that_was_mended_can_be_loaded(write, refusal):
    """A file that failed is not remembered."""
    write("mine.py", "raise RuntimeError('not yet')\n")
    assert "not yet" in refusal("mine.py:Agent")
    write("mine.py", "VALUE = 'mended at last'\n" + AGENT)
    assert load_agent("mine.py:Agent")().act(None) == {}
