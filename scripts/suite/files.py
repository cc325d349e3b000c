"""The files of the suite: its scenarios and its manifests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from emberbench_dist.authoring.drawing import document
from emberbench_dist.authoring.page import page
from emberbench_dist.authoring.plan import Seeds, manifest_document, manifest_page
from emberbench_dist.contract.observation import Rules
from emberbench_dist.contract.scenario import Scenario, parse_scenario
from suite import released
from suite.generate import generate
from suite.places import Place, places, tiny_places


@dataclass(frozen=True, slots=True)
class Plan:
    """A manifest: the seeds of each scenario, in order."""

    name: str
    description: str
    blocks: tuple[tuple[Scenario, Seeds], ...]


@cache
def suite_files() -> dict[str, str]:
    """Return the text of every file of the suite under its path in the folder."""
    planned = list(plans())
    scenarios = {path_of(item): item for plan in planned for item, _ in plan.blocks}
    files = {path: page(item.to_dict()) for path, item in scenarios.items()}
    return files | {f"{plan.name}.json": manifest(plan) for plan in planned}


def plans() -> Iterator[Plan]:
    """Yield every manifest."""
    public = {name_of(item): item for item in public_scenarios()}
    yield Plan(
        "public-v1",
        "The public suite: designed places from a corridor of five cells to a trade fair, and "
        "generated ones of seven families up to 256 by 256, each under twenty seeds.",
        tuple(
            (item, released.PUBLIC_EXCEPTIONS.get(name, released.PUBLIC_SEEDS))
            for name, item in public.items()
        ),
    )
    yield Plan(
        "smoke-v1",
        "A few small places of the public suite, to try an agent or an installation in a moment.",
        tuple((public[name], seeds) for name, seeds in released.SMOKE_SEEDS.items()),
    )
    yield Plan(
        "large-v1",
        "Places of 256 by 256 cells with a thousand people each, for agents that scale.",
        tuple((generate(wish), released.LARGE_SEEDS) for wish in released.LARGE),
    )
    yield Plan(
        "stress-v1",
        "A hundred thousand episodes of a few steps, for machinery rather than for agents.",
        tuple((item, released.STRESS_SEEDS) for item in designed(tiny_places())),
    )


@cache
def public_scenarios() -> tuple[Scenario, ...]:
    """Return the scenarios of the public suite: the designed ones, then the generated ones."""
    return (*designed(places()), *map(generate, released.PUBLIC))


def name_of(scenario: Scenario) -> str:
    """Return a scenario's id without its size."""
    return scenario.scenario_id.rpartition("-")[0]


def path_of(scenario: Scenario) -> str:
    """Return where a scenario's file is, from the manifests' folder."""
    return f"scenarios/{scenario.scenario_id}.json"


def designed(listed: list[Place]) -> list[Scenario]:
    """Return the scenarios of places that are drawings."""
    return [scenario_of(place, number) for number, place in enumerate(listed, start=1)]


def scenario_of(place: Place, number: int) -> Scenario:
    """Return the scenario of a place."""
    rows = place.drawing.split()
    rules = Rules(
        fire_model="deterministic" if place.probability is None else "stochastic",
        spread_interval=place.interval,
        spread_probability=place.probability,
        exits_flammable=place.exits_flammable,
        enter_fire=place.enter_fire,
        conflict_resolution="lowest_id_wins",
        max_steps=place.max_steps,
    )
    name = f"{place.name}-{len(rows[0])}x{len(rows)}"
    return parse_scenario(
        document(rows, rules, scenario_id=name, description=place.description, seed=number),
        source=place.name,
    )


def manifest(plan: Plan) -> str:
    """Return the file of a manifest."""
    blocks = [(item.scenario_id, seeds) for item, seeds in plan.blocks]
    listed = {path_of(item): item for item, _ in plan.blocks}
    return manifest_page(manifest_document(plan.name, plan.description, listed, blocks))
