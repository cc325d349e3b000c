"""A Ray cluster of nodes of one CPU on this machine, in a process of its own.

It prints its address, then obeys one word a line on standard input: `add` a node, `kill` the
node that was added last; each is answered by the number of nodes. It ends with its input.
"""

from __future__ import annotations

import sys

from ray.cluster_utils import Cluster


def main() -> None:
    """Obey until there is nothing more to read."""
    head = {"num_cpus": 1, "include_dashboard": False}
    cluster, nodes = Cluster(initialize_head=True, head_node_args=head), []
    say(cluster.address)
    for line in sys.stdin:
        if line.strip() == "add":
            nodes.append(cluster.add_node(num_cpus=1))
        else:
            cluster.remove_node(nodes.pop(), allow_graceful=False)
        say(len(nodes) + 1)
    cluster.shutdown()


def say(value: object) -> None:
    """Answer."""
    sys.stdout.write(f"{value}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
