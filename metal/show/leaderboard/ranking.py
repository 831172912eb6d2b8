"""Generators by people: scores with intervals, errors and clusters."""

from __future__ import annotations

from collections.abc import Sequence

from metal.data.text import plural, share, within
from metal.genie.leaderboard.cautions import told_apart
from metal.runs.columns import Row
from metal.runs.leaderboard_run import LeaderboardRun
from metal.show.board.reasons import reasons
from metal.show.dots import generator_dots, scored
from metal.show.view import Chart, TableView

EXPLAINED = (
    "Score from 0, the worst, to 1, the best, with its 95% interval by source; below a standard error stands what it "
    "is at most for this score and number of outputs."
)


def ranking_table(run: LeaderboardRun, criterion: str, language: str, key: str = "ranking") -> TableView:
    """Every generator of a criterion in a language, best first, clusters on bands."""
    rows = run.ranking(criterion, language)
    missing = any(row["unanswered"] for row in rows)
    return TableView.of_figures(
        run,
        "leaderboard",
        f"Generators by people: {run.where(criterion, language)}",
        rows,
        without=() if missing else ("unanswered",),
        band="cluster",
        name=key,
        heads=2,
        notes=(
            EXPLAINED,
            *_inside_clusters(run, rows, criterion, language),
            *reasons(run, "leaderboard", rows, "generator"),
        ),
    )


def _inside_clusters(run: LeaderboardRun, rows: Sequence[Row], criterion: str, language: str) -> tuple[str, ...]:
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


def ranking_chart(run: LeaderboardRun) -> Chart:
    """The main ranking: one row per generator, its score as a dot with its interval."""
    rows = [scored(row["generator"], row) for row in run.ranking(run.main, run.language)]
    best, last = rows[0], rows[-1]
    alt = (
        f"Dots with 95% intervals, the score from 0 to 1 that people give to each of {plural(len(rows), 'generator')}, "
        f"best first: from {within(best.label)} {share(best.value)} to {within(last.label)} {share(last.value)}."
    )
    title = f"What people give: {run.where(run.main, run.language)}"
    return generator_dots("ranking", title, alt, rows, value="score", source="leaderboard", form=share)


def further_rankings(run: LeaderboardRun) -> list[TableView]:
    """Every other criterion and language."""
    return [ranking_table(run, *cell, f"ranking_{place}") for place, cell in enumerate(run.cells[1:], 1)]
