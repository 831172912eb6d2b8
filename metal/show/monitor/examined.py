"""How everybody did on the test questions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from metal.data.text import UNDEFINED, count, known, name, plural, within
from metal.genie.gold_questions import SIDES
from metal.genie.noisy import THRESHOLD
from metal.runs.columns import Row
from metal.runs.monitor_run import MonitorRun
from metal.show.charts.intervals import Dot, Mark
from metal.show.dots import dots_chart
from metal.show.sections import Section
from metal.show.view import Cell, Chart, TableView

LOOKS = {"fine": (0, "not flagged"), "noisy": (5, "noisy"), "judge": (1, "LLM judge, not flagged")}
MOST_QUESTIONS = 30


def examined_section(run: MonitorRun) -> Section | None:
    """Accuracy of each rater where they did worst, and who is noisy."""
    if not run.examined:
        return None
    words = (
        "Each rater by the task (language, criterion, side) that speaks most against them: share right with 95% "
        f"interval. Left of the line at {THRESHOLD:g} somebody is wrong too often; noisy is who almost surely is.",
    )
    return Section("tests", "Test questions", words, (_chart(run),), (raters_table(run),), (_cells(run),))


def _chart(run: MonitorRun) -> Chart:
    examined = [row for row in run.examined if known(row["share_right"])]
    rows = [Dot(row["rater"], row["share_right"], row["share_low"], row["share_high"], _look(row)) for row in examined]
    weakest = {row["rater"]: row["weakest"] for row in examined}
    noisy = sum(bool(row["noisy"]) for row in examined)
    return dots_chart(
        "share_right",
        "Test questions right, where it speaks most against them",
        f"Dots with intervals for {plural(len(rows), 'rater')}: {noisy} noisy.",
        rows,
        LOOKS,
        value="share right",
        between={"task": lambda row: name(weakest[row.label])},
        caption="Share right, as drawn",
        heads=2,
        source="raters",
        marks=(Mark(THRESHOLD, f"accuracy {THRESHOLD:g}"),),
    )


def _look(row: dict[str, Any]) -> str:
    return "noisy" if row["noisy"] else "fine" if row["kind"] == "human" else "judge"


def _right(side: str) -> Callable[[Row], Cell]:
    """How many of the answers to the questions of a side are right."""

    def cell(row: Row) -> Cell:
        right, asked = row[f"{side}_right"], row[f"{side}_asked"]
        return Cell(f"{count(right)} of {count(asked)}" if asked else UNDEFINED)

    return cell


RIGHT = {f"{side}_right": _right(side) for side in SIDES}


def raters_table(run: MonitorRun, without: Iterable[str] = (), most: int | None = None) -> TableView:
    """Everybody who was asked, noisiest first. without: columns left out. most: rows."""
    cells = {**RIGHT, "weakest": lambda row: Cell(name(row["weakest"]) if known(row["weakest"]) else UNDEFINED)}
    title = "Answers to test questions"
    return TableView.of_figures(
        run, "raters", title, run.examined, cells=cells, without=without, name="examined", most=most
    )


def _cells(run: MonitorRun) -> TableView:
    cells = {**RIGHT, "criterion": lambda row: Cell(run.short(row["criterion"]))}
    return TableView.of_figures(
        run, "workers", "By language and criterion", run.records("workers"), cells=cells, heads=3
    )


def question_section(run: MonitorRun) -> Section | None:
    """The questions that were answered wrong most often: their golds may be at fault."""
    asked = [row for row in run.records("questions") if row["asked"]]
    if not asked:
        return None
    asked.sort(key=lambda row: (row["right"] / row["asked"], -row["asked"], row["question"]))
    wrong = [row for row in asked if row["right"] < row["asked"]]
    nobody = sum(row["right"] == 0 and row["asked"] > 1 for row in asked)
    words = [f"{plural(len(asked), 'question')} by criterion answered, {len(wrong):,} of them wrong by somebody."]
    if nobody:
        words.append(f"{nobody:,} nobody got right: look at these golds before at the people.")
    rows = (
        (
            Cell(within(row["source"]), f"gold of {within(row['gold_of'])}" if row["side"] != SIDES[0] else ""),
            Cell(row["language"]),
            Cell(row["side"]),
            Cell(run.short(row["criterion"])),
            Cell(f"{count(row['right'])} of {count(row['asked'])}"),
        )
        for row in wrong
    )
    columns = ("source", "language", "side", "criterion", "right")
    title = "Questions answered wrong most often"
    table = TableView.of(run, "questions", title, columns, rows, heads=4, most=MOST_QUESTIONS)
    return Section("questions", "Questions", tuple(words), (), (table,) if wrong else ())
