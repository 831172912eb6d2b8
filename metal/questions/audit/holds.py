"""Which verdicts of an audit hold when all its cells are looked at together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metal.auditing.standing import ONE_PERSON, UNKNOWN_PERSON
from metal.auditing.together import ERROR
from metal.auditing.verdict import LIKE_A_PERSON, UNINFORMATIVE
from metal.data.text import known
from metal.questions.audit.run import AuditRun
from metal.questions.audit.verdicts import PLACE

MOST_CRITERIA = 3  # that have a list each
Cells = Sequence[dict[str, Any]]


def stands_together(
    run: AuditRun, cells: Cells
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The verdicts *like a person* that hold with all cells looked at together, and those that hold
    only for their own cell.

    All tests that are corrected together form a list. For one judge, each criterion is a list of
    its languages; for several judges, or many criteria, all cells are one list.

    In runs before version 0.2, which have no p-values, and for a single cell, every verdict holds
    only for its own cell.
    """
    good = with_verdict(LIKE_A_PERSON, cells)
    if len(cells) < 2 or "together" not in run.tables:
        return good, []
    by = {PLACE(row): row for row in run.records("together")}
    named = _sure(good, by, "p_languages" if a_list_each(run, cells) else "p_cells")
    if len({cell["criterion"] for cell in named}) > MOST_CRITERIA:
        named = _sure(good, by, "p_cells")
    return named, [cell for cell in good if cell not in named]


def a_list_each(run: AuditRun, cells: Cells) -> bool:
    """Whether p-values are corrected within each criterion, rather than over all cells.

    This is so for one judge if each criterion on which it is like a person was audited in several
    languages. `stands_together` overrules it if there are many such criteria.
    """
    of_criterion = {row["criterion"]: row["languages"] for row in run.records("together")}
    return len(judges_of(cells)) == 1 and all(
        of_criterion[cell["criterion"]] > 1 for cell in cells if cell["verdict"] == LIKE_A_PERSON
    )


def _sure(
    cells: Cells, by: Mapping[tuple[str, str, str], Mapping[str, Any]], column: str
) -> list[dict[str, Any]]:
    """The cells whose p-value in the column is small enough."""
    return [cell for cell in cells if by[PLACE(cell)][column] <= ERROR]


def judges_of(cells: Cells) -> list[str]:
    """The judges that occur in the cells, in order of appearance."""
    return list(dict.fromkeys(cell["judge"] for cell in cells))


def verdicts_of(cells: Cells) -> set[str]:
    """The verdicts that occur in the cells."""
    return {cell["verdict"] for cell in cells}


def with_verdict(verdict: str, cells: Cells) -> list[dict[str, Any]]:
    """The cells that have this verdict."""
    return [cell for cell in cells if cell["verdict"] == verdict]


def of_judge(judge: str, cells: Cells) -> list[dict[str, Any]]:
    """The cells of a judge."""
    return [cell for cell in cells if cell["judge"] == judge]


def falls_short(cell: Mapping[str, Any]) -> bool:
    """Whether the judge is shown to agree with people less than they agree with each other."""
    return bool(cell.get("not_like")) or (cell["verdict"] == UNINFORMATIVE and not alone(cell))


def by_language(cells: Cells) -> bool:
    """Whether the cells are of one judge in several languages, so that each criterion is corrected
    by itself.
    """
    return len(judges_of(cells)) == 1 and len({cell["language"] for cell in cells}) > 1


def alone(cell: Mapping[str, Any]) -> bool:
    """Whether the judge cannot be compared with a person because too few items have two people."""
    return any(reason in str(cell.get("unshown", "")) for reason in (ONE_PERSON, UNKNOWN_PERSON))


def surest(run: AuditRun) -> Mapping[str, Any] | None:
    """The row of the judge and cell with the highest lower limit of the share kept; None if no
    share is surely above 0.
    """
    rows = run.records("together") if "together" in run.tables else []
    sure = [row for row in rows if known(row["kept_at_least"]) and row["kept_at_least"] > 0]
    return max(sure, key=lambda row: row["kept_at_least"], default=None)
