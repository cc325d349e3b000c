"""What an agent can change of its process, put back before the next episode."""

from __future__ import annotations

import locale
import os
import random
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_SEED = 0


class Surroundings:
    """Working folder, environment, locale, recursion limit, alarm and global random generators.

    The generators get the same fixed state before each episode, so that what an agent draws
    from them depends neither on chance nor on the episodes that the process played before.
    """

    def __init__(self) -> None:
        """Remember how things are now."""
        self._folder = _folder()
        self._environ = os.environ
        self._environment = dict(_environment())
        self._locale = locale.setlocale(locale.LC_ALL)
        self._recursion_limit = sys.getrecursionlimit()
        self._has_alarm = signal.getitimer(signal.ITIMER_REAL) != (0.0, 0.0)
        # Setting a state takes two thirds of the time of seeding, which comes to the same.
        self._random_state = random.Random(_SEED).getstate()  # noqa: S311 - not for secrets

    def restore(self) -> None:
        """Put everything back."""
        with suppress(OSError):  # the folder may be gone
            os.chdir(self._folder)
        os.environ = self._environ  # noqa: B003 - it may have been replaced
        if _environment() != self._environment:
            os.environ.clear()
            os.environ.update(
                {os.fsdecode(name): os.fsdecode(value) for name, value in self._environment.items()}
            )
        if locale.setlocale(locale.LC_ALL) != self._locale:
            locale.setlocale(locale.LC_ALL, self._locale)
        if sys.getrecursionlimit() != self._recursion_limit:
            sys.setrecursionlimit(self._recursion_limit)
        if not self._has_alarm:
            signal.setitimer(signal.ITIMER_REAL, 0)
        random.setstate(self._random_state)
        if (numpy := sys.modules.get("numpy")) is not None:
            numpy.random.seed(_SEED)


@contextmanager
def kept_generators() -> Iterator[None]:
    """Give a process that is not ours its random generators back as they were."""
    state = random.getstate()
    numpy = sys.modules.get("numpy")
    numpy_state = numpy.random.get_state() if numpy is not None else None
    try:
        yield
    finally:
        random.setstate(state)
        if numpy is not None:
            numpy.random.set_state(numpy_state)


def _folder() -> str:
    """Return the working folder; a name that leads nowhere where it is gone."""
    try:
        return os.getcwd()  # noqa: PTH109 - a string is all that is needed
    except OSError:
        return ""


def _environment() -> dict[bytes, bytes]:
    """Return the environment undecoded: decoding it would cost more than a short episode."""
    return os.environ._data  # type: ignore[attr-defined,no-any-return]  # noqa: SLF001
