"""Correlations at a glance: raters in rows; languages, criteria or generators in columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from metal.data.text import UNDEFINED, figure, known, name
from metal.runs.board_run import BoardRun
from metal.runs.columns import Row
from metal.runs.run import code, spoken
from metal.show.board.reasons import reasons
from metal.show.heat import Heat
from metal.show.view import Cell, TableView

MOST_RATERS = 60
EDGES = (-0.1, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)  # of r, between one shade and the next
BLANK = "A blank: the rater scored nothing there that people rated."


def language_maps(run: BoardRun) -> list[TableView]:
    """A map of languages a criterion that was rated in several, the main one first."""
    maps = []
    for place, criterion in enumerate(run.measured):
        rows = run.records("raters", criterion=criterion)
        if len({row["language"] for row in rows}) < 3:  # one language, and all of them together, which is the same
            continue
        key = "languages" if criterion == run.main else f"languages_{place + 1}"
        title = f"r by language: {run.criterion(criterion)}"
        maps.append(_map(run, key, title, rows, "language", code, "raters"))
    return maps


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
    order: Iterable[str] = (),
) -> TableView:
    """The map of some rows; order: of the columns, as in the rows where not given."""
    columns = list(dict.fromkeys(row[column] for row in rows))
    raters = dict.fromkeys(row["rater"] for row in rows)
    ranked = dict.fromkeys(run.rows("raters", criterion=run.main, language=run.language)["rater"])
    heat = Heat(
        source,
        key,
        title,
        [*(rater for rater in ranked if rater in raters), *(rater for rater in raters if rater not in ranked)],
        [head for head in order if head in columns] or columns,
        {(row["rater"], row[column]): row for row in rows},
        row_head=lambda rater: Cell(name(rater), run.kind(rater)),
        column_head=called,
        shade=_shaded,
        what="raters",
        blank=BLANK,
        most=MOST_RATERS,
    )
    undefined = (
        row | {"rater": f"{row['rater']} on {called(row[column])}"} for row in rows if not known(row["pearson"])
    )
    return heat.view(run, reasons(run, source, undefined))


def _shaded(row: Row) -> Cell:
    if not known(row["pearson"]):
        return Cell(UNDEFINED, mark="none")
    return Cell(figure(row["pearson"]), mark=f"q{sum(row['pearson'] >= edge for edge in EDGES)}")
