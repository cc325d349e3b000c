"""Fire: its frontier, kept from step to step, and the two models (contract: Fire)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import compress
from typing import Protocol

from emberbench_dist.contract.observation import Rules
from emberbench_dist.contract.rng import SplitMix64
from emberbench_dist.errors import SimulationError
from emberbench_dist.simulator.grid import BURNING, EXIT, FLOOR, Cell, Grid


class FireModel(Protocol):
    """Decide what ignites on a spread step, from the frontier and the `fire` stream alone."""

    def ignite(self, edges: list[Cell], rng: SplitMix64) -> Iterable[Cell]:
        """Return newly ignited cells.

        `edges` names the candidate of each (candidate, burning neighbour) pair: candidates
        row-major, each as often as it has burning neighbours.
        """
        ...


class DeterministicFire:
    """Every candidate ignites; nothing is drawn."""

    def ignite(self, edges: list[Cell], rng: SplitMix64) -> Iterable[Cell]:  # noqa: ARG002
        """Return all candidates."""
        return edges


class StochasticFire:
    """Every edge takes one Bernoulli draw; a candidate ignites if any of its edges succeeds."""

    def __init__(self, probability: float) -> None:
        """Spread along each edge with this probability."""
        self._probability = probability

    def ignite(self, edges: list[Cell], rng: SplitMix64) -> Iterable[Cell]:
        """Draw for every edge in canonical order; return the candidates that succeeded."""
        return compress(edges, rng.bernoulli_many(self._probability, len(edges)))


def model_of(rules: Rules) -> FireModel:
    """Return the model that the rules name."""
    if rules.spread_probability is None:
        return DeterministicFire()
    return StochasticFire(rules.spread_probability)


# By `exits_flammable`: 1 for the kinds of terrain that can burn, as a table for `translate`.
_FLAMMABLE = {
    flag: bytes(kind == FLOOR or (kind == EXIT and flag) for kind in range(256))
    for flag in (False, True)
}


class Fire:
    """The burning set of one episode: fuel that is left, and the frontier's edges."""

    __slots__ = ("_fuel", "_stride", "edges")

    def __init__(self, grid: Grid, *, exits_flammable: bool) -> None:
        """Start with nothing burning."""
        self._stride = grid.stride
        self._fuel = bytearray(grid.terrain.translate(_FLAMMABLE[exits_flammable]))
        self.edges: list[Cell] = []

    def require_fuel(self, cells: Collection[Cell], step: int) -> None:
        """Raise `SimulationError` unless all cells are on the grid, flammable, not burning."""
        fuel = self._fuel
        if not all(type(cell) is int and 0 <= cell < len(fuel) and fuel[cell] for cell in cells):
            raise SimulationError(
                f"step {step}: the fire model ignited a cell that burns already, "
                "is not flammable, or is off the grid"
            )

    def burn(self, cells: list[Cell], terrain: bytearray) -> None:
        """Set cells on fire: in the fuel, in `terrain`, and in the frontier."""
        fuel, stride = self._fuel, self._stride
        for cell in cells:
            fuel[cell] = 0
            terrain[cell] = BURNING
        edges = [candidate for candidate in self.edges if fuel[candidate]]
        edges += [
            candidate
            for cell in cells
            for candidate in (cell - stride, cell - 1, cell + 1, cell + stride)
            if fuel[candidate]
        ]
        edges.sort()
        self.edges = edges
