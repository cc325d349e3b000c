"""Lines that are assembled from parts are the lines that an encoder gives."""

from __future__ import annotations

import json
import random

from hypothesis import given
from hypothesis import strategies as st
from strategies import scenario_documents, seeds
from worlds import random_actions

from emberbench_dist.contract.canonical import canonical_json
from emberbench_dist.contract.scenario import parse_scenario
from emberbench_dist.evaluation.lines import metrics_text, people_text, state_text, trace_line
from emberbench_dist.evaluation.metrics import METRICS, Tally
from emberbench_dist.simulator.record import record_episode


@given(document=scenario_documents(), seed=seeds, choices=st.integers())
def test_every_snapshot_is_as_the_encoder_has_it(document, seed, choices):
    """The text of a snapshot is the canonical encoding of its document, whatever the ids."""
    rng = random.Random(choices)
    record = record_episode(
        parse_scenario(document), seed, lambda seen: random_actions(rng, seen.active)
    )
    for state in [record.initial_state, *(step.state for step in record.steps)]:
        assert state_text(state) == canonical_json(state.to_dict())


@given(document=scenario_documents(), seed=seeds)
def test_people_are_as_the_encoder_has_them(document, seed):
    """The text of the people is canonical: it is what its own document encodes to."""
    initial = record_episode(parse_scenario(document), seed, stay).initial_state
    text = people_text(Tally(initial).fates())
    assert canonical_json(json.loads(text)) == text


def stay(observation):
    """Let nobody move."""
    return dict.fromkeys(observation.active, "stay")


number = st.none() | st.integers(0, 2**63) | st.floats(0, 1)


@given(st.fixed_dictionaries(dict.fromkeys(METRICS, number)))
def test_metrics_are_as_the_encoder_has_them(metrics):
    """The text of the metrics is canonical, whichever values are integers, floats or absent."""
    assert metrics_text(metrics) == canonical_json(metrics)


@given(st.lists(st.text(".nsew", max_size=5), max_size=5), st.integers(0, 10**12))
def test_traces_are_as_the_encoder_has_them(trace, episode):
    """The line of a trace is canonical, with its episode and without."""
    assert trace_line(trace, episode) == canonical_json({"actions": trace, "episode": episode})
    assert trace_line(trace) == canonical_json({"actions": trace})
