"""Crowd, experts, judges: who may stand in for the reference people (Billboard 2.5 and Figure 2)."""

from __future__ import annotations

from dataclasses import dataclass

from metal.boards.crowd import CrowdSettings
from metal.data.text import UNDEFINED, count, figure, interval, known, name, p_value, percent, printable, signed
from metal.runs.board_run import BoardRun, spoken
from metal.show.board.reasons import reasons
from metal.show.charts.disagreement import Ends, disagreement, panels
from metal.show.view import Cell, Chart, TableView

AREA = CrowdSettings().area
MOST_PANELS = 12  # the raters that agree best
MOST_ANSWERS = 60


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
    main = Part(
        "Judge or crowd?", printable(answer["sentence"]), (_raters_table(run),), tuple(c for c in [_chart(run)] if c)
    )
    answers = _answers_table(run)
    further = (Part("On every criterion and language", "", (answers,)),) if len(answers.rows) > 1 else ()
    return (main, *further)


def _raters_table(run: BoardRun) -> TableView:
    rows = run.records("crowd_raters", criterion=run.main, language=run.language)
    rows.sort(key=lambda row: (row["kind"] == "ceiling", not known(row["pearson"]), -(row["pearson"] or 0)))
    shown = [
        (
            Cell("one person against the others" if row["kind"] == "ceiling" else name(row["rater"])),
            Cell(figure(row["pearson"]), interval(row["pearson_low"], row["pearson_high"])),
            Cell(figure(row["kendall"])),
            Cell(figure(row["system_pearson"])),
            Cell(signed(row["bias"]), interval(row["bias_low"], row["bias_high"], signed)),
            Cell(percent(row["underrated_share"]), count(row["underrated"]) if known(row["underrated"]) else ""),
            Cell(percent(row["overrated_share"]), count(row["overrated"]) if known(row["overrated"]) else ""),
            Cell(count(row["outputs"])),
        )
        for row in rows
    ]
    columns = ("", "r", "tau", "r between generators", "bias", "people high, it low", "people low, it high", "outputs")
    return TableView(
        "crowd_raters",
        f"Against the reference people: {run.where(run.main, run.language)}",
        columns,
        tuple(shown),
        "crowd_raters",
        run.signature_of("crowd_raters"),
        notes=(
            "Bias: mean of its scores less the people's, in points of their scale; high and low: its outer thirds.",
            *reasons(rows),
        ),
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
        for row in run.records("crowd_answers")[:MOST_ANSWERS]
    ]
    return TableView(
        "crowd_answers",
        "Judge or crowd, everywhere",
        ("criterion", "language", "answer", "best judge, r", "best crowd, r", "p, corrected"),
        tuple(rows),
        "crowd_answers",
        run.signature_of("crowd_answers"),
        heads=2,
    )


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
