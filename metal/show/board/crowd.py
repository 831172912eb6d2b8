"""Crowd, experts, judges: who may stand in for the reference people (Billboard 2.5 and Figure 2)."""

from __future__ import annotations

from dataclasses import dataclass

from metal.boards.crowd import CrowdSettings
from metal.data.text import UNDEFINED, figure, known, name, p_value, printable
from metal.runs.board_run import BoardRun
from metal.runs.run import spoken
from metal.show.board.reasons import reasons
from metal.show.charts.disagreement import Ends, disagreement, panels
from metal.show.view import Cell, Chart, TableView

AREA = CrowdSettings().area
MOST_PANELS = 12  # the raters that agree best
MOST_ANSWERS = 60
ONE_PERSON = "one person against the others"


@dataclass(frozen=True)
class Part:
    """A part of a section: a heading, a sentence or two, tables, charts."""

    title: str
    words: str = ""
    tables: tuple[TableView, ...] = ()
    charts: tuple[Chart, ...] = ()


def crowd_sections(run: BoardRun) -> tuple[Part, ...]:
    """Judge or crowd, on the criterion shown first and on all; nothing where the board has neither."""
    if not all(table in run.tables and len(run.tables[table]) for table in ("crowd_raters", "crowd_answers")):
        return ()
    (answer,) = run.records("crowd_answers", criterion=run.main, language=run.language)
    charts = tuple(chart for chart in [_chart(run)] if chart)
    main = Part("Judge or crowd?", printable(answer["sentence"]), (_raters_table(run),), charts)
    answers = _answers_table(run)
    further = (Part("On every criterion and language", "", (answers,)),) if len(answers.rows) > 1 else ()
    return (main, *further)


def _raters_table(run: BoardRun) -> TableView:
    rows = run.records("crowd_raters", criterion=run.main, language=run.language)
    rows.sort(key=lambda row: (row["kind"] == "ceiling", not known(row["pearson"]), -(row["pearson"] or 0)))
    explained = "Bias: mean of its scores less the people's, in points of their scale; high and low: its outer thirds."
    return TableView.of_figures(
        run,
        "crowd_raters",
        f"Against the reference people: {run.where(run.main, run.language)}",
        rows,
        cells={"rater": lambda row: Cell(ONE_PERSON if row["kind"] == "ceiling" else name(row["rater"]))},
        notes=(explained, *reasons(run, "crowd_raters", rows)),
    )


def _answers_table(run: BoardRun) -> TableView:
    rows = [
        (
            Cell(run.criterion(row["criterion"])),
            Cell(spoken(row["language"])),
            Cell(row["answer"]),
            *(Cell(name(row[side] or UNDEFINED), figure(row[f"{side}_pearson"])) for side in ("judge", "crowd")),
            Cell(p_value(row["p_holm"])),
        )
        for row in run.records("crowd_answers")
    ]
    columns = ("criterion", "language", "answer", "best judge, r", "best crowd, r", "p, corrected")
    title = "Judge or crowd, everywhere"
    return TableView.of(run, "crowd_answers", title, columns, rows, heads=2, most=MOST_ANSWERS)


def _chart(run: BoardRun) -> Chart | None:
    here = {"criterion": run.main, "language": run.language}
    raters = run.rows("crowd_raters", **here)
    raters = raters[raters["kind"] != "ceiling"]
    best = raters.sort_values("pearson", ascending=False, kind="stable").head(MOST_PANELS)
    (people,) = run.records("people", **here)
    ends = Ends(people["scale_low"], people["scale_high"]) if known(people["scale_low"]) else None
    label = f"Outputs as people and raters scored them: {run.where(run.main, run.language)}"
    return disagreement(
        "crowd", label, panels(best, run.rows("crowd_dots", **here)), people="people", ends=ends, area=AREA
    )
