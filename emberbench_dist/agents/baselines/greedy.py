"""`greedy`: a shortest path around what burns now."""

from __future__ import annotations

from emberbench_dist.agents.fields import distances
from emberbench_dist.contract.actions import Action
from emberbench_dist.contract.document import Position
from emberbench_dist.contract.observation import GridMap, Observation, Status
from emberbench_dist.simulator.grid import Cell, board, grid_of


class Greedy:
    """Everybody takes a shortest path to the nearest exit that does not burn.

    Paths avoid walls and burning cells and ignore other people. Among equal steps the first of
    north, south, east, west is taken; who has no path stays.
    """

    def __init__(self) -> None:
        """Start without a field."""
        self._map: GridMap | None = None
        self._burning: tuple[Position, ...] | None = None
        self._field: ExitField | WindingExitField | None = None

    def act(self, observation: Observation) -> dict[str, Action]:
        """Return each person's next step."""
        field = self._field_for(observation)
        active = Status.ACTIVE
        return {
            person.id: field.next_step(person.position)
            for person in observation.people
            if person.status is active
        }

    def _field_for(self, observation: Observation) -> ExitField | WindingExitField:
        """Keep the field for as long as nothing ignites."""
        if (
            self._field is None
            or observation.burning is not self._burning
            or observation.map is not self._map
        ):
            self._map, self._burning = observation.map, observation.burning
            kind = WindingExitField if grid_of(observation.map).neighbours else ExitField
            self._field = kind(observation.map, observation.burning)
        return self._field


class ExitField:
    """For each cell, the first step of a shortest path to an exit that does not burn.

    One flood from all exits answers for everybody: each round marks the cells that it reaches
    with the direction they were reached from.
    """

    def __init__(self, world: GridMap, burning: tuple[Position, ...]) -> None:
        """Flood the map from its exits, around `burning`."""
        grid = grid_of(world)
        self._stride = stride = grid.stride
        left = grid.open_cells & ~board(grid.cell(position) for position in burning)
        frontier = grid.exit_cells & left
        left ^= frontier
        north = south = east = west = 0
        while frontier:
            from_north, from_south = left & frontier << stride, left & frontier >> stride
            from_east, from_west = left & frontier >> 1, left & frontier << 1
            north |= from_north
            south |= from_south
            east |= from_east
            west |= from_west
            frontier = from_north | from_south | from_east | from_west
            left ^= frontier
        size = len(grid.terrain) // 8 + 1
        self._marks = [
            (action, marked.to_bytes(size, "little"))
            for action, marked in (
                (Action.NORTH, north),
                (Action.SOUTH, south),
                (Action.EAST, east),
                (Action.WEST, west),
            )
        ]

    def next_step(self, position: Position) -> Action:
        """Return the action to take at `position`: `stay` on an exit or where no path is."""
        cell: Cell = position[0] * self._stride + position[1]
        byte, bit = cell >> 3, 1 << (cell & 7)
        for action, marked in self._marks:
            if marked[byte] & bit:
                return action
        return Action.STAY


class WindingExitField:
    """The same for maps on which a flood takes too many rounds: distances found by a search."""

    def __init__(self, world: GridMap, burning: tuple[Position, ...]) -> None:
        """Search the map from its exits, around `burning`."""
        self._grid = grid_of(world)
        self._distances = distances(world, burning, self._grid.exits)

    def next_step(self, position: Position) -> Action:
        """Return the action to take at `position`: `stay` on an exit or where no path is."""
        cell = self._grid.cell(position)
        nearer = self._distances[cell] - 1
        for action, offset in self._grid.offsets.items():
            if self._distances[cell + offset] == nearer:
                return action
        return Action.STAY
