"""`fire-aware`: a shortest path over time, through a fire that goes on to spread."""

from __future__ import annotations

from emberbench_dist.agents.fields import Forecast, Outlook, around, standing
from emberbench_dist.contract.actions import Action
from emberbench_dist.contract.observation import Observation
from emberbench_dist.simulator.grid import Cell, Grid, grid_of


class FireAware:
    """Everybody takes a path that the fire to come leaves open, and of those a shortest one.

    The forecast is exact for a deterministic fire, and the worst case for a stochastic one. Whom
    the worst case leaves no path hopes for a slower fire. Paths ignore other people; among equal
    steps the first of north, south, east, west is taken; who has no path at all stays.
    """

    def act(self, observation: Observation) -> dict[str, Action]:
        """Return each person's next step."""
        grid, outlook = grid_of(observation.map), Outlook(observation)
        return {
            person: _first_step(grid, outlook, cell)
            for person, cell in standing(observation).items()
        }


def _first_step(grid: Grid, outlook: Outlook, cell: Cell) -> Action:
    for level in outlook.hopeful(cell):
        onto = _first_cells(grid, outlook[level], cell)
        return next(
            action for action, offset in grid.offsets.items() if 1 << cell & _moved(onto, -offset)
        )
    return Action.STAY


def _moved(bits: int, offset: int) -> int:
    return bits << offset if offset > 0 else bits >> -offset


def _first_cells(grid: Grid, forecast: Forecast, start: Cell) -> int:
    """Return the bitboard of where shortest paths that are safe go first."""
    stride, exits = grid.stride, grid.exit_cells
    layers, left = [1 << start], grid.open_cells
    for time, frontier in enumerate(layers):
        left &= ~frontier
        near = around(frontier, stride)
        out = near & exits & forecast.safe[min(time, len(forecast.safe) - 1)]
        if out:
            break
        layers.append(near & left & forecast.safe[min(time + 1, len(forecast.safe) - 1)])
    for layer in reversed(layers[1:]):
        out = around(out, stride) & layer
    return out
