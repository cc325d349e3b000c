"""A working folder in which tests write agents as files and modules, and import them."""

from __future__ import annotations

import importlib
import sys

import pytest

from emberbench_dist.agents.registry import load_agent
from emberbench_dist.errors import AgentSpecError

AGENT = "class Agent:\n    def act(self, observation):\n        return {}\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Give a test a working folder, a search path and modules of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    yield tmp_path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def write(folder):
    """Return a function that writes a Python file, by default an agent, below the folder."""

    def write(name, text=AGENT):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        importlib.invalidate_caches()
        return path

    return write


@pytest.fixture
def refusal(folder):
    """Return a function that gives the one line with which a SPEC is refused."""
    del folder

    def refusal(spec):
        with pytest.raises(AgentSpecError) as caught:
            load_agent(spec)
        message = str(caught.value)
        assert len(message.splitlines()) == 1
        return message

    return refusal
