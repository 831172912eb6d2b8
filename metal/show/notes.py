"""Notes under tables: why a figure is undefined, what was left out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from metal.data.text import UNDEFINED, listed, name
from metal.runs.audit_run import AuditRun
from metal.runs.columns import title_of

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
        for figure, reason in parts(row["undefined"]):
            if title := title_of(columns, figure):
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
