"""The planners' short cuts, each against the long way: everything anew, everybody at once."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import scenario_documents, seeds
from worlds import random_document, simulator

from emberbench_dist.agents import paths as paths_module
from emberbench_dist.agents.baselines import FireAware, Lookahead
from emberbench_dist.agents.baselines.lookahead import _costs
from emberbench_dist.agents.fields import ExitFields, distances, standing, ways
from emberbench_dist.agents.forecast import Forecast
from emberbench_dist.agents.paths import SafePaths
from emberbench_dist.contract.actions import Action
from emberbench_dist.contract.scenario import parse_scenario
from emberbench_dist.simulator.grid import BURNING, grid_of
from emberbench_dist.simulator.movement import resolve_moves
from emberbench_dist.simulator.simulator import Simulator


def observations(document, seed):
    """Yield what is seen of an episode in which nobody moves."""
    play = Simulator(parse_scenario(document), seed)
    while not play.state.terminated:
        yield play.observe()
        play.step(dict.fromkeys(play.active, "stay"))


def plain_lookahead(seen):
    """Return what `lookahead` does, by a trial of everybody for each action of each person."""
    grid, places = grid_of(seen.map), standing(seen)
    cells, costs = list(places.values()), _costs(seen, ExitFields().follow(seen))
    terrain, chosen = bytearray(grid.terrain), [Action.STAY] * len(cells)
    for position in seen.burning:
        terrain[grid.cell(position)] = BURNING

    def cost(index, action):
        chosen[index] = action
        _, after = resolve_moves(grid, terrain, seen.rules.enter_fire, cells, chosen)
        return sum(costs[cell] for cell in after)

    for index in sorted(range(len(cells)), key=lambda index: costs[cells[index]]):
        near = {cells[index], *ways(seen.map)[cells[index]]}
        tried = [action for action, by in grid.offsets.items() if cells[index] + by in near]
        chosen[index] = min(tried, key=lambda action: cost(index, action))
    return dict(zip(places, chosen, strict=True))


def square(seed, size, people):
    """Return a world of this size."""
    return random_document(random.Random(seed), size, people, probability=0.5, max_steps=40)


# Anything small; long ways around walls and fire; a crowd.
documents = st.one_of(
    scenario_documents(),
    st.builds(square, seeds, st.just(24), st.just(40)),
    st.builds(square, seeds, st.just(12), st.just(90)),
)


@settings(max_examples=35)
@given(document=documents, seed=seeds, data=st.data())
def test_distances_that_follow_the_fire_are_those_made_anew(document, seed, data):
    """However the fire grows, and whenever it is looked at, no distance is another one."""
    fields = ExitFields()
    for seen in observations(document, seed):
        fields.follow(seen)
        for exits in [fields.exits, *((exit,) for exit in fields.exits)]:
            if data.draw(st.booleans()):
                assert fields.to(*exits) == distances(seen.map, seen.burning, exits)


def test_another_map_and_an_earlier_fire_are_followed_as_well():
    """Whatever comes next, the distances are those of what is seen."""
    plays = [simulator("a . . E\n* . . .", probability=1.0), simulator("E . . a\n. . . *")]
    seen = [play.observe() for play in plays]
    plays[0].step({"a": "stay"})
    fields = ExitFields()
    for one in (seen[0], plays[0].observe(), seen[0], seen[1], seen[0]):
        exits = fields.follow(one).exits
        assert fields.to(*exits) == distances(one.map, one.burning, exits)


@settings(max_examples=35)
@given(document=documents, seed=seeds)
def test_a_straight_way_is_what_a_search_finds(document, seed):
    """Whom no fire threatens on a shortest path `fire-aware` leads as if it searched for them."""
    with pytest.MonkeyPatch.context() as patch:
        for seen in observations(document, seed):
            quick = FireAware().act(seen)
            patch.setattr(SafePaths, "straight", lambda *_: None)
            assert FireAware().act(seen) == quick
            patch.undo()


@settings(max_examples=35)
@given(document=documents, seed=seeds)
def test_a_search_that_takes_long_finds_the_same(document, seed):
    """Straight ways are the same by bitboards, where going from cell to cell takes long."""
    for seen in observations(document, seed):
        fields, forecast = ExitFields().follow(seen), Forecast(seen, 1)
        for exit in fields.exits:
            paths = [SafePaths(seen.map, fields.to(exit), forecast) for _ in range(2)]
            for cell in standing(seen).values():
                if forecast.is_safe(cell, 0):
                    with pytest.MonkeyPatch.context() as patch:
                        patch.setattr(paths_module, "PATIENCE", 10**6)
                        expected = paths[0].straight(cell)
                        patch.setattr(paths_module, "PATIENCE", 0)
                        assert paths[1].straight(cell) == expected


def test_an_exit_behind_a_wall_is_not_searched_for(monkeypatch):
    """Where no path leads to an exit there is no straight way, however little patience there is."""
    seen = simulator("a . E1 # E2\n. . . # *").observe()
    fields = ExitFields().follow(seen)
    monkeypatch.setattr(paths_module, "PATIENCE", 0)
    (a,) = standing(seen).values()
    near, far = sorted(fields.exits, key=lambda way: fields.to(way)[a])
    forecast = Forecast(seen, 1)
    assert SafePaths(seen.map, fields.to(near), forecast).straight(a) is not None
    assert SafePaths(seen.map, fields.to(far), forecast).straight(a) is None


@settings(max_examples=35)
@given(document=documents, seed=seeds)
def test_a_trial_of_those_concerned_is_a_trial_of_all(document, seed):
    """`lookahead` leaves nobody out of a trial who makes a difference."""
    play, agent = Simulator(parse_scenario(document), seed), Lookahead()
    while not play.state.terminated:
        seen = play.observe()
        given = agent.act(seen)
        assert given == plain_lookahead(seen)
        play.step(given)
