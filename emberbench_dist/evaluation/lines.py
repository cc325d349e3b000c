"""The lines of one episode in artifact and traces, as canonical text.

Assembled from parts, which is several times as fast as encoding a document; the tests hold
every part to the plain encoder.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from json.encoder import encode_basestring_ascii

from emberbench_dist.contract.canonical import sha256_hex
from emberbench_dist.contract.document import Position
from emberbench_dist.contract.scenario import Scenario
from emberbench_dist.evaluation.manifest import Episode
from emberbench_dist.evaluation.metrics import METRICS, Fate, Metrics
from emberbench_dist.simulator.state import SimulationState

_SORTED_METRICS = sorted(METRICS)
_METRICS = "{" + ",".join([f'"{name}":%s' for name in _SORTED_METRICS]) + "}"


def trace_line(trace: Sequence[str], episode: int | None = None) -> str:
    """Return the line of a trace; without an episode, the text that `trace_sha256` is of.

    `trace` has one text of codes a step, of printable ASCII without quotes and backslashes.
    """
    actions = '"' + '","'.join(trace) + '"' if trace else ""
    number = "" if episode is None else f',"episode":{episode}'
    return f'{{"actions":[{actions}]{number}}}'


def episode_line(  # noqa: PLR0917 - the parts of a line
    episode: Episode,
    scenario: Scenario,
    end: SimulationState,
    metrics: Metrics,
    fates: Iterable[Fate],
    trace: Sequence[str],
) -> str:
    """Return the line of an episode in the artifact."""
    return (
        f'{{"episode":{episode.index},"final_state_sha256":"{sha256_hex(state_text(end))}",'
        f'"kind":"episode","metrics":{metrics_text(metrics)},"people":{people_text(fates)},'
        f'"scenario_hash":"{scenario.scenario_hash}","scenario_id":"{scenario.scenario_id}",'
        f'"seed":{episode.seed},"termination_reason":{_text(end.termination_reason)},'
        f'"trace_sha256":"{sha256_hex(trace_line(trace))}"}}'
    )


def metrics_text(metrics: Metrics) -> str:
    """Return the canonical text of an episode's metrics."""
    values = [metrics[name] for name in _SORTED_METRICS]
    return _METRICS % tuple(["null" if value is None else value for value in values])


def state_text(state: SimulationState) -> str:
    """Return the canonical text of a snapshot."""
    people = ",".join(
        [
            f'{{"id":{_text(person.id)},"position":{_cell(person.position)},'
            f'"status":"{person.status}"}}'
            for person in state.people
        ]
    )
    trapped = ",".join(map(_text, state.trapped))
    return (
        f'{{"burning":[{",".join(map(_cell, state.burning))}],"people":[{people}],'
        f'"rng_state":{{"fire":{state.rng_state.fire}}},"step":{state.step},'
        f'"terminated":{"true" if state.terminated else "false"},'
        f'"termination_reason":{_text(state.termination_reason)},"trapped":[{trapped}]}}'
    )


def people_text(fates: Iterable[Fate]) -> str:
    """Return the canonical text of the artifact's `people`: what became of each, by id."""
    entries = [
        f'{{"cause":{_text(cause)},"exit":{_text(exit)},"id":{_text(person.id)},'
        f'"position":{_cell(person.position)},'
        f'"status":"{person.status}","step":{"null" if step is None else step}}}'
        for person, step, exit, cause in fates
    ]
    return f"[{','.join(entries)}]"


@lru_cache(maxsize=2**16)
def _cell(position: Position) -> str:
    return f"[{position[0]},{position[1]}]"


def _text(text: str | None) -> str:
    return "null" if text is None else encode_basestring_ascii(text)
