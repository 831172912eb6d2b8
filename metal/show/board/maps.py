"""Correlations at a glance: raters in rows; languages, criteria or generators in columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from metal.data.text import UNDEFINED, figure, known, name
from metal.runs.board_run import BoardRun, code, spoken
from metal.show.board.reasons import reasons
from metal.show.view import Cell, TableView

MOST_COLUMNS = 40
MOST_RATERS = 60
EDGES = (-0.1, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)  # of r, between one shade and the next


def language_maps(run: BoardRun) -> list[TableView]:
    """A map of languages a criterion that was rated in several, the main one first."""
    found = []
    for place, criterion in enumerate(run.measured):
        rows = run.records("raters", criterion=criterion)
        if len({row["language"] for row in rows}) < 3:  # one language, and all of them together, which is the same
            continue
        key = "languages" if criterion == run.main else f"languages_{place + 1}"
        title = f"r by language: {run.criterion(criterion)}"
        found.append(_map(run, key, title, rows, "language", code, "raters"))
    return found


def criterion_map(run: BoardRun) -> TableView | None:
    """Criteria, in the language of the main ranking; None where there is one only."""
    rows = run.records("raters", language=run.language)
    if len({row["criterion"] for row in rows}) < 2:
        return None
    title = f"r by criterion: {spoken(run.language)}"
    return _map(run, "criteria", title, rows, "criterion", run.criterion, "raters", run.measured)


def generator_map(run: BoardRun) -> TableView | None:
    """The outputs of each generator by themselves, on the main criterion; None where there is one generator only."""
    rows = run.records("within_generators", criterion=run.main, language=run.language)
    if len({row["generator"] for row in rows}) < 2:
        return None
    title = f"r within each generator: {run.where(run.main, run.language)}"
    return _map(run, "within", title, rows, "generator", name, "within_generators")


def _map(
    run: BoardRun,
    key: str,
    title: str,
    rows: Sequence[dict[str, Any]],
    column: str,
    called: Callable[[str], str],
    source: str,
    order: Sequence[str] = (),
) -> TableView:
    """The map of some rows; order: of the columns, as in the rows where not given."""
    there = dict.fromkeys(row[column] for row in rows)
    columns = [one for one in order if one in there] or list(there)
    raters = _raters(run, rows)
    values = {(row["rater"], row[column]): row for row in rows}
    shown = tuple(
        (
            Cell(name(rater), run.kind(rater)),
            *(_shaded(values.get((rater, one))) for one in columns[:MOST_COLUMNS]),
        )
        for rater in raters[:MOST_RATERS]
    )
    notes = [*reasons(row | {"rater": f"{row['rater']} on {called(row[column])}"} for row in rows if not _has(row))]
    if any((rater, one) not in values for rater in raters for one in columns):
        notes.append("A blank: the rater scored nothing there that people rated.")
    if len(columns) > MOST_COLUMNS or len(raters) > MOST_RATERS:
        notes.append(
            f"Cut to {min(len(raters), MOST_RATERS)} of {len(raters)} raters and {min(len(columns), MOST_COLUMNS)} of "
            f"{len(columns)} columns; the CSV has all."
        )
    heads = ("", *(called(one) for one in columns[:MOST_COLUMNS]))
    return TableView(f"map_{key}", title, heads, shown, source, run.signature_of(source), notes=tuple(notes))


def _raters(run: BoardRun, rows: Sequence[dict[str, Any]]) -> list[str]:
    """In the order of the main ranking, then those that are not in it."""
    there = dict.fromkeys(row["rater"] for row in rows)
    ranked = dict.fromkeys(run.rows("raters", criterion=run.main, language=run.language)["rater"])
    return [*(one for one in ranked if one in there), *(one for one in there if one not in ranked)]


def _has(row: dict[str, Any]) -> bool:
    return known(row["pearson"])


def _shaded(row: dict[str, Any] | None) -> Cell:
    if row is None:
        return Cell("")
    if not _has(row):
        return Cell(UNDEFINED, mark="none")
    return Cell(figure(row["pearson"]), mark=f"q{sum(row['pearson'] >= edge for edge in EDGES)}")
