"""Copies of finished runs: in object stores, and in folders elsewhere."""
