"""The simulator: the contract's phase table.

| phase | here |
| --- | --- |
| 1 observation | `observe` |
| 2 actions | `read_actions` |
| 3 movement validation, 4 collision resolution | `resolve_moves` |
| 5 movement | `_move` |
| 6 evacuation | `_evacuate` |
| 7 fire propagation | `Fire.after`, `_burn` |
| 8 casualties and trapping | `_take_casualties`, `_trapped` |
| 9 termination | `_termination` |
"""

from __future__ import annotations

from collections.abc import Sequence

from emberbench_dist.contract.actions import ALLOWED_ACTIONS, Action, read_actions
from emberbench_dist.contract.observation import Observation, PersonView, Status
from emberbench_dist.contract.rng import SplitMix64, stream_seed
from emberbench_dist.contract.scenario import MAX_SEED, Scenario
from emberbench_dist.errors import SimulationError
from emberbench_dist.simulator.fire import Blaze, Fire, FireModel
from emberbench_dist.simulator.grid import BURNING, EXIT, Cell, grid_of
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
        self._grid = grid = grid_of(scenario.map)
        self._terrain = bytearray(grid.terrain)
        self._people = [PersonView(p.id, p.position, Status.ACTIVE) for p in scenario.people]
        # The active people as parallel sequences in id order: index in `_people`, id, cell.
        self._ranks = list(range(len(self._people)))
        self._active = tuple(person.id for person in scenario.people)
        self._cells = [grid.cell(person.position) for person in scenario.people]
        rng = SplitMix64(stream_seed(seed, "fire"))
        self._fire = Fire(grid, scenario.rules, scenario.ignitions, rng, fire_model)
        self._cut_off: set[Cell] = set()
        for position in scenario.ignitions:
            self._terrain[grid.cell(position)] = BURNING
        self._burn(self._fire.now)
        self._state = self._snapshot(0, self._trapped(), self._fire.now)

    @property
    def state(self) -> SimulationState:
        """Return the current snapshot."""
        return self._state

    @property
    def active(self) -> tuple[str, ...]:
        """Return the ids of the active people, in order."""
        return self._active

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
        if self._state.terminated:
            raise self._over()
        return self.advance(read_actions(self._active, actions))

    def advance(self, choices: Sequence[Action]) -> StepRecord:
        """Play one step with actions that were read already: one per active person, by id.

        Raises `SimulationError` after the end of the episode.
        """
        before, active = self._state, self._active
        if before.terminated:
            raise self._over()
        step = before.step + 1
        outcomes, cells = resolve_moves(
            self._grid, self._terrain, self._rules.enter_fire, self._cells, choices
        )
        # Fire never sees people: deciding it here, before anything changes, keeps a step atomic.
        try:
            blaze = self._fire.after(step)
        except SimulationError as error:
            raise SimulationError(f"step {step}: {error}") from error.__cause__
        self._move(cells)
        evacuations = self._evacuate()
        self._burn(blaze)
        casualties = self._take_casualties(blaze.ignited)
        self._state = self._snapshot(step, self._trapped(), blaze)
        return StepRecord(
            step,
            active,
            tuple(choices),
            tuple(outcomes),
            blaze.ignitions,
            evacuations,
            casualties,
            before.people,
            self._state,
        )

    def _over(self) -> SimulationError:
        step = self._state.step
        return SimulationError(f"step {step}: the episode is over; nothing can be played")

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
        terrain, exits = self._terrain, self._grid.exits
        if exits.keys().isdisjoint(self._cells):
            return ()
        leaving = [index for index, cell in enumerate(self._cells) if terrain[cell] == EXIT]
        evacuations = [Evacuation(self._active[i], exits[self._cells[i]]) for i in leaving]
        self._resolve(leaving, Status.EVACUATED)
        return tuple(evacuations)

    def _burn(self, blaze: Blaze) -> None:
        for cell in blaze.ignited:
            self._terrain[cell] = BURNING
        self._cut_off.update(blaze.cut_off)

    def _take_casualties(self, ignited: Sequence[Cell]) -> tuple[Casualty, ...]:
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
        cut_off = self._cut_off
        if cut_off.isdisjoint(self._cells):
            return ()
        return tuple(
            [
                person
                for person, cell in zip(self._active, self._cells, strict=True)
                if cell in cut_off
            ]
        )

    def _termination(self, step: int) -> TerminationReason | None:
        if not self._active:
            return TerminationReason.ALL_RESOLVED
        if step >= self._rules.max_steps:
            return TerminationReason.MAX_STEPS
        return None

    def _snapshot(self, step: int, trapped: tuple[str, ...], blaze: Blaze) -> SimulationState:
        reason = self._termination(step)
        return SimulationState(
            step,
            tuple(self._people),
            blaze.burning,
            trapped,
            RngState(blaze.rng_state),
            reason is not None,
            reason,
        )
