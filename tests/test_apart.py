"""Work in a process of its own: what it sends and raises arrives, and it is bounded."""

from __future__ import annotations

import os
import signal
import time

import pytest

from emberbench_dist.apart import apart
from emberbench_dist.errors import PublishError


def counts(send, upto):
    """Send some numbers, and which process sends them."""
    for number in range(upto):
        send(number)
    send(os.getpid())


def refuses(send):
    """Send something, then raise."""
    send("before")
    raise PublishError("not there")


def hangs(send):
    """Send who hangs."""
    send(os.getpid())
    time.sleep(600)


def dies(send):
    """Send something, and be killed."""
    send("before")
    os.kill(os.getpid(), signal.SIGKILL)


def test_what_is_sent_arrives_in_order_from_another_process():
    """Every message arrives, and the process that sent them is not this one."""
    *numbers, process = apart(counts, 3, patience=60)
    assert numbers == [0, 1, 2]
    assert process != os.getpid()


def test_what_is_raised_there_is_raised_here():
    """An error keeps its class and its text."""
    messages = apart(refuses, patience=60)
    assert next(messages) == "before"
    with pytest.raises(PublishError, match="not there"):
        next(messages)


def test_silence_is_bounded_and_leaves_no_process():
    """Who says nothing for longer than the patience is ended."""
    messages = apart(hangs, patience=60)
    process = next(messages)
    messages.close()
    assert not os.path.exists(f"/proc/{process}")  # noqa: PTH110
    with pytest.raises(TimeoutError, match="nothing was heard"):
        list(apart(hangs, patience=0.01))


def test_a_death_is_told():
    """A process that is killed is an error with its code, not a silence."""
    messages = apart(dies, patience=60)
    assert next(messages) == "before"
    with pytest.raises(ChildProcessError, match="ended with code -9"):
        next(messages)
