"""The table of docs/suite.md: what is in the public suite, as measured."""

from __future__ import annotations

from emberbench_dist.authoring.difficulty import measure
from emberbench_dist.contract.scenario import Scenario
from suite.files import public_scenarios

_HEADER = (
    "| scenario | people | exits | fires | fire | exits burn | into fire | shortest | capacity "
    "| nearest | lead: least, median | late | difficulty |\n"
    "| --- | ---: | ---: | ---: | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- |"
)


def table() -> str:
    """Return a row for each public scenario."""
    return "\n".join([_HEADER, *map(_row, public_scenarios())])


def _row(scenario: Scenario) -> str:
    measured, rules = measure(scenario), scenario.rules
    chance = "certain" if rules.spread_probability is None else f"{rules.spread_probability:g}"
    cells = (
        scenario.scenario_id,
        len(scenario.people),
        len(scenario.map.exits),
        len(scenario.ignitions),
        f"{chance}, every {rules.spread_interval}" if rules.spread_interval > 1 else chance,
        "yes" if rules.exits_flammable else "no",
        rules.enter_fire,
        measured.shortest_evacuation,
        measured.exit_capacity,
        measured.nearest_exits,
        f"{measured.least_lead}, {measured.median_lead}",
        measured.late,
        measured.difficulty,
    )
    return f"| {' | '.join(map(str, cells))} |"
