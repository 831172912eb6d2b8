"""The page of `metal monitor` about people as raters, and what the command prints."""

from __future__ import annotations

from collections.abc import Iterator

from metal.questions.people.answer import answer_table, cards, headline, lead, scope
from metal.questions.people.run import Monitor
from metal.questions.people.sections import sections as sections
from metal.questions.people.words import SOURCES, definitions, facts
from metal.show.pages import Page
from metal.show.view import TableView

MOST_ON_SCREEN = 3  # of those who stand out


def answer(run: Monitor) -> TableView | None:
    """The table of who stands out, if anybody does."""
    table = answer_table(run)
    return table if table.rows else None


def brief(run: Monitor) -> Iterator[TableView]:
    """What the terminal shows: a table of who stands out, and how."""
    yield answer_table(run).first(MOST_ON_SCREEN, rest="-v names all")


PAGE = Page(
    brand="people as raters",
    headline=headline,
    scope=scope,
    cards=cards,
    facts=facts,
    definitions=definitions,
    sources=lambda run: SOURCES,
    answer=answer,
    sections=sections,
    brief=brief,
    lead=lead,
)
