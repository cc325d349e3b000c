"""The simulator: the contract's phase table.

| phase | here |
| --- | --- |
| 1 observation | `observe` |
| 2 actions | `read_actions` |
| 3 movement validation, 4 collision resolution | `resolve_moves` |
| 5 movement | `_move` |
| 6 evacuation | `_evacuate` |
| 7 fire propagation | `_ignite`, `_burn` |
| 8 casualties and trapping | `_take_casualties`, `_trapped` |
| 9 termination | `_termination` |
"""

from __future__ import annotations

from bisect import insort

from emberbench_dist.contract.actions import ALLOWED_ACTIONS, read_actions
from emberbench_dist.contract.observation import Observation, PersonView, Status
from emberbench_dist.contract.rng import SplitMix64, stream_seed
from emberbench_dist.contract.scenario import MAX_SEED, Scenario
from emberbench_dist.errors import SimulationError
from emberbench_dist.simulator.fire import Fire, FireModel, model_of
from emberbench_dist.simulator.grid import BURNING, EXIT, Cell, board, flood, grid_of
from emberbench_dist.simulator.movement import resolve_moves
from emberbench_dist.simulator.state import (
    Casualty,
    Cause,
    Evacuation,
    RngState,
    SimulationState,
    StepRecord,
    TerminationReason,
)


class Simulator:
    """One episode of a scenario under a seed (simulation contract, version 0.2.0)."""

    def __init__(
        self, scenario: Scenario, seed: int, *, fire_model: FireModel | None = None
    ) -> None:
        """Set the scenario up at step 0; `fire_model` replaces the one that the rules name."""
        if type(seed) is not int or not 0 <= seed <= MAX_SEED:
            raise SimulationError(f"the seed must be an integer from 0 to 2**64 - 1, got {seed!r}")
        self.scenario = scenario
        self._rules = scenario.rules
        self._model = fire_model or model_of(scenario.rules)
        self._rng = SplitMix64(stream_seed(seed, "fire"))
        self._grid = grid = grid_of(scenario.map)
        self._terrain = bytearray(grid.terrain)
        self._fire = Fire(grid, exits_flammable=scenario.rules.exits_flammable)
        self._burning = list(scenario.ignitions)
        self._people = [PersonView(p.id, p.position, Status.ACTIVE) for p in scenario.people]
        # The active people as parallel sequences in id order: index in `_people`, id, cell.
        self._ranks = list(range(len(self._people)))
        self._active = tuple(person.id for person in scenario.people)
        self._cells = [grid.cell(person.position) for person in scenario.people]
        ignitions = [grid.cell(position) for position in scenario.ignitions]
        self._fire.burn(ignitions, self._terrain)
        open_cells = grid.open_cells & ~board(ignitions)
        # The cells from which an exit that does not burn can be reached, as a bitboard.
        self._reach = flood(grid.exit_cells, open_cells, grid.stride)
        self._state = self._snapshot(0, self._trapped(), tuple(self._burning))

    @property
    def state(self) -> SimulationState:
        """Return the current snapshot."""
        return self._state

    def observe(self) -> Observation:
        """Return the model-visible state before the next step (phase 1)."""
        state = self._state
        return Observation(
            state.step,
            self.scenario.map,
            self._rules,
            state.people,
            state.burning,
            ALLOWED_ACTIONS,
        )

    def step(self, actions: object) -> StepRecord:
        """Play one step (phases 2 to 9) and return its record.

        Raises `InvalidActionError`, with the state unchanged, unless `actions` maps exactly
        the active people to actions; `SimulationError` after the end of the episode.
        """
        before, active = self._state, self._active
        if before.terminated:
            raise SimulationError(f"step {before.step}: the episode is over; nothing can be played")
        step = before.step + 1
        choices = read_actions(active, actions)
        outcomes, cells = resolve_moves(
            self._grid, self._terrain, self._rules.enter_fire, self._cells, choices
        )
        # Fire never sees people: deciding it here, before anything changes, keeps a step atomic.
        ignited = self._ignite(step)
        self._move(cells)
        evacuations = self._evacuate()
        ignitions = self._burn(ignited)
        casualties = self._take_casualties(ignited)
        trapped = self._trapped() if ignited or casualties else before.trapped
        burning = tuple(self._burning) if ignited else before.burning
        self._state = self._snapshot(step, trapped, burning)
        return StepRecord(
            step,
            active,
            tuple(choices),
            tuple(outcomes),
            ignitions,
            evacuations,
            casualties,
            before.people,
            self._state,
        )

    def _ignite(self, step: int) -> list[Cell]:
        """Ask the fire model what ignites, and hold it to its contract."""
        if step % self._rules.spread_interval:
            return []
        stream = self._rng.state
        try:
            ignited = set(self._model.ignite(self._fire.edges, self._rng))
            self._fire.require_fuel(ignited, step)
        except BaseException:
            self._rng.state = stream  # a step that fails changes nothing
            raise
        return sorted(ignited)

    def _move(self, cells: list[Cell]) -> None:
        people, ids, stride = self._people, self._active, self._grid.stride
        for index, (old, new) in enumerate(zip(self._cells, cells, strict=True)):
            if new != old:
                people[self._ranks[index]] = PersonView(
                    ids[index], divmod(new, stride), Status.ACTIVE
                )
        self._cells = cells

    def _evacuate(self) -> tuple[Evacuation, ...]:
        """Let out whoever stands on an exit; one that burns is `BURNING`, not `EXIT`."""
        terrain = self._terrain
        leaving = [index for index, cell in enumerate(self._cells) if terrain[cell] == EXIT]
        if not leaving:
            return ()
        exits = self._grid.exits
        evacuations = [Evacuation(self._active[i], exits[self._cells[i]]) for i in leaving]
        self._resolve(leaving, Status.EVACUATED)
        return tuple(evacuations)

    def _burn(self, ignited: list[Cell]) -> tuple[tuple[int, int], ...]:
        """Set the ignited cells on fire; return their positions."""
        if not ignited:
            return ()
        stride = self._grid.stride
        self._fire.burn(ignited, self._terrain)
        positions = tuple([divmod(cell, stride) for cell in ignited])
        for position in positions:
            insort(self._burning, position)
        gone = 0
        for cell in ignited:
            gone |= 1 << cell
        if gone & self._reach:
            self._reach = flood(self._grid.exit_cells, self._reach & ~gone, stride)
        return positions

    def _take_casualties(self, ignited: list[Cell]) -> tuple[Casualty, ...]:
        terrain = self._terrain
        lost = [index for index, cell in enumerate(self._cells) if terrain[cell] == BURNING]
        if not lost:
            return ()
        new = set(ignited)
        casualties = [
            Casualty(
                self._active[i],
                Cause.FIRE_SPREAD if self._cells[i] in new else Cause.ENTERED_FIRE,
            )
            for i in lost
        ]
        self._resolve(lost, Status.CASUALTY)
        return tuple(casualties)

    def _resolve(self, indices: list[int], status: Status) -> None:
        """Take active people out of the episode, at their last position."""
        for index in indices:
            rank = self._ranks[index]
            self._people[rank] = PersonView(
                self._active[index], self._people[rank].position, status
            )
        gone = set(indices)
        kept = [index for index in range(len(self._cells)) if index not in gone]
        self._ranks = [self._ranks[index] for index in kept]
        self._cells = [self._cells[index] for index in kept]
        self._active = tuple([self._active[index] for index in kept])

    def _trapped(self) -> tuple[str, ...]:
        """Return the active people with no path to an exit that does not burn."""
        size = len(self._terrain) // 8 + 1
        reach = self._reach.to_bytes(size, "little")
        return tuple(
            [
                person
                for person, cell in zip(self._active, self._cells, strict=True)
                if not reach[cell >> 3] >> (cell & 7) & 1
            ]
        )

    def _termination(self, step: int) -> TerminationReason | None:
        if not self._active:
            return TerminationReason.ALL_RESOLVED
        if step >= self._rules.max_steps:
            return TerminationReason.MAX_STEPS
        return None

    def _snapshot(
        self, step: int, trapped: tuple[str, ...], burning: tuple[tuple[int, int], ...]
    ) -> SimulationState:
        reason = self._termination(step)
        return SimulationState(
            step,
            tuple(self._people),
            burning,
            trapped,
            RngState(self._rng.state),
            reason is not None,
            reason,
        )
