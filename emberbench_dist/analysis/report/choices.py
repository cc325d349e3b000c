"""What of a large study is shown: episodes to play, and scenarios with figures of their own."""

from __future__ import annotations

from emberbench_dist.analysis.metric import sign
from emberbench_dist.analysis.report.study import Study

# So many scenarios have figures of their own, so many episodes are played as they differ most.
SCENARIOS, LARGEST = 24, 8


def default_episodes(study: Study, metric: str) -> list[int]:
    """Return the episodes to embed: the largest differences, then one of each scenario.

    Only what every run committed. The difference is the largest between the first run and
    another; with one run, the episodes with the worst values come first.
    """
    table = study.episodes[study.episodes["committed"]].pivot_table(
        index="episode", columns="run", values=metric, observed=True, dropna=False
    )
    table = table[[run.label for run in study.runs]].astype(float).dropna()
    first, others = table.iloc[:, 0], table.iloc[:, 1:]
    alone = -sign(metric) * first
    rank = others.sub(first, axis=0).abs().max(axis=1) if len(study.runs) > 1 else alone
    rank = rank.sort_values(ascending=False, kind="stable")
    scenario_of = study.episodes.drop_duplicates("episode").set_index("episode")["scenario_id"]
    scenarios = scenario_of.loc[rank.index].astype(str)
    one_each = scenarios.drop_duplicates().head(SCENARIOS).index
    return list(dict.fromkeys([*rank.head(LARGEST).index, *sorted(one_each)]))


def shown_scenarios(study: Study, metric: str, most: int) -> list[str]:
    """Return the scenarios that get figures of their own, in the manifest's order.

    Where there are too many, those in which the runs differ most (one run: with the worst means).
    """
    if len(study.scenario_ids) <= most:
        return study.scenario_ids
    known = study.episodes[study.episodes["committed"]]
    means = known.pivot_table(index="scenario_id", columns="run", values=metric, observed=True)
    alone = -sign(metric) * means.iloc[:, 0]
    rank = alone if len(study.runs) == 1 else means.max(axis=1) - means.min(axis=1)
    rank = rank.astype(float).sort_values(ascending=False, kind="stable")
    chosen = set(map(str, rank.head(most).index))
    return [name for name in study.scenario_ids if name in chosen]


def told(study: Study, shown: list[str]) -> str:
    """Say which scenarios are shown; nothing where all are."""
    if len(shown) == len(study.scenario_ids):
        return ""
    which = "with the worst means" if len(study.runs) == 1 else "in which the runs differ most"
    return f"Shown are {len(shown)} of {len(study.scenario_ids)} scenarios, those {which}."
