"""The artifact and the traces: the same bytes as a plain re-implementation of the formats page."""

from __future__ import annotations

import json
import math
import tracemalloc
from contextlib import closing
from fractions import Fraction
from hashlib import sha256
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import played, synthetic

from emberbench_dist.agents.baselines import Counting
from emberbench_dist.artifacts.artifact import Summary, write_artifact
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.evaluation.manifest import load_manifest
from manifests import hall, write_manifest

# formats.md: every integer metric, last_evacuation_step aside.
SUMMED = [
    "people",
    "evacuated",
    "casualties",
    "casualties_entered_fire",
    "casualties_fire_spread",
    "unresolved",
    "trapped_at_end",
    "ever_trapped",
    "steps",
    "person_steps",
    "moved",
    "stayed",
    "blocked_boundary",
    "blocked_wall",
    "blocked_fire",
    "blocked_occupied",
    "blocked_conflict",
    "blocked_cycle",
    "burned_cells",
]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Write a manifest of 11 episodes in four blocks of two scenarios."""
    small, large = hall("small"), hall("large", 9, people=7)
    blocks = [
        (small, [1, 2, 2**64 - 1]),
        (large, {"first": 100, "count": 4}),
        (small, {"first": 2**63, "count": 2}),
        (large, [7, 5]),
    ]
    return write_manifest(tmp_path_factory.mktemp("input"), blocks)


@pytest.fixture(scope="module")
def manifest(path):
    """Load it."""
    return load_manifest(path)


@pytest.fixture(scope="module")
def results(manifest):
    """Play all its episodes, with an agent that saves some people and loses others."""
    return played(manifest, range(len(manifest)))


def canonical(value):
    """Encode a value as the formats page says."""
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )
    return text.encode("utf-8")


def reference(document, committed):
    """Return artifact and traces of committed results, made the plain way."""
    hashed = {key: value for key, value in document.items() if key != "description"}
    hashed["scenarios"] = [
        {"scenario_id": entry["scenario_id"], "scenario_hash": entry["scenario_hash"]}
        for entry in document["scenarios"]
    ]
    planned = sum(
        block["seeds"]["count"] if isinstance(block["seeds"], dict) else len(block["seeds"])
        for block in document["blocks"]
    )
    header = {
        "artifact_version": "1.0",
        "episodes": planned,
        "kind": "header",
        "manifest_hash": sha256(canonical(hashed)).hexdigest(),
        "manifest_id": document["manifest_id"],
        "metrics_version": "1.0",
        "observation_version": "1.0",
        "schema_version": "1.0",
        "simulator_version": "0.2.0",
    }
    lines, traces = (
        [json.loads(r.line) for r in committed],
        [json.loads(r.trace) for r in committed],
    )
    body = b"".join(canonical(line) + b"\n" for line in [header, *lines])
    footer = {
        "body_sha256": sha256(body).hexdigest(),
        "committed": len(lines),
        "complete": len(lines) == planned,
        "kind": "footer",
        "totals": totals([line["metrics"] for line in lines]),
    }
    return body + canonical(footer) + b"\n", b"".join(canonical(t) + b"\n" for t in traces)


def totals(metrics):
    """Add metrics up exactly."""
    sums = {name: sum(row[name] for row in metrics) for name in SUMMED}
    rates = [float(Fraction(row["evacuated"], row["people"])) for row in metrics]
    return sums | {
        "evacuation_rate": float(Fraction(sums["evacuated"], sums["people"])) if metrics else None,
        "mean_episode_evacuation_rate": math.fsum(rates) / len(rates) if metrics else None,
    }


def written(manifest, results):
    """Return artifact, traces and summary of a ledger that holds these results."""
    artifact, traces = BytesIO(), BytesIO()
    with closing(Ledger.create(None, {})) as ledger:
        ledger.begin_session("any")
        for result in results:
            ledger.commit([result])
        summary = write_artifact(manifest, ledger, artifact, traces)
    return artifact.getvalue(), traces.getvalue(), summary


def test_the_results_are_worth_a_test(results):
    """The episodes differ in what came of them, so that sums and rates have something to tell."""
    metrics = [json.loads(result.line)["metrics"] for result in results]
    assert len({row["evacuation_rate"] for row in metrics}) > 2
    assert any(row["casualties"] for row in metrics)


@given(st.data())
def test_bytes_are_those_of_a_plain_implementation(path, manifest, results, data):
    """Whatever is committed in whatever order: the bytes are header, prefix, footer, as told."""
    some = data.draw(st.sets(st.sampled_from(range(11))))
    if data.draw(st.booleans()):
        some |= set(range(data.draw(st.integers(0, 11))))
    order = data.draw(st.permutations(sorted(some)))
    prefix = next(n for n in range(12) if n not in some)
    artifact, traces, summary = written(manifest, [results[episode] for episode in order])
    assert (artifact, traces) == reference(json.loads(path.read_bytes()), results[:prefix])
    assert (summary.episodes, summary.committed, summary.complete) == (11, prefix, prefix == 11)
    assert summary.totals == json.loads(artifact.splitlines()[-1])["totals"]


def test_lines_are_the_committed_bytes(manifest, results):
    """Episode and trace lines are copied from the ledger, never encoded again."""
    artifact, traces, _ = written(manifest, results)
    assert artifact.splitlines()[1:-1] == [result.line for result in results]
    assert traces.splitlines() == [result.trace for result in results]
    assert artifact.endswith(b"}\n")
    assert traces.endswith(b"}\n")


def test_header_and_footer_have_exactly_their_keys(manifest, results):
    """The first and the last line hold what the formats page lists, and nothing of a schedule."""
    artifact, _, _ = written(manifest, results[:1])
    header, _, footer = map(json.loads, artifact.splitlines())
    assert header == {
        "artifact_version": "1.0",
        "episodes": 11,
        "kind": "header",
        "manifest_hash": manifest.manifest_hash,
        "manifest_id": "test",
        "metrics_version": "1.0",
        "observation_version": "1.0",
        "schema_version": "1.0",
        "simulator_version": "0.2.0",
    }
    assert footer.keys() == {"body_sha256", "committed", "complete", "kind", "totals"}
    assert footer["totals"].keys() == {
        *SUMMED,
        "evacuation_rate",
        "mean_episode_evacuation_rate",
    }


@pytest.mark.parametrize("committed", [[], [1], [10, 3, 2]])
def test_an_empty_prefix_is_header_and_footer(manifest, results, committed):
    """Without episode 0 there is no line, no trace and no rate, whatever else is committed."""
    artifact, traces, summary = written(manifest, [results[episode] for episode in committed])
    header, footer = artifact.splitlines()
    assert traces == b""
    assert json.loads(header)["episodes"] == 11
    assert json.loads(footer) == {
        "kind": "footer",
        "body_sha256": sha256(header + b"\n").hexdigest(),
        "committed": 0,
        "complete": False,
        "totals": dict.fromkeys(SUMMED, 0)
        | {"evacuation_rate": None, "mean_episode_evacuation_rate": None},
    }
    assert not summary.complete


def test_agents_name_and_sessions_do_not_show(manifest, results):
    """Other names, sessions, failures and crashes in the ledger leave the bytes as they are."""
    artifact, traces = BytesIO(), BytesIO()
    with closing(Ledger.create(None, {"agent_spec": "other", "host": "elsewhere"})) as ledger:
        for result in reversed(results):
            ledger.begin_session(f"agent {result.episode}")
            ledger.record_crash(result.episode)
            ledger.commit([result])
        write_artifact(manifest, ledger, artifact, traces)
    assert (artifact.getvalue(), traces.getvalue()) == written(manifest, results)[:2]


def test_other_behaviour_gives_other_bytes(manifest, results):
    """The artifact tells two agents apart."""
    others = played(manifest, range(len(manifest)), Counting)
    assert written(manifest, others)[0] != written(manifest, results)[0]


class Sink:
    """A file that keeps nothing."""

    def __init__(self):
        """Start empty."""
        self.size = 0

    def write(self, data):
        """Count."""
        self.size += len(data)


def test_writing_takes_bounded_memory(tmp_path, manifest):
    """Twenty thousand episodes, 40 MB of lines, are written within a quarter of that."""
    with closing(Ledger.create(tmp_path / "ledger.sqlite", {})) as ledger:
        ledger.begin_session("any")
        for start in range(0, 20_000, 2000):
            ledger.commit([synthetic(start + n, "x" * 2000) for n in range(2000)])
        artifact, traces = Sink(), Sink()
        tracemalloc.start()
        summary = write_artifact(manifest, ledger, artifact, traces)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert summary.committed == 20_000
    assert artifact.size > 40_000_000
    assert peak < artifact.size / 4


def test_a_summary_is_complete_when_nothing_is_missing():
    """Complete means that every planned episode is in the prefix."""
    assert Summary(3, 3, {}).complete
    assert not Summary(3, 2, {}).complete
