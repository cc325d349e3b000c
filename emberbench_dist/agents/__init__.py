"""Who plays, and how: the interface, its lifecycle rules, the baselines, the registry."""
