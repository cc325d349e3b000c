"""The run record: one episode in full, and the replay check (contract: Replay)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emberbench_dist.contract.canonical import canonical_json, parse_json
from emberbench_dist.contract.document import Node, shown
from emberbench_dist.contract.observation import Observation
from emberbench_dist.contract.scenario import MAX_SEED, Scenario
from emberbench_dist.contract.versions import (
    OBSERVATION_VERSION,
    RECORD_VERSION,
    SCENARIO_SCHEMA_VERSION,
    SIMULATOR_VERSION,
)
from emberbench_dist.errors import InvalidActionError, ReplayError, SimulationError
from emberbench_dist.simulator.simulator import Simulator
from emberbench_dist.simulator.state import SimulationState, StepRecord


@dataclass(frozen=True, slots=True)
class RunRecord:
    """Header, initial state and every step of one episode."""

    scenario: Scenario
    seed: int
    initial_state: SimulationState
    steps: tuple[StepRecord, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the run record document, version 1.0."""
        return {
            "record_version": RECORD_VERSION,
            "header": _header(self.scenario, self.seed),
            "initial_state": self.initial_state.to_dict(),
            "steps": [step.to_dict() for step in self.steps],
        }


def record_episode(
    scenario: Scenario, seed: int, policy: Callable[[Observation], object]
) -> RunRecord:
    """Play one episode with `policy` (observation to actions); return its run record."""
    simulator = Simulator(scenario, seed)
    initial_state, steps = simulator.state, []
    while not simulator.state.terminated:
        steps.append(simulator.step(policy(simulator.observe())))
    return RunRecord(scenario, seed, initial_state, tuple(steps))


def load_record(path: str | Path) -> Any:
    """Read a run record file as a document; `ReplayError` where it is not JSON."""
    try:
        return parse_json(Path(path).read_bytes())
    except OSError as error:
        raise ReplayError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ReplayError(f"{path}: {error}") from error


def check_replay(record: Any, scenario: Scenario, *, source: str = "run record") -> int:
    """Replay a run record document on its scenario; return how many steps agreed.

    Versions and scenario hash come first; then every state and step must be byte-identical in
    canonical encoding. Raises `ReplayError` with the first step that diverges.
    """
    root = Node(record, source, ReplayError)
    version, header, initial_state, steps = root.members(
        "record_version", "header", "initial_state", "steps"
    )
    version.choice((RECORD_VERSION,))
    simulator = Simulator(scenario, _check_header(header, scenario))
    _require_same(source, initial_state, simulator.state.to_dict(), step=0)
    for number, node in enumerate(steps.items(), start=1):
        if not isinstance(node.value, dict) or "actions" not in node.value:
            raise ReplayError(f"{source}: {node.path}: has no actions", step=number)
        try:
            replayed = simulator.step(node.value["actions"])
        except (InvalidActionError, SimulationError) as error:
            raise ReplayError(f"{source}: step {number}: {error}", step=number) from error
        _require_same(source, node, replayed.to_dict(), step=number)
    return len(steps.value)


def _header(scenario: Scenario, seed: int) -> dict[str, Any]:
    return {
        "simulator_version": SIMULATOR_VERSION,
        "observation_version": OBSERVATION_VERSION,
        "schema_version": SCENARIO_SCHEMA_VERSION,
        "scenario_id": scenario.scenario_id,
        "scenario_hash": scenario.scenario_hash,
        "seed": seed,
    }


def _check_header(node: Node, scenario: Scenario) -> int:
    expected = _header(scenario, seed=0)
    *fields, seed = node.members(*expected)
    for name, field in zip(expected, fields, strict=False):
        if field.value != expected[name]:
            field.fail(
                f"is {shown(field.value)}; this simulator and scenario have {expected[name]!r}"
            )
    return seed.integer(0, MAX_SEED)


def _require_same(source: str, node: Node, replayed: dict[str, Any], step: int) -> None:
    """Compare canonical encodings; name the parts that differ."""
    if _encoded(node.value) == canonical_json(replayed):
        return
    recorded = node.value if isinstance(node.value, dict) else {}
    parts = [
        key
        for key in sorted(replayed)
        if _encoded(recorded.get(key)) != canonical_json(replayed[key])
    ]
    parts += [shown(key) for key in recorded if key not in replayed]
    raise ReplayError(
        f"{source}: {node.path}: step {step} diverges from the replay in {', '.join(parts)}",
        step=step,
    )


def _encoded(value: Any) -> str:
    try:
        return canonical_json(value)
    except (TypeError, ValueError, RecursionError):  # not a JSON value at all, so no recorded bytes
        return ""
