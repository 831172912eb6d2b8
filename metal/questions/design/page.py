"""The page of a design study, and what `metal design` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from metal.auditing.verdict import INFORMATIVE, LIKE_A_PERSON
from metal.data.text import within
from metal.questions.design.answer import answer_table, cards, headline, lead, scope
from metal.questions.design.plans import QUESTIONS
from metal.questions.design.run import Design
from metal.questions.design.tables import (
    costs_table,
    curve_chart,
    designs_table,
    judges,
    needs_table,
    population_chart,
    raters_table,
    spread_chart,
    stability_table,
)
from metal.questions.design.words import SOURCES, definitions, facts
from metal.show.pages import Page
from metal.show.parts import closing
from metal.show.view import Chart, Paragraph, Screen, Section, TableView

MOST_CHARTS = 24  # of designs, and of curves, on the page; all are in `metal report --figures`
MOST_ROWS = 300  # of a table on the page


def label_parts(run: Design) -> list[Section]:
    """Figures 2 and 3 of each criterion and language."""
    return [
        Section(
            "", run.where(*cell), charts=(spread_chart(run, *cell), population_chart(run, *cell))
        )
        for cell in run.cells
        if run.records("designs", criterion=cell[0], language=cell[1])
    ]


def curve_parts(run: Design) -> list[Section]:
    """Power by items, of each judge, criterion and language."""
    parts = []
    for cell in run.cells:
        for judge in judges(run, *cell):
            drawn = tuple(
                chart
                for question in (LIKE_A_PERSON, INFORMATIVE)
                if (chart := curve_chart(run, question, *cell, judge))
            )
            if drawn:
                parts.append(Section("", f"{run.where(*cell)}: {within(judge)}", charts=drawn))
    return parts


def charts(run: Design) -> list[Chart]:
    """Every chart, in the page's order (also for files of their own)."""
    return [chart for part in (*label_parts(run), *curve_parts(run)) for chart in part.charts]


def tables(run: Design) -> list[TableView]:
    """Every table of the page, in its order (also for LaTeX)."""
    return [table for table in (*_needs(run), costs_table(run), *_of_labels(run)) if table.rows]


def _needs(run: Design) -> list[TableView]:
    return [needs_table(run, question) for question in QUESTIONS]


def _of_labels(run: Design) -> list[TableView]:
    return [designs_table(run), stability_table(run), raters_table(run)]


def content(run: Design) -> dict[str, Any]:
    """What the template shows."""
    labels, curves = label_parts(run), curve_parts(run)
    designs, stability, raters = (table.first(MOST_ROWS) for table in _of_labels(run))
    return {
        "answer": next(brief(run)),
        "needs": [table.first(MOST_ROWS) for table in _needs(run) if table.rows],
        "curves": curves[:MOST_CHARTS],
        "curves_left": len(curves[MOST_CHARTS:]),
        "costs": costs_table(run),
        "designs": designs,
        "labels": labels[:MOST_CHARTS],
        "labels_left": len(labels[MOST_CHARTS:]),
        "stability": stability,
        "raters": raters,
    }


def brief(run: Design) -> Iterator[TableView]:
    """What to buy; where nothing is, what each language needs."""
    buy = answer_table(run)
    yield buy if buy.rows else costs_table(run)


def screen(run: Design, by: Sequence[str] = ()) -> Screen:
    """Budgets of labels, populations, what each language needs, what that costs."""
    yield from (table for table in (*_of_labels(run), *_needs(run), costs_table(run)) if table.rows)
    if pay := facts(run).get("Pay"):
        yield Paragraph(pay)
    yield from closing(run)


PAGE = Page(
    brand="design study",
    headline=headline,
    scope=scope,
    cards=cards,
    facts=facts,
    definitions=definitions,
    sources=lambda run: SOURCES,
    content=content,
    charts=charts,
    tables=tables,
    screen=screen,
    brief=brief,
    lead=lead,
    template="design.html",
)
