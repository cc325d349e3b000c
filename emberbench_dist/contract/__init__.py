"""Frozen bytes and values: canonical JSON, SplitMix64, scenarios, observations, actions."""
