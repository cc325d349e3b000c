"""`fire-aware`: a shortest path over time, through a fire that goes on to spread."""

from __future__ import annotations

from emberbench_dist.agents.fields import ExitFields, standing, step_between
from emberbench_dist.agents.forecast import Outlook
from emberbench_dist.agents.paths import SafePaths
from emberbench_dist.contract.actions import Action
from emberbench_dist.contract.observation import Observation
from emberbench_dist.simulator.grid import Cell, grid_of


class FireAware:
    """Everybody takes a path that the fire to come leaves open, and of those a shortest one.

    The forecast is exact for a deterministic fire, and the worst case for a stochastic one. Whom
    the worst case leaves no path hopes for a slower fire. Paths ignore other people; among equal
    steps the first of north, south, east, west is taken; who has no path at all stays.
    """

    def __init__(self) -> None:
        """Start without a map."""
        self._fields = ExitFields()

    def act(self, observation: Observation) -> dict[str, Action]:
        """Return each person's next step."""
        grid, outlook = grid_of(observation.map), Outlook(observation)
        fields = self._fields.follow(observation)
        nearest, paths = fields.to(*fields.exits), dict[int, SafePaths]()

        def first_step(cell: Cell) -> Action:
            for level in outlook.hopeful(cell):
                if level not in paths:
                    paths[level] = SafePaths(observation.map, nearest, outlook[level])
                near = paths[level].straight(cell)
                if near is None:
                    near = paths[level].around(cell)[1]
                return step_between(grid, cell, near)
            return Action.STAY

        return {person: first_step(cell) for person, cell in standing(observation).items()}
