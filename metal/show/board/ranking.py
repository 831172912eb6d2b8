"""Raters by how far they go with people: the board itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metal.data.text import UNDEFINED, figure, interval, known, name, percent, plural, within
from metal.runs.board_run import KINDS, BoardRun
from metal.show.board.reasons import reasons
from metal.show.charts.intervals import MOST_ROWS, Mark, Row, interval_dots
from metal.show.view import Cell, Chart, TableView

MARKERS = {"human": 2, "llm": 1, "metric": 0, "ensemble": 3, "baseline": 7}  # series of each kind in every chart
LOOKS = {kind: (MARKERS[kind], words) for kind, words in KINDS.items()}
MOST_NAMED = 3


def ranking_table(run: BoardRun, criterion: str, language: str, key: str = "raters") -> TableView:
    """Every rater of a criterion in a language, best first, clusters on bands."""
    rows = run.records("raters", criterion=criterion, language=language)
    priced = any(known(row["cost_per_thousand"]) for row in rows)
    columns = ("", "rater", "kind", "cluster", "r with people", "rho", "tau", "r between generators", "SPA")
    columns += ("pairwise accuracy", "coverage", *(("$ per 1,000",) if priced else ()))
    shown = []
    for row in rows:
        cells = _cells(row, run, priced)
        band = "band" if known(row["cluster"]) and int(row["cluster"]) % 2 == 0 else ""
        shown.append(tuple(Cell(cell.text, cell.below, cell.mark or band) for cell in cells))
    return TableView(
        key,
        f"Raters by agreement with people: {run.where(criterion, language)}",
        columns,
        tuple(shown),
        "raters",
        run.signature_of("raters"),
        heads=3,
        notes=reasons(rows),
    )


def _cells(row: dict[str, Any], run: BoardRun, priced: bool) -> list[Cell]:
    ties = f"ties up to {row['tie_epsilon']:.2g}" if known(row["tie_epsilon"]) and row["tie_epsilon"] else ""
    several = known(row["people"]) and row["people"] > 1
    cells = [
        Cell(whole(row["rank"])),
        Cell(name(row["rater"])),
        Cell(plural(int(row["people"]), "person", "people") if several else run.kind(row["rater"])),
        Cell(whole(row["cluster"])),
        Cell(figure(row["pearson"]), interval(row["pearson_low"], row["pearson_high"])),
        Cell(figure(row["spearman"])),
        Cell(figure(row["kendall"])),
        Cell(figure(row["system_pearson"]), interval(row["system_pearson_low"], row["system_pearson_high"])),
        Cell(figure(row["soft_pairwise_accuracy"])),
        Cell(figure(row["pairwise_accuracy"]), ties),
        Cell(percent(row["coverage"]), f"{int(row['outputs']):,} of {int(row['asked']):,}"),
    ]
    return [*cells, *([Cell(dollars(row["cost_per_thousand"]))] if priced else [])]


def ranking_charts(run: BoardRun) -> list[Chart]:
    """r over outputs and r between generators on the main criterion, in one order."""
    rows = run.records("raters", criterion=run.main, language=run.language)
    ceiling = one_person(run, run.main, run.language)
    over = _chart(run, rows, "pearson", "r over single outputs", ceiling)
    between = _chart(run, rows, "system_pearson", "r between generators' means", None)
    return [over, *([between] if between.svg else [])]


def _chart(run: BoardRun, rows: Sequence[dict[str, Any]], figure_: str, what: str, ceiling: float | None) -> Chart:
    drawn = [
        Row(
            row["rater"],
            _number(row[figure_]),
            _number(row[f"{figure_}_low"]),
            _number(row[f"{figure_}_high"]),
            run.kinds[row["rater"]],
            int(row["cluster"]) if known(row["cluster"]) else None,
        )
        for row in rows
    ]
    marks = [Mark(ceiling, "one of the people against the others")] if ceiling is not None else []
    picture = interval_dots(drawn, LOOKS, marks=marks, group="cluster")
    title = f"{what}: {run.where(run.main, run.language)}"
    best = [row for row in drawn if known(row.value)]
    alt = f"Dots with 95% intervals, a row each of {plural(len(rows), 'rater')}, best first by r over outputs: {what}. "
    told = [f"{within(row.label)} {figure(row.value)} {interval(row.low, row.high)}".strip() for row in best]
    alt += "; ".join(told[:MOST_NAMED]) + (f"; last {told[-1]}. " if len(told) > MOST_NAMED else ". ")
    if ceiling is not None:
        alt += f"A dashed line at {figure(ceiling)} is one of the people against the others."
    numbers = TableView(
        f"{figure_}_numbers",
        title,
        ("rater", "kind", "cluster", "r"),
        tuple(
            (
                Cell(name(row.label)),
                Cell(run.kind(row.label)),
                Cell(whole(row.group)),
                Cell(figure(row.value), interval(row.low, row.high)),
            )
            for row in drawn
        ),
        "raters",
    )
    notes = (f"The first {MOST_ROWS} of {len(rows)} raters; all are in the table.",) if len(rows) > MOST_ROWS else ()
    return Chart(f"raters_{figure_}", title, alt, picture, numbers, notes)


def one_person(run: BoardRun, criterion: str, language: str) -> float | None:
    """r of one of the people with the others; None where undefined."""
    for row in run.records("people", criterion=criterion, language=language):
        return float(row["one_against_others"]) if known(row["one_against_others"]) else None
    return None


def further_rankings(run: BoardRun) -> list[tuple[str, TableView]]:
    """Every other criterion and language: who is first there, and the table."""
    found = []
    for place, (criterion, language) in enumerate(run.cells):
        if (criterion, language) == (run.main, run.language):
            continue
        table = ranking_table(run, criterion, language, f"raters_{place + 1}")
        first = run.records("raters", criterion=criterion, language=language)[0]
        best = f"{within(first['rater'])} {figure(first['pearson'])}" if known(first["pearson"]) else "no r is defined"
        found.append((f"{run.where(criterion, language)}: {best}", table))
    return found


def whole(value: Any) -> str:
    """A rank or a cluster."""
    return f"{int(value)}" if known(value) else UNDEFINED


def dollars(value: Any) -> str:
    """A price; a dash where it is not known."""
    return f"{value:,.2f}" if known(value) else UNDEFINED


def _number(value: Any) -> float:
    return float(value) if known(value) else float("nan")
