"""The page of adjudication, and what `metal adjudicate report` prints."""

from __future__ import annotations

from collections.abc import Iterator

from metal.questions.adjudicate.answer import cards, headline, scope
from metal.questions.adjudicate.run import Adjudicated
from metal.questions.adjudicate.sorts import AMBIGUOUS, BETWEEN, DISPUTED
from metal.questions.adjudicate.words import SOURCES, definitions, facts
from metal.show.pages import Page
from metal.show.parts import reasons
from metal.show.view import Section, TableView

MOST_ROWS = 60
VERDICT = ("difference", "verdict", "decided", "items", "reason")
IF_WRONG = ("if_random", "if_crowd")
TITLES = {
    AMBIGUOUS: "Who is right where all people differ",
    BETWEEN: "With which rater the adjudicators agree",
}
WHO = {AMBIGUOUS: "rater", BETWEEN: "first"}
BAD_END = ("recall", "recall_of_people", "precision", "precision_of_people")


def answer(run: Adjudicated) -> TableView:
    """The table of each judge in each case."""
    if run.draw == DISPUTED:
        return _table(run, "Who is as often right as a person", (*IF_WRONG, *BAD_END))
    rows = run.records(run.shown)
    notes = ("90% intervals.", *reasons(run, run.shown, rows, WHO[run.draw]))
    return TableView.of_figures(
        run, run.shown, TITLES[run.draw], rows, heads=3, notes=notes, most=MOST_ROWS
    )


def _table(run: Adjudicated, title: str, without: tuple[str, ...]) -> TableView:
    """A table of all judges without some columns; what is the same in all rows is not repeated."""
    rows = run.records("adjudicated")
    notes = (
        "The 90% intervals allow for chance both in the draw and in which outputs were rated.",
        *reasons(run, "adjudicated", rows, "judge"),
    )
    if not any(row["reason"] for row in rows):
        without = (*without, "reason")
    return TableView.of_figures(
        run, "adjudicated", title, rows, heads=3, notes=notes, most=MOST_ROWS, without=without
    )


def sections(run: Adjudicated) -> list[Section]:
    """The sections: the bad end, what errors would change and, if there are several adjudicators,
    how far they agree.
    """
    parts = []
    if run.tables["adjudicated"]["recall"].notna().any():
        bad = _table(run, "The label of the worst outputs", (*VERDICT, *IF_WRONG))
        parts.append(Section("bad-end", "Who finds the worst outputs", tables=(bad,)))
    if run.draw == DISPUTED:
        wrong = _table(
            run, ("If the adjudicator is wrong in 10% of outputs"), (*VERDICT[1:], *BAD_END)
        )
        parts.append(Section("errors", "If the adjudicator errs", tables=(wrong,)))
    pairs = run.records("adjudicators")
    if not pairs:
        return parts
    title = "How often adjudicators decide alike"
    table = TableView.of_figures(run, "adjudicators", title, pairs, heads=2, most=MOST_ROWS)
    return [*parts, Section("adjudicators", "Adjudicators", tables=(table,))]


def brief(run: Adjudicated) -> Iterator[TableView]:
    """What the terminal shows: the verdicts, without further parts of the page."""
    if run.draw != DISPUTED:
        yield answer(run)
        return
    without = ("items", "reason", *IF_WRONG, *BAD_END)
    yield _table(run, "Who is as often right as a person", without)


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
