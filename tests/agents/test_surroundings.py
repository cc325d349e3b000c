"""What an agent can change of its process is put back, and nothing else is touched."""

from __future__ import annotations

import locale
import os
import random
import signal
import sys
from pathlib import Path
from types import ModuleType

import pytest

from emberbench_dist.agents.surroundings import Surroundings, kept_generators


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder of the test's own; put back what a test changes."""
    monkeypatch.chdir(tmp_path)
    environment, limit, state = dict(os.environ), sys.getrecursionlimit(), random.getstate()
    yield tmp_path
    os.environ.clear()
    os.environ.update(environment)
    locale.setlocale(locale.LC_ALL, "C")
    locale.setlocale(locale.LC_CTYPE, "")
    sys.setrecursionlimit(limit)
    random.setstate(state)


class Generator:
    """A generator like numpy's, that tells what is asked of it."""

    def __init__(self):
        """Begin in some state."""
        self.state = "as it was"

    def seed(self, value):
        """Take a seed."""
        self.state = f"seeded {value}"

    def get_state(self):
        """Return the state."""
        return self.state

    def set_state(self, state):
        """Take a state."""
        self.state = state


@pytest.fixture
def numpy(monkeypatch):
    """Pretend that numpy is imported; return its generator."""
    module = ModuleType("numpy")
    module.random = Generator()
    monkeypatch.setitem(sys.modules, "numpy", module)
    return module.random


@pytest.mark.usefixtures("folder")
def test_everything_is_put_back():
    """Folder, environment, locale and recursion limit are as they were when it was made."""
    os.environ["KEPT"] = "\udcff"
    before = Path.cwd(), dict(os.environ), locale.setlocale(locale.LC_ALL), sys.getrecursionlimit()
    made = Surroundings()
    os.chdir("/")
    os.environ["KEPT"] = "changed"
    os.environ["NEW"] = "1"
    del os.environ["PATH"]
    locale.setlocale(locale.LC_ALL, "C")
    sys.setrecursionlimit(4321)
    made.restore()
    after = Path.cwd(), dict(os.environ), locale.setlocale(locale.LC_ALL), sys.getrecursionlimit()
    assert after == before
    assert os.getenv("KEPT") == "\udcff"


@pytest.mark.usefixtures("folder")
def test_the_environment_of_child_processes_is_put_back_too():
    """What child processes inherit is restored, not only what Python shows."""
    made = Surroundings()
    os.environ["NEW"] = "1"
    made.restore()
    assert os.system('[ -z "$NEW" ]') == 0


@pytest.mark.usefixtures("folder")
def test_a_replaced_environment_is_put_back(monkeypatch):
    """Whoever replaces `os.environ` itself finds the real one in its place again."""
    environment, made = os.environ, Surroundings()
    monkeypatch.setattr(os, "environ", {"NEW": "1"})
    made.restore()
    assert os.environ is environment


def test_a_folder_that_is_gone_is_not_missed(folder):
    """Nothing is raised where the folder was removed, before or after."""
    inner = folder / "inner"
    inner.mkdir()
    os.chdir(inner)
    made = Surroundings()
    inner.rmdir()
    made.restore()
    Surroundings().restore()
    os.chdir(folder)
    made.restore()
    assert Path.cwd() == folder


@pytest.mark.usefixtures("folder")
def test_an_alarm_is_cancelled_where_it_is_the_agents():
    """A time limit that an agent left does not strike a later episode; the caller's own stays."""
    try:
        made = Surroundings()
        signal.setitimer(signal.ITIMER_REAL, 3600)
        Surroundings().restore()
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
        made.restore()
        assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


@pytest.mark.usefixtures("folder")
def test_chance_begins_anew_each_time():
    """The global generator gives the same numbers after each restoration."""
    made = Surroundings()
    made.restore()
    first = [random.random() for _ in range(3)]
    random.seed(5)
    made.restore()
    assert [random.random() for _ in range(3)] == first
    random.random()
    Surroundings().restore()
    assert [random.random() for _ in range(3)] == first


@pytest.mark.usefixtures("folder")
def test_numpy_is_seeded_where_it_is_imported(numpy):
    """The generator of numpy gets the same seed, and is not imported for that."""
    Surroundings().restore()
    assert numpy.state == "seeded 0"
    del sys.modules["numpy"]
    Surroundings().restore()
    assert "numpy" not in sys.modules


@pytest.mark.usefixtures("folder")
def test_the_callers_generators_are_kept(numpy):
    """A process that is not ours gets both generators back, also after an error."""
    random.seed(11)
    state = random.getstate()
    with pytest.raises(KeyboardInterrupt), kept_generators():  # noqa: PT012 - the state is the point
        Surroundings().restore()
        numpy.seed(3)
        raise KeyboardInterrupt
    assert random.getstate() == state
    assert numpy.state == "as it was"
