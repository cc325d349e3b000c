"""Every version number of the contract, in one place."""

from __future__ import annotations

from typing import Final

SIMULATOR_VERSION: Final = "0.2.0"
SCENARIO_SCHEMA_VERSION: Final = "1.0"
OBSERVATION_VERSION: Final = "1.0"
ACTION_SCHEMA_VERSION: Final = "1.0"
RECORD_VERSION: Final = "1.0"
MANIFEST_VERSION: Final = "1.0"
METRICS_VERSION: Final = "1.0"
ARTIFACT_VERSION: Final = "1.0"
