"""Where a newcomer stands on a board, in a line each: what `metal submit` prints."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from metal.boards.board import Board
from metal.data.text import count, figure, interval, known, score, signed, within


def standing_lines(board: Board, name: str, before: Collection[str]) -> Iterator[str]:
    """A rater's or generator's place on the board of the main criterion, and what became of the ensemble.

    before: the ensembles that there were already.
    """
    raters = _main_rows(board, "raters")
    ranked = sum(known(row["rank"]) for row in raters)
    for row in raters:
        if row["rater"] == name:
            yield f"{board.main}: {_rank(row, ranked)}"
    generators = _main_rows(board, "generators")
    for row in generators:
        if row["generator"] == name:
            last = sum(other["by"] == row["by"] for other in generators)
            place = f"rank {count(row['rank'])} of {last} generators by {within(row['by'])}"
            yield f"{board.main}: {place}, mean {score(row['score'])}"
    for row in _main_rows(board, "overrating"):
        if row["rater"] == name and known(row["value"]):
            ends = interval(row["low"], row["high"], signed)
            yield f"overrates machines by {signed(row['value'])} sd {ends}"
    for row in _main_rows(board, "ensembles"):
        new = "stays" if row["ensemble"] in before else "new"
        unseen = figure(row["pearson_unseen"])
        yield f"{row['ensemble']} ({new}): {row['members']}; r {unseen} on unseen generators"


def _main_rows(board: Board, table: str) -> list[dict[str, Any]]:
    """The rows of the main criterion in the board's first language."""
    rows = board.tables[table]
    if rows.empty:
        return []
    language = str(board.tables["raters"]["language"].iloc[0])
    rows = rows[(rows["criterion"] == board.main) & (rows["language"] == language)]
    return [{str(key): value for key, value in row.items()} for row in rows.to_dict("records")]


def _rank(row: dict[str, Any], ranked: int) -> str:
    if not known(row["pearson"]):
        return str(row["undefined"])
    r = f"r {figure(row['pearson'])} {interval(row['pearson_low'], row['pearson_high'])}".strip()
    return f"{r} with people, rank {count(row['rank'])} of {ranked} raters, cluster {count(row['cluster'])}"
