"""Every rule that a manifest breaks is told, and nothing else."""

from __future__ import annotations

import json

import pytest
from builders import case_id, edited, json_values, places
from hypothesis import given
from hypothesis import strategies as st
from test_manifest_rules import BLOCKS, RULES, TWICE, VALID

from emberbench_dist.errors import EmberBenchError
from emberbench_dist.evaluation.manifest import broken_rules, load_manifest
from manifests import hall, write_manifest


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Write a manifest once; the tests change only the manifest file."""
    return write_manifest(tmp_path_factory.mktemp("manifest"), BLOCKS)


def survey(path, document):
    """Write a document as a manifest; return the rules that it breaks."""
    path.write_text(json.dumps(document))
    return broken_rules(path)


def test_a_manifest_breaks_no_rule(path):
    """What loads has nothing to tell, the built-in ones by name too."""
    assert survey(path, VALID) == broken_rules("smoke-v1") == []


@pytest.mark.parametrize(("place", "value", "where", "rule"), RULES, ids=case_id)
def test_one_mistake_is_told_once(path, place, value, where, rule):
    """What the strict reader refuses is told with the same place and rule, and alone."""
    (told,) = survey(path, edited(VALID, place, value))
    assert told.startswith(f"{where}: {rule}")


@pytest.mark.parametrize("name", TWICE)
def test_a_seed_that_is_planned_twice_is_told(path, name):
    """The later block is named."""
    seeds, number, seed = TWICE[name]
    blocks = [{"scenario_id": "one", "seeds": part} for part in seeds]
    told = survey(path, VALID | {"blocks": blocks})
    assert told[0] == f"$.blocks[{number}]: seed {seed} of scenario 'one' is planned twice"


def test_all_mistakes_are_told_in_order(path):
    """Mistakes everywhere are all there, those of a scenario's file with its place in it."""
    wrong = path.parent / "scenarios" / "wrong.json"
    document = hall("two", 8)
    document["people"][0]["position"] = [9, 9]
    document["termination"]["max_steps"] = 0
    wrong.write_text(json.dumps(document))
    changes = {
        "manifest_version": "2.0",
        "scenarios.0.scenario_hash": "0" * 64,
        "scenarios.1.path": "scenarios/wrong.json",
        "blocks.0.seeds": [1, -1, 1, True],
        "blocks.1.seeds.count": 0,
        "manifest_id": "a b",
    }
    document = VALID
    for place, value in changes.items():
        document = edited(document, place, value)
    told = survey(path, document | {"more": 1})
    assert [rule.partition(": ")[0] for rule in told] == [
        "$",
        "$.manifest_version",
        "$.scenarios[0].scenario_hash",
        "$.scenarios[1].path",
        "$.scenarios[1].path",
        "$.blocks[0].seeds[1]",
        "$.blocks[0].seeds[3]",
        "$.blocks[1].seeds.count",
        "$.manifest_id",
    ]
    assert f"$.scenarios[1].path: {wrong}: $.termination.max_steps: must be" in told[3]


@given(place=st.sampled_from(list(places(VALID))), value=json_values)
def test_a_survey_and_the_reader_agree(path, place, value):
    """Whatever JSON stands anywhere, rules are told if and only if the manifest is refused."""
    told = survey(path, edited(VALID, place, value))
    try:
        load_manifest(path)
    except EmberBenchError:
        assert told
    else:
        assert told == []
