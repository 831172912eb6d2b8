"""What a page shows when the reader chooses a verdict: its figures, classes and confusions. Details
are kept for as many verdicts as fit.
"""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from metal.auditing.in_order import NAMES as OF_ORDER
from metal.data.grouping import grouped
from metal.data.progress import counted_as
from metal.data.text import UNDEFINED, in_list, name, percent, plural, printable
from metal.questions.audit.confirmed import ADJUDICATED, DECISIONS
from metal.questions.audit.run import ITEMS_OF, AuditRun
from metal.questions.audit.verdicts import KEY, PLACE, VerdictCell, by_judge
from metal.runs.columns import Column, Row
from metal.show.commands import in_commands, of_run
from metal.show.pages import blob
from metal.show.parts import go_on

FIGURES = {
    "verdicts": (
        "share_kept",
        "order_kept",
        "kappa_kept",
        "below_person",
        "above_constant",
        "items_needed",
    ),
    "judges": (
        *("weighted_f1", "majority_f1", "kappa", *OF_ORDER),
        *("leniency", "alt_test_winning_rate", "coverage"),
    ),
    "scores": (
        "skill",
        "person_skill",
        "skill_recalibrated",
        "shift",
        "correlation",
        "person_correlation",
    ),
    "pairs": ("swap_consistency", "first_place"),
    "people": ("alpha", "leave_one_out_f1"),
}
OF = {  # figures of other items than the verdict, and the column that says of how many
    "weighted_f1": "answered",
    "majority_f1": "answered",
    "kappa": "answered",
    "coverage": "asked",
    **ITEMS_OF,
    "alpha": "fleiss_items",
    "leave_one_out_f1": "items",
}
MOST_LEVELS = 8  # of a table of confusions

Key = tuple[str, str, str]
Rows = Mapping[Key, list[Row]]


def details(
    run: AuditRun, room: float, seed: int, typical: Mapping[Key, Sequence[str]]
) -> dict[str, Any]:
    """The details of as many verdicts as fit into `room` characters, keyed by the verdict's anchor;
    if not all fit, a random sample.

    typical: the outputs that show how a judge differs, by judge, criterion and language.
    """
    cells = [cell for of in by_judge(run) for cell in of.verdicts]
    tables = {table: _by_cell(run, table) for table in (*FIGURES, "by_class", "confusion")}
    differing = _differing(run)
    order = np.random.default_rng(seed).permutation(len(cells))
    while len(order):
        packed = {
            cells[index].place: _detail(run, cells[index], tables, differing)
            | {"y": [*map(printable, typical.get(PLACE(cells[index].row), ()))]}
            for index in counted_as(sorted(order), "verdicts")
        }
        size = len(blob(packed))
        if size <= room:
            return packed
        order = order[: int(len(order) * min(0.9, 0.95 * room / size))]
    return {}


def _by_cell(run: AuditRun, table: str) -> Rows:
    """The rows of each judge, criterion and language; people's rows have no judge."""
    return grouped(
        run.records(table) if table in run.tables else (),
        lambda row: (row.get("judge", ""), row["criterion"], row["language"]),
    )


def _differing(run: AuditRun) -> Counter[Key]:
    """The number of outputs on which each judge differs from the people, by criterion and
    language.
    """
    table = run.disagreement_table.select(
        ["judges_differing", "criterion", "language"]
    ).combine_chunks()
    import pyarrow.compute as pc

    judges = table["judges_differing"].combine_chunks()
    rows = pc.list_parent_indices(judges)
    keys = [
        pc.list_flatten(judges),
        *(table[column].take(rows) for column in ("criterion", "language")),
    ]
    counted = pa.table(keys, KEY).group_by(KEY).aggregate([([], "count_all")]).to_pylist()
    return Counter({PLACE(row): row["count_all"] for row in counted})


def _detail(
    run: AuditRun, cell: VerdictCell, tables: Mapping[str, Rows], differing: Mapping[Key, int]
) -> dict[str, Any]:
    key = PLACE(cell.row)
    rows = {table: of.get(key, of.get(("", *key[1:]), [])) for table, of in tables.items()} | {
        "verdicts": [cell.row]
    }
    figures = []
    for table, names in FIGURES.items():
        for row in rows[table]:
            for column in run.columns(table):
                if column.name in names and column.text(row) != UNDEFINED:
                    called = _called(table, column, row, cell)
                    figures.append([called, column.text(row), column.ends(row)])
    return {
        "r": in_commands(cell.reason, of_run(run)).replace("`", ""),
        "o": list(map(printable, cell.lines)),
        "j": name(key[0]),
        "c": key[1],
        "l": key[2],
        "n": differing[key],
        "s": _settles(run, cell),
        "f": figures,
        "t": list(filter(None, (_classes(run, rows["by_class"]), _confusion(rows["confusion"])))),
    }


def _settles(run: AuditRun, cell: VerdictCell) -> str:
    """The command to find out whether the judge is right as often as a person.

    Empty if adjudication has already answered this, or if the criterion has no levels, because a
    score on a line is never exactly right.
    """
    judge, criterion, language = PLACE(cell.row)
    decided = any(line.startswith(ADJUDICATED) for line in cell.lines)
    if decided or not run.criteria[criterion].scale.levels or not cell.row["items"] > 0:
        return ""
    only = ["--judges", in_list([judge]), "--criteria", in_list([criterion])]
    only += ["--languages", language]
    return f"{go_on(run, 'adjudicate plan')} {shlex.join(only)} --items {DECISIONS}"


def _called(table: str, column: Column, row: Row, cell: VerdictCell) -> str:
    """The title of a figure, with its number of items if that differs from the verdict's."""
    title = f"people's {column.title}" if table == "people" else column.title
    items = row.get(OF.get(column.name, ""), math.nan)
    return (
        f"{title}, {plural(int(items), 'item')}"
        if items > 0 and items != cell.row["items"]
        else title
    )


def _classes(run: AuditRun, rows: Sequence[Row]) -> list[Any]:
    """A table with the recall and precision of each class, for the judge and for a person."""
    shown = ("level", "items", "recall", "person_recall", "precision", "person_precision")
    columns = [column for column in run.columns("by_class") if column.name in shown] if rows else []
    body = [[[printable(column.text(row)), column.ends(row)] for column in columns] for row in rows]
    return ["Class by class", [column.title for column in columns], body] if rows else []


def _confusion(rows: Sequence[Row]) -> list[Any]:
    """A table of the judge's answers for each answer of the people, with the share for a person
    below.
    """
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
