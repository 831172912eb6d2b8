"""The reasons why figures of an audit are undefined, one line each."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from metal.data.languages import language_name
from metal.data.text import UNDEFINED, name
from metal.questions.audit.run import AuditRun
from metal.runs.columns import Row, title_of
from metal.show.parts import case_of, parts, places


def undefined(
    run: AuditRun, table: str, rows: Iterable[Row], only: Collection[str] = ()
) -> tuple[str, ...]:
    """One line for each undefined figure and reason, with the cases in which it occurs.

    only: the figures to include; by default all that the table shows.

    rows: each has a language, perhaps a criterion and a judge, and the column `undefined` as the
    audit writes it (`kappa: one class; ...`).
    """
    columns = [
        column for column in run.columns(table) if (column.name in only if only else column.shown)
    ]
    cells: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for column, reason in parts(row["undefined"]):
            if title := title_of(columns, column):
                case = case_of(run, row) if "criterion" in row else language_name(row["language"])
                judge = (
                    f" {name(row['judge'])}" if "judge" in row and len(run.judge_names) > 1 else ""
                )
                cells.setdefault((title, reason), []).append(case + judge)
    return tuple(
        f"{UNDEFINED} {title}: {reason} ({places(cases)})"
        for (title, reason), cases in cells.items()
    )
