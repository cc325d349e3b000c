"""Where fire may be how soon, and where one can still get out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from emberbench_dist.agents.fields import FAR
from emberbench_dist.contract.observation import Observation
from emberbench_dist.simulator.grid import Cell, board, flood, grid_of

# No forecast looks further ahead, in steps: it would take memory, and tell nobody anything new.
_FORESEEN: Final = 500

# Between the worst case, which may close every path, and a fire that stands still.
_PACES: Final = (1, 2, 4, FAR)


class Forecast:
    """Where fire may be at each time to come, and where one may stand and still get out.

    `fire` and `safe` are bitboards by steps from now; the last one holds for all time after it.
    """

    def __init__(self, observation: Observation, pace: int) -> None:
        """Let every flammable neighbour of fire ignite, on every `pace`-th spread step."""
        self._grid = grid_of(observation.map)
        self.fire = list(spread(observation, pace))
        self.safe = self._safe()
        self._flags: list[bytes | None] = [None] * len(self.safe)

    def is_safe(self, cell: Cell, steps: int) -> bool:
        """Say whether somebody at a cell so many steps from now can still get out.

        Others are ignored. An exit is safe as long as one can go there in the step after.
        """
        return bool(self.at(steps)[cell >> 3] >> (cell & 7) & 1)

    def at(self, steps: int) -> bytes:
        """Return which cells are safe so many steps from now, a bit each."""
        index = min(steps, len(self._flags) - 1)
        flags = self._flags[index]
        if flags is None:
            size = len(self._grid.terrain) // 8 + 1
            flags = self._flags[index] = self.safe[index].to_bytes(size, "little")
        return flags

    def _safe(self) -> list[int]:
        """Go back in time from the end: safe is what leads to a safe cell, or out."""
        grid, safe = self._grid, []
        inside = grid.open_cells & ~self.fire[-1]
        after = flood(grid.exit_cells, inside, grid)
        for fire in reversed(self.fire):
            after |= grid.exit_cells & ~fire
            after = (after | around(after, grid.stride)) & grid.open_cells & ~fire
            safe.append(after)
        safe.reverse()
        return safe


class Outlook:
    """The forecasts of one observation, from the worst case to a fire that stands still.

    The first is exactly what a deterministic fire does, and then the only one.
    """

    def __init__(self, observation: Observation) -> None:
        """Start with none of them made."""
        self._observation = observation
        self._paces = _PACES[:1] if observation.rules.spread_probability is None else _PACES
        self._made: dict[int, Forecast] = {}

    def __getitem__(self, level: int) -> Forecast:
        """Return the forecast of a level; 0 is the worst case."""
        if level not in self._made:
            self._made[level] = Forecast(self._observation, self._paces[level])
        return self._made[level]

    def __len__(self) -> int:
        """Return the number of levels."""
        return len(self._paces)

    def hopeful(self, cell: Cell) -> Iterator[int]:
        """Yield the levels at which somebody at a cell can get out, if nobody is in the way."""
        return (level for level in range(len(self)) if self[level].is_safe(cell, 0))


def spread(seen: Observation, pace: int) -> Iterator[int]:
    """Yield the fire now and after each step, until it has nowhere to go.

    Every flammable neighbour of fire ignites, on every `pace`-th spread step.
    """
    grid, rules = grid_of(seen.map), seen.rules
    fuel = grid.open_cells if rules.exits_flammable else grid.open_cells & ~grid.exit_cells
    fire, spreads = board(map(grid.cell, seen.burning)), 0
    yield fire
    last = min(rules.max_steps, seen.step + _FORESEEN) if pace < FAR else seen.step
    for step in range(seen.step + 1, last + 1):
        if step % rules.spread_interval == 0:
            spreads += 1
            if spreads % pace == 0:
                ignited = around(fire, grid.stride) & fuel & ~fire
                if not ignited:
                    return
                fire |= ignited
        yield fire


def around(bits: int, stride: int) -> int:
    """Return the neighbours of a bitboard's cells; some may be walls or boundary."""
    return bits << 1 | bits >> 1 | bits << stride | bits >> stride
