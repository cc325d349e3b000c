"""The text of every golden file, from the package alone: no third party, no clock, no chance."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

from golden.cases import CASES, Case
from worlds import actions

from emberbench_dist.agents.baselines import Counting, Greedy, Shuffle, Stay
from emberbench_dist.contract.actions import serialize_actions
from emberbench_dist.contract.canonical import canonical_json
from emberbench_dist.contract.observation import Observation, serialize_observation
from emberbench_dist.contract.rng import SplitMix64, stream_seed
from emberbench_dist.evaluation.manifest import load_manifest
from emberbench_dist.runner.evaluate import evaluate
from emberbench_dist.simulator.record import RunRecord, record_episode

GAMMA_INVERSE = pow(0x9E3779B97F4A7C15, -1, 2**64)
SMOKE = Path(__file__).parents[2] / "manifests" / "smoke-v1.json"
SEEDS = (0, 1, 42, 1234567, 2**63, 2**64 - 1)


def golden_files() -> dict[str, str]:
    """Return the text of each golden file by its path inside the folder."""
    files = {
        "splitmix64.json": _splitmix64(),
        "observations.jsonl": _lines(_observation_texts()),
        "actions.jsonl": _lines(_action_payloads()),
    }
    for case in CASES:
        files[f"runs/{case.name}.jsonl"] = _lines(_run(case))
    for agent in (Stay, Greedy, Counting, Shuffle):
        result = evaluate(load_manifest(SMOKE), agent)
        name = f"artifacts/smoke-v1-{agent.__name__.lower()}"
        files[f"{name}.jsonl"] = result.artifact.decode()
        files[f"{name}-traces.jsonl"] = result.traces.decode()
    return files


def play(case: Case) -> tuple[RunRecord, list[Observation]]:
    """Play a case by its script; return its record and what was observed before each step."""
    seen: list[Observation] = []

    def policy(observation: Observation) -> dict[str, str]:
        seen.append(observation)
        return actions(case.script[observation.step])

    record = record_episode(case.scenario, case.seed, policy)
    if len(seen) != len(case.script):
        raise ValueError(f"{case.name}: the script goes on after step {len(seen)}, the end")
    return record, seen


def _lines(texts: list[str]) -> str:
    return "".join(f"{text}\n" for text in texts)


def _run(case: Case) -> list[str]:
    """Return scenario, header, initial state, each step, and pinned fire data: a line each."""
    record, _ = play(case)
    document = record.to_dict()
    header = {key: document[key] for key in ("record_version", "header")}
    initial = {"initial_state": document["initial_state"]}
    scenario, fire = {"scenario": case.scenario.to_dict()}, {"fire": _fire(record)}
    return [canonical_json(line) for line in (scenario, header, initial, *document["steps"], fire)]


def _fire(record: RunRecord) -> dict[str, Any]:
    states = [record.initial_state, *(step.state for step in record.steps)]
    streams = [state.rng_state.fire for state in states]
    return {
        "scenario_hash": record.scenario.scenario_hash,
        "seed": record.seed,
        "ignited": [step.ignitions for step in record.steps],
        # SplitMix64 adds a constant per draw, so its inverse counts the draws.
        "draws": [(after - before) * GAMMA_INVERSE % 2**64 for before, after in pairwise(streams)],
        "final_burning": states[-1].burning,
        "final_rng_state": streams[-1],
    }


def _observation_texts() -> list[str]:
    """Return the first and the last observation of every case."""
    texts = []
    for case in CASES:
        _, seen = play(case)
        texts += [serialize_observation(seen[0]), serialize_observation(seen[-1])]
    return texts


def _action_payloads() -> list[str]:
    """Return the payloads that answer these observations."""
    texts = []
    for case in CASES:
        _, seen = play(case)
        texts += [
            serialize_actions(observation, actions(case.script[observation.step]))
            for observation in (seen[0], seen[-1])
        ]
    return texts


def _splitmix64() -> str:
    document = {
        "outputs": {str(seed): _outputs(seed) for seed in SEEDS},
        "stream_seeds": {
            f"{seed}/{label}": stream_seed(seed, label)
            for seed in SEEDS
            for label in ("fire", "another")
        },
        "bernoulli": {
            str(p): SplitMix64(42).bernoulli_many(p, 200).translate(b"01" + bytes(254)).decode()
            for p in (0.0, 0.3, 0.5, 1.0)
        },
    }
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def _outputs(seed: int) -> list[int]:
    generator = SplitMix64(seed)
    return [generator.next_u64() for _ in range(8)]
