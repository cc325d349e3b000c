"""A Ray cluster of nodes of one CPU on this machine, in a process of its own.

It prints its address, then obeys one line on standard input after the other: `add` a node, perhaps
one that lacks a package (`add-without PACKAGE`); `kill` or `drain` the node that was added last;
`behead`, which kills the head's processes; `client`, a server for `ray://`; `count`. Each is
answered by the number of nodes, `client` by its address. It ends with its input.
"""

from __future__ import annotations

import os
import socket
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from ray._raylet import GcsClient
from ray.cluster_utils import Cluster

DRAIN_SECONDS = 2


class Host:
    """A cluster that obeys."""

    def __init__(self):
        """Start the head."""
        head = {"num_cpus": 1, "include_dashboard": False}
        self.cluster, self.nodes = Cluster(initialize_head=True, head_node_args=head), []

    def obey(self, word, package=""):
        """Do one thing; return the answer."""
        match word:
            case "add":
                self.nodes.append(self.cluster.add_node(num_cpus=1))
            case "add-without":
                with lacking(package):
                    self.nodes.append(self.cluster.add_node(num_cpus=1))
            case "kill":
                self.cluster.remove_node(self.nodes.pop(), allow_graceful=False)
            case "drain":
                self.drain(self.nodes.pop())
            case "behead":
                self.cluster.head_node.kill_all_processes(check_alive=False, wait=True)
            case "client":
                return self.serve()
        return len(self.nodes) + 1

    def drain(self, node):
        """Tell the cluster that a node will be taken away, and take it away."""
        deadline = int((time.time() + DRAIN_SECONDS) * 1000)
        client, preempted = GcsClient(address=self.cluster.address), 2
        accepted, why = client.drain_node(node.node_id, preempted, "a test", deadline)
        assert accepted, why
        time.sleep(DRAIN_SECONDS)
        self.cluster.remove_node(node)

    def serve(self):
        """Serve drivers elsewhere, as `ray start --ray-client-server-port`; return the address."""
        head = self.cluster.head_node
        with socket.create_server(("", 0)) as free:
            port = free.getsockname()[1]
        head._ray_params.ray_client_server_port = port
        head.start_ray_client_server()
        address = head.node_ip_address, port
        while True:
            try:
                socket.create_connection(address, 1).close()
            except ConnectionRefusedError:
                time.sleep(0.1)
            else:
                return f"{address[0]}:{port}"


@contextmanager
def lacking(package):
    """Let processes that are started meanwhile find something broken under a package's name."""
    folder, before = tempfile.mkdtemp(), os.environ["PYTHONPATH"]
    broken = f"raise ModuleNotFoundError(\"No module named '{package}'\", name='{package}')\n"
    Path(folder, f"{package}.py").write_text(broken)
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, before])
    yield
    os.environ["PYTHONPATH"] = before


def main():
    """Obey until there is nothing more to read."""
    host = Host()
    say(host.cluster.address)
    for line in sys.stdin:
        say(host.obey(*line.split()))
    host.cluster.shutdown()


def say(value):
    """Answer."""
    sys.stdout.write(f"{value}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
