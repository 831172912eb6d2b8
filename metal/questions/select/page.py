"""The page of a selection, and what `metal select` prints."""

from __future__ import annotations

from typing import Any

from metal.data.text import dollars, known, percent
from metal.questions.select.answer import cards, headline, scope
from metal.questions.select.compute import ALONE, PART, THEN
from metal.questions.select.run import Selection
from metal.questions.select.words import SOURCES, definitions, facts
from metal.runs.columns import Row
from metal.show.pages import Page
from metal.show.parts import across_languages, reasons
from metal.show.view import Cell, Section, TableView

MOST_ROWS = 100
EXPLAINED = (
    "Alone, in part: the share of outputs that the judge may answer, and the least agreement that "
    "it has on them."
)


def answer(run: Selection) -> TableView:
    """A table of how much the judge may answer: criteria and judges in rows, languages in
    columns.
    """
    rows = run.records("selection")
    keys = {"criterion": "", "judge": "judge"}
    return across_languages(
        run,
        "selection",
        "What judges may answer",
        rows,
        keys,
        _cell,
        name="alone",
        notes=[EXPLAINED],
    )


def _cell(rows: list[Row]) -> Cell:
    (row,) = rows
    if row["says"] not in (ALONE, PART):
        return Cell(row["says"])
    below = f"{percent(row['coverage'])}, agrees in {percent(row['at_least'])}"
    if THEN in row["judge"] and known(row["cost"]):
        below += f", {dollars(row['cost'])} per 1,000"
    return Cell(row["says"], below, "strong")


def sections(run: Selection) -> list[Section]:
    """The sections: every figure, and whether the confidence can be believed."""
    selection, rows, curve = (run.records(table) for table in ("selection", "calibration", "curve"))
    free = [
        column
        for column in ("cost", "cost_people")
        if not any(known(row[column]) for row in selection)
    ]
    options: dict[str, Any] = {"heads": 3, "most": MOST_ROWS}
    title = "How much each judge may answer"
    figures = TableView.of_figures(run, "selection", title, selection, without=free, **options)
    notes = reasons(run, "calibration", rows, "judge")
    title = "Whether confidence can be believed"
    shown = [TableView.of_figures(run, "calibration", title, rows, notes=notes, **options)]
    if curve:
        title = "Reliability: how often answers agree with people, by confidence"
        shown.append(TableView.of_figures(run, "curve", title, curve, heads=4, most=MOST_ROWS))
    return [
        Section("figures", "All figures", tables=(figures,)),
        Section("calibration", "Confidence", tables=tuple(shown)),
    ]


PAGE = Page(
    brand="what judges may answer alone",
    headline=headline,
    scope=scope,
    cards=cards,
    facts=facts,
    definitions=definitions,
    sources=lambda run: SOURCES,
    answer=answer,
    sections=sections,
)
