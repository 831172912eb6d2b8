"""How everybody did on the test questions."""

from __future__ import annotations

from typing import Any

from metal.data.text import figure, interval, known, name, plural, within
from metal.genie.gold_questions import SIDES
from metal.genie.noisy import THRESHOLD
from metal.show.charts.intervals import MOST_ROWS, Mark, Row, interval_dots
from metal.show.monitor.run import MonitorRun
from metal.show.sections import Section
from metal.show.view import Cell, Chart, TableView

LOOKS = {"fine": (0, "not flagged"), "noisy": (5, "noisy"), "judge": (1, "LLM judge, not flagged")}
MOST_QUESTIONS = 30


def probability(value: Any) -> str:
    """With three digits, and never a rounded 0 or 1."""
    if not known(value):
        return figure(value)
    return ">0.999" if value > 0.9995 else "<0.001" if value < 0.0005 else f"{value:.3f}"


def examined_section(run: MonitorRun) -> Section | None:
    """Accuracy of each rater where they did worst, and who is noisy."""
    if not run.examined:
        return None
    words = (
        "Each rater by the task (language, criterion, side) that speaks most against them: share right with 95% "
        f"interval. Left of the line at {THRESHOLD:g} somebody is wrong too often; noisy is who almost surely is.",
    )
    return Section("tests", "Test questions", words, (_chart(run),), (_raters(run),), (_cells(run),))


def _chart(run: MonitorRun) -> Chart:
    found = [row for row in run.examined if known(row["share_right"])]
    rows = [Row(row["rater"], row["share_right"], row["share_low"], row["share_high"], _look(row)) for row in found]
    noisy = sum(bool(row["noisy"]) for row in found)
    alt = f"Dots with intervals for {plural(len(rows), 'rater')}: {noisy} noisy."
    numbers = TableView(
        "share_numbers",
        "Share right, as drawn",
        ("rater", "task", "share right"),
        tuple(
            (
                Cell(name(row["rater"])),
                Cell(name(row["weakest"])),
                Cell(figure(row["share_right"]), interval(row["share_low"], row["share_high"])),
            )
            for row in found
        ),
        "raters",
        heads=2,
    )
    notes = (f"The first {MOST_ROWS} of {len(rows)}; all are in the table.",) if len(rows) > MOST_ROWS else ()
    picture = interval_dots(rows, LOOKS, marks=(Mark(THRESHOLD, f"accuracy {THRESHOLD:g}"),))
    return Chart("share_right", "Test questions right, where it speaks most against them", alt, picture, numbers, notes)


def _look(row: dict[str, Any]) -> str:
    return "noisy" if row["noisy"] else "fine" if row["kind"] == "human" else "judge"


def _of(row: dict[str, Any], side: str) -> str:
    return f"{int(row[f'{side}_right']):,} of {int(row[f'{side}_asked']):,}" if row[f"{side}_asked"] else "–"


def _raters(run: MonitorRun) -> TableView:
    rows = tuple(
        (
            Cell(name(row["rater"]), name(row["group"]) if row["group"] else ""),
            Cell(name(row["languages"])),
            *(Cell(_of(row, side)) for side in SIDES),
            Cell(name(row["weakest"]) if known(row["weakest"]) else "–"),
            Cell(figure(row["share_right"]), interval(row["share_low"], row["share_high"])),
            Cell(probability(row["p_noisy"])),
            Cell("noisy" if row["noisy"] else ""),
        )
        for row in run.examined
    )
    columns = (
        "rater",
        "language",
        *(f"{side} right" for side in SIDES),
        "weakest at",
        "right there",
        "P(noisy)",
        "",
    )
    return TableView("examined", "Answers to test questions", columns, rows, "raters", run.signature_of("raters"))


def _cells(run: MonitorRun) -> TableView:
    rows = tuple(
        (
            Cell(name(row["rater"])),
            Cell(name(row["language"])),
            Cell(run.criterion(row["criterion"])),
            *(part for side in SIDES for part in (Cell(_of(row, side)), Cell(probability(row[f"{side}_p_noisy"])))),
        )
        for row in run.records("workers")
    )
    columns = ("rater", "language", "", *(part for side in SIDES for part in (f"{side} right", "P(noisy)")))
    title = "By language and criterion"
    return TableView("workers", title, columns, rows, "workers", run.signature_of("workers"), heads=3)


def question_section(run: MonitorRun) -> Section | None:
    """The questions that were answered wrong most often: their golds may be at fault."""
    found = [row for row in run.records("questions") if row["asked"]]
    if not found:
        return None
    found.sort(key=lambda row: (row["right"] / row["asked"], -row["asked"], row["question"]))
    wrong = [row for row in found if row["right"] < row["asked"]]
    nobody = sum(row["right"] == 0 and row["asked"] > 1 for row in found)
    words = [f"{plural(len(found), 'question')} by criterion answered, {len(wrong):,} of them wrong by somebody."]
    if nobody:
        words.append(f"{nobody:,} nobody got right: look at these golds before at the people.")
    rows = tuple(
        (
            Cell(within(row["source"]), f"gold of {within(row['gold_of'])}" if row["side"] != SIDES[0] else ""),
            Cell(row["language"]),
            Cell(row["side"]),
            Cell(run.criterion(row["criterion"])),
            Cell(f"{int(row['right']):,} of {int(row['asked']):,}"),
        )
        for row in wrong[:MOST_QUESTIONS]
    )
    columns = ("source", "language", "side", "criterion", "right")
    notes = (f"The first {MOST_QUESTIONS} of {len(wrong):,}; the CSV has all.",) if len(wrong) > MOST_QUESTIONS else ()
    table = TableView(
        "questions",
        "Questions answered wrong most often",
        columns,
        rows,
        "questions",
        run.signature_of("questions"),
        4,
        notes,
    )
    return Section("questions", "Questions", tuple(words), (), (table,) if rows else ())
