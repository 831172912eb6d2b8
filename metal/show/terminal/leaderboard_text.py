"""A leaderboard as text for a terminal of 80 columns, or for a pipe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from metal.data.dataset import Dataset
from metal.data.languages import language_name
from metal.genie.leaderboard.coverage import rating_command
from metal.genie.leaderboard.leaderboard import Leaderboard
from metal.genie.leaderboard.settings import ALL_LANGUAGES
from metal.show.terminal import console as show

UNDEFINED = "-"
MOST_COMMANDS = 3
COUNTS = ("outputs", "sources", "ratings", "people", "unanswered")
NOTE = (
    "c: cluster; within one, nobody is shown to be worse than its first. score: mean share of the scale, 0 to 1; 95%: "
    "its interval by source; SE: standard error, and the largest it can be (Bhatia-Davis)."
)


def show_leaderboard(found: Leaderboard, dataset: Dataset, path: Path, slices: tuple[str, ...]) -> None:
    """The main ranking, criteria and languages beside each other, metrics, what is to be rated, warnings, signature."""
    board = found.tables["leaderboard"]
    languages = list(dict.fromkeys(board["language"]))
    main = board[board["criterion"] == found.main]
    first = str(main["language"].iloc[0])
    show.say(_headline(found, dataset), bold=True)
    _ranking(_only(main, language=first), found.main, first, NOTE)
    if "language" in slices:
        for language in languages:
            if language != first and len(rows := _only(main, language=language)):
                _ranking(rows, found.main, language)
    if "criterion" in slices:
        for criterion in dict.fromkeys(_only(board, language=first)["criterion"]):
            if criterion != found.main:
                _ranking(_only(board, language=first, criterion=criterion), criterion, first)
    order = list(_only(main, language=first)["generator"])
    _side_by_side(_only(board, language=first), "criterion", order, f"Scores by criterion, {_spoken(first)}")
    _side_by_side(main, "language", order, f"Scores by language, {found.main}")
    _beside(_only(found.tables["beside"], language=first), found.main, order)
    _to_rate(found, path)
    show.warn(found.warnings, more="warnings.txt in the run folder, and the report")
    show.say(f"Signature: {found.signature}", dim=True, wrap=False)


def _headline(found: Leaderboard, dataset: Dataset) -> str:
    groups = sorted({dataset.raters[name].group for name in found.people} - {""})
    generators = found.tables["leaderboard"]["generator"].nunique()
    sample = f", a sample of {found.settings.sample} sources a language" if found.settings.sample else ""
    people = f"{len(found.people)} {'person' if len(found.people) == 1 else 'people'}"
    named = f" ({', '.join(groups)})" if groups else ""
    return f"{dataset.card.name}: {generators} generator{'s' if generators != 1 else ''} by {people}{named}{sample}"


def _ranking(rows: pd.DataFrame, criterion: str, language: str, note: str = "") -> None:
    """A ranking, with counts of all generators below it; those of each are in the tables."""
    listed = [
        [
            f"{row['rank']:>2}",
            row["generator"] + (" (human)" if row["human"] else ""),
            UNDEFINED if row["cluster"] != row["cluster"] else f"{row['cluster']:.0f}",
            f"{row['score']:.3f}",
            _interval(row),
            f"{_error(row['standard_error'])} ({_error(row['worst_error'])})",
        ]
        for row in _records(rows)
    ]
    columns = ["", "generator", "c", "score", "95%", "SE (at most)"]
    each = ", ".join(_counted(rows[key], key) for key in COUNTS if rows[key].any())
    notes = [f"Each: {each}."] * bool(each) + [note] * bool(note)
    show.table(f"{criterion}, {_spoken(language)}", columns, listed, note=" ".join(notes), keep=2)
    for row in _records(rows):
        if row["undefined"]:
            show.say(f"{row['generator']}: {row['undefined']}", dim=True)


def _counted(counts: pd.Series, what: str) -> str:
    """`100 outputs`, or `12 to 100 outputs` where generators differ."""
    least, most = int(counts.min()), int(counts.max())
    return f"{least:,} {what}" if least == most else f"{least:,} to {most:,} {what}"


def _side_by_side(rows: pd.DataFrame, by: str, order: list[str], title: str) -> None:
    """Scores of the generators in columns; nothing where there is one column only."""
    columns = list(dict.fromkeys(rows[by]))
    if len(columns) < 2:
        return
    values = {(row["generator"], row[by]): f"{row['score']:.3f}" for row in _records(rows)}
    names = [*order, *(name for name in dict.fromkeys(rows["generator"]) if name not in order)]
    listed = [[name, *(values.get((name, column), "") for column in columns)] for name in names]
    heads = [column or "all" for column in columns] if by == "language" else columns
    blank = any("" in row for row in listed)
    show.table(title, ["generator", *heads], listed, note="A blank: not rated there." if blank else "")


def _beside(rows: pd.DataFrame, main: str, order: list[str]) -> None:
    """Means of metrics and judges: on the main criterion, or what they give for all criteria."""
    everybody = dict.fromkeys(rows["rater"])
    rows = rows[(rows["criterion"] == main) | (rows["scale"] == "own")]
    if elsewhere := [name for name in everybody if name not in set(rows["rater"])]:
        show.say(f"Not asked for all criteria, and so only in the tables: {', '.join(elsewhere)}", dim=True)
    if rows.empty:
        return
    columns = list(dict.fromkeys(zip(rows["rater"], rows["criterion"], strict=True)))
    raters = [rater for rater, _ in columns]
    values = {(row["generator"], (row["rater"], row["criterion"])): row for row in _records(rows)}
    listed = [[name, *(_mean(values.get((name, column))) for column in columns)] for name in order]
    heads = [rater if raters.count(rater) == 1 else f"{rater} {criterion}" for rater, criterion in columns]
    partly = "" if (rows["coverage"] == 1).all() else " A percentage: of these outputs it scored so many only."
    note = f"Mean scores on the outputs that people rated; higher is better.{partly}"
    show.table("Metrics and judges beside", ["generator", *heads], listed, note=note)


def _mean(row: dict[str, Any] | None) -> str:
    if row is None or row["score"] != row["score"]:
        return UNDEFINED
    share = "" if row["coverage"] == 1 else f" {min(max(round(100 * row['coverage']), 1), 99)}%"
    return f"{row['score']:.4g}{share}"


def _to_rate(found: Leaderboard, path: Path) -> None:
    """Generators that nobody has rated yet, and those that were rated in part."""
    rows = found.tables["coverage"]
    rows = _only(rows, language=str(next(iter(rows["language"]), ALL_LANGUAGES)))
    open_ = [row for row in _records(rows) if row["outputs_rated"] < row["outputs"]]
    if not open_:
        return
    listed = [
        [
            row["generator"],
            f"{row['sources_rated']:,} of {row['sources']:,}",
            f"{row['outputs_to_rate']:,}",
            "" if row["outputs_rated"] else "not rated yet",
        ]
        for row in open_
    ]
    without = sum(row["without_text"] for row in open_)
    note = f"{without:,} more outputs have no text to hand out." if without else ""
    show.table("Still to be rated", ["generator", "sources rated", "outputs to rate", ""], listed, note=note)
    new = [row["generator"] for row in open_ if not row["outputs_rated"] and row["outputs_to_rate"]]
    settings = found.settings
    for name in new[:MOST_COMMANDS]:
        show.say(rating_command(str(path), [name], sample=settings.sample, seed=settings.seed), wrap=False)
    if len(new) > MOST_COMMANDS:
        show.say(f"... and so on for {len(new) - MOST_COMMANDS:,} more; --generators can be given several times")


def _spoken(language: str) -> str:
    return "all languages" if language == ALL_LANGUAGES else f"{language} {language_name(language)}"


def _interval(row: dict[str, Any]) -> str:
    low, high = row["score_low"], row["score_high"]
    return UNDEFINED if low != low else f"{low:.3f} to {high:.3f}"


def _error(value: float) -> str:
    return UNDEFINED if value != value else f"{value:.3f}"


def _only(table: pd.DataFrame, **where: str) -> pd.DataFrame:
    for column, value in where.items():
        table = table[table[column] == value]
    return table


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]
