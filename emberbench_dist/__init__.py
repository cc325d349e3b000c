"""EMBERBench's distributed evaluator: the names that stay.

Each name is imported when it is first used, so that `import emberbench_dist` costs nothing and
loads neither ray nor pandas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from emberbench_dist.lazy import names_of

if TYPE_CHECKING:
    from emberbench_dist.agents.execution import ReportsExecution, StepExecution
    from emberbench_dist.agents.interface import Agent, AgentFactory, PolicyAgent
    from emberbench_dist.contract.actions import (
        Action,
        check_actions,
        parse_actions,
        serialize_actions,
    )
    from emberbench_dist.contract.canonical import canonical_json
    from emberbench_dist.contract.observation import (
        Observation,
        load_observation,
        parse_observation,
        serialize_observation,
    )
    from emberbench_dist.contract.scenario import Scenario, load_scenario, parse_scenario
    from emberbench_dist.distributed.evaluate import evaluate_distributed
    from emberbench_dist.errors import (
        EmberBenchError,
        EvaluationError,
        InvalidActionError,
        ManifestError,
        ModelOutputError,
        ObservationFormatError,
        ReplayError,
        ScenarioError,
        SimulationError,
    )
    from emberbench_dist.evaluation.manifest import Manifest, load_manifest
    from emberbench_dist.runner.evaluate import evaluate
    from emberbench_dist.runner.run import RunResult
    from emberbench_dist.simulator.record import check_replay, record_episode
    from emberbench_dist.simulator.simulator import Simulator
    from emberbench_dist.simulator.state import SimulationState, StepRecord

__version__ = "0.1.0"

_HOME = {
    "Action": "contract.actions",
    "Agent": "agents.interface",
    "AgentFactory": "agents.interface",
    "EmberBenchError": "errors",
    "EvaluationError": "errors",
    "InvalidActionError": "errors",
    "Manifest": "evaluation.manifest",
    "ManifestError": "errors",
    "ModelOutputError": "errors",
    "Observation": "contract.observation",
    "ObservationFormatError": "errors",
    "PolicyAgent": "agents.interface",
    "ReplayError": "errors",
    "ReportsExecution": "agents.execution",
    "RunResult": "runner.run",
    "Scenario": "contract.scenario",
    "ScenarioError": "errors",
    "SimulationError": "errors",
    "SimulationState": "simulator.state",
    "Simulator": "simulator.simulator",
    "StepExecution": "agents.execution",
    "StepRecord": "simulator.state",
    "canonical_json": "contract.canonical",
    "check_actions": "contract.actions",
    "check_replay": "simulator.record",
    "evaluate": "runner.evaluate",
    "evaluate_distributed": "distributed.evaluate",
    "load_manifest": "evaluation.manifest",
    "load_observation": "contract.observation",
    "load_scenario": "contract.scenario",
    "parse_actions": "contract.actions",
    "parse_observation": "contract.observation",
    "parse_scenario": "contract.scenario",
    "record_episode": "simulator.record",
    "serialize_actions": "contract.actions",
    "serialize_observation": "contract.observation",
}

__all__ = [  # noqa: PLE0604 - the keys are the names
    *_HOME
]

__getattr__, __dir__ = names_of(__name__, _HOME)
