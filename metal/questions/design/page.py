"""The page of a design study, and what `metal design` prints."""

from __future__ import annotations

from collections.abc import Iterator

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
from metal.show.view import Section, TableView


def answer(run: Design) -> TableView:
    """What to collect next or, if nothing more is needed, what each language needs."""
    buy = answer_table(run)
    return buy if buy.rows else costs_table(run)


def sections(run: Design) -> list[Section]:
    """The sections: what each language needs, what that costs, budgets of labels, and
    populations.
    """
    intro = (
        "How many items and people per item make a verdict or a score as certain as"
        " requested, planned from the existing ratings.",
    )
    curves = _curves(run)
    needs = Section(
        "needs",
        "What each language needs",
        intro,
        tables=tuple(table for question in QUESTIONS if (table := needs_table(run, question)).rows),
        parts=(Section("", "More items, more people", parts=curves),) if curves else (),
    )
    costs = Section("cost", "Cost and time", tables=(costs_table(run),))
    return [needs, costs, *_of_labels(run)]


def _curves(run: Design) -> tuple[Section, ...]:
    """Charts of power by number of items, for each judge, criterion and language."""
    parts = []
    for cell in run.cells:
        for judge in judges(run, *cell):
            drawn = [
                curve_chart(run, question, *cell, judge)
                for question in (LIKE_A_PERSON, INFORMATIVE)
            ]
            charts = tuple(filter(None, drawn))
            if charts:
                title = f"{run.where(*cell)}: {within(judge)}"
                parts.append(Section("", title, charts=charts, folded=True))
    return tuple(parts)


def _of_labels(run: Design) -> Iterator[Section]:
    """The section on labels: Figures 2 and 3, and how much the choice of raters matters."""
    drawn = tuple(
        Section(
            "",
            run.where(*cell),
            charts=(spread_chart(run, *cell), population_chart(run, *cell)),
            folded=True,
        )
        for cell in run.cells
        if run.records("designs", criterion=cell[0], language=cell[1])
    )
    tables = {
        "": designs_table(run),
        "People per item": raters_table(run),
        "Who rates": stability_table(run),
    }
    shown = tuple(
        Section("", title, tables=(table,)) for title, table in tables.items() if table.rows
    )
    intro = (
        "The same budget of labels, spent in different ways and simulated many times: the"
        " less the score moves, the better.",
    )
    if drawn or shown:
        yield Section("labels", "What labels are best spent on", intro, parts=(*drawn, *shown))


PAGE = Page(
    brand="design study",
    headline=headline,
    scope=scope,
    cards=cards,
    facts=facts,
    definitions=definitions,
    sources=lambda run: SOURCES,
    answer=answer,
    sections=sections,
    lead=lead,
)
