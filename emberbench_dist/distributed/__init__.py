"""Many processes, the same result: the worker pool on Ray."""
