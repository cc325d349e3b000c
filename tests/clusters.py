"""Clusters of several raylets on this machine, as orders to `cluster_host.py`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path

TESTS = Path(__file__).parent
SETTINGS = {
    # Every process of the cluster, and who joins it, must know this.
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": "5" * 64,
    "RAY_USAGE_STATS_ENABLED": "0",
    # A dead node is noticed within seconds.
    "RAY_health_check_initial_delay_ms": "500",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "500",
    "RAY_health_check_failure_threshold": "3",
}


def environment():
    """Return the environment for the cluster and for what joins it."""
    paths = [str(TESTS), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, **SETTINGS, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


class Host:
    """A cluster with one node at first."""

    def __init__(self, folder):
        """Start it, with its files in a folder."""
        self.process = subprocess.Popen(
            [sys.executable, TESTS / "cluster_host.py"],
            env=environment() | {"TMPDIR": folder},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.address = self._answer()

    def __call__(self, words):
        """Give an order; return how many nodes there are, or the address asked for."""
        self.process.stdin.write(f"{words}\n")
        self.process.stdin.flush()
        answer = self._answer()
        return int(answer) if answer.isdigit() else answer

    def _answer(self):
        """Return the next line that is an answer: Ray prints there too."""
        for line in self.process.stdout:
            if re.fullmatch(r"\d+|[\d.]+:\d+", line.strip()):
                return line.strip()
        self.process.wait()
        raise AssertionError("the cluster has died")

    def close(self):
        """Let it shut down."""
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


@contextmanager
def cluster():
    """Keep a cluster."""
    # Ray's sockets need a short path.
    with (
        tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as folder,
        closing(Host(folder)) as host,
    ):
        yield host
