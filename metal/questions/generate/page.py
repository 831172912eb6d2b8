"""The page of generated texts."""

from __future__ import annotations

from metal.questions.generate.answer import cards, headline, scope
from metal.questions.generate.run import GeneratedTexts
from metal.questions.generate.words import SOURCES, definitions, facts
from metal.show.pages import Page
from metal.show.view import Section, TableView

MOST_ROWS = 200


def answer(run: GeneratedTexts) -> TableView:
    """The table of texts by language."""
    return TableView.of_figures(
        run, "languages", "Texts by language", run.records("languages"), most=MOST_ROWS
    )


def sections(run: GeneratedTexts) -> list[Section]:
    """The section on the models that wrote the texts."""
    rows = run.records("texts")
    table = TableView.of_figures(run, "texts", "Texts by generator", rows, heads=3, most=MOST_ROWS)
    return [Section("generators", "Who wrote them", tables=(table,))]


PAGE = Page(
    brand="generated texts",
    headline=headline,
    scope=scope,
    cards=cards,
    facts=facts,
    definitions=definitions,
    sources=lambda run: SOURCES,
    answer=answer,
    sections=sections,
)
