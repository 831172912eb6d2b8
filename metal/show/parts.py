"""What runs of several kinds show alike: notes under tables, maps, rankings as dots, exclusions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metal.data.text import UNDEFINED, count, figure, interval, known, listed, name, within
from metal.runs.audit_run import AuditRun
from metal.runs.columns import Row, title_of
from metal.runs.run import Run
from metal.show.charts.dots import MOST_ROWS, Dot, Mark, interval_dots
from metal.show.view import Cell, Chart, Paragraph, TableView

MOST_WARNINGS = 20
NAMED = 6  # places named in a note; the rest are counted


def undefined(
    run: AuditRun, table: str, rows: Iterable[Mapping[str, Any]], only: Collection[str] = ()
) -> tuple[str, ...]:
    """One line for each figure and reason, naming where. only: these figures; else all that the table shows.

    rows: with language, criterion, perhaps judge, and `undefined` as the audit writes it (`kappa: one class; ...`).
    """
    columns = [column for column in run.columns(table) if (column.name in only if only else column.shown)]
    cells: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for column, reason in parts(row["undefined"]):
            if title := title_of(columns, column):
                where = f"{row['language']} {run.criteria[row['criterion']].short}"
                judge = f" {name(row['judge'])}" if "judge" in row and len(run.judge_names) > 1 else ""
                cells.setdefault((title, reason), []).append(where + judge)
    return tuple(f"{UNDEFINED} {title}: {reason} ({places(where)})" for (title, reason), where in cells.items())


def parts(undefined: Any) -> list[tuple[str, str]]:
    """(figure, reason) of a cell such as `pearson: no two scores differ; kendall: ...`."""
    reasons = (part.partition(": ") for part in str(undefined or "").split("; "))
    return [(figure, reason) for figure, _, reason in reasons if reason]


def places(where: list[str]) -> str:
    """The first few by name, the rest as a number."""
    more = [f"{len(where) - NAMED} more"] if len(where) > NAMED else []
    return listed([*where[:NAMED], *more])


def reasons(run: Run, table: str, rows: Iterable[Mapping[str, Any]], who: str = "rater") -> tuple[str, ...]:
    """A line a reason, with its figures and those it holds for; who: the column that names them."""
    by_reason: dict[str, tuple[list[str], list[str]]] = {}
    for row in rows:
        for column, reason in parts(row["undefined"]):
            figures, names = by_reason.setdefault(reason, ([], []))
            figures.append(title_of(run.columns(table), column) or column)
            names.append(within(row[who]))
    return tuple(
        f"{UNDEFINED} {', '.join(dict.fromkeys(figures))}: {reason} ({places(list(dict.fromkeys(names)))})"
        for reason, (figures, names) in by_reason.items()
    )


def exclusions_table(run: Run) -> TableView | None:
    """A row a person, from the table `exclusions`; None where a run has none."""
    if "exclusions" not in run.tables or run.tables["exclusions"].empty:
        return None
    by_rater: dict[str, list[dict[str, Any]]] = {}
    for row in run.records("exclusions"):
        by_rater.setdefault(str(row["rater"]), []).append(row)
    rows = []
    for rater, parts in by_rater.items():
        cells = (f"{run.short(row['criterion'])} {name(row['language'])} {count(row['ratings'])}" for row in parts)
        total = count(sum(row["ratings"] for row in parts))
        rows.append((Cell(name(rater)), Cell(total, ", ".join(cells)), Cell(str(parts[-1]["why"]))))
    return TableView.of(run, "exclusions", "Ratings of noisy people", ("rater", "ratings", "why"), rows)


MOST_COLUMNS = 40


@dataclass(frozen=True)
class Heat:
    """A map of the run's table `source`. rows, columns: their keys, in order; values: the records, by both keys.

    row_head, column_head: how a key is shown. shade: a cell of the map. what: the rows, in words. blank: what a blank
    means. most: rows.
    """

    source: str
    name: str
    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Mapping[tuple[str, str], Row]
    row_head: Callable[[str], Cell]
    column_head: Callable[[str], str]
    shade: Callable[[Row], Cell]
    what: str
    blank: str
    most: int

    def view(self, run: Run, notes: Iterable[str] = ()) -> TableView:
        """The map as a table."""
        columns = self.columns[:MOST_COLUMNS]
        body = [
            (self.row_head(row), *(self._cell(row, column) for column in columns)) for row in self.rows[: self.most]
        ]
        notes = list(notes)
        if any((row, column) not in self.values for row in self.rows for column in self.columns):
            notes.append(self.blank)
        if len(self.columns) > MOST_COLUMNS or len(self.rows) > self.most:
            notes.append(
                f"Cut to {len(body)} of {len(self.rows)} {self.what} and {len(columns)} of {len(self.columns)} "
                "columns; the CSV has all."
            )
        heads = ("", *map(self.column_head, columns))
        return TableView.of(run, self.source, self.title, heads, body, name=f"map_{self.name}", notes=notes)

    def _cell(self, row: str, column: str) -> Cell:
        value = self.values.get((row, column))
        return self.shade(value) if value is not None else Cell("")


Texts = Mapping[str, Callable[[Dot], str]]


def dots_chart(
    key: str,
    title: str,
    alt: str,
    rows: Sequence[Dot],
    looks: Mapping[str, tuple[int, str]],
    *,
    value: str,
    label: str = "rater",
    between: Texts | None = None,
    before: Sequence[Dot] = (),
    caption: str = "",
    heads: int = 1,
    source: str = "",
    form: Callable[[float], str] = figure,
    marks: Sequence[Mark] = (),
    sides: tuple[str, str] | None = None,
    group: str = "",
) -> Chart:
    """A row each. label, value: headings of the first and last column of the numbers; between: the others'. before:
    rows that stand first among the numbers, and are not drawn. caption: of the numbers; the chart's title if empty.

    heads: columns that name a row. looks, form, marks, sides, group: of `interval_dots`. source: the run's table that
    the rows come from.
    """
    more = between or {}
    numbers = tuple(
        (
            Cell(name(row.label)),
            *(Cell(text(row)) for text in more.values()),
            Cell(form(row.value), interval(row.low, row.high, form)),
        )
        for row in (*before, *rows)
    )
    picture = interval_dots(rows, looks, marks=marks, sides=sides, form=form, group=group)
    notes = (f"The first {MOST_ROWS} of {len(rows)}; all are in the table.",) if len(rows) > MOST_ROWS else ()
    view = TableView(f"{key}_numbers", caption or title, (label, *more, value), numbers, source, heads=heads)
    return Chart(key, title, alt, picture, view, notes)


GENERATORS = {"machine": (0, "machine"), "human": (2, "human writing")}


def scored(generator: str, row: Mapping[str, Any]) -> Dot:
    """The row of a ranked generator: its score with interval, whether people wrote it, and its cluster."""
    cluster = int(row["cluster"]) if known(row["cluster"]) else None
    look = "human" if row["human"] else "machine"
    return Dot(generator, row["score"], row["score_low"], row["score_high"], look, cluster)


def generator_dots(
    key: str,
    title: str,
    alt: str,
    rows: Sequence[Dot],
    *,
    value: str,
    source: str,
    form: Callable[[float], str],
) -> Chart:
    """Scores of generators, clusters on bands; people's writing apart from machines' where it occurs."""
    looks = GENERATORS if any(row.look == "human" for row in rows) else {"machine": (0, "")}
    return dots_chart(
        key,
        title,
        alt,
        rows,
        looks,
        label="generator",
        value=value,
        between={"cluster": lambda row: count(row.group)},
        source=source,
        form=form,
        group="cluster",
    )


def closing(run: Run) -> Iterator[Paragraph]:
    """The warnings, and the signature under it all."""
    if run.warnings:
        yield Paragraph("")
    yield from (Paragraph(f"warning: {warning}") for warning in run.warnings[:MOST_WARNINGS])
    more = len(run.warnings) - MOST_WARNINGS
    if more > 0:
        yield Paragraph(f"... and {more:,} more warnings: warnings.txt in the run folder, and the report")
    yield Paragraph(f"Signature: {run.signature}", soft=True, copied=True)
