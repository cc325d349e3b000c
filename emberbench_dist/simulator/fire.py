"""Fire: the two models, and one episode's fire, which runs ahead of the people (contract: Fire).

Fire never sees people, so an episode's fire follows from scenario and seed alone. It is computed
some spread steps ahead, where that is cheap, and then told step by step.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Iterable, Sequence
from itertools import compress
from typing import NamedTuple, Protocol

from emberbench_dist.contract.document import Position
from emberbench_dist.contract.observation import Rules
from emberbench_dist.contract.rng import SplitMix64
from emberbench_dist.errors import SimulationError
from emberbench_dist.simulator.grid import EXIT, FLOOR, Cell, Grid, cells_of, flood


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
# How many spread steps are computed at once: few at first, since episodes may be short.
_FIRST, _MOST = 4, 16


class Blaze(NamedTuple):
    """The fire after one step, and what that step brought.

    `ignited` are its new cells, row-major, and `ignitions` their positions; `cut_off` are the
    cells from which every exit was lost in it.
    """

    ignited: Sequence[Cell]
    ignitions: tuple[Position, ...]
    burning: tuple[Position, ...]
    cut_off: Sequence[Cell]
    rng_state: int


class Fire:
    """The fire of one episode."""

    def __init__(
        self,
        grid: Grid,
        rules: Rules,
        ignitions: Sequence[Position],
        rng: SplitMix64,
        model: FireModel | None = None,
    ) -> None:
        """Set the ignitions on fire; `model` replaces the one that the rules name.

        A model from outside is asked at each spread step, no sooner.
        """
        self._grid, self._interval, self._rng = grid, rules.spread_interval, rng
        self._trusted = model is None
        self._ahead = _FIRST if self._trusted else 1
        self._model = model_of(rules) if model is None else model
        self._fuel = bytearray(grid.terrain.translate(_FLAMMABLE[rules.exits_flammable]))
        self._edges: list[Cell] = []
        self._burning: list[Position] = []
        self._open = grid.open_cells
        self._bits = bytearray(self._open.to_bytes(len(grid.terrain) // 8 + 1, "little"))
        self._burn([grid.cell(position) for position in ignitions])
        # The cells from which an exit that does not burn can be reached, as a bitboard.
        self._reach = flood(grid.exit_cells, self._open, grid)
        self._coming: list[Blaze] = []
        cut_off = cells_of(self._open & ~self._reach)
        self.now = Blaze((), (), tuple(self._burning), cut_off, rng.state)

    def after(self, step: int) -> Blaze:
        """Return the fire after the next step; ask for each step once, in order.

        Raises `SimulationError`, and changes nothing, where a model breaks its contract.
        """
        if step % self._interval:
            self.now = self.now._replace(ignited=(), ignitions=(), cut_off=())
        else:
            if not self._coming:
                self._look_ahead()
                self._ahead = min(_MOST, 2 * self._ahead) if self._trusted else 1
            self.now = self._coming.pop()
        return self.now

    def _look_ahead(self) -> None:
        """Compute the next spread steps, then, from the last to the first, what each cut off."""
        grid, burning, told = self._grid, self.now.burning, []
        for _ in range(self._ahead):
            before, ignited = self._open, self._ignite()
            ignitions = self._burn(ignited) if ignited else ()
            burning = tuple(self._burning) if ignited else burning
            told.append((ignited, ignitions, burning, self._rng.state, before, self._open))
        # Backwards in time the region with a way out only grows, by few cells a step.
        self._reach = after = flood(grid.exit_cells, self._open, grid)
        for ignited, ignitions, burning, state, opened, left in reversed(told):
            earlier = after if opened == left else flood(after | grid.exit_cells, opened, grid)
            lost = earlier & ~after & left
            cut_off = cells_of(lost) if lost else ()
            self._coming.append(Blaze(ignited, ignitions, burning, cut_off, state))
            after = earlier

    def _ignite(self) -> list[Cell]:
        """Ask the fire model what ignites, and hold one from outside to its contract."""
        if self._trusted:
            return list(dict.fromkeys(self._model.ignite(self._edges, self._rng)))
        stream = self._rng.state
        try:
            ignited = set(self._model.ignite(self._edges, self._rng))
            self._require_fuel(ignited)
        except BaseException:
            self._rng.state = stream  # a step that fails changes nothing
            raise
        return sorted(ignited)

    def _require_fuel(self, cells: Collection[Cell]) -> None:
        fuel = self._fuel
        if not all(type(cell) is int and 0 <= cell < len(fuel) and fuel[cell] for cell in cells):
            raise SimulationError(
                "the fire model ignited a cell that burns already, is not flammable, "
                "or is off the grid"
            )

    def _burn(self, cells: list[Cell]) -> tuple[Position, ...]:
        """Set cells on fire, and move the frontier; return the cells' positions."""
        fuel, bits, stride = self._fuel, self._bits, self._grid.stride
        for cell in cells:
            fuel[cell] = 0
            bits[cell >> 3] ^= 1 << (cell & 7)
        self._open = int.from_bytes(bits, "little")
        edges = [candidate for candidate in self._edges if fuel[candidate]]
        edges += [
            candidate
            for cell in cells
            for candidate in (cell - stride, cell - 1, cell + 1, cell + stride)
            if fuel[candidate]
        ]
        edges.sort()
        self._edges = edges
        positions = tuple([divmod(cell, stride) for cell in cells])
        for position in positions:
            insort(self._burning, position)
        return positions
