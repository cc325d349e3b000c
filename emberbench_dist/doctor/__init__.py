"""Whether this machine, a folder and a cluster are fit for a run; told before it, not during."""
