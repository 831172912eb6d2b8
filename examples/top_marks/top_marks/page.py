"""The page: a headline, a table, what to do next. The terminal, Markdown and LaTeX are written from
it, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from metal.data.text import percent, plural, within
from metal.show.pages import Page
from metal.show.parts import case_of, go_on
from metal.show.view import Remark, TableView
from top_marks.run import TopMarks


def headline(run: TopMarks) -> str:
    """Who gives the best mark most often."""
    rows = run.records("top_marks")
    most = max(rows, key=lambda row: row["top"])
    return (
        f"{within(most['rater'])} gives the best mark in {percent(most['top'])} on"
        f" {case_of(run, most)}."
    )


def scope(run: TopMarks) -> str:
    """What was counted."""
    return plural(sum(row["ratings"] for row in run.records("top_marks")), "rating")


def cards(run: TopMarks) -> Iterator[Remark]:
    """What to do next."""
    yield Remark(
        "What to do next", "Whether generous raters agree with others:", go_on(run, "audit")
    )


def answer(run: TopMarks) -> TableView:
    """A row for each rater, most generous first."""
    rows = sorted(run.records("top_marks"), key=lambda row: -row["top"])
    return TableView.of_figures(run, "top_marks", "Best marks", rows, heads=3)


def definitions(run: TopMarks) -> dict[str, str]:
    """What the figures mean."""
    return {"Best mark": "Share of a rater's scores at the end of the scale that is better."}


PAGE = Page(
    brand="best marks",
    headline=headline,
    scope=scope,
    cards=cards,
    facts=lambda run: {},
    definitions=definitions,
    sources=lambda run: {},
    answer=answer,
)
