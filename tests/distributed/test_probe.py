"""A real Ray that is joined to be looked at: each node answers, and nothing of it is changed."""

from __future__ import annotations

from emberbench_dist.apart import apart
from emberbench_dist.distributed.probe import Node, Start, probe


def test_every_node_of_a_joined_cluster_answers(cluster):
    """Version and seconds first, then each node with its CPUs and what is wrong with it."""
    import ray

    address = ray.get_runtime_context().gcs_address
    started, node = apart(probe, address, patience=60)
    assert isinstance(started, Start)
    assert started.version == ray.__version__
    assert isinstance(node, Node)
    assert (node.cpus, node.problem) == (cluster, "")
    assert ray.is_initialized()
