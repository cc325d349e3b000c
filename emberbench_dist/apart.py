"""Work in a process of its own: it may hang, crash, or end badly, and this process is as it was."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any

Send = Callable[[object], None]


def apart(work: Callable[..., None], *arguments: object, patience: float) -> Iterator[Any]:
    """Call `work(send, *arguments)` in a fresh process; yield what it sends.

    What it raises is raised here. `TimeoutError` where it is silent for `patience` seconds,
    `ChildProcessError` where its process ends by itself. The process is gone afterwards.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(sender, work, arguments))
    process.start()
    sender.close()
    try:
        while receiver.poll(patience):
            done, value = receiver.recv()
            if isinstance(value, Exception):
                raise value
            if done:
                return
            yield value
        raise TimeoutError(f"nothing was heard for {patience:.0f} s")
    except (EOFError, ConnectionError) as error:
        process.join()
        raise ChildProcessError(f"a process ended with code {process.exitcode}") from error
    finally:
        process.kill()
        process.join()
        process.close()
        receiver.close()


def _work(sender: Connection, work: Callable[..., None], arguments: tuple[object, ...]) -> None:
    """Be the process; Ctrl-C is for the caller, and no library gets a word at the end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        work(lambda value: sender.send((False, value)), *arguments)
        sender.send((True, None))
    except Exception as error:  # noqa: BLE001 - the caller decides what becomes of it
        sender.send((True, error))
    finally:
        os._exit(0)
