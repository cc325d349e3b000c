"""The version constants."""

from __future__ import annotations

from emberbench_dist.contract import versions


def test_no_contract_version_changes():
    """Every version of the contract is the released one, and there is no other."""
    found = {name: value for name, value in vars(versions).items() if name.endswith("VERSION")}
    assert found == {
        "SIMULATOR_VERSION": "0.2.0",
        "SCENARIO_SCHEMA_VERSION": "1.0",
        "OBSERVATION_VERSION": "1.0",
        "ACTION_SCHEMA_VERSION": "1.0",
        "RECORD_VERSION": "1.0",
        "MANIFEST_VERSION": "1.0",
        "METRICS_VERSION": "1.0",
        "ARTIFACT_VERSION": "1.0",
    }
