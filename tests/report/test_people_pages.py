"""Pages of leaderboards and design studies: the same from the same tables, harmless, true, at home
in a browser.
"""

from __future__ import annotations

import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from metal.data.dataset import Dataset
from metal.questions.design.run import Design
from metal.questions.design.settings import DesignSettings, Prices
from metal.questions.design.study import design
from metal.questions.leaderboard.answer import cards, headline, lead
from metal.questions.leaderboard.compute import leaderboard
from metal.questions.leaderboard.page import ranking_chart
from metal.questions.leaderboard.run import Leaderboard
from metal.questions.leaderboard.settings import LeaderboardSettings
from metal.questions.leaderboard.words import facts
from metal.runs.parts import manifest
from metal.show.charts.dots import population_panels
from metal.show.charts.lines import ItemsCurve, design_curve
from metal.show.files import chart_svg, to_latex
from metal.show.pages import charts, page, tables
from tests.genie.leaderboard.boards import CATEGORY, ERRORS, QUALITY, dataset, output, ranked
from tests.planning.studies import BINARY, LIKERT, study
from tests.report.checks import (
    HOSTILE,
    Visiting,
    check_accessible,
    check_csv,
    check_names_are_text,
    check_page,
    check_quiet,
)
from tests.saying import tells


def written(made: Dataset, folder: Path, **given: Any) -> Path:
    settings = LeaderboardSettings(permutations=100, **given)
    result = leaderboard(made, settings)
    raters = (*result.people, *result.beside)
    about = manifest(
        "leaderboard", made, [Path("made")], settings.to_dict(), raters, result.signature
    )
    Leaderboard.of(result, made, about, raters).write(folder, page)
    return folder


def rich(
    names: tuple[str, ...] = ("good", "fair", "poor", "writer"), title: str = "Made"
) -> Dataset:
    """Four generators, two criteria, three languages, a metric, a judge; one in Hindi only, one not
    rated yet.
    """
    lines = []
    for language in ("en", "hi", "ar"):
        for place, name in enumerate(names):
            scores: list[float | None] = [
                float(max(1, 5 - place - number % 2)) for number in range(8)
            ]
            lines += ranked({name: scores}, language) + ranked({name: scores}, language, "j1")
            lines += [
                (f"{language}-{n:02d}/{name}", "errors", "A1", place + n % 3) for n in range(8)
            ]
            lines += [
                (f"{language}-{n:02d}/{name}", "score", "m1", n / 10 - place) for n in range(8)
            ]
    lines += [(f"hi-9{n}/alone", "quality", "A1", 3) for n in range(6)]
    made = dataset(
        lines,
        (QUALITY, ERRORS, CATEGORY, dataset([]).criteria["score"]),
        more=[output("en-00/<b>new</b>")],
        human=names[3:],
    )
    return replace(made, card=replace(made.card, title=title))


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(rich(), tmp_path_factory.mktemp("people") / "run", with_judges=True)


@pytest.fixture
def run(run_folder: Path) -> Leaderboard:
    return Leaderboard.read(run_folder)


def test_equal_runs_give_equal_pages(run_folder: Path, run: Leaderboard, tmp_path: Path) -> None:
    again = written(rich(), tmp_path / "run", with_judges=True)
    assert (
        (again / "report.html").read_bytes()
        == (run_folder / "report.html").read_bytes()
        == page(run).encode()
    )


def test_a_chart_of_the_first_generators_says_so(run: Leaderboard) -> None:
    first, every = ranking_chart(run, "first", 2), ranking_chart(run)
    assert (first.notes, every.notes) == (("The first 2 of 4; all are in the table.",), ())
    assert len(first.numbers.rows) == len(every.numbers.rows) == 4
    assert "each of 2 generators, best first: from good" in first.alt
    assert first.svg.count("<text") < every.svg.count("<text")


def test_every_table_and_chart_has_its_figures(run: Leaderboard) -> None:
    views = {table.name: table for table in tables(run)}
    assert {"ranking", "map_criteria", "map_languages", "beside", "coverage"} <= set(views)
    first = views["ranking"].rows[0]
    assert [cell.text for cell in first[:4]] == ["1", "good", "1", "0.894"]
    assert first[3].below.startswith("[0.")
    assert first[4].below.startswith("at most ")
    assert views["map_languages"].columns == ("", "all languages", "Arabic", "English", "Hindi")
    assert views["map_criteria"].columns == ("", "overall", "quality", "errors")
    assert views["beside"].columns == ("generator", "people", "m1")
    assert tells(views["beside"].notes, "in the CSV", "all criteria: j1.")
    (chart,) = charts(run)
    assert chart.svg.startswith("<svg")
    assert "good 0.894" in chart.alt


def test_the_facts_are_the_tables(run: Leaderboard) -> None:
    lines = facts(run)
    assert lines["Ranked"].startswith(
        "4 generators by 1 person with 192 ratings in Arabic, English and Hindi; 2 criteria"
    )
    assert tells(lines["Still to be rated"], "No output of <b>new</b>")


def test_a_scale_without_ends_is_shown_in_its_units(tmp_path: Path) -> None:
    scores: dict[str, list[float | None]] = {
        "good": [-1.0 - number % 3 for number in range(12)],
        "poor": [-31.0 - number % 5 for number in range(12)],
    }
    lines = [row for code in ("en", "hi") for row in ranked(scores, code, criterion="open")]
    run = Leaderboard.read(written(dataset(lines), tmp_path / "run"))
    assert tells(headline(run), "good first", "(mean −2, higher is better)", "significantly")
    assert tells(facts(run)["How sure"], "Standard errors 0.")
    assert "at most" not in facts(run)["How sure"]
    (*_, following) = cards(run)
    assert following.command == "metal audit made"  # `metal design` needs ends
    views = {table.name: table for table in tables(run)}
    first = views["ranking"].rows[0]
    assert [cell.text for cell in first[:4]] == ["1", "good", "1", "−2"]
    assert first[4].below == ""
    assert tells(views["ranking"].notes, "as given (higher is better)", "no ends")
    marks = [[cell.mark for cell in row[1:]] for row in views["map_languages"].rows]
    assert marks == [["q9"] * 3, ["q1"] * 3]


def test_a_page_says_once_who_is_first_and_what_a_score_is(run: Leaderboard) -> None:
    assert headline(run).startswith("People put good first")
    assert "good" not in lead(run)
    assert not any("good" in words for words in facts(run).values())
    assert all(not chart.finding for chart in charts(run))
    html = page(run)
    assert html.count("0 (worst) to 1 (best)") == 1
    assert html.count("good is first in each of 3 languages.") == 1


def test_generators_of_other_people_and_pairs_that_differ_are_told(tmp_path: Path) -> None:
    groups = {"A1": "expert", "W1": "<b>crowd</b>"}
    few, high, low = [5.0, 5.0, 5.0, 5.0, 4.0], [5.0, 4.0] * 6, [3.0, 1.0] * 6
    lines = ranked({"odd": [5.0] * 12, "few": few, "good": high, "bad": low})
    lines += ranked({"few": few, "good": high, "bad": low}, rater="W1")
    folder = written(dataset(lines, groups=groups), tmp_path / "run")
    run = Leaderboard.read(folder)
    told = facts(run)
    assert tells(headline(run), "cannot be compared", "group expert only")
    assert tells(lead(run), "First", "is few,")
    assert tells(told["How sure"], "1 of 6 pairs", "1 generator cannot be compared")
    (ranking,) = (table for table in tables(run) if table.name == "ranking")
    place = ranking.columns.index("ranks")
    assert [line[place].text for line in ranking.rows] == ["1 to 4", "1 to 4", "1 to 3", "2 to 4"]
    assert any("ranks: rated by group expert only (odd)" in note for note in ranking.notes)
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert tells(html, "group with", "10% or more")
    assert "by different groups" in html.partition('id="ranking"')[0]
    assert "<b>crowd</b>" not in html


def test_a_leaderboard_with_clusters_of_an_earlier_version_opens(
    run_folder: Path, tmp_path: Path
) -> None:
    old = tmp_path / "old"
    shutil.copytree(run_folder, old)
    path = old / "tables" / "leaderboard.parquet"
    rows = pd.read_parquet(path).drop(columns=["rank_low", "rank_high"]).assign(cluster=1.0)
    rows.to_parquet(path, index=False)
    run = Leaderboard.read(old)
    assert page(run).count("<h2") > 3
    assert headline(run).startswith("People put good first")
    (ranking,) = (table for table in tables(run) if table.name == "ranking")
    assert "ranks" not in ranking.columns


def test_generators_of_other_languages_are_told(run: Leaderboard) -> None:
    """Of `rich`, one generator has quality in Hindi only."""
    manifest = {**run.manifest, "leaderboard": {**run.manifest["leaderboard"], "main": "quality"}}
    remark = next(cards(replace(run, manifest=manifest)))
    assert "rated in 1 to 3 languages and on 6 to 24 sources" in remark.words


def test_names_are_text(tmp_path: Path, visit: Visiting) -> None:
    page = (
        written(rich(HOSTILE[:4], title="<svg onload=window.pwned=5>"), tmp_path / "run")
        / "report.html"
    )
    check_names_are_text(page.read_text(encoding="utf-8"))
    check_quiet(visit, page)


def test_a_bare_leaderboard_is_a_whole_page(tmp_path: Path) -> None:
    html = (written(dataset(ranked({"g": [3]})), tmp_path / "run") / "report.html").read_text(
        encoding="utf-8"
    )
    assert "g is the only generator" in html
    assert "no standard error" in html
    assert "No automatic metric" in html
    assert 'id="languages"' not in html
    assert "interval: one source" not in html  # said in words: figure and reason
    assert "one source (g)" in html


def test_many_generators_and_languages_stay_small(run: Leaderboard) -> None:
    board = run.tables["leaderboard"]
    names = [f"a-rather-long-name-of-a-generator-{place}" for place in range(60)]
    like = board[(board["criterion"] == "overall") & (board["language"] == "")].iloc[[0] * 60]
    parts = [
        like.assign(generator=names, language=language, criterion=criterion)
        for language in ("", *(f"{first}{second}" for first in "abcd" for second in "efg"))
        for criterion in ("overall", "quality", "errors")
    ]
    large = replace(run, tables={**run.tables, "leaderboard": pd.concat(parts)})
    html = page(large)
    assert len(html.encode()) < 1_500_000
    left_out = "; <code>tables/leaderboard.csv</code> has"
    assert left_out in html


def test_opens_quietly_fits_and_passes_axe(run_folder: Path, visit: Visiting) -> None:
    check_page(visit, run_folder / "report.html")


def written_design(data: Dataset, folder: Path, **settings: Any) -> Path:
    chosen = DesignSettings(
        **{"rounds": 100, "power": 0.3, "width": 0.3, "margin": 0.3, "keep": 0.3, **settings}
    )
    result = design(data, chosen)
    about = manifest(
        "design", data, [Path("made")], chosen.to_dict(), result.raters, result.signature
    )
    Design.of(result, data, about, result.raters).write(folder, page)
    return folder


def rich_design(folder: Path) -> Path:
    data = study(sources=20, languages=("ar", "hi"), criteria={"fluency": LIKERT})
    return written_design(data, folder, prices=Prices(pay=0.1, seconds=60), thorough=True)


def bare_design(folder: Path) -> Path:
    """One language, one criterion, one judge."""
    return written_design(study(sources=12, criteria={"seen": BINARY}), folder)


@pytest.fixture(scope="module")
def study_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rich_design(tmp_path_factory.mktemp("rich") / "run")


@pytest.fixture(scope="module")
def bare_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bare_design(tmp_path_factory.mktemp("bare") / "run")


@pytest.fixture(scope="module")
def hostile_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every name attacks."""
    data = study(
        sources=12,
        criteria={"</script><script>window.pwned = 3</script>": BINARY, "{{ 7 * 7 }}": BINARY},
        generators=("<b>g</b>", "y" * 200),
        people=("' autofocus onfocus='window.pwned=4", "]]><!--", "A3"),
        judges=HOSTILE[:2],
        title="<svg onload=window.pwned=5>",
    )
    return written_design(data, tmp_path_factory.mktemp("hostile") / "run")


def test_equal_studies_give_equal_pages(bare_study: Path, tmp_path: Path) -> None:
    again = bare_design(tmp_path / "run")
    for file in [path for path in bare_study.rglob("*") if path.is_file()]:
        assert (again / file.relative_to(bare_study)).read_bytes() == file.read_bytes()
    assert page(Design.read(bare_study)).encode() == (bare_study / "report.html").read_bytes()


@pytest.mark.slow
def test_csv_on_the_page_is_the_files_bytes(study_run: Path) -> None:
    check_csv(study_run)


@pytest.mark.slow
def test_charts_and_tables_of_a_study(study_run: Path) -> None:
    run = Design.read(study_run)
    drawn = charts(run)
    assert len({chart.name for chart in drawn}) == len(drawn) == 2 * 2 + 2 * 2 * 2
    assert all(chart_svg(chart).startswith("<svg") and "nan" not in chart.svg for chart in drawn)
    names = [table.name for table in tables(run)]
    assert names == [
        "answer",
        "needs_as_good",
        "needs_informative",
        "needs_score",
        "costs",
        "designs",
        "raters",
        "populations",
    ]
    named = replace(
        run,
        criteria={
            key: replace(each, label=f"Title of {key}") for key, each in run.criteria.items()
        },
    )
    (costs,) = (table for table in tables(named) if table.name == "costs")
    assert any(row[-1].text.startswith("Title of ") for row in costs.rows)  # the code once
    assert all("\\begin{tabular}" in to_latex(table) for table in tables(Design.read(study_run)))


def test_names_of_a_study_are_text(hostile_study: Path, visit: Visiting) -> None:
    check_names_are_text((hostile_study / "report.html").read_text(encoding="utf-8"))
    check_quiet(visit, hostile_study / "report.html")


@pytest.mark.slow
def test_a_study_opens_quietly_and_fits(study_run: Path, bare_study: Path, visit: Visiting) -> None:
    check_quiet(visit, study_run / "report.html", "overview", "needs", "cost", "labels", "methods")
    check_accessible(visit, bare_study / "report.html")


@pytest.mark.slow
def test_what_the_overview_of_a_study_says(study_run: Path) -> None:
    html = (study_run / "report.html").read_text(encoding="utf-8")
    assert "$0.10 for a task of 60 seconds is $6.00 an hour, below the $15.00" in html
    assert "here from as few as 20 sources" in html


def test_a_study_of_one_person_is_a_whole_page(tmp_path: Path) -> None:
    folder = written_design(study(sources=12, people=("A",), judges=()), tmp_path / "run")
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert tells(html, "one label", "no designs")
    assert tells(html, "pay", "not given")


def test_curves_are_dashed_and_hollow_beyond_the_data() -> None:
    drawn = design_curve([ItemsCurve(3, [(10, 0.4), (20, 0.3), (40, 0.2)], 20, 900)], 0.1, "width")
    assert drawn.count('class="dot m0"') == 3  # two, and the legend's
    assert drawn.count('class="dot h0"') == 1
    assert drawn.count('class="way s0 d2"') == 1
    assert "3 people per item: 900 items" in drawn
    assert design_curve([ItemsCurve(3, [], 20, math.nan)], 0.1, "width") == ""


def test_a_design_without_a_score_has_no_dot() -> None:
    looks = {"uni": (0, "one"), "multi": (1, "several")}
    figures = [
        ("mon", "uni", 0.5, 0.4, 0.6),
        ("mon", "multi", None, None, None),
        ("tue", "uni", 0.7, 0.6, 0.8),
    ]
    columns = ("population", "labelling", "mean", "low", "high")
    rows = [dict(zip(columns, row, strict=True)) for row in figures]
    drawn = population_panels({"binary, mean": rows}, looks)
    assert drawn.count('class="dot m0"') == 3
    assert "several" not in drawn
    assert population_panels({"x": rows[1:2]}, looks) == ""
