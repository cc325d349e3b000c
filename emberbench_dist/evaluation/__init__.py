"""The manifest, one episode, its metrics: no disk to write, no cluster."""
