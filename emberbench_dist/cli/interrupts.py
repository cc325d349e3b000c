"""Ctrl-C: once to stop in good order, twice to stop now."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import click

from emberbench_dist.runner.pool import OpenPool, Pool

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
EXIT_INTERRUPTED = 130


class Interrupts:
    """Count SIGINT and SIGTERM while the run goes on."""

    def __init__(self, *, alone: bool) -> None:
        """`alone`: agents play in this process, so an exception would land in their code."""
        self._alone = alone
        self._count = 0

    def stop(self) -> bool:
        """Say whether the run is to hand out nothing more."""
        return self._count > 0

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Catch the signals, and put back what caught them before."""
        before = {number: signal.getsignal(number) for number in _SIGNALS}
        self._install()
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def guarding(self, open_pool: OpenPool) -> OpenPool:
        """Catch them again once the pool is open: Ray installs handlers of its own."""

        @contextmanager
        def opened() -> Iterator[Pool]:
            with open_pool() as pool:
                self._install()
                yield pool

        return opened

    def _install(self) -> None:
        for number in _SIGNALS:
            signal.signal(number, self._caught)

    def _caught(self, _: int, __: FrameType | None) -> None:
        self._count += 1
        if self._count == 1:
            click.echo(
                "\nStopping: waiting a few seconds for results; again to stop now.", err=True
            )
        elif self._alone:
            os._exit(EXIT_INTERRUPTED)
        else:
            raise KeyboardInterrupt
