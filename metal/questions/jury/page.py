"""The page of a jury, and what `metal jury` prints."""

from __future__ import annotations

from metal.data.text import UNDEFINED, estimate, percent, percent_change
from metal.questions.jury.answer import cards, headline, scope
from metal.questions.jury.run import Jury
from metal.questions.jury.words import SOURCES, definitions, facts
from metal.runs.columns import Row
from metal.show.pages import Page
from metal.show.parts import across_languages, reasons
from metal.show.view import Cell, Section, TableView

MOST_ROWS = 100
EXPLAINED = (
    "How much better the jury agrees with people than its best member does (chosen on other "
    "sources), in points with a 95% interval. The line below has the agreement of the jury and of "
    "that member."
)


def answer(run: Jury) -> TableView:
    """A table of the jury and its best member: criteria in rows, languages in columns."""
    rows = run.records("jury")
    places = ({**row, "place": run.where(row["criterion"], row["language"])} for row in rows)
    alone = len(run.settings["judges"]) == 1
    notes = (*([] if alone else [EXPLAINED]), *reasons(run, "jury", places, "place"))
    title = "Agreement with people" if alone else "The jury and its best member"
    return across_languages(
        run, "jury", title, rows, {"criterion": ""}, _cell, name="gain", notes=notes
    )


def sections(run: Jury) -> list[Section]:
    """The section that has all figures."""
    rows, title = run.records("jury"), "How the jury agrees with people"
    free = [] if any(row["weights"] for row in rows) else ["weights"]
    table = TableView.of_figures(run, "jury", title, rows, heads=2, most=MOST_ROWS, without=free)
    return [Section("figures", "All figures", tables=(table,))]


def _cell(rows: list[Row]) -> Cell:
    (row,) = rows
    if row["undefined"]:
        return Cell(UNDEFINED)
    if row["members"] == 1:
        return Cell(percent(row["agreement"]))
    below = f"{percent(row['agreement'])}, best {percent(row['best_agreement'])}"
    return Cell(
        estimate(row, "gain", percent_change), below, "strong" if row["better"] == "yes" else ""
    )


PAGE = Page(
    brand="several judges as one",
    headline=headline,
    scope=scope,
    cards=cards,
    facts=facts,
    definitions=definitions,
    sources=lambda run: SOURCES,
    answer=answer,
    sections=sections,
)
