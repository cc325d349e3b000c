"""The simulation contract, cell by cell: the plain twin that the simulator is tested against.

Written from the text of the contract alone, for reading: sets of (row, col) cells, loops over
the grid, one draw at a time, everything anew in each step. It imports nothing of the package.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Cell = tuple[int, int]

DIRECTIONS = {"stay": (0, 0), "north": (-1, 0), "south": (1, 0), "east": (0, 1), "west": (0, -1)}
MASK = 2**64 - 1


class PlainSplitMix64:
    """SplitMix64, one output at a time."""

    def __init__(self, state: int) -> None:
        """Start at an unsigned 64-bit state."""
        self.state = state

    def next_u64(self) -> int:
        """Return the next output."""
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def bernoulli(self, p: float) -> bool:
        """Take one draw and compare it with `p`."""
        return (self.next_u64() >> 11) / 2**53 < p


def fire_stream(seed: int) -> PlainSplitMix64:
    """Return the `fire` stream of an episode's seed."""
    digest = hashlib.sha256(f"emberbench/v1/{seed}/fire".encode()).digest()
    return PlainSplitMix64(int.from_bytes(digest[:8], "big"))


def neighbours(cell: Cell) -> list[Cell]:
    """Return the four cells around one, row-major; some may be off the grid."""
    row, col = cell
    return [(row - 1, col), (row, col - 1), (row, col + 1), (row + 1, col)]


@dataclass
class Person:
    """One person as they stand now."""

    id: str
    position: Cell
    status: str

    def to_dict(self) -> dict[str, Any]:
        """Return the `people` entry."""
        return {"id": self.id, "position": list(self.position), "status": self.status}


@dataclass
class State:
    """A snapshot between two steps."""

    step: int
    people: list[Person]
    burning: list[Cell]
    trapped: list[str]
    fire_rng: int
    terminated: bool
    termination_reason: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return the canonical form."""
        return {
            "burning": [list(cell) for cell in self.burning],
            "people": [person.to_dict() for person in self.people],
            "rng_state": {"fire": self.fire_rng},
            "step": self.step,
            "terminated": self.terminated,
            "termination_reason": self.termination_reason,
            "trapped": self.trapped,
        }


@dataclass
class Observation:
    """What a model sees before a step."""

    step: int
    document: dict[str, Any]
    people: list[Person]
    burning: list[Cell]

    def to_dict(self) -> dict[str, Any]:
        """Return the dictionary form."""
        fire, movement = self.document["fire"], self.document["movement"]
        return {
            "allowed_actions": ["stay", "north", "south", "east", "west"],
            "burning": [list(cell) for cell in self.burning],
            "map": self.document["map"],
            "observation_version": "1.0",
            "people": [person.to_dict() for person in self.people],
            "rules": {
                "conflict_resolution": movement["conflict_resolution"],
                "enter_fire": movement["enter_fire"],
                "exits_flammable": fire["exits_flammable"],
                "fire_model": fire["model"],
                "max_steps": self.document["termination"]["max_steps"],
                "spread_interval": fire["spread_interval"],
                "spread_probability": fire["spread_probability"],
            },
            "step": self.step,
        }


@dataclass
class Record:
    """One step of a run record."""

    step: int
    actions: dict[str, str]
    movements: list[tuple[str, str, Cell, Cell]]
    ignitions: list[Cell]
    evacuations: list[tuple[str, str]]
    casualties: list[tuple[str, str]]
    state: State

    def to_dict(self) -> dict[str, Any]:
        """Return the `steps` entry."""
        return {
            "actions": self.actions,
            "casualties": [{"cause": cause, "id": name} for name, cause in self.casualties],
            "evacuations": [{"exit": exit_id, "id": name} for name, exit_id in self.evacuations],
            "ignitions": [list(cell) for cell in self.ignitions],
            "movements": [
                {"from": list(old), "id": name, "outcome": outcome, "to": list(new)}
                for name, outcome, old, new in self.movements
            ],
            "state": self.state.to_dict(),
            "step": self.step,
        }


class Oracle:
    """One episode of a normalised scenario document under a seed."""

    def __init__(self, document: dict[str, Any], seed: int) -> None:
        """Set the world up at step 0."""
        world, fire = document["map"], document["fire"]
        self.document = document
        self.width: int = world["width"]
        self.height: int = world["height"]
        self.walls = {tuple(position) for position in world["obstacles"]}
        self.exits = {tuple(exit["position"]): exit["id"] for exit in world["exits"]}
        self.burning = {tuple(position) for position in fire["ignitions"]}
        self.probability = fire["spread_probability"]
        self.interval = fire["spread_interval"]
        self.exits_flammable: bool = fire["exits_flammable"]
        self.enter_fire = document["movement"]["enter_fire"]
        self.max_steps = document["termination"]["max_steps"]
        self.people = [
            Person(person["id"], tuple(person["position"]), "active")
            for person in document["people"]
        ]
        self.rng = fire_stream(seed)
        self.state = self._snapshot(0)

    def active(self) -> list[Person]:
        """Return the people who still act, by id."""
        return [person for person in self.people if person.status == "active"]

    def observe(self) -> Observation:
        """Return what a model sees now (phase 1)."""
        people = [Person(person.id, person.position, person.status) for person in self.people]
        return Observation(self.state.step, self.document, people, sorted(self.burning))

    def step(self, actions: Mapping[str, str]) -> Record:
        """Play one step: phases 2 to 9 of the contract."""
        step = self.state.step + 1
        movements = self._movements(actions)
        moved_to = {name: new for name, _, _, new in movements}
        for person in self.active():
            person.position = moved_to[person.id]
        evacuations = self._evacuate()
        burning_before = set(self.burning)
        ignitions = self._spread(step)
        self.burning.update(ignitions)
        casualties = self._casualties(burning_before)
        self.state = self._snapshot(step)
        given = {name: str(action) for name, action in actions.items()}
        return Record(step, given, movements, ignitions, evacuations, casualties, self.state)

    def _movements(self, actions: Mapping[str, str]) -> list[tuple[str, str, Cell, Cell]]:
        """Phases 3 to 5: (id, outcome, from, to) of every active person."""
        cells = {person.id: person.position for person in self.active()}
        targets = {
            name: (cell[0] + DIRECTIONS[actions[name]][0], cell[1] + DIRECTIONS[actions[name]][1])
            for name, cell in cells.items()
        }
        outcomes = {}
        for name, cell in cells.items():
            stopped = self._stopped(cell, targets[name])
            if stopped is not None:
                outcomes[name] = stopped
        self._collide(cells, targets, outcomes)
        return [
            (name, outcomes[name], cell, targets[name] if outcomes[name] == "moved" else cell)
            for name, cell in cells.items()
        ]

    def _stopped(self, cell: Cell, target: Cell) -> str | None:
        """Phase 3: why this person does not try to move, if so."""
        if target == cell:
            return "stayed"
        if not self._on_grid(target):
            return "blocked_boundary"
        if target in self.walls:
            return "blocked_wall"
        if target in self.burning and self.enter_fire == "blocked":
            return "blocked_fire"
        return None

    def _collide(
        self, cells: dict[str, Cell], targets: dict[str, Cell], outcomes: dict[str, str]
    ) -> None:
        """Phase 4: the four rules, in order, each over the movers that are left."""
        occupant = {cell: name for name, cell in cells.items()}
        movers = {name for name in cells if name not in outcomes}
        for name in movers:
            held_by = occupant.get(targets[name])
            if held_by is not None and held_by not in movers:
                outcomes[name] = "blocked_occupied"
        claimed = set()
        for name in sorted(movers - outcomes.keys()):
            if targets[name] in claimed:
                outcomes[name] = "blocked_conflict"
            claimed.add(targets[name])
        winners = movers - outcomes.keys()
        for name in winners:
            outcomes[name] = self._chain(name, targets, occupant, winners)

    def _chain(
        self, name: str, targets: dict[str, Cell], occupant: dict[Cell, str], winners: set[str]
    ) -> str:
        """Follow who stands in whose way, to the end of the chain or around the cycle."""
        ahead = occupant.get(targets[name])
        while ahead in winners:
            if ahead == name:
                return "blocked_cycle"
            ahead = occupant.get(targets[ahead])
        return "moved" if ahead is None else "blocked_occupied"

    def _evacuate(self) -> list[tuple[str, str]]:
        """Phase 6: nothing has ignited yet, so `burning` is that of the step's start."""
        leaving = [
            person
            for person in self.active()
            if person.position in self.exits and person.position not in self.burning
        ]
        for person in leaving:
            person.status = "evacuated"
        return [(person.id, self.exits[person.position]) for person in leaving]

    def _spread(self, step: int) -> list[Cell]:
        """Phase 7: the newly ignited cells, row-major."""
        if step % self.interval != 0:
            return []
        ignited = []
        for row in range(self.height):
            for col in range(self.width):
                if not self._flammable((row, col)):
                    continue
                sources = [cell for cell in neighbours((row, col)) if cell in self.burning]
                if self._catches(sources):
                    ignited.append((row, col))
        return ignited

    def _flammable(self, cell: Cell) -> bool:
        if cell in self.burning or cell in self.walls:
            return False
        return self.exits_flammable or cell not in self.exits

    def _catches(self, sources: list[Cell]) -> bool:
        if self.probability is None:
            return bool(sources)
        draws = [self.rng.bernoulli(self.probability) for _ in sources]
        return any(draws)

    def _casualties(self, burning_before: set[Cell]) -> list[tuple[str, str]]:
        """Phase 8, first half."""
        lost = [person for person in self.active() if person.position in self.burning]
        for person in lost:
            person.status = "casualty"
        return [
            (
                person.id,
                "entered_fire" if person.position in burning_before else "fire_spread",
            )
            for person in lost
        ]

    def _trapped(self) -> list[str]:
        """Phase 8, second half: who stands where no way to an exit begins."""
        reached = self.reached()
        return [person.id for person in self.active() if person.position not in reached]

    def reached(self) -> set[Cell]:
        """Return the cells that a search from every exit that does not burn finds."""
        reached = {cell for cell in self.exits if cell not in self.burning}
        queue = deque(reached)
        while queue:
            for cell in neighbours(queue.popleft()):
                if cell not in reached and self._open(cell):
                    reached.add(cell)
                    queue.append(cell)
        return reached

    def _open(self, cell: Cell) -> bool:
        return self._on_grid(cell) and cell not in self.walls and cell not in self.burning

    def _on_grid(self, cell: Cell) -> bool:
        return 0 <= cell[0] < self.height and 0 <= cell[1] < self.width

    def _snapshot(self, step: int) -> State:
        """Phase 9, and the state after the step."""
        reason = None
        if not self.active():
            reason = "all_resolved"
        elif step >= self.max_steps:
            reason = "max_steps"
        return State(
            step=step,
            people=[Person(person.id, person.position, person.status) for person in self.people],
            burning=sorted(self.burning),
            trapped=self._trapped(),
            fire_rng=self.rng.state,
            terminated=reason is not None,
            termination_reason=reason,
        )
