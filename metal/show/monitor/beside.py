"""How people rate beside those who rated the same outputs."""

from __future__ import annotations

from typing import Any

from metal.data.text import known, name, plural, signed
from metal.genie.colleagues.behaviour import ALL_CRITERIA
from metal.runs.monitor_run import MonitorRun
from metal.show.charts.intervals import Dot
from metal.show.dots import dots_chart
from metal.show.sections import Section
from metal.show.view import Cell, Chart, TableView

LOOKS = {"alike": (0, "as the others"), "out": (5, "stands out")}


def beside_section(run: MonitorRun) -> Section | None:
    """Who stands out and why; agreement with colleagues; severity; competence."""
    rows = run.records("behaviour")
    if not rows:
        return None
    overall = [row for row in rows if row["criterion"] == ALL_CRITERIA]
    words = ["Each person beside the colleagues who rated the same outputs, so that hard outputs condemn nobody."]
    tables = [_reasons(run)] if run.standing_out else []
    if not run.standing_out:
        words.append("Nobody stands out.")
    charts = tuple(chart for chart in (_chart(overall),) if chart)
    tables.append(_table(run, overall, "behaviour", "All criteria together"))
    if apart := [row for row in overall if known(row["not_compared"]) and row["not_compared"]]:
        tables.append(_apart(apart))
    each = [row for row in rows if row["criterion"] != ALL_CRITERIA]
    further = (_table(run, each, "behaviour_by_criterion", "By criterion"),)
    return Section("beside", "People beside each other", tuple(words), charts, tuple(tables), further)


def _reasons(run: MonitorRun) -> TableView:
    rows = tuple((Cell(name(rater)), Cell(line)) for rater, lines in run.standing_out.items() for line in lines)
    return TableView("standing_out", "Who stands out, and why", ("rater", "why"), rows, "behaviour", heads=2)


def _apart(rows: list[dict[str, Any]]) -> TableView:
    body = tuple((Cell(name(row["rater"])), Cell(name(row["language"])), Cell(row["not_compared"])) for row in rows)
    return TableView("not_compared", "Who cannot be compared", ("rater", "language", "why"), body, "behaviour", heads=3)


def _chart(rows: list[dict[str, Any]]) -> Chart | None:
    compared = [row for row in rows if known(row["agreement_difference"])]
    if not compared:
        return None
    several = len({row["language"] for row in compared}) > 1
    dots = [
        Dot(
            f"{row['rater']} {row['language']}" if several else row["rater"],
            row["agreement_difference"],
            row.get("agreement_difference_low", float("nan")),
            row.get("agreement_difference_high", float("nan")),
            "out" if row["stands_out"] else "alike",
        )
        for row in sorted(compared, key=lambda row: float(row["agreement_difference"]))
    ]
    out = sum(dot.look == "out" for dot in dots)
    return dots_chart(
        "agreement_difference",
        "Agreement with colleagues, against theirs among themselves",
        f"Dots with intervals for {plural(len(dots), 'person', 'people')}; {out} stand out for some reason.",
        dots,
        LOOKS,
        value="difference",
        caption="As drawn",
        source="behaviour",
        sides=("agrees less", "agrees more"),
        form=signed,
    )


def _table(run: MonitorRun, rows: list[dict[str, Any]], key: str, title: str) -> TableView:
    cells = {"criterion": lambda row: Cell(run.short(row["criterion"]))}
    return TableView.of_figures(run, "behaviour", title, rows, cells=cells, name=key, heads=3)
