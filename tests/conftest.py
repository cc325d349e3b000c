"""Settings that every test shares."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A busy machine must not fail a test: no limit on the time of an example or of its generation.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
