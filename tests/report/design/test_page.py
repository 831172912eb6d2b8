"""The page of a design study: the same from the same tables, harmless, quiet and whole in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from metal.data.dataset import Dataset
from metal.genie.design.cells import DesignSettings, Prices
from metal.genie.design.study import design
from metal.runs.design_run import DesignRun
from metal.runs.parts import manifest
from metal.show.charts.dots import population_panels
from metal.show.charts.lines import ItemsCurve, design_curve
from metal.show.files import chart_svg, to_latex
from metal.show.pages import charts, page, tables
from tests.genie.design.studies import BINARY, LIKERT, study
from tests.report.checks import HOSTILE, Visiting, check_accessible, check_csv, check_names_are_text, check_quiet

NAN = float("nan")


def written(data: Dataset, folder: Path, **settings: Any) -> Path:
    chosen = DesignSettings(**{"rounds": 100, "width": 0.3, **settings})
    result = design(data, chosen)
    about = manifest("design", data, [Path("made")], chosen.to_dict(), result.raters, result.signature)
    DesignRun.of(result, data, about, result.raters).write(folder, page)
    return folder


def rich(folder: Path) -> Path:
    data = study(sources=20, languages=("ar", "hi"), criteria={"fluency": LIKERT, "seen": BINARY})
    return written(data, folder, prices=Prices(pay=0.1, seconds=60))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rich(tmp_path_factory.mktemp("rich") / "run")


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One language, one criterion, one judge."""
    return written(study(sources=12), tmp_path_factory.mktemp("bare") / "run")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every name attacks."""
    data = study(
        sources=12,
        criteria={"</script><script>window.pwned = 3</script>": LIKERT, "{{ 7 * 7 }}": LIKERT},
        generators=("<b>g</b>", "y" * 200),
        people=("' autofocus onfocus='window.pwned=4", "]]><!--", "A3"),
        judges=HOSTILE[:2],
        title="<svg onload=window.pwned=5>",
    )
    return written(data, tmp_path_factory.mktemp("hostile") / "run")


def test_equal_runs_give_equal_pages(run: Path, tmp_path: Path) -> None:
    again = rich(tmp_path / "run")
    for file in [path for path in run.rglob("*") if path.is_file()]:
        assert (again / file.relative_to(run)).read_bytes() == file.read_bytes()
    assert page(DesignRun.read(run)).encode() == (run / "report.html").read_bytes()


def test_csv_on_the_page_is_the_files_bytes(run: Path) -> None:
    check_csv(run)


def test_charts_and_tables_for_papers(run: Path) -> None:
    drawn = charts(DesignRun.read(run))
    assert len({chart.name for chart in drawn}) == len(drawn) == 4 * 2 + 4 * 2
    assert all(chart_svg(chart).startswith("<svg") and "nan" not in chart.svg for chart in drawn)
    names = [table.name for table in tables(DesignRun.read(run))]
    assert names == ["needs_f1", "needs_test", "needs_score", "costs", "designs", "populations", "raters"]
    assert all("\\begin{tabular}" in to_latex(table) for table in tables(DesignRun.read(run)))


def test_hostile_names_are_text(hostile: Path, visit: Visiting) -> None:
    check_names_are_text((hostile / "report.html").read_text(encoding="utf-8"))
    check_quiet(visit, hostile / "report.html")


def test_opens_quietly_and_fits(run: Path, bare: Path, visit: Visiting) -> None:
    check_quiet(visit, run / "report.html", "overview", "needs", "cost", "labels", "methods")
    check_accessible(visit, bare / "report.html")


def test_what_the_overview_says(run: Path) -> None:
    html = (run / "report.html").read_text(encoding="utf-8")
    assert "0.1 USD for a task of 60 seconds is 6.00 USD an hour, below the 15" in html
    assert "here from as few as 20 sources" in html


def test_a_study_of_one_person_is_a_whole_page(tmp_path: Path) -> None:
    folder = written(study(sources=12, people=("A",), judges=()), tmp_path / "run")
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert "Items have one label, so there are no designs to compare." in html
    assert "the pay for a task was not given" in html


def test_curves_are_dashed_and_hollow_beyond_the_data() -> None:
    drawn = design_curve([ItemsCurve(3, [(10, 0.4), (20, 0.3), (40, 0.2)], 20, 900)], 0.1, "width")
    assert drawn.count('class="dot m0"') == 3  # two, and the legend's
    assert drawn.count('class="dot h0"') == 1
    assert drawn.count('class="way s0 d2"') == 1
    assert "3 people an item: 900 items" in drawn
    assert design_curve([ItemsCurve(3, [], 20, NAN)], 0.1, "width") == ""


def test_a_design_without_a_score_has_no_dot() -> None:
    looks = {"uni": (0, "one"), "multi": (1, "several")}
    figures = [("mon", "uni", 0.5, 0.4, 0.6), ("mon", "multi", None, None, None), ("tue", "uni", 0.7, 0.6, 0.8)]
    columns = ("population", "labelling", "mean", "low", "high")
    rows = [dict(zip(columns, row, strict=True)) for row in figures]
    drawn = population_panels({"binary, mean": rows}, looks)
    assert drawn.count('class="dot m0"') == 3
    assert "several" not in drawn
    assert population_panels({"x": rows[1:2]}, looks) == ""
