"""Episode results for tests: made up, or played."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.agents.interface import AgentFactory, FreshAgents
from emberbench_dist.contract.canonical import canonical_json
from emberbench_dist.evaluation.episode import EpisodeResult, Failure, Outcome, Player, sealed
from emberbench_dist.evaluation.manifest import Manifest
from emberbench_dist.evaluation.metrics import INTEGER_METRICS
from emberbench_dist.evaluation.packing import pack_metrics


def synthetic(episode: int, variant: str = "", **metrics: Any) -> EpisodeResult:
    """Return a well-formed result that nobody played; metrics by name, 5 where not given."""
    values = dict.fromkeys(INTEGER_METRICS, 5) | metrics
    rates = {
        "evacuation_rate": values["evacuated"] / values["people"],
        "casualty_rate": values["casualties"] / values["people"],
        "mean_evacuation_step": None,
    }
    values = rates | values
    return sealed(
        episode,
        canonical_json({"episode": episode, "kind": "episode", "variant": variant}).encode(),
        canonical_json({"actions": ["n"], "episode": episode}).encode(),
        pack_metrics(values),
        b"people",
        b"steps",
        b'{"seconds": 0.5, "steps": []}',
    )


def failure(episode: int, **fields: Any) -> Failure:
    """Return a failure of an agent."""
    known = {
        "scenario_id": "hall",
        "seed": 7,
        "step": 3,
        "kind": "agent",
        "type": "ValueError",
        "message": "no plan",
        "traceback": "Traceback",
    }
    return Failure(episode, **(known | fields))


def played(
    manifest: Manifest, episodes: list[int] | range, factory: AgentFactory = Greedy
) -> list[Outcome]:
    """Return the outcomes of some episodes, played one after the other."""
    player = Player(manifest.scenarios, FreshAgents(factory))
    return player.play(map(manifest.episode, episodes), float("inf"))


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every file in a folder, by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
