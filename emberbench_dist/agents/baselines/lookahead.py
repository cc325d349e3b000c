"""`lookahead`: one step, played ahead by the contract's own rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from emberbench_dist.agents.fields import FAR, ExitFields, standing, ways
from emberbench_dist.agents.forecast import spread
from emberbench_dist.contract.actions import Action
from emberbench_dist.contract.observation import Observation
from emberbench_dist.simulator.grid import BURNING, Cell, cells_of, grid_of
from emberbench_dist.simulator.movement import resolve_moves

_LOST: Final = FAR * FAR  # more than all people without a path


class Lookahead:
    """Everybody in turn, the nearest to an exit first, tries each action and keeps the best.

    An action is tried by the rules of movement and collision, with what the others have chosen,
    `stay` at first; then the fire is as bad as it can be. The best action leaves the fewest people
    to the fire, and of such the fewest steps to the exits, summed over all. Walls are not tried.
    """

    def __init__(self) -> None:
        """Start without a map."""
        self._fields = ExitFields()

    def act(self, observation: Observation) -> dict[str, Action]:
        """Return each person's next step."""
        places = standing(observation)
        costs = _costs(observation, self._fields.follow(observation))
        trial = _Trial(observation, list(places.values()))
        for index in sorted(range(len(trial.cells)), key=lambda index: costs[trial.cells[index]]):
            trial.choose(index, costs)
        return dict(zip(places, trial.chosen, strict=True))


class _Trial:
    """What everybody has chosen so far, and what comes of it."""

    def __init__(self, observation: Observation, cells: list[Cell]) -> None:
        self.cells = cells
        self.chosen = [Action.STAY] * len(cells)
        self._grid, self._beside = grid_of(observation.map), ways(observation.map)
        self._enter_fire = observation.rules.enter_fire
        self._terrain = bytearray(self._grid.terrain)
        for position in observation.burning:
            self._terrain[self._grid.cell(position)] = BURNING
        # By cell, who stands there or goes there.
        self._concerned = {cell: [index] for index, cell in enumerate(cells)}

    def choose(self, index: int, costs: Sequence[int]) -> None:
        """Keep the best action of one person; of equal ones the first."""
        cell, beside = self.cells[index], self._beside[self.cells[index]]
        tried = {
            action: cell + offset
            for action, offset in self._grid.offsets.items()
            if not offset or cell + offset in beside
        }
        group = sorted(self._group(tried.values()))
        cells = [self.cells[member] for member in group]
        chosen = [self.chosen[member] for member in group]
        place = group.index(index)

        def cost(action: Action) -> int:
            chosen[place] = action
            _, after = resolve_moves(self._grid, self._terrain, self._enter_fire, cells, chosen)
            return sum([costs[cell] for cell in after])

        best = min(tried, key=cost)
        self.chosen[index] = best
        if tried[best] != cell:
            self._concerned.setdefault(tried[best], []).append(index)

    def _group(self, reached: Iterable[Cell]) -> set[int]:
        """Return on whom it can depend, or who can depend on it, what comes of going there.

        Whether somebody moves depends on who stands or goes where they go, and so on; all others
        fare the same whatever is chosen.
        """
        group, todo = set[int](), list(reached)
        for cell in todo:
            for member in self._concerned.get(cell, ()):
                if member not in group:
                    group.add(member)
                    stands = self.cells[member]
                    todo += stands, stands + self._grid.offsets[self.chosen[member]]
        return group


def _costs(observation: Observation, fields: ExitFields) -> list[int]:
    """Return what it costs to stand in each cell when the fire is done with this step."""
    grid = grid_of(observation.map)
    costs = list(fields.to(*fields.exits))
    *_, fire = islice(spread(observation, 1), 2)
    for cell in cells_of(fire):
        if cell not in grid.exits or costs[cell]:
            costs[cell] = _LOST  # but who reaches an exit is out before it ignites
    return costs
