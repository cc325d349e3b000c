"""The report as text: what it says, that it says it always in the same way, and what it refuses."""

from __future__ import annotations

import json
import re
import shutil
from hashlib import sha256
from html.parser import HTMLParser

import pandas as pd
import pyarrow.parquet as pq
import pytest
from studies import AGENTS, FAILING, PEOPLE, SCENARIOS, SEEDS, play, played_runs, write_manifest_of

from emberbench_dist.analysis.frames import load_episodes
from emberbench_dist.analysis.report.choices import default_episodes, shown_scenarios
from emberbench_dist.analysis.report.figures import FIGURES, draw
from emberbench_dist.analysis.report.page import report_page
from emberbench_dist.analysis.report.picture import NONE
from emberbench_dist.analysis.report.study import read_seconds, read_study
from emberbench_dist.analysis.runs import find_runs
from emberbench_dist.analysis.statistics.aggregate import scores
from emberbench_dist.errors import ArtifactError, ManifestError, RunFolderError
from emberbench_dist.evaluation.metrics import METRICS

PLANNED = len(SCENARIOS) * len(SEEDS)
SUMS = "Sums over all committed episodes, and attempts that were lost"


@pytest.fixture(scope="module")
def folders():
    """Play all agents."""
    with played_runs() as found:
        yield found


@pytest.fixture(scope="module")
def page(folders):
    """Write the page about all of them."""
    return report_page(find_runs(folders.values()), command=["report", "somewhere"])


class Reader(HTMLParser):
    """What a page says: its tables by caption, the texts of its elements, and its ids."""

    def __init__(self, page):
        """Read a page."""
        super().__init__()
        self.tables, self.ids, self.texts = {}, [], {}
        self._open, self._rows = [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        """Enter an element."""
        self.ids += [value for name, value in attributes if name == "id"]
        if tag == "table":
            self._rows = []
        if tag == "tr":
            self._rows.append([])
        if tag in ("th", "td"):
            self._rows[-1].append("")
        self._open.append(tag)

    def handle_endtag(self, tag):
        """Leave an element."""
        while self._open and self._open.pop() != tag:
            pass
        if tag == "table" and self.texts.get("caption"):
            self.tables[self.texts["caption"][-1]] = self._rows

    def handle_data(self, data):
        """Keep a text under the name of its element."""
        if not self._open:
            return
        self.texts.setdefault(self._open[-1], []).append(data.strip())
        if self._open[-1] in ("th", "td"):
            self._rows[-1][-1] += data


def columns(rows):
    """Return a table's columns by their heads, each as a dict by the rows' heads."""
    head, *body = rows
    return {name: {row[0]: row[place] for row in body} for place, name in enumerate(head) if place}


def test_the_headline_tells_counts_and_rates_over_planned_and_committed(page, folders):
    """Side by side: the rate over planned episodes, over committed ones, and both counts."""
    told = columns(Reader(page).tables["Rates and counts"])
    for name, folder in folders.items():
        played = load_episodes(folder)
        committed = played[played["committed"]]
        evacuated = int(committed["evacuated"].sum())
        people = int(committed["people"].sum())
        own = told[name]
        assert own["agent"] == AGENTS[name]
        assert (own["episodes planned"], own["episodes committed"]) == (
            str(PLANNED),
            str(len(committed)),
        )
        assert own["people in planned episodes"] == str(PLANNED * PEOPLE)
        assert own["evacuation rate over planned"] == f"{evacuated / (PLANNED * PEOPLE):.1%}"
        assert own["evacuation rate over committed"] == f"{evacuated / people:.1%}"
        mean = committed["evacuation_rate"]
        assert own["mean episode rate over planned"] == f"{mean.sum() / PLANNED:.1%}"
        assert own["mean episode rate over committed"] == f"{mean.mean():.1%}"
    assert told["fails"]["episodes committed"] == str(PLANNED - len(SEEDS))
    assert (
        told["fails"]["evacuation rate over planned"]
        != (told["fails"]["evacuation rate over committed"])
    )


def test_typical_values_stand_with_their_intervals(page, folders):
    """Mean, median and interquartile mean, over planned and over committed episodes."""
    found = scores(find_runs(folders.values()), "evacuation_rate")
    head, *rows = Reader(page).tables["Typical values of evacuation_rate"]
    assert head == ["run", "episodes", "mean", "median", "interquartile mean"]
    assert [row[0] for row in rows] == [
        f"{run}, over {over}" for run in AGENTS for over in ("planned", "committed")
    ]
    told = {row[0]: row[1:] for row in rows}
    for run, over, statistic, value, low, high in zip(
        *(found[name] for name in ("run", "over", "statistic", "estimate", "low", "high")),
        strict=True,
    ):
        place = 1 + ["mean", "median", "iqm"].index(statistic)
        interval = (
            "" if pd.isna(low) else f" ({low:.4g}\N{NO-BREAK SPACE}to\N{NO-BREAK SPACE}{high:.4g})"
        )
        assert told[f"{run}, over {over}"][place] == f"{value:.4g}{interval}"


def test_a_curve_over_committed_episodes_tells_both_rates(page):
    """Under the curves of all scenarios stand the rates of a run that is not complete."""
    told = columns(Reader(page).tables["Rates and counts"])["fails"]
    assert (
        f"At the end of fails, {told['evacuation rate over committed']} of these people are out, "
        f"and {told['evacuation rate over planned']} of those in planned episodes"
    ) in page
    assert "At the end of greedy" not in page


def test_every_scenario_has_its_rates(page):
    """A scenario that a run never finished has 0 over planned episodes, and nothing else."""
    rows = Reader(page).tables["evacuation_rate by scenario and run"]
    assert len(rows) == 1 + len(SCENARIOS) * len(AGENTS)
    (row,) = [row for row in rows if row[:2] == [FAILING, "fails"]]
    assert row[2:] == ["0.0%", "\N{EN DASH}", f"0 of {len(SEEDS)}"]


def test_every_figure_is_there_with_title_caption_and_label(page):
    """Each figure has a name for who does not see it, and a caption."""
    figures = re.findall(r'<figure class="picture".*?</figure>', page, re.DOTALL)
    assert len(figures) == 3 + 1 + 1 + len(SCENARIOS) + 1 + len(SCENARIOS) + 1 + 1 + 5
    for figure in figures:
        (label,) = re.findall(r'<svg class="plot" role="img" aria-label="([^"]+)"', figure)
        assert f">{label}</h3>" in figure
        (caption,) = re.findall(r"<figcaption>(.+?)</figcaption>", figure, re.DOTALL)
        assert len(caption) > 30


def test_ids_on_the_page_are_unique_and_links_lead_to_them(page):
    """No id occurs twice, and each reference has its target."""
    ids = Reader(page).ids
    assert len(set(ids)) == len(ids)
    assert set(re.findall(r'href="#([^"]*)"', page)) <= set(ids)
    assert set(re.findall(r"url\(#([^)]*)\)", page)) <= set(ids)


def test_the_same_input_gives_the_same_page(page, folders):
    """A second page is the same, byte for byte."""
    again = report_page(find_runs(folders.values()), command=["report", "somewhere"])
    assert again == page


def test_an_incomplete_run_is_shown_as_one(page, folders):
    """A note names the run that is not complete, and no other; the comparison is over pairs."""
    notes = re.findall(r'<p class="warning".*?</p>', page, re.DOTALL)
    assert len(notes) == 1
    assert f"fails is not complete: 12 of {PLANNED}" in notes[0]
    assert (
        "warning" not in report_page(find_runs(folders["greedy"]), episodes=[]).split("<body>")[1]
    )


def test_provenance_names_manifest_versions_digests_and_commands(page, folders):
    """Who reads the page can find the run again, and check that it is the same."""
    for folder in folders.values():
        run = json.loads((folder / "run.json").read_text())
        for value in (run["manifest_hash"], run["versions"]["pyarrow"], *run["command"][1:3]):
            assert value in page
        assert sha256((folder / "artifact.jsonl").read_bytes()).hexdigest() in page
    assert "dist-eval report somewhere" in page


def test_costs_are_shown_where_there_are_any(page, folders):
    """What an agent reports of its calls is drawn and summed up; a page without it has none."""
    tables = Reader(page).tables
    steps = int(load_episodes(folders["costly"])["steps"].sum())
    assert tables["cost usd"][1][:3] == ["costly", f"{steps:,}", f"{steps * 0.001:,.6g}"]
    assert "oracle-&lt;1&gt;" in page
    other = Reader(report_page(find_runs(folders["greedy"]), episodes=[])).tables
    assert "cost usd" not in other
    assert "Wall time of episodes" in other


def test_times_of_episodes_are_not_those_of_steps(folders):
    """The table of execution has a row for every step, too: the curve is over episodes."""
    (run,) = find_runs(folders["greedy"])
    assert len(read_seconds(run)) == run.committed


def test_sums_are_those_of_the_run(page, folders):
    """What all episodes of a run cost stands in the page as `run.json` has it."""
    known = json.loads((folders["costly"] / "run.json").read_text())["spent"]
    sums = {name: rest for name, *rest in Reader(page).tables[SUMS]}
    column = sums[""].index("costly")
    assert sums["steps"][column] == f"{known['steps']:,}"
    assert sums["input tokens"][column] == f"{100 * known['steps']:,}"
    assert sums["models"][column] == f"oracle-<1> ({known['steps']:,})"
    assert sums["lost attempts"][column] == "0 (0.0 s)"
    assert sums["input tokens"][sums[""].index("greedy")] == NONE


def test_a_run_that_does_not_tell_its_sums_has_none(folders, tmp_path):
    """A `run.json` without sums, or with something else in their place, is left out."""
    shutil.copytree(folders["greedy"], tmp_path / "run")
    for text in ("{}", '{"spent": 3, "lost": []}', '{"spent": {"seconds": "x"}, "lost": {}}'):
        (tmp_path / "run" / "run.json").write_text(text)
        assert SUMS not in Reader(report_page(find_runs(tmp_path / "run"), episodes=[])).tables


def test_a_page_without_execution_says_so(folders, tmp_path):
    """A run whose table of times was removed is shown without them."""
    shutil.copytree(folders["greedy"], tmp_path / "run")
    (tmp_path / "run" / "execution.parquet").unlink()
    page = report_page(find_runs(tmp_path / "run"), episodes=[])
    assert "There is no execution.parquet of run." in page


def test_a_page_without_ledger_says_so(folders, tmp_path):
    """Tables alone are enough for all but maps and episodes; other runs keep their maps."""
    shutil.copytree(folders["greedy"], tmp_path / "run")
    (tmp_path / "run" / "ledger.sqlite").unlink()
    page = report_page(find_runs([tmp_path / "run", folders["stay"]]))
    assert "There is no ledger.sqlite of run, so that no episode can be replayed" in page
    assert '<h2 id="maps-heading">' in page
    assert "ember-player" not in page
    page = report_page(find_runs(tmp_path / "run"))
    ids = Reader(page).ids
    assert {"results", "curves", "scenarios", "blocked", "provenance"} <= set(ids)
    assert not {"maps", "episodes"} & set(ids)


def test_names_are_texts_whatever_they_are(folders):
    """A run's name cannot become a part of the page."""
    runs = find_runs([folders["greedy"], folders["stay"]], labels=["<b>&", "</style><script>x"])
    page = report_page(runs, episodes=[])
    assert "<b>" not in page
    assert "</style><script>x" not in page
    assert "&lt;b&gt;&amp;" in page


def test_a_page_asks_for_nothing(page):
    """No address is in the page but the names of XML, and its policy forbids every request."""
    addresses = set(re.findall(r"\b\w+://[^\s\"'<>)]+", page))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert "default-src 'none'" in page


def test_episodes_that_differ_most_come_first_and_each_scenario_has_one(folders):
    """The default choice is by difference; only what every run committed can be played."""
    study = read_study(find_runs([folders["stay"], folders["greedy"]]))
    chosen = default_episodes(study, "evacuation_rate")
    rates = {run.label: study.of(run).set_index("episode")["evacuation_rate"] for run in study.runs}
    gaps = (rates["greedy"] - rates["stay"]).abs()
    assert [*gaps[chosen[:8]]] == sorted(gaps, reverse=True)[:8]
    scenario_of = study.of(study.runs[0]).set_index("episode")["scenario_id"]
    assert {*scenario_of[chosen]} == {*SCENARIOS}
    with_failures = read_study(find_runs([folders["stay"], folders["fails"]]))
    left = {*scenario_of[default_episodes(with_failures, "evacuation_rate")]}
    assert left == {*SCENARIOS} - {FAILING}


def test_one_run_has_its_worst_episodes(folders):
    """Without another run, the smallest values are what is worth a look."""
    study = read_study(find_runs(folders["greedy"]))
    rates = study.episodes.set_index("episode")["evacuation_rate"]
    chosen = default_episodes(study, "evacuation_rate")
    assert [*rates[chosen[:8]]] == sorted(rates)[:8]


def test_many_scenarios_are_shown_in_part(folders, monkeypatch):
    """Of more scenarios than fit, those in which the runs differ most are shown, and it is said."""
    monkeypatch.setattr("emberbench_dist.analysis.report.choices.SCENARIOS", 2)
    monkeypatch.setattr("emberbench_dist.analysis.report.gallery._LINES", 1)
    runs = find_runs([folders["greedy"], folders["stay"]])
    study = read_study(runs)
    rates = study.episodes.pivot_table(
        index="scenario_id", columns="run", values="evacuation_rate", observed=True
    )
    gaps = (rates["greedy"] - rates["stay"]).abs()
    shown = shown_scenarios(study, "evacuation_rate", 2)
    assert shown == [name for name in SCENARIOS if name != gaps.idxmin()]
    page = report_page(runs, episodes=[])
    assert page.count("Shown are 2 of 3 scenarios, those in which the runs differ most.") == 2
    assert page.count("Shown are 1 of 3 scenarios, those in which the runs differ most.") == 1
    for kind in ("map", "survival"):
        assert re.findall(rf'<figure class="picture" id="figure-{kind}-(\w+)"', page) == shown


def test_a_metric_that_is_not_always_defined_can_be_chosen(folders):
    """Where nobody got out there is no last evacuation: no difference, no episode to play."""
    runs = find_runs([folders["stay"], folders["greedy"]])
    page = report_page(runs, metric="last_evacuation_step")
    told = Reader(page).tables["Over all pairs"]
    assert told[1][:3] == ["greedy \N{MINUS SIGN} stay", "0", "\N{EN DASH}"]
    assert not re.findall(r">[^<]*\bnan\b", page)
    assert "ember-player" not in page


def test_a_table_without_a_column_is_refused(folders, tmp_path):
    """The message names file and column, and what writes it anew."""
    shutil.copytree(folders["greedy"], tmp_path / "run")
    file = tmp_path / "run" / "people.parquet"
    known = pq.read_metadata(file).metadata
    known.pop(b"ARROW:schema")
    table = pq.read_table(file).drop_columns("row").replace_schema_metadata(known)
    pq.write_table(table, file)
    with pytest.raises(ArtifactError, match=r"people.parquet: .*column.* row"):
        report_page(find_runs(tmp_path / "run"))


def test_runs_of_different_manifests_are_refused(folders, tmp_path):
    """Both are named with their manifests."""
    manifest = write_manifest_of(tmp_path, {"other": 7})
    other = play(manifest, "stay", tmp_path / "other")
    with pytest.raises(ManifestError, match=r"other: is a run of manifest test .*greedy of test"):
        report_page(find_runs([folders["greedy"], other]))


def test_an_empty_run_is_refused(tmp_path):
    """A run without an episode has nothing to show."""
    manifest = write_manifest_of(tmp_path, {FAILING: SCENARIOS[FAILING]})
    empty = play(manifest, "fails", tmp_path / "empty")
    with pytest.raises(RunFolderError, match="empty: no episode is committed"):
        report_page(find_runs(empty))


def test_runs_without_common_episodes_are_shown_side_by_side(folders, tmp_path):
    """Where nothing can be paired, the page says so and shows the rest."""
    shutil.copytree(folders["fails"], tmp_path / "part")
    manifest = write_manifest_of(tmp_path / "input")
    parts = [tmp_path / name for name in ("one", "two")]
    for number, part in enumerate(parts, start=1):
        played = play(manifest, "greedy", part, "--slice", f"{number}/2")
        assert played == part
    page = report_page(find_runs(parts))
    assert "Rates and counts" in page
    assert 'id="differences"' in page
    assert 'id="figure-distribution"' not in page


def test_an_unknown_metric_is_refused_with_the_known_ones(folders):
    """The message lists what can be asked for."""
    for call in (report_page, lambda runs, metric: draw("heat", runs, metric=metric)):
        with pytest.raises(ArtifactError) as refused:
            call(find_runs(folders["greedy"]), metric="speed")
        assert all(name in str(refused.value) for name in ("'speed'", *METRICS))


def test_every_figure_can_be_drawn_alone(folders):
    """Each name of the list leads to a figure with a caption."""
    runs = find_runs([folders["stay"], folders["costly"]])
    for name in FIGURES:
        picture = draw(name, runs, scenario="wide" if name == "map" else None)
        assert picture.figure.axes
        assert picture.caption


@pytest.mark.parametrize(
    ("name", "scenario", "told"),
    [
        ("map", None, "a map needs --scenario, one of narrow, wide, widest"),
        ("survival", "nowhere", "there is no scenario 'nowhere'; there are narrow, wide, widest"),
        ("differences", None, "differences needs two runs"),
        ("distribution", None, "distribution needs two runs"),
        ("cost_usd", None, "there is no cost_usd to draw"),
    ],
)
def test_a_figure_that_cannot_be_drawn_is_refused(folders, name, scenario, told):
    """The message says what is missing."""
    with pytest.raises((ArtifactError, RunFolderError), match=told):
        draw(name, find_runs(folders["greedy"]), scenario=scenario)
