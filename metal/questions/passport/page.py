"""The page of a passport, and what `metal passport` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metal.auditing.verdict import LIKE_A_PERSON
from metal.data.text import estimate, name, percent
from metal.questions.audit.judges import FURTHER
from metal.questions.audit.verdicts import AGREEMENT, kept_of_person
from metal.questions.passport.answer import cards, headline, scope
from metal.questions.passport.run import Passport
from metal.questions.passport.words import SOURCES, best_verdict, definitions, facts
from metal.runs.columns import Row
from metal.runs.passport import ALONE, BESIDE
from metal.show.pages import Page
from metal.show.parts import across_languages
from metal.show.view import Cell, Section, TableView

MOST_ROWS = 300
MOST_JUDGES = 12  # on the first screen
EXPLAINED = (
    "Alone: the verdict is {best}. With people: it is informative, and people's ratings correct "
    "the scores. Percentages: the shares of a person's lead that the judge keeps, for exact "
    "answers and for their order, with 90% intervals; where they are not above 0, only "
    "corrected scores are of use."
)


def answer(run: Passport, most: int = MOST_JUDGES) -> TableView:
    """A table of uses: judges and criteria in rows, languages in columns. Judges that may be used
    nowhere are left out.

    most: the largest number of judges. If there is a single judge, its name is in the title, and
    rows and columns may be swapped.
    """
    rows = run.records("uses")
    used = [
        judge
        for judge in run.judge_names
        if any(row["use"] in (ALONE, BESIDE) for row in _of(rows, judge))
    ]
    used = used[:most] or run.judge_names[:1]
    best = best_verdict(rows)
    notes = [EXPLAINED.format(best=best), *([AGREEMENT] if best == LIKE_A_PERSON else [])]
    if left := len(run.judge_names) - len(used):
        verb = "is" if left == 1 else "are"
        notes.append(
            f"{left} of {len(run.judge_names)} judges {verb} only in the passport, not in this"
            " table."
        )
    title = (
        "What they may be used for" if len(used) > 1 else f"What {name(used[0])} may be used for"
    )
    allowed = (row for judge in used for row in _of(rows, judge))
    keys = {"judge": "judge", "criterion": ""}
    return across_languages(run, "uses", title, allowed, keys, _cell, name="allowed", notes=notes)


def brief(run: Passport) -> Iterator[TableView]:
    """What the terminal shows: what the judge with the most permissions may be used for."""
    yield answer(run, 1)


def _of(rows: Sequence[Row], judge: str) -> list[Row]:
    return [row for row in rows if row["judge"] == judge]


def _cell(rows: list[Row]) -> Cell:
    (row,) = rows
    if row["use"] not in (ALONE, BESIDE):
        return Cell(row["use"])
    keeps = kept_of_person(row, lambda row, column: estimate(row, column, percent))
    keeps = keeps.removeprefix("keeps ").removeprefix("exact ")
    if row["use"] == BESIDE and not row["share_kept_low"] > 0:
        keeps = "only once corrected"  # -874% [-4042%, -251%] tells a reader nothing
    return Cell(row["use"], keeps, "strong" if row["use"] == ALONE else "")


def sections(run: Passport) -> list[Section]:
    """The sections: every case, how judges were asked, what was not tested, and what other runs
    say.
    """
    figures = TableView.of_figures(
        run, "uses", "Every case", run.records("uses"), heads=3, most=MOST_ROWS
    )
    asked = TableView.of_figures(run, "judges", "How they were asked", run.records("judges"))
    title, rows = "What they were not tested on", run.records("not_tested")
    gaps = TableView.of_figures(run, "not_tested", title, rows, most=MOST_ROWS)
    shown = [
        Section("figures", "All figures", tables=(figures,)),
        Section("judges", "The judges, and what they were not tested on", tables=(asked, gaps)),
    ]
    if run.lines:
        title, note = FURTHER["remarks"]
        lines = TableView.of_figures(
            run, "remarks", title, run.lines, heads=3, notes=(note,), most=MOST_ROWS
        )
        shown.append(Section("remarks", "What other runs say", tables=(lines,)))
    return shown


PAGE = Page(
    brand="passport of judges",
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
