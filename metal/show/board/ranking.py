"""Raters by how far they go with people: the board itself."""

from __future__ import annotations

from metal.data.text import count, figure, interval, known, plural, within
from metal.runs.board_run import KINDS, BoardRun
from metal.runs.columns import Row
from metal.show.board.reasons import reasons
from metal.show.charts.intervals import Dot, Mark
from metal.show.dots import dots_chart
from metal.show.view import Cell, Chart, TableView

MARKERS = {"human": 2, "llm": 1, "metric": 0, "ensemble": 3, "baseline": 7}  # series of each kind in every chart
LOOKS = {kind: (MARKERS[kind], words) for kind, words in KINDS.items()}
MOST_NAMED = 3


def ranking_table(run: BoardRun, criterion: str, language: str, key: str = "raters") -> TableView:
    """Every rater of a criterion in a language, best first, clusters on bands."""
    rows = run.records("raters", criterion=criterion, language=language)
    priced = any(known(row["cost_per_thousand"]) for row in rows)
    return TableView.of_figures(
        run,
        "raters",
        f"Raters by agreement with people: {run.where(criterion, language)}",
        rows,
        cells={"kind": lambda row: Cell(_kind(run, row))},
        without=() if priced else ("cost_per_thousand",),
        band="cluster",
        name=key,
        heads=3,
        notes=reasons(run, "raters", rows),
    )


def _kind(run: BoardRun, row: Row) -> str:
    """What a rater is; of people who count as one, how many they are."""
    several = known(row["people"]) and row["people"] > 1
    return plural(int(row["people"]), "person", "people") if several else run.kind(row["rater"])


def ranking_charts(run: BoardRun) -> list[Chart]:
    """r over outputs and r between generators on the main criterion, in one order."""
    ceiling = one_person(run, run.main, run.language)
    over = _chart(run, "pearson", "r over single outputs", ceiling)
    between = _chart(run, "system_pearson", "r between generators' means", None)
    return [over, *([between] if between.svg else [])]


def _chart(run: BoardRun, column: str, what: str, ceiling: float | None) -> Chart:
    rows = [
        Dot(
            row["rater"],
            row[column],
            row[f"{column}_low"],
            row[f"{column}_high"],
            run.kinds[row["rater"]],
            int(row["cluster"]) if known(row["cluster"]) else None,
        )
        for row in run.records("raters", criterion=run.main, language=run.language)
    ]
    figures = [
        f"{within(dot.label)} {figure(dot.value)} {interval(dot.low, dot.high)}" for dot in rows if known(dot.value)
    ]
    figures = [words.strip() for words in figures]
    alt = f"Dots with 95% intervals, a row each of {plural(len(rows), 'rater')}, best first by r over outputs: {what}. "
    alt += "; ".join(figures[:MOST_NAMED]) + (f"; last {figures[-1]}. " if len(figures) > MOST_NAMED else ". ")
    if ceiling is not None:
        alt += f"A dashed line at {figure(ceiling)} is one of the people against the others."
    return dots_chart(
        f"raters_{column}",
        f"{what}: {run.where(run.main, run.language)}",
        alt,
        rows,
        LOOKS,
        value="r",
        between={"kind": lambda dot: run.kind(dot.label), "cluster": lambda dot: count(dot.group)},
        source="raters",
        marks=[Mark(ceiling, "one of the people against the others")] if ceiling is not None else [],
        group="cluster",
    )


def one_person(run: BoardRun, criterion: str, language: str) -> float | None:
    """r of one of the people with the others; None where undefined."""
    for row in run.records("people", criterion=criterion, language=language):
        return float(row["one_against_others"]) if known(row["one_against_others"]) else None
    return None


def further_rankings(run: BoardRun) -> list[tuple[str, TableView]]:
    """Every other criterion and language: who is first there, and the table."""
    rankings = []
    for place, cell in enumerate(run.cells[1:], 2):
        table = ranking_table(run, *cell, f"raters_{place}")
        first = run.records("raters", criterion=cell[0], language=cell[1])[0]
        best = f"{within(first['rater'])} {figure(first['pearson'])}" if known(first["pearson"]) else "no r is defined"
        rankings.append((f"{run.where(*cell)}: {best}", table))
    return rankings
