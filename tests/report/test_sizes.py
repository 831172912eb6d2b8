"""Pages of many sizes: the answer is in sight, nothing is wider than the window, and a page stays
small.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

import metal.show
from metal.data import formats
from metal.data.languages import language_name
from metal.questions.audit.page import CELL, LINE
from metal.questions.audit.run import AuditRun
from metal.questions.board.run import Billboard
from metal.show.charts.bars import length_histograms
from metal.show.charts.dots import Dot, interval_dots, population_panels
from metal.show.charts.lines import Ranks, rank_lines
from metal.show.pages import charts, cut_to_cells
from metal.show.pages import page as make_page
from metal.show.svg import STYLE
from metal.show.view import TableView
from tests.report.checks import Visiting, check_charts
from tests.report.conftest import written as written_audit
from tests.shots import CRITERIA, written

pytestmark = pytest.mark.slow  # pages of up to thirty judges, measured in a browser


class Pages(dict[tuple[int, int], Path]):
    """By languages and judges; each is written when a test first asks for it."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def __missing__(self, size: tuple[int, int]) -> Path:
        sources = 40 if size == (5, 6) else 12  # with 40 a share kept is known
        self[size] = written(self.folder / "{}x{}".format(*size), *size, sources=sources)
        return self[size]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    return Pages(tmp_path_factory.mktemp("sizes"))


@pytest.mark.parametrize(
    ("size", "scheme"), [((1, 1), "dark"), ((5, 1), "light"), ((30, 6), "dark")]
)
def test_no_page_is_wider_than_a_phone(
    pages: Pages, size: tuple[int, int], scheme: str, visit: Visiting
) -> None:
    page = visit(
        pages[size], folded=True, color_scheme=scheme, viewport={"width": 390, "height": 844}
    ).page
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert pages[size].stat().st_size < 1_500_000
    words = page.locator("table.answers").first.locator("a.v strong")
    assert words.count() == size[0] * len(CRITERIA)
    assert words.first.is_visible()
    if size == (1, 1):  # a cell alone in its row stands beside what it is about
        row = page.locator("table.answers tbody tr").first
        beside, cell = row.locator("th").bounding_box(), row.locator("a.v").bounding_box()
        assert (
            beside["y"] < cell["y"] + cell["height"],
            beside["x"] + beside["width"] <= cell["x"],
        ) == (True, True)
    page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    names = (
        "[...document.querySelectorAll('tbody th .word')].map((name) => [name.textContent,"
        " name.offsetHeight])"
    )
    heights = {name: height for name, height in page.evaluate(names) if len(name) < 16 and height}
    assert heights
    assert max(heights.values()) < 24, heights  # gpt-4o/detailed stands on one line


def test_five_languages_are_seen_at_once(pages: Pages, visit: Visiting) -> None:
    desk = visit(pages[5, 1], folded=True, viewport={"width": 1400, "height": 900}).page
    box = desk.locator("table.answers").bounding_box()
    assert box["y"] + box["height"] <= 700
    four = """() => {
      const cards = document.querySelector(".cards");
      while (cards.childElementCount < 4) cards.append(cards.firstElementChild.cloneNode(true));
      return [...cards.children].map((card) => card.getBoundingClientRect().top);
    }"""
    assert len(set(desk.evaluate(four))) == 1


@pytest.mark.parametrize("judges", [1, 6])
def test_five_languages_are_seen_on_a_phone(judges: int, pages: Pages, visit: Visiting) -> None:
    phone = visit(pages[5, judges], folded=True, viewport={"width": 390, "height": 844}).page
    first = phone.locator("table.answers").first
    assert first.bounding_box()["y"] <= 300
    last = first.locator("a.v strong").last.bounding_box()
    assert last["y"] + last["height"] <= 1025  # six judges need one line more of headline


@pytest.mark.slow
@pytest.mark.reference
def test_pariksha_is_seen_on_a_phone(reference: Path, tmp_path: Path, visit: Visiting) -> None:
    pariksha = formats.read("pariksha", reference / "pariksha", {}).assemble(Path("pariksha"))
    folder = written_audit(pariksha, tmp_path / "run")
    phone = visit(folder / "report.html", folded=True, viewport={"width": 390, "height": 844}).page
    assert phone.locator("table.answers").bounding_box()["y"] <= 285  # the issue asks for 300
    last = phone.locator("a.v strong").last.bounding_box()
    assert last["y"] + last["height"] <= 1090  # with the marks below the figures


@pytest.mark.parametrize("width", [1400, 390])
def test_a_chosen_verdict_is_seen_from_its_top(width: int, pages: Pages, visit: Visiting) -> None:
    page = visit(pages[30, 6], folded=True, viewport={"width": width, "height": 900}).page
    cell = page.locator("a.v").first
    cell.click()
    page.locator("#why h2").wait_for()
    assert 0 <= page.locator("#why").bounding_box()["y"] <= 700
    page.get_by_text("Back to the cell").click()
    assert 0 <= cell.bounding_box()["y"] <= 850
    assert cell.evaluate("(cell) => cell === document.activeElement")


def test_details_of_verdicts_come_before_folded_tables(
    pages: Pages, visit: Visiting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = AuditRun.read(pages[5, 6].parent)
    monkeypatch.setattr("metal.show.pages.PAGE_BYTES", 0)
    small = {
        "LEAST_ROOM": 17_500,
        "MANY": 10,
        "MOST_REASONS": 10,
        "FOLDED_CELLS": 1_000,
        "MATRIX_ROOM": 22_000,
    }
    for limit, value in small.items():
        monkeypatch.setattr(f"metal.questions.audit.page.{limit}", value)
    path = tmp_path / "report.html"
    path.write_text(make_page(run), encoding="utf-8")
    page = visit(path, folded=True, viewport={"width": 1400, "height": 900}).page
    places = page.evaluate(
        "[...document.querySelectorAll('a.v')].map((link) => link.hash.slice(1))"
    )
    detailed = page.evaluate("unpack().then((data) => Object.keys(data.cells))")
    assert 10 < len(detailed) < len(places) == 90
    assert len({place.split("-")[1] for place in detailed}) == 6  # of every judge
    assert f"for {len(detailed)} of 90 cells" in page.inner_text(".key")
    assert page.locator("a.v svg").count() == (22_000 - 90 * CELL) // LINE
    assert "further down have none" in page.inner_text(".key")
    assert "rows; the CSV has all." in page.locator("#table-judges").text_content()
    page.evaluate(
        "(place) => (location.hash = place)",
        next(place for place in places if place not in detailed),
    )
    page.locator("#why h2").wait_for()
    judge, criterion, language = page.inner_text("#why h2").split(", ")
    assert judge in run.judge_names
    assert criterion in CRITERIA
    assert language in {language_name(code) for code in run.languages}
    assert "tables/verdicts.csv" in page.inner_text("#why")
    assert "tables/judges.csv" in page.inner_text("#why")


def test_judges_without_room_have_their_verdicts_counted(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metal.questions.audit.page.MATRIX_CELLS", 44)  # of 90: two of six judges
    html = make_page(AuditRun.read(pages[5, 6].parent))
    assert html.count('<table class="answers"') == 2
    assert html.count("in <code>tables/verdicts.csv</code>") == 4
    assert html.count('<span class="tally">') == 6


def test_the_largest_tables_are_cut_first() -> None:
    made = [
        TableView.of(None, "people", "", ("a", "b"), [("1", "2")] * rows) for rows in (3, 40, 100)
    ]
    cut = cut_to_cells(made, 66)  # 6 cells, and 30 for each of the others
    assert [len(table.rows) for table in cut] == [3, 15, 15]
    assert [table.cut for table in cut[1:]] == [
        f"The first 15 of {rows} rows; the CSV has all." for rows in (40, 100)
    ]
    assert cut[2].first(5).cut == "The first 5 of 100 rows; the CSV has all."
    assert cut_to_cells(made, 286) == made


def test_many_languages_of_one_criterion_stand_in_columns(pages: Pages, visit: Visiting) -> None:
    page = visit(pages[30, 6], folded=True, viewport={"width": 1400, "height": 900}).page
    alone = (
        "for (const row of document.querySelectorAll('table.answers tr')) while (row.cells[2])"
        " row.cells[2].remove()"
    )
    page.evaluate(alone)
    boxes = [
        cell.bounding_box() for cell in page.locator("table.answers").first.locator("a.v").all()
    ]
    assert len({box["x"] for box in boxes}) == 3
    assert all(below["y"] >= box["y"] + box["height"] for box, below in pairwise(boxes[:10]))
    assert max(box["y"] + box["height"] for box in boxes) <= 900


def test_many_languages_stand_in_rows(pages: Pages, visit: Visiting) -> None:
    page = visit(pages[30, 6], folded=True, viewport={"width": 1400, "height": 900}).page
    assert page.locator("table.answers").first.locator("tbody tr").count() == 30
    assert page.locator("table.answers").first.bounding_box()["width"] <= 1400


@pytest.mark.parametrize("kind", ["demo_run", "rich_board"])
def test_charts_can_be_read(kind: str, request: pytest.FixtureRequest, visit: Visiting) -> None:
    check_charts(visit, request.getfixturevalue(kind) / "report.html")


def test_long_names_do_not_meet(tmp_path: Path, visit: Visiting) -> None:
    names = [f"{number}0022100-generator-with-a-long-name" for number in range(12)]
    looks = {"uni": (0, "one label each"), "multi": (1, "several labels each")}
    figures = {"mean": 0.8125, "low": 0.8, "high": 0.825}
    rows = [{"population": who, "labelling": look, **figures} for who in names for look in looks]
    counts = {"counts": [70_000, 1_234_567], "edges": [1, 1_024, 2_048], "chosen_bin": 1}
    facts = {"passages": 1, "duplicates": 1, "near_empty": 1}
    drawings = [
        population_panels({"scale as rated, majority": rows, "binary, mean": rows}, looks),
        rank_lines(
            Ranks({who: {name: place for place, name in enumerate(names, 1)} for who in names[:6]})
        ),
        interval_dots(
            [Dot(who, place / 40, ranks="10 to 12") for place, who in enumerate(names)],
            {},
            beside="ranks",
        ),
        interval_dots(
            [Dot(who, -0.8 + place / 40, -1, -0.5) for place, who in enumerate(names)], {}
        ),
        length_histograms(dict.fromkeys(names, counts | facts), {}).svg,
    ]
    page = tmp_path / "charts.html"
    style = STYLE + (Path(metal.show.__file__).parent / "templates" / "report.css").read_text(
        encoding="utf-8"
    )
    figure = '<figure><div class="drawing">{}</div></figure>'
    width = '<meta name="viewport" content="width=device-width">'
    body = f"<body data-ready><main>{''.join(figure.format(each) for each in drawings)}</main>"
    page.write_text(f"<!doctype html>{width}<style>{style}</style>{body}", encoding="utf-8")
    check_charts(visit, page)


def test_every_chart_says_what_it_shows(pages: Pages, demo_run: Path, rich_board: Path) -> None:
    for run in (
        AuditRun.read(pages[30, 6].parent),
        AuditRun.read(demo_run),
        Billboard.read(rich_board),
    ):
        drawn = [chart for chart in charts(run) if chart.svg and chart.name != "verdicts"]
        assert drawn
        assert [chart.name for chart in drawn if not chart.finding.endswith(".")] == []


@pytest.mark.slow
@pytest.mark.reference
def test_pariksha_takes_six_screens_at_most(
    reference: Path, tmp_path: Path, visit: Visiting
) -> None:
    draft = formats.read("pariksha", reference / "pariksha", {})
    folder = written_audit(draft.assemble(tmp_path / "ratings"), tmp_path / "run")
    for width, height in ((1400, 900), (390, 844)):
        page = visit(
            folder / "report.html", folded=True, viewport={"width": width, "height": height}
        ).page
        assert page.evaluate("document.documentElement.scrollHeight") <= 6 * height
