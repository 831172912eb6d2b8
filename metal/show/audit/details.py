"""What a page's script shows of a verdict that was chosen: its figures, classes and confusions, as many as fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from metal.data.progress import followed
from metal.data.text import UNDEFINED, name, percent, printable
from metal.runs.audit_run import AuditRun
from metal.runs.columns import Row
from metal.show.audit.verdicts import VerdictCell, by_judge
from metal.show.commands import in_commands, of_run
from metal.show.pages import blob

FIGURES = {
    "verdicts": ("share_kept", "below_person", "above_constant", "items_needed"),
    "judges": ("weighted_f1", "majority_f1", "kappa", "leniency", "alt_test_winning_rate", "coverage"),
    "scores": ("skill", "person_skill", "skill_recalibrated", "shift", "correlation", "person_correlation"),
    "pairs": ("swap_consistency", "first_place"),
    "people": ("alpha", "leave_one_out_f1"),
}
MOST_LEVELS = 8  # of a table of confusions

Key = tuple[str, str, str]
Rows = Mapping[Key, list[Row]]


def details(run: AuditRun, room: float, seed: int) -> dict[str, Any]:
    """{place of a verdict: what to show of it}, as many as fit into `room` characters of a blob, drawn evenly."""
    cells = [cell for of in by_judge(run) for row in of.cells for cell in row if cell]
    tables = {table: _by_cell(run, table) for table in (*FIGURES, "by_class", "confusion")}
    order = np.random.default_rng(seed).permutation(len(cells))
    while len(order):
        packed = {
            cells[place].place: _detail(run, cells[place], tables) for place in followed(sorted(order), "verdicts")
        }
        size = len(blob(packed))
        if size <= room:
            return packed
        order = order[: int(len(order) * min(0.9, 0.95 * room / size))]
    return {}


def _by_cell(run: AuditRun, table: str) -> Rows:
    """The rows of each judge, criterion and language; those of people without a judge."""
    by_cell: dict[Key, list[Row]] = {}
    for row in run.records(table) if table in run.tables else ():
        by_cell.setdefault((row.get("judge", ""), row["criterion"], row["language"]), []).append(row)
    return by_cell


def _detail(run: AuditRun, cell: VerdictCell, tables: Mapping[str, Rows]) -> dict[str, Any]:
    key = cell.row["judge"], cell.row["criterion"], cell.row["language"]
    rows = {table: of.get(key, of.get(("", *key[1:]), [])) for table, of in tables.items()} | {"verdicts": [cell.row]}
    figures = [
        [f"people's {column.title}" if table == "people" else column.title, column.text(row), column.ends(row)]
        for table, names in FIGURES.items()
        for row in rows[table]
        for column in run.columns(table)
        if column.name in names and column.text(row) != UNDEFINED
    ]
    return {
        "r": in_commands(cell.reason, of_run(run)).replace("`", ""),
        "o": list(map(printable, cell.lines)),
        "j": name(key[0]),
        "c": key[1],
        "l": key[2],
        "f": figures,
        "t": [table for table in (_classes(run, rows["by_class"]), _confusion(rows["confusion"])) if table],
    }


def _classes(run: AuditRun, rows: Sequence[Row]) -> list[Any]:
    """Recall and precision of each class, the judge's beside a person's."""
    shown = ("level", "items", "recall", "person_recall", "precision", "person_precision")
    columns = [column for column in run.columns("by_class") if column.name in shown] if rows else []
    body = [[[printable(column.text(row)), column.ends(row)] for column in columns] for row in rows]
    return ["Class by class", [column.title for column in columns], body] if rows else []


def _confusion(rows: Sequence[Row]) -> list[Any]:
    """What the judge says where people say something else, the share of people who do so below."""
    says = list(dict.fromkeys(str(row["people_say"]) for row in rows))
    if not 0 < len(says) <= MOST_LEVELS:
        return []
    shares = {(str(row["people_say"]), str(row["judge_says"])): row for row in rows}
    answers = list(dict.fromkeys(str(row["judge_says"]) for row in rows))
    body = [
        [
            [printable(level), ""],
            *(
                [percent(row["share"]), f"a person {percent(row['person_share'])}"]
                if (row := shares.get((level, answer)))
                else [UNDEFINED, ""]
                for answer in answers
            ),
        ]
        for level in says
    ]
    return ["What the judge says where people say", ["people say", *map(printable, answers)], body]
