"""`lookahead`: one step, played ahead by the contract's own rules."""

from __future__ import annotations

from typing import Final

from emberbench_dist.agents.fields import FAR, ExitFields, Forecast, standing, ways
from emberbench_dist.contract.actions import Action
from emberbench_dist.contract.observation import Observation
from emberbench_dist.simulator.grid import BURNING, cells_of, grid_of
from emberbench_dist.simulator.movement import resolve_moves

_LOST: Final = FAR * FAR  # more than all people without a path


class Lookahead:
    """Everybody in turn, the nearest to an exit first, tries each action and keeps the best.

    An action is tried by the rules of movement and collision, with what the others have chosen,
    `stay` at first; then the fire is as bad as it can be. The best action leaves the fewest people
    to the fire, and of such the fewest steps to the exits, summed over all. Walls are not tried.
    """

    def act(self, observation: Observation) -> dict[str, Action]:
        """Return each person's next step."""
        grid, places = grid_of(observation.map), standing(observation)
        cells, enter_fire = list(places.values()), observation.rules.enter_fire
        costs, beside = _costs(observation), ways(observation.map)
        terrain = bytearray(grid.terrain)
        for position in observation.burning:
            terrain[grid.cell(position)] = BURNING
        chosen = [Action.STAY] * len(cells)

        def cost(index: int, action: Action) -> int:
            chosen[index] = action
            _, after = resolve_moves(grid, terrain, enter_fire, cells, chosen)
            return sum([costs[cell] for cell in after])

        for index in sorted(range(len(cells)), key=lambda index: costs[cells[index]]):
            cell = cells[index]
            tried = [
                (cost(index, action), rank, action)
                for rank, (action, offset) in enumerate(grid.offsets.items())
                if not offset or cell + offset in beside[cell]
            ]
            chosen[index] = min(tried)[2]
        return dict(zip(places, chosen, strict=True))


def _costs(observation: Observation) -> list[int]:
    """Return what it costs to stand in each cell when the fire is done with this step."""
    grid, fields = grid_of(observation.map), ExitFields(observation)
    costs = list(fields.to(*fields.exits))
    for cell in cells_of(Forecast(observation, 1).fire[:2][-1]):
        if cell not in grid.exits or costs[cell]:
            costs[cell] = _LOST  # but who reaches an exit is out before it ignites
    return costs
