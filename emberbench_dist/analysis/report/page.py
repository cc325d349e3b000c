"""One self-contained HTML page about one or more runs of a manifest."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import file_digest
from importlib.metadata import version
from itertools import chain
from pathlib import Path

import jinja2
from markupsafe import Markup

from emberbench_dist import __version__
from emberbench_dist.analysis.episodes.player import player_section
from emberbench_dist.analysis.metric import DEFAULT, chosen_metrics
from emberbench_dist.analysis.plots.style import THEME
from emberbench_dist.analysis.plots.svg import themed_svg
from emberbench_dist.analysis.report import choices, contrasts, gallery, headline
from emberbench_dist.analysis.report.picture import Picture, Table, played
from emberbench_dist.analysis.report.study import (
    REPLAYED,
    People,
    Study,
    has_execution,
    has_ledger,
    read_models,
    read_people,
    read_study,
    read_waiting,
    require_committed,
)
from emberbench_dist.analysis.runs import Run
from emberbench_dist.analysis.statistics.comparing import compare
from emberbench_dist.analysis.statistics.paired import LEVEL
from emberbench_dist.artifacts.durable import read_json
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.errors import RunFolderError

_TEMPLATES = Path(__file__).with_name("templates")
# So many runs are named in the title.
_NAMED = 4
_RESULTS = (
    "Over planned episodes, one that is missing or failed counts as nobody evacuated. Intervals "
    f"are bootstrap intervals of {LEVEL:.0%}: seeds are drawn anew within each scenario. Those of "
    "everybody out are Wilson's."
)
_MAPS = (
    "Left, casualties of an episode by the cell where they happened, a mean over all committed "
    "seeds. Right, steps that people waited in a cell because another person blocked their move, a "
    f"mean over at most {REPLAYED} seeds of each run and scenario, evenly spaced, which were "
    "replayed. Under each map are the numbers of these seeds. Colours are on one scale for all "
    "runs, walls are grey, exits squares."
)
_PACKAGES = ("matplotlib", "numpy", "pandas", "scipy", "jinja2", "pyarrow")


@dataclass(frozen=True, slots=True)
class Shown:
    """A picture as it stands in the page."""

    name: str
    title: str
    caption: str
    svg: Markup
    table: Table | None


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page with a heading of its own."""

    name: str
    title: str
    texts: list[str] = field(default_factory=list)
    tables: list[tuple[str, Table]] = field(default_factory=list)
    pictures: list[Shown] = field(default_factory=list)
    facts: list[tuple[str, tuple[tuple[str, str], ...]]] = field(default_factory=list)
    fragment: Markup = field(default_factory=Markup)


def report_page(
    runs: Sequence[Run],
    *,
    metric: str = DEFAULT,
    episodes: Iterable[int] | None = None,
    command: Sequence[str] = (),
) -> str:
    """Return the page: the same text for the same input.

    `episodes` are embedded to be played (None: those that differ most, and one a scenario);
    `command` is the command line that the page names as its origin. Raises `RunFolderError` for
    an empty run, `ManifestError` for runs of different manifests, `ArtifactError` for a metric or
    a table that is not there.
    """
    chosen_metrics(metric)
    study = read_study(list(runs))
    chosen = choices.default_episodes(study, metric) if episodes is None else list(episodes)
    require_committed(study, chosen)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    manifest = runs[0].manifest_id
    return environment.get_template("report.html").render(
        title=f"{manifest}: {_told(runs)}",
        lead=played(study),
        warnings=list(_warnings(study)),
        sections=list(_sections(study, metric, chosen, command)),
        colors=[(name, light, dark) for light, (name, dark) in THEME.items()],
        style=Markup((_TEMPLATES / "report.css").read_text(encoding="utf-8")),  # noqa: S704 - ours
    )


def _told(runs: Sequence[Run]) -> str:
    labels = [run.label for run in runs]
    if len(labels) == 1:
        return labels[0]
    if len(labels) > _NAMED:
        return f"{labels[0]} and {len(labels) - 1} other runs"
    return f"{', '.join(labels[:-1])} and {labels[-1]}"


def _warnings(study: Study) -> Iterator[str]:
    for run in study.runs:
        if not run.complete:
            yield (
                f"{run.label} is not complete: {run.committed:,} of {run.planned:,} planned "
                "episodes are committed. Figures show committed episodes; a rate over planned ones "
                "counts a missing or failed episode as nobody evacuated."
            )
    missing = [run.label for run in study.runs if not has_ledger(run)]
    if missing:
        yield (
            f"There is no ledger.sqlite of {', '.join(missing)}, so that no episode can be "
            "replayed: the maps leave these runs out, and there is nothing to play."
        )


def _sections(
    study: Study, metric: str, episodes: list[int], command: Sequence[str]
) -> Iterator[Section]:
    shown = choices.shown_scenarios(study, metric, choices.SCENARIOS)
    people = {run.label: read_people(study, run, shown) for run in study.runs}
    some = choices.told(study, shown)
    yield _results(study, metric)
    yield from _differences(study, metric)
    yield _curves(study, people, shown, some)
    heat = gallery.scenario_heat(study, metric)
    yield Section("scenarios", "Scenarios", pictures=_embedded([heat]))
    yield from _maps(study, people, shown, some)
    yield Section("blocked", "What blocked movement", pictures=_embedded([gallery.movement(study)]))
    yield from _cost(study)
    yield from _episodes(study, episodes)
    yield _provenance(study, command)


def _results(study: Study, metric: str) -> Section:
    counts, typical = headline.counts(study), headline.typical(study, metric)
    tables = [("Rates and counts", counts), (f"Typical values of {metric}", typical)]
    return Section("results", "Results", [_RESULTS], tables)


def _curves(study: Study, people: dict[str, People], shown: list[str], some: str) -> Section:
    single = (gallery.scenario_survival(study, people, name) for name in shown)
    pictures = _embedded(chain([gallery.pooled_survival(study, people)], single))
    return Section("curves", "Out and lost, step by step", [some], pictures=pictures)


def _maps(
    study: Study, people: dict[str, People], shown: list[str], some: str
) -> Iterator[Section]:
    runs = [run for run in study.runs if has_ledger(run)]
    if runs:
        waiting = {run.label: read_waiting(study, run, shown) for run in runs}
        pictures = _embedded(gallery.place_map(study, people, waiting, name) for name in shown)
        title = "Where people die, and where they wait"
        yield Section("maps", title, [_MAPS, some], pictures=pictures)


def _differences(study: Study, metric: str) -> Iterator[Section]:
    if len(study.runs) == 1:
        return
    first, second, *others = study.runs
    try:
        comparison = compare(first, second, *others, metric=metric)
    except RunFolderError as error:  # no episode that both committed
        yield Section("differences", "Paired differences", [str(error)])
        return
    pictures = [contrasts.differences(comparison, number) for number in range(1, len(study.runs))]
    pictures.append(contrasts.distribution(study, metric))
    text = (
        f"Every pair is one scenario and seed, played in both runs; a difference is {metric} of "
        f"the other run minus that of {first.label}."
    )
    table = ("Over all pairs", contrasts.overall(comparison))
    yield Section("differences", "Paired differences", [text], [table], _embedded(pictures))


def _embedded(pictures: Iterable[Picture]) -> list[Shown]:
    """Turn pictures into SVG one by one, so that no figure is kept."""
    return [
        Shown(
            _id(shown.name),
            shown.title,
            shown.caption,
            themed_svg(shown.figure, _id(shown.name), shown.title),
            shown.table,
        )
        for shown in pictures
    ]


def _id(name: str) -> str:
    return f"figure-{name}"


def _cost(study: Study) -> Iterator[Section]:
    missing = [run.label for run in study.runs if not has_execution(run)]
    if missing:
        text = f"There is no execution.parquet of {', '.join(missing)}."
        yield Section("cost", "Time and cost", [text])
        return
    models = ((run.label, read_models(run)) for run in study.runs)
    texts = [f"Models that answered {run}: {', '.join(names)}." for run, names in models if names]
    sums = headline.spent(study)
    tables = [("Sums over all committed episodes, and attempts that were lost", sums)]
    pictures = _embedded([gallery.seconds(study), *gallery.accounting(study)])
    yield Section("cost", "Time and cost", texts, tables if sums.rows else [], pictures)


def _episodes(study: Study, episodes: list[int]) -> Iterator[Section]:
    if not episodes or not all(has_ledger(run) for run in study.runs):
        return
    runs = [(run.label, run.path) for run in study.runs]
    several = ", each as every run played it on the same seed" if len(runs) > 1 else ""
    text = f"{len(episodes)} episode{'s' * (len(episodes) > 1)}{several}."
    yield Section(
        "episodes",
        "Episodes, step by step",
        [text],
        fragment=Markup(player_section(runs, episodes)),  # noqa: S704 - the player escapes its data
    )


def _provenance(study: Study, command: Sequence[str]) -> Section:
    made = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    texts = [f"This page: {shlex.join(['dist-eval', *command])}"] if command else []
    facts = [(run.label, _facts(run)) for run in study.runs]
    return Section(
        "provenance",
        "Provenance",
        [*texts, f"Made with emberbench-dist {__version__}, {made}."],
        facts=facts,
    )


def _facts(run: Run) -> tuple[tuple[str, str], ...]:
    folder = RunFolder(run.path)
    known = read_json(folder.run_json)
    facts = {
        "agent": run.agent,
        "manifest": f"{run.manifest_id}, hash {run.manifest_hash}",
        "outcome": known.get("outcome"),
        "versions": _listed(known.get("versions")),
    }
    for name, path in (("artifact.jsonl", folder.artifact), ("traces.jsonl", folder.traces)):
        facts[f"SHA-256 of {name}"] = _digest(path)
    sessions = known.get("sessions")
    for number, session in enumerate(sessions if isinstance(sessions, list) else [], start=1):
        facts[f"session {number}"] = _session(session)
    return tuple((name, str(value)) for name, value in facts.items() if value)


def _listed(values: object) -> str:
    pairs = values.items() if isinstance(values, dict) else ()
    return ", ".join(f"{name} {value}" for name, value in pairs)


def _session(session: object) -> str:
    if not isinstance(session, dict):
        return ""
    command = session.get("command")
    parts = map(str, command) if isinstance(command, list) else ()
    times = f"{session.get('started', '?')} to {session.get('ended', '?')}"
    return f"{shlex.join(['dist-eval', *parts])} ({times}, {session.get('outcome', '?')})"


def _digest(path: Path) -> str:
    if not path.is_file():
        return "there is no such file"
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
