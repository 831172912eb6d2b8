"""The page of a verification, and what `metal verify` prints."""

from __future__ import annotations

from typing import Any

from metal.questions.verify.answer import cards, headline, scope
from metal.questions.verify.compute import DIFFERS, EQUAL
from metal.questions.verify.run import Verified
from metal.questions.verify.words import SOURCES, definitions, facts
from metal.show.pages import Page
from metal.show.view import Section, TableView

MOST_ROWS = 300


def answer(run: Verified) -> TableView:
    """A table of the figures that differ; if none does, of how many are equal, by kind of
    figure.
    """
    differ = run.records("figures", says=DIFFERS)
    if differ:
        title = "Figures that differ"
        options: dict[str, Any] = {"heads": 3, "most": MOST_ROWS, "name": "differing"}
        options |= {"without": ("says", "digits", "items")}
        return TableView.of_figures(run, "figures", title, differ, **options)
    return _summary(run)


def _summary(run: Verified) -> TableView:
    """A table of how many figures of each kind are equal."""
    rows = run.records("summary")
    columns = ("differ", "undefined_in_both", "undefined_in_library", "left_undefined")
    empty = [column for column in columns if not any(row[column] for row in rows)]
    title = "Figures by other libraries"
    return TableView.of_figures(run, "summary", title, rows, without=empty, name="by_library")


def sections(run: Verified) -> list[Section]:
    """The section with every figure: first those that differ, then those without a comparison."""
    order = {DIFFERS: 0, EQUAL: 2}
    rows = sorted(run.records("figures"), key=lambda row: order.get(row["says"], 1))
    title = "In the run, and recomputed"
    figures = TableView.of_figures(run, "figures", title, rows, heads=3, most=MOST_ROWS)
    return [Section("figures", "All figures", tables=(_summary(run), figures))]


PAGE = Page(
    brand="figures recomputed",
    headline=headline,
    scope=scope,
    cards=cards,
    facts=facts,
    definitions=definitions,
    sources=lambda run: SOURCES,
    answer=answer,
    sections=sections,
)
