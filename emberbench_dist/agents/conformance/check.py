"""The rules that every agent keeps, and a check of any agent against them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest
from typing import Any

from emberbench_dist.agents.conformance.isolation import Play, play_apart
from emberbench_dist.agents.conformance.trials import TRIALS
from emberbench_dist.agents.conformance.witness import Event
from emberbench_dist.agents.interface import AgentFactory

STEP_LIMIT = 60.0
_MAX_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the model interface: a name for it, the section that states it, its text."""

    id: str
    section: int
    text: str


RULES = (
    Rule("no-arguments", 4, "The factory is called without arguments."),
    Rule("is-agent", 4, "The factory returns an object with a method act(observation)."),
    Rule("fresh-agent", 4, "The factory returns a new agent each time, never an earlier one."),
    Rule(
        "step-order",
        4,
        "act is called once a step, in order from step 0 to the end, and answers each time.",
    ),
    Rule("returns", 6, "The factory, act and close return: they do not raise, exit or hang."),
    Rule("mapping", 2, "act returns a mapping whose keys are texts, the ids of people."),
    Rule("every-active", 2, "The mapping has exactly one entry for every active person."),
    Rule("no-unknown", 2, "The mapping has no entry for an unknown person."),
    Rule("no-resolved", 2, "The mapping has no entry for an evacuated or casualty person."),
    Rule(
        "legal-actions",
        2,
        "Each value is an Action or its text, and one of observation.allowed_actions.",
    ),
    Rule("observation-unchanged", 1, "The agent does not change the observation it is given."),
    Rule("deterministic", 6, "Two plays of an episode give the same actions."),
    Rule("independent", 5, "An episode gives the same actions alone and after other episodes."),
    Rule("accounting", 3, "last_execution(), if there is one, returns a StepExecution or None."),
)


class Verdict(StrEnum):
    """What is known of a rule."""

    HOLDS = "ok"
    BROKEN = "broken"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where a rule was broken and what was seen; `step` is None outside of `act`."""

    episode: str | None
    step: int | None
    seen: str

    def __str__(self) -> str:
        """Say it in one line."""
        step = "" if self.step is None else f", step {self.step}"
        return f"{self.episode}{step}: {self.seen}" if self.episode else self.seen


@dataclass(frozen=True, slots=True)
class Finding:
    """What the check found of one rule; `reason` says why it was not checked."""

    rule: Rule
    verdict: Verdict
    evidence: tuple[Evidence, ...] = ()
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "id": self.rule.id,
            "section": self.rule.section,
            "text": self.rule.text,
            "verdict": self.verdict.value,
            "evidence": [
                {"episode": item.episode, "step": item.step, "seen": item.seen}
                for item in self.evidence
            ],
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """What the check found, rule by rule in the order of `RULES`."""

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Say whether no rule is broken."""
        return not self.broken

    @property
    def broken(self) -> tuple[str, ...]:
        """Return the ids of the broken rules."""
        return self._with(Verdict.BROKEN)

    @property
    def holds(self) -> tuple[str, ...]:
        """Return the ids of the rules that hold as far as was seen."""
        return self._with(Verdict.HOLDS)

    @property
    def not_checked(self) -> tuple[str, ...]:
        """Return the ids of the rules that could not be judged."""
        return self._with(Verdict.NOT_CHECKED)

    def __str__(self) -> str:
        """Name each broken rule with its text and evidence."""
        lines = [f"{len(self.broken)} of {len(self.findings)} rules are broken"]
        for finding in self.findings:
            if finding.verdict is Verdict.BROKEN:
                lines.append(f"{finding.rule.id}: {finding.rule.text}")
                lines += [f"  {evidence}" for evidence in finding.evidence]
        return "\n".join(lines)

    def _with(self, verdict: Verdict) -> tuple[str, ...]:
        return tuple([found.rule.id for found in self.findings if found.verdict is verdict])


def check_agent(factory: AgentFactory, *, step_limit: float | None = STEP_LIMIT) -> Report:
    """Play the small episodes of `TRIALS` and report which rules the agent breaks.

    Each episode is played twice alone, then all in a row, each time in a fork of this process.
    An agent that is silent for `step_limit` seconds counts as hanging (None: it is waited for).
    What the agent does wrong is reported and never raised.
    """
    inquiry = _Inquiry()
    alone, again, in_a_row = _alone(factory, step_limit), list[Play](), list[Play]()
    if not alone[-1].hangs:
        again = _alone(factory, step_limit)
        in_a_row = play_apart(factory, [*TRIALS, TRIALS[0]], step_limit)
    for play in [*alone, *again]:
        inquiry.hear(play.trial, play.events)
    for play in in_a_row:
        fresh = [event for event in play.events if event.rule == "fresh-agent"]
        inquiry.hear(play.trial, fresh)
    inquiry.compare("deterministic", zip(alone, again, strict=False), ("first", "then"))
    if not inquiry.found("deterministic", "fresh-agent"):
        by_name = {play.trial: play for play in alone}
        pairs = [(by_name[play.trial], play) for play in in_a_row[1:] if play.trial in by_name]
        inquiry.compare("independent", pairs, ("alone", "after others"))
    return inquiry.report()


def _alone(factory: AgentFactory, step_limit: float | None) -> list[Play]:
    """Play each trial alone; give up after one that hangs or has no agent to play it."""
    plays = list[Play]()
    for trial in TRIALS:
        plays += play_apart(factory, [trial], step_limit)
        if plays[-1].hangs or not plays[-1].asks:
            break
    return plays


class _Inquiry:
    """What is known so far: the rules that were judged, and the evidence against them."""

    def __init__(self) -> None:
        self._judged = set[str]()
        self._evidence: dict[str, dict[str | None, Evidence]] = {}

    def add(self, rule: str, evidence: Evidence) -> None:
        """Take in evidence against a rule; of each episode the first is kept."""
        self._judged.add(rule)
        self._evidence.setdefault(rule, {}).setdefault(evidence.episode, evidence)

    def hear(self, trial: str, events: Iterable[Event]) -> None:
        """Take in what a play tells."""
        for event in events:
            if event.kind == "judged":
                self._judged.add(event.rule)
            elif event.kind == "broken":
                self.add(event.rule, Evidence(trial, event.step, event.text))

    def compare(
        self, rule: str, pairs: Iterable[tuple[Play, Play]], names: tuple[str, str]
    ) -> None:
        """Judge a rule by pairs of plays that must be the same."""
        for one, other in pairs:
            difference = _difference(one, other)
            if difference:
                step, *seen = difference
                told = "; ".join(
                    [f"{name}: {text}" for name, text in zip(names, seen, strict=True)]
                )
                self.add(rule, Evidence(one.trial, step, told))
            elif any(event.kind == "answered" for event in one.events):
                self._judged.add(rule)

    def found(self, *rules: str) -> bool:
        """Say whether there is evidence against any of the rules."""
        return not self._evidence.keys().isdisjoint(rules)

    def report(self) -> Report:
        """Return what is known of each rule."""
        return Report(tuple([self._finding(rule) for rule in RULES]))

    def _finding(self, rule: Rule) -> Finding:
        evidence = tuple(self._evidence.get(rule.id, {}).values())
        if evidence:
            return Finding(rule, Verdict.BROKEN, evidence)
        # What was raised for the step's number is told there; that the rest returns is unknown.
        hidden = rule.id == "returns" and self.found("step-order")
        if rule.id in self._judged and not hidden:
            return Finding(rule, Verdict.HOLDS)
        return Finding(rule, Verdict.NOT_CHECKED, reason=self._reason(rule))

    def _reason(self, rule: Rule) -> str:
        if rule.id == "accounting" and "mapping" in self._judged:
            return "the agent has no last_execution(), which it need not have"
        broken = [other.id for other in RULES if self.found(other.id)]
        return f"{' and '.join(broken)} broke first" if broken else "no episode came to it"


def _difference(one: Play, other: Play) -> tuple[int | None, str, str] | None:
    """Return the first step in which two plays differ, and what was seen in each."""
    for mine, its in zip_longest(_deeds(one), _deeds(other)):
        if mine is None or its is None or _what(mine) != _what(its):
            steps = [event.step for event in (mine, its) if event]
            return steps[0], _shown(mine), _shown(its)
    return None


def _deeds(play: Play) -> list[Event]:
    """Return what must be the same in each play; accounting may differ."""
    return [
        event
        for event in play.events
        if event.kind in ("answered", "broken") and event.rule != "accounting"
    ]


def _what(event: Event) -> tuple[object, ...]:
    """Return what identifies a deed; what was seen of a fault may hold an address or a time."""
    return event.step, event.rule, "" if event.rule else event.text


def _shown(event: Event | None) -> str:
    if event is None:
        return "nothing more"
    return event.text if len(event.text) <= _MAX_SHOWN else f"{event.text[:_MAX_SHOWN]}…"
