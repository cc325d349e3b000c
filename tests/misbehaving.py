"""Agents that raise what is hard to carry, disturb their process, or answer in odd ways.

Worker processes import them by SPEC. All play greedily but for what they are for.
"""

from __future__ import annotations

import ctypes
import json
import locale
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError

from liars import Pairs, Shy

from emberbench_dist.agents.baselines import Greedy

FIRST_WIDTH = 10


class Raising(Greedy):
    """Raise in step 1 what `error` returns."""

    def act(self, observation):
        """Act, or raise."""
        if observation.step == 1:
            raise self.error()
        return super().act(observation)

    @staticmethod
    def error():
        """Return what is raised."""
        raise NotImplementedError


class LockError(Exception):
    """What holds a lock, so that it cannot be pickled."""

    def __init__(self, text):
        """Keep a lock."""
        super().__init__(text)
        self.lock = threading.Lock()


class TwoArgumentsError(Exception):
    """What cannot be built again from its `args`."""

    def __init__(self, status, *, reason):
        """Say both in one text."""
        super().__init__(f"{status}: {reason}")


class ReducingError(Exception):
    """What raises when it is pickled."""

    def __reduce__(self):
        """Raise."""
        raise RuntimeError("not to be pickled")


class SilentError(Exception):
    """What raises when its text is asked for."""

    def __str__(self):
        """Raise."""
        raise RuntimeError("no text")


class NumberError(Exception):
    """What has a number for a text."""

    def __str__(self):
        """Return no text."""
        return 7  # noqa: PLE0307 - that is the point


class Nameless(type):
    """A class of classes that raise when their name is asked for."""

    @property
    def __name__(cls):
        """Raise."""
        raise RuntimeError("no name")


class NamelessError(Exception, metaclass=Nameless):
    """What has no name that could be shown."""


class OwnBaseError(BaseException):
    """What no `except Exception` catches."""


class HoldsALock(Raising):
    """Raise what holds a lock."""

    error = staticmethod(lambda: LockError("locked"))


class HasArguments(Raising):
    """Raise what has an odd constructor."""

    error = staticmethod(lambda: TwoArgumentsError(429, reason="slow down"))


class CannotBePickled(Raising):
    """Raise what refuses to be pickled."""

    error = staticmethod(lambda: ReducingError("stay here"))


class CannotBeShown(Raising):
    """Raise what has no text."""

    error = staticmethod(SilentError)


class ShowsANumber(Raising):
    """Raise what has a number for a text."""

    error = staticmethod(NumberError)


class HasNoName(Raising):
    """Raise what has no name."""

    error = staticmethod(lambda: NamelessError("who am I"))


class TalksTooMuch(Raising):
    """Raise ten million characters."""

    error = staticmethod(lambda: ValueError("x" * 10_000_000))


class SpeaksBadly(Raising):
    """Raise characters that no encoding has, and one that ends a text in C."""

    error = staticmethod(lambda: ValueError("a\udc80b\0c"))


class FailsInJson(Raising):
    """Raise from the scanner of JSON."""

    error = staticmethod(lambda: json.loads("{]"))


class FailsInC(Raising):
    """Raise from a function of C."""

    @staticmethod
    def error():
        """Let C set the exception."""
        set_string = ctypes.pythonapi.PyErr_SetString
        set_string.argtypes = [ctypes.py_object, ctypes.c_char_p]
        return set_string(OSError, b"no such device")


class NeedsTooMuchMemory(Raising):
    """Ask for more memory than there can be."""

    error = staticmethod(lambda: bytes(2**62))


class Recurses(Raising):
    """Recurse without end."""

    @staticmethod
    def error():
        """Call itself."""
        return Recurses.error()


class Exits(Raising):
    """Leave the process politely."""

    error = staticmethod(lambda: SystemExit(3))


class Interrupts(Raising):
    """Press Ctrl-C."""

    error = staticmethod(lambda: KeyboardInterrupt("pressed"))


class ClosesGenerators(Raising):
    """Raise what ends generators."""

    error = staticmethod(GeneratorExit)


class EndsIteration(Raising):
    """Raise what ends iterations."""

    error = staticmethod(lambda: StopIteration(5))


class RaisesItsOwn(Raising):
    """Raise what no `except Exception` catches."""

    error = staticmethod(lambda: OwnBaseError("mine"))


class FailsOverHttp(Raising):
    """Raise an HTTP error."""

    error = staticmethod(lambda: HTTPError("model", 404, "Not Found", {}, None))


class RaisesAGroup(Raising):
    """Raise several at once."""

    error = staticmethod(lambda: BaseExceptionGroup("both", [SystemExit(1), ValueError("two")]))


class AnswersWithLists(Greedy):
    """Name people by lists, which have no hash."""

    def act(self, observation):
        """Answer."""
        return Pairs(*(([person], "stay") for person in observation.active))


# An agent for each width of map, from `FIRST_WIDTH` on.
RAISING = (
    HoldsALock,
    HasArguments,
    CannotBePickled,
    CannotBeShown,
    ShowsANumber,
    HasNoName,
    TalksTooMuch,
    SpeaksBadly,
    FailsInJson,
    FailsInC,
    NeedsTooMuchMemory,
    Recurses,
    Exits,
    Interrupts,
    ClosesGenerators,
    EndsIteration,
    RaisesItsOwn,
    FailsOverHttp,
    RaisesAGroup,
    AnswersWithLists,
)


class Each:
    """Be the agent that belongs to the width of the map."""

    agents = RAISING

    def __init__(self):
        """Wait for a map."""
        self.agent = None

    def act(self, observation):
        """Let the agent act; greedily where the map is small."""
        if self.agent is None:
            number = observation.map.width - FIRST_WIDTH
            self.agent = self.agents[number]() if number >= 0 else Greedy()
        return self.agent.act(observation)


class Segfaults(Raising):
    """Read from address 0."""

    error = staticmethod(lambda: ctypes.string_at(0))


class Aborts(Raising):
    """Abort as C does."""

    error = staticmethod(os.abort)


class LeavesAtOnce(Raising):
    """Leave without a word, as if all were well."""

    error = staticmethod(lambda: os._exit(0))


class Terminates(Raising):
    """Ask the own process to end."""

    @staticmethod
    def error():
        """Send SIGTERM, and wait for it."""
        os.kill(os.getpid(), 15)
        time.sleep(60)


class EachDeath(Each):
    """End the process in the way that belongs to the width of the map."""

    agents = (Segfaults, Aborts, LeavesAtOnce, Terminates)


class SubclassedAnswers(Greedy):
    """Answer with a mapping that is no dict, of texts that are not quite `str`."""

    def act(self, observation):
        """Answer."""
        actions = super().act(observation)
        return Pairs(*((Shy(person), Shy(action)) for person, action in actions.items()))


class OrderedAnswers(Greedy):
    """Answer with a dict that is not quite one, in another order, by name of the actions."""

    def act(self, observation):
        """Answer."""
        actions = super().act(observation)
        return OrderedDict((person, str(actions[person])) for person in reversed(actions))


def surroundings():
    """Return what an agent can see and change of its process."""
    return (
        os.environ,
        dict(os.environ),
        locale.setlocale(locale.LC_ALL),
        sys.getrecursionlimit(),
        random.getstate(),
        signal.getitimer(signal.ITIMER_REAL),
    )


class Disturbing(Greedy):
    """Change the process in `disturb`; give up where an earlier episode's change is left."""

    seen = None

    def __init__(self):
        """Compare with what the first agent of this kind saw in this process."""
        super().__init__()
        found = Path().stat().st_ino, *surroundings()
        cls = type(self)
        cls.seen = cls.seen or found
        if cls.seen != found:
            raise AssertionError("an earlier episode can be seen")
        self.disturb()

    def disturb(self):
        """Do what this agent is for."""


class ChangesFolder(Disturbing):
    """Leave the working folder."""

    def disturb(self):
        """Go to the root."""
        os.chdir("/")


class RemovesFolder(Greedy):
    """Remove the working folder, with all that is in it."""

    def act(self, observation):
        """Remove it, and act."""
        if observation.step == 0 and Path("doomed").exists():
            shutil.rmtree(Path.cwd())
        return super().act(observation)


class ChangesEnvironment(Disturbing):
    """Set, change and delete variables of the environment."""

    def disturb(self):
        """Do all three."""
        os.environ["NEW"] = "\udcff"
        os.environ["PATH"] = ""
        del os.environ["HOME"]


class ReplacesEnvironment(Disturbing):
    """Put a plain dict in the place of the environment."""

    def disturb(self):
        """Replace it."""
        os.environ = {"NEW": "1"}  # noqa: B003 - that is the point


class ChangesLocale(Disturbing):
    """Set another locale."""

    def disturb(self):
        """Set that of C."""
        locale.setlocale(locale.LC_ALL, "C")


class ChangesRecursionLimit(Disturbing):
    """Allow less recursion."""

    def disturb(self):
        """Set another limit."""
        sys.setrecursionlimit(sys.getrecursionlimit() - 100)


class Reseeds(Disturbing):
    """Seed the global generator anew, and draw from it."""

    def disturb(self):
        """Leave it in another state."""
        random.seed()
        random.random()


class LeavesAnAlarm(Disturbing):
    """Set a time limit for itself, and forget it."""

    def disturb(self):
        """Set it."""
        signal.setitimer(signal.ITIMER_REAL, 3600)


class LeavesOthersBehind(Greedy):
    """Leave a daemon thread and a child process behind; the child is noted in `children`."""

    def __init__(self):
        """Start both."""
        super().__init__()
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
        child = subprocess.Popen(["sleep", "600"])
        with Path("children").open("a") as file:
            file.write(f"{child.pid}\n")
        child.returncode = 0  # it is not to be waited for


HARMLESS = (
    SubclassedAnswers,
    OrderedAnswers,
    ChangesFolder,
    ChangesEnvironment,
    ReplacesEnvironment,
    ChangesLocale,
    ChangesRecursionLimit,
    Reseeds,
    LeavesAnAlarm,
)


class EachHarmless(Each):
    """Be a harmless agent, another one for each width of the map."""

    agents = HARMLESS


class AtRandom:
    """Draw every action from the global generator."""

    def act(self, observation):
        """Draw."""
        return {person: random.choice(observation.allowed_actions) for person in observation.active}


class Prints(Greedy):
    """Print a megabyte an episode on each stream, from Python and from C."""

    def act(self, observation):
        """Print, and act."""
        if observation.step == 0:
            for stream in (sys.stdout, sys.stderr):
                print(f"from Python to {stream.fileno()} " + "p" * 2**20, file=stream)
                os.write(stream.fileno(), b"from C to %d " % stream.fileno() + b"c" * 2**20 + b"\n")
        return super().act(observation)


class Counted(Greedy):
    """Note in the file `built` that it was made, and in `played` which width of map it plays."""

    def __init__(self):
        """Note it."""
        super().__init__()
        note("built", os.getpid())

    def act(self, observation):
        """Note the first step, and act."""
        if observation.step == 0:
            note("played", observation.map.width)
        return super().act(observation)


class Sick(Counted):
    """Raise on some maps and end the process on another, until there is a file `mended`."""

    raises, dies = (9, 12, 14), 11

    def act(self, observation):
        """Act, or fail in step 1."""
        width = observation.map.width
        if observation.step == 1 and not Path("mended").exists():
            if width in self.raises:
                raise ValueError(f"no plan for {width} columns")
            if width == self.dies:
                os._exit(7)
        return super().act(observation)


class DiesOnce(Counted):
    """End the process on one map, the first time only."""

    def act(self, observation):
        """Act, or end the process in step 1."""
        if observation.map.width == Sick.dies and observation.step == 1:
            with suppress(FileExistsError):
                Path("died").touch(exist_ok=False)
                os._exit(7)
        return super().act(observation)


def note(name, value):
    """Append a line to a file of the working folder, whole also where several do."""
    with Path(name).open("a") as file:
        file.write(f"{value}\n")


class Hangs(Greedy):
    """Take longer than a slice for each episode, and for ever on one map, until it is mended."""

    def act(self, observation):
        """Act, sooner or later."""
        if observation.step == 0:
            time.sleep(0.3)
        while observation.map.width == Sick.dies and not Path("mended").exists():
            time.sleep(0.01)
        return super().act(observation)


class Dawdles(Greedy):
    """Take its time, until there is a file `hurry` in the working folder."""

    def act(self, observation):
        """Act, sooner or later."""
        if not Path("hurry").exists():
            time.sleep(0.05)
        return super().act(observation)
