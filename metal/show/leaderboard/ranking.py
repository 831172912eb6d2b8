"""Generators by people: scores with intervals, errors and clusters."""

from __future__ import annotations

from typing import Any

from metal.data.text import UNDEFINED, count, interval, known, name, plural, within
from metal.genie.leaderboard.cautions import told_apart
from metal.runs.leaderboard_run import LeaderboardRun
from metal.show.board.reasons import reasons
from metal.show.charts.intervals import MOST_ROWS, Row, interval_dots
from metal.show.leaderboard.share import share
from metal.show.view import Cell, Chart, TableView

LOOKS = {"machine": (0, "machine"), "human": (2, "human writing")}


def ranking_table(run: LeaderboardRun, criterion: str, language: str, key: str = "ranking") -> TableView:
    """Every generator of a criterion in a language, best first, clusters on bands."""
    rows = run.ranking(criterion, language)
    missing = any(row["unanswered"] for row in rows)
    columns = ("", "generator", "cluster", "score", "standard error", "outputs", "sources", "ratings", "people")
    shown = []
    for row in rows:
        band = "band" if known(row["cluster"]) and int(row["cluster"]) % 2 == 0 else ""
        shown.append(tuple(Cell(cell.text, cell.below, band) for cell in _cells(row, missing)))
    return TableView(
        key,
        f"Generators by people: {run.where(criterion, language)}",
        (*columns, *(("unanswered",) if missing else ())),
        tuple(shown),
        "leaderboard",
        run.signature_of("leaderboard"),
        heads=2,
        notes=(
            "Score from 0, the worst, to 1, the best, with its 95% interval by source; below a standard error stands "
            "what it is at most for this score and number of outputs.",
            *_inside_clusters(run, rows, criterion, language),
            *reasons(rows, "generator"),
        ),
    )


def _inside_clusters(run: LeaderboardRun, rows: list[dict[str, Any]], criterion: str, language: str) -> tuple[str, ...]:
    """How many pairs within clusters differ by their own test, where there are any."""
    apart = told_apart(rows, run.records("comparisons", criterion=criterion, language=language))
    if not apart:
        return ()
    first = apart[0]
    return (
        f"A cluster holds whoever is not shown to be worse than its first, so that others in it can differ: "
        f"{plural(len(apart), 'pair')} {'does' if len(apart) == 1 else 'do'} by their own test, most clearly "
        f"{within(first['first'])} and {within(first['second'])} (p_holm in tables/comparisons.csv).",
    )


def _cells(row: dict[str, Any], missing: bool) -> list[Cell]:
    cells = [
        Cell(count(row["rank"])),
        Cell(name(row["generator"]), "human writing" if row["human"] else ""),
        Cell(count(row["cluster"])),
        Cell(share(row["score"]), interval(row["score_low"], row["score_high"], share)),
        Cell(share(row["standard_error"]), f"at most {share(row['worst_error'])}"),
        *(Cell(count(row[key])) for key in ("outputs", "sources", "ratings", "people")),
    ]
    return [*cells, Cell(count(row["unanswered"]))] if missing else cells


def ranking_chart(run: LeaderboardRun) -> Chart:
    """The main ranking, a row each with its interval."""
    rows = [
        Row(
            row["generator"],
            row["score"],
            row["score_low"],
            row["score_high"],
            "human" if row["human"] else "machine",
            int(row["cluster"]) if known(row["cluster"]) else None,
        )
        for row in run.ranking(run.main, run.language)
    ]
    title = f"What people give: {run.where(run.main, run.language)}"
    best, last = rows[0], rows[-1]
    alt = (
        f"Dots with 95% intervals, the score from 0 to 1 that people give to each of {plural(len(rows), 'generator')}, "
        f"best first: from {within(best.label)} {share(best.value)} to {within(last.label)} {share(last.value)}."
    )
    numbers = TableView(
        "ranking_numbers",
        title,
        ("generator", "cluster", "score"),
        tuple(
            (
                Cell(name(row.label)),
                Cell(UNDEFINED if row.group is None else str(row.group)),
                Cell(share(row.value), interval(row.low, row.high, share)),
            )
            for row in rows
        ),
        "leaderboard",
    )
    looks = LOOKS if any(row.look == "human" for row in rows) else {"machine": (0, "")}
    notes = (f"The first {MOST_ROWS} of {len(rows)}; all are in the table.",) if len(rows) > MOST_ROWS else ()
    return Chart("ranking", title, alt, interval_dots(rows, looks, form=share, group="cluster"), numbers, notes)


def further_rankings(run: LeaderboardRun) -> list[TableView]:
    """Every other criterion and language."""
    cells = enumerate(run.cells, 1)
    return [ranking_table(run, criterion, language, f"ranking_{place}") for place, (criterion, language) in cells]
