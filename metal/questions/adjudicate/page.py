"""The page of adjudication, and what `metal adjudicate report` prints."""

from __future__ import annotations

from collections.abc import Iterator

from metal.questions.adjudicate.answer import cards, headline, scope
from metal.questions.adjudicate.run import Adjudicated
from metal.questions.adjudicate.words import SOURCES, definitions, facts
from metal.show.pages import Page
from metal.show.parts import reasons
from metal.show.view import Section, TableView

MOST_ROWS = 60
BAD_END = ("recall", "recall_of_people", "precision", "precision_of_people")


def answer(run: Adjudicated) -> TableView:
    """Each judge in each case."""
    return _verdicts(run, MOST_ROWS)


def _verdicts(run: Adjudicated, most: int, without: tuple[str, ...] = ()) -> TableView:
    rows = run.records("adjudicated")
    notes = (
        "90% intervals, of the draw and of the outputs.",
        *reasons(run, "adjudicated", rows, "judge"),
    )
    title = "Who is as often right as a person"
    return TableView.of_figures(
        run, "adjudicated", title, rows, heads=3, notes=notes, most=most, without=without
    )


def sections(run: Adjudicated) -> list[Section]:
    """How far adjudicators agree, if there are several."""
    pairs = run.records("adjudicators")
    if not pairs:
        return []
    title = "How often adjudicators decide alike"
    table = TableView.of_figures(run, "adjudicators", title, pairs, heads=2, most=MOST_ROWS)
    return [Section("adjudicators", "Adjudicators", tables=(table,))]


def brief(run: Adjudicated) -> Iterator[TableView]:
    """The verdicts, without what the page has besides."""
    yield _verdicts(run, MOST_ROWS, ("if_random", "if_crowd", "items", "reason", *BAD_END))


PAGE = Page(
    brand="adjudication",
    headline=headline,
    scope=scope,
    cards=cards,
    facts=facts,
    definitions=definitions,
    sources=lambda run: SOURCES,
    answer=answer,
    sections=sections,
    brief=brief,
)
