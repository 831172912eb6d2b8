"""The page of corrected scores, and what `metal correct` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metal.data.text import known
from metal.questions.correct.answer import cards, headline, scope
from metal.questions.correct.run import CorrectedScores
from metal.questions.correct.words import SOURCES, definitions, facts
from metal.show.pages import Page
from metal.show.parts import reasons
from metal.show.view import Section, TableView

MOST_ROWS = 60
HEADS = ("criterion", "language", "judge", "generator")
EXPLAINED = "Shares of the scale, 0 its low end and 1 its high end; 95% intervals over sources."
OF_CLASSES = "On the outputs that only the judge rated; 95% intervals."


def answer(run: CorrectedScores) -> TableView | None:
    """The table of means or, if classes were corrected, of their shares; None if nothing could be
    corrected.
    """
    first = _first(run)
    return None if run.tables[first.source]["corrected"].isna().all() else first


def _first(run: CorrectedScores) -> TableView:
    if classes := run.records("classes"):
        notes = (OF_CLASSES, *reasons(run, "classes", classes, "generator"))
        title = "Shares of classes, corrected for the judge's mistakes on the test set"
        return TableView.of_figures(
            run, "classes", title, classes, heads=5, notes=notes, most=MOST_ROWS
        )
    return _means(run)


def sections(run: CorrectedScores) -> list[Section]:
    """The sections: differences between generators if means were corrected, and a table if nothing
    could be corrected.
    """
    differences, title = (
        run.records("differences"),
        "Differences between generators, on the same sources",
    )
    shown = []
    if differences and not run.records("classes"):
        shown.append(
            TableView.of_figures(run, "differences", title, differences, heads=5, most=MOST_ROWS)
        )
    if not answer(run):
        return [Section("figures", "All figures", tables=(_first(run), *shown))]
    return (
        [Section("differences", "Differences between generators", tables=tuple(shown))]
        if shown
        else []
    )


def _means(
    run: CorrectedScores, without: Sequence[str] = (), titles: Mapping[str, str] | None = None
) -> TableView:
    """The three means and the worth of a label. What is the same in all rows goes into the title or
    is left out.
    """
    rows = run.records("corrected")
    heads = [head for head in HEADS if len({row[head] for row in rows}) > 1 or head == "language"]
    title = "People's mean, estimated from people and judge together"
    if "criterion" not in heads:
        title = f"{title}: {run.criterion(rows[0]['criterion'])}"
    unranked = () if any(known(row["rank"]) for row in rows) else ("rank",)
    notes = (EXPLAINED, *reasons(run, "corrected", rows, "generator"))
    without = (*without, *unranked, *(head for head in HEADS if head not in heads))
    options: dict[str, Any] = {"heads": len(heads), "notes": notes, "most": MOST_ROWS}
    return TableView.of_figures(
        run, "corrected", title, rows, without=without, titles=titles, **options
    )


def brief(run: CorrectedScores) -> Iterator[TableView]:
    """What the terminal shows: the three means and the worth of a label; empty if nothing could be
    corrected.
    """
    if answer(run) and run.records("classes"):
        yield _first(run)
    elif answer(run):  # else the headline says it
        yield _means(run, ("rank", "bias", "rho", "labelled"), {"labels_saved": "worth"})


PAGE = Page(
    brand="corrected scores",
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
