"""How people rate beside those who rated the same outputs."""

from __future__ import annotations

from typing import Any

from metal.data.text import figure, interval, known, name, percent, plural, signed
from metal.genie.colleagues.behaviour import ALL_CRITERIA
from metal.show.charts.intervals import MOST_ROWS, Row, interval_dots
from metal.show.monitor.run import MonitorRun
from metal.show.sections import Section
from metal.show.view import Cell, Chart, TableView

LOOKS = {"alike": (0, "as the others"), "out": (5, "stands out")}


def beside_section(run: MonitorRun) -> Section | None:
    """Who stands out and why; agreement with colleagues; severity; competence."""
    rows = run.records("behaviour")
    if not rows:
        return None
    whole = [row for row in rows if row["criterion"] == ALL_CRITERIA]
    words = ["Each person beside the colleagues who rated the same outputs, so that hard outputs condemn nobody."]
    tables = [_reasons(run)] if run.standing_out else []
    if not run.standing_out:
        words.append("Nobody stands out.")
    charts = tuple(chart for chart in (_chart(run, whole),) if chart)
    tables.append(_table(run, whole, "behaviour", "All criteria together"))
    if apart := [row for row in whole if known(row["not_compared"]) and row["not_compared"]]:
        tables.append(_apart(apart))
    each = [row for row in rows if row["criterion"] != ALL_CRITERIA]
    further = (_table(run, each, "behaviour_by_criterion", "By criterion"),)
    return Section("beside", "People beside each other", tuple(words), charts, tuple(tables), further)


def _reasons(run: MonitorRun) -> TableView:
    rows = tuple((Cell(name(rater)), Cell(line)) for rater, lines in run.standing_out.items() for line in lines)
    return TableView("standing_out", "Who stands out, and why", ("rater", "why"), rows, "behaviour", heads=2)


def _apart(rows: list[dict[str, Any]]) -> TableView:
    shown = tuple((Cell(name(row["rater"])), Cell(name(row["language"])), Cell(row["not_compared"])) for row in rows)
    return TableView(
        "not_compared", "Who cannot be compared", ("rater", "language", "why"), shown, "behaviour", heads=3
    )


def _chart(run: MonitorRun, rows: list[dict[str, Any]]) -> Chart | None:
    drawn = sorted(
        (row for row in rows if known(row["agreement_difference"])), key=lambda row: float(row["agreement_difference"])
    )
    if not drawn:
        return None
    several = len({row["language"] for row in drawn}) > 1
    points = [
        Row(
            f"{row['rater']} {row['language']}" if several else row["rater"],
            row["agreement_difference"],
            row.get("agreement_difference_low", float("nan")),
            row.get("agreement_difference_high", float("nan")),
            "out" if row["stands_out"] else "alike",
        )
        for row in drawn
    ]
    numbers = TableView(
        "agreement_numbers",
        "As drawn",
        ("rater", "difference"),
        tuple((Cell(name(row.label)), Cell(signed(row.value), interval(row.low, row.high, signed))) for row in points),
        "behaviour",
    )
    out = sum(row.look == "out" for row in points)
    alt = f"Dots with intervals for {plural(len(points), 'person', 'people')}; {out} stand out for some reason."
    notes = (f"The first {MOST_ROWS} of {len(points)}.",) if len(points) > MOST_ROWS else ()
    picture = interval_dots(points, LOOKS, sides=("agrees less", "agrees more"), form=signed)
    title = "Agreement with colleagues, against theirs among themselves"
    return Chart("agreement_difference", title, alt, picture, numbers, notes)


def _table(run: MonitorRun, rows: list[dict[str, Any]], key: str, title: str) -> TableView:
    shown = tuple(
        (
            Cell(name(row["rater"]), name(row["group"]) if row["group"] else ""),
            Cell(name(row["language"])),
            Cell(run.criterion(row["criterion"])),
            Cell(f"{int(row['ratings']):,}", f"{int(row['shared']):,} shared"),
            Cell(figure(row["agreement"])),
            Cell(figure(row["colleagues_agreement"])),
            Cell(signed(row["severity"])),
            Cell(percent(row["label_share"]), f"others {percent(row['colleagues_label_share'])}"),
            Cell(figure(row["dawid_skene"])),
            Cell(figure(row["mace"])),
        )
        for row in rows
    )
    columns = (
        *("rater", "language", "", "ratings", "agreement", "theirs", "severity", "top label", "Dawid-Skene", "MACE"),
    )
    return TableView(key, title, columns, shown, "behaviour", run.signature_of("behaviour"), heads=3)
