"""Fire: its frontier, kept from step to step, and the two models (contract: Fire)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import compress
from typing import Protocol

from emberbench_dist.contract.observation import Rules
from emberbench_dist.contract.rng import SplitMix64
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


class Fire:
    """The burning set of one episode: fuel that is left, and the frontier's edges."""

    __slots__ = ("_fuel", "_stride", "edges")

    def __init__(self, grid: Grid, *, exits_flammable: bool) -> None:
        """Start with nothing burning."""
        self._stride = grid.stride
        flammable = bytes(
            kind == FLOOR or (kind == EXIT and exits_flammable) for kind in range(256)
        )
        self._fuel = bytearray(grid.terrain.translate(flammable))
        self.edges: list[Cell] = []

    def can_ignite(self, cells: Collection[Cell]) -> bool:
        """Say whether all these cells are on the grid, flammable and not burning."""
        fuel = self._fuel
        return all(0 <= cell < len(fuel) and fuel[cell] for cell in cells)

    def burn(self, cells: Iterable[Cell], terrain: bytearray) -> None:
        """Set cells on fire: in the fuel, in `terrain`, and in the frontier."""
        fuel, stride = self._fuel, self._stride
        cells = list(cells)
        for cell in cells:
            fuel[cell] = 0
            terrain[cell] = BURNING
        edges = [candidate for candidate in self.edges if fuel[candidate]]
        for cell in cells:
            around = (cell - stride, cell - 1, cell + 1, cell + stride)
            edges += [candidate for candidate in around if fuel[candidate]]
        edges.sort()
        self.edges = edges
