"""The world: movement, fire, trapping, run record and replay."""
