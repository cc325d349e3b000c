"""A check of any agent against the rules that every agent keeps."""

from emberbench_dist.agents.conformance.check import (
    RULES,
    STEP_LIMIT,
    Evidence,
    Finding,
    Report,
    Rule,
    Verdict,
    check_agent,
)

__all__ = [
    "RULES",
    "STEP_LIMIT",
    "Evidence",
    "Finding",
    "Report",
    "Rule",
    "Verdict",
    "check_agent",
]
