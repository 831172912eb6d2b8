"""The disagreements that fit on a page: each text once, and a seeded sample if there are
too many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from metal.api.answer_table import typical
from metal.api.answers import of_disagreements
from metal.data.languages import language_name, text_direction
from metal.data.progress import counted_as
from metal.data.records import KINDS
from metal.data.text import name, printable
from metal.questions.audit.details import details
from metal.questions.audit.run import AuditRun
from metal.questions.audit.verdicts import PLACE
from metal.show.pages import Payload, blob, fitting
from metal.stats.patterns import find_patterns

LONGEST_TEXT = 6000
LONGEST_COMMENT = 2000
PLAIN = ("l", "c", "o", "g", "a", "p", "r")  # of an output, as the page's script names it
RATING_LENGTH = 18  # of the shortest, as JSON
DETAILS = 0.7  # of the room
# texts rarely compress better; no more than this many times the room are looked at
PROBABLE_RATIO = 12
PROBED = 1_000  # outputs from whose size that of all is estimated
DENSER = 1.2  # how much smaller each is deflated among many
FULL = 1.1  # how many times what is packed may fit before more is tried


def pack(run: AuditRun, csv: Mapping[str, str], room: int) -> Payload:
    """As many disagreements as fit into `room` characters, together with the CSV files of the
    tables.

    If not all disagreements fit, the page gets those that show how judges differ, and a sample of
    the others that takes from each language and criterion in turn; the run's seed decides it. If
    details of verdicts would take more than the share DETAILS of the room, a random part is left
    out. If the CSV files would take more than half of the rest, the largest are left out.
    """
    seed = int(run.manifest.get("settings", {}).get("seed", 0))
    shown = _typical(run)
    of_cell: dict[tuple[str, str, str], list[str]] = {}
    for row in shown.to_dict("records"):
        of_cell.setdefault(PLACE(row), []).append(str(row["output"]))
    cells = details(run, room * DETAILS, seed, of_cell)
    csv = fitting(csv, (room - len(blob(cells))) / 2)
    fixed = {"csv": csv, "cells": cells}
    table = run.disagreement_table
    order = _in_turn(table, seed, shown["item"].to_numpy())
    taken = len(blob(fixed))
    most = min(_at_most(table, order, room), len(order))
    number, growing = min(most, PROBED), True
    while True:
        packed = blob(_payload(run, table.take(pa.array(np.sort(order[:number])))) | fixed)
        size = len(packed) - taken
        growing = growing and number < most and 0 < size * FULL < room - taken
        if not number or (size <= room - taken and not growing):
            undetailed = len(run.tables["verdicts"]) - len(cells)
            return Payload(packed, frozenset(csv), len(table) - number, undetailed)
        share = max(room - taken, 0) / size
        if growing:
            number = min(int(number * share * DENSER), most)
        else:
            number = int(number * min(0.98, 0.99 * share))


def _typical(run: AuditRun) -> pd.DataFrame:
    """The outputs that show how each judge differs (metal.api.answer_table.typical)."""
    kinds = {name: rater.kind for name, rater in run.raters.items()}
    table = run.disagreement_table
    answers = of_disagreements(table, run.criteria, kinds, list)  # of which no text is read
    return typical(answers.differing(), run.criteria)


def _in_turn(table: pa.Table, seed: int, first_rows: Any) -> Any:
    """Row numbers that take from each language and criterion in turn: within each the rows of
    `first_rows` first, the others in random order.
    """
    is_first = np.isin(np.arange(len(table)), first_rows)
    rng = np.random.default_rng(seed)
    keys = [
        table[name].combine_chunks().dictionary_encode().indices.to_numpy()
        for name in ("language", "criterion")
    ]
    stratum = find_patterns(np.column_stack(keys)).which
    _, first = np.unique(stratum, return_index=True)
    turn = np.empty(len(stratum), dtype=np.int64)
    for key in np.argsort(first):  # as they come in the table
        rows = np.flatnonzero(stratum == key)
        rows = rng.permutation(rows)
        turn[rows[np.argsort(~is_first[rows], kind="stable")]] = np.arange(len(rows))
    return np.lexsort((first[stratum], turn))


def _at_most(table: pa.Table, order: Any, room: int) -> int:
    """An upper bound on the number of rows that can fit, which saves packing a large table in full.

    A rating is packed as the rater's number, the score and the score's label.
    """
    if not len(order):
        return 0
    import pyarrow.compute as pc

    texts = pc.add(pc.utf8_length(table["output_text"]), 0).to_numpy()
    ratings = pc.list_value_length(table["ratings"]).to_numpy()
    lengths = (np.minimum(texts, LONGEST_TEXT) + 200 + RATING_LENGTH * ratings)[order]
    return int(np.searchsorted(np.cumsum(lengths), room * PROBABLE_RATIO) + 1)


def _numbered(text: str, places: dict[str, int]) -> int:
    """The number of a text among the distinct texts so far; a new text gets the next number."""
    return places.setdefault(text, len(places))


def _payload(run: AuditRun, table: pa.Table) -> dict[str, Any]:
    """The disagreements in a compact and safe form: each text is passed through `printable` and
    shortened.
    """
    texts: dict[str, int] = {}
    raters: dict[str, int] = {}
    of_rows = _ratings(table)
    columns = [
        table["language"].to_pylist(),
        table["criterion"].to_pylist(),
        _mapped(table["output"], printable),
        _mapped(table["generator"], name),
        table["case"].to_pylist(),
        table["people"].to_pylist(),
        table["people_range"].to_pylist(),
        _mapped(table["title"], partial(_clipped, length=300)),
        _mapped(table["source_text"], partial(_clipped, length=LONGEST_TEXT)),
        _mapped(table["output_text"], partial(_clipped, length=LONGEST_TEXT)),
    ]
    items = []
    for row in counted_as(zip(*columns, of_rows, strict=True), "outputs", len(table)):
        *plain, title, source, output, ratings = row
        item = dict(zip(PLAIN, plain, strict=True)) | {
            "t": _numbered(title, texts),
            "x": _numbered(source, texts),
            "y": _numbered(output, texts),
            "q": [
                [_numbered(rater, raters), score, label, reason, _numbered(comment, texts)]
                for rater, score, label, reason, comment in ratings
            ],
        }
        items.append(item)
    return {
        "items": items,
        "texts": list(texts),
        "raters": _raters(run, raters),
        "languages": {code: [language_name(code), text_direction(code)] for code in run.languages},
        "criteria": {
            name: _criterion(run, name) for name in run.tables["people"]["criterion"].unique()
        },
    }


def _ratings(table: pa.Table) -> list[list[tuple[Any, ...]]]:
    """The ratings of each row: rater, score, label, reason and comment."""
    ratings = table["ratings"].combine_chunks()
    flat = ratings.flatten()
    each = zip(
        flat.field("rater").to_pylist(),
        flat.field("score").to_pylist(),
        _mapped(flat.field("label"), printable),
        _mapped(flat.field("reason"), printable),
        _mapped(flat.field("comment"), partial(_clipped, length=LONGEST_COMMENT)),
        strict=True,
    )
    return [list(islice(each, length or 0)) for length in ratings.value_lengths().to_pylist()]


def _mapped(column: pa.Array | pa.ChunkedArray, shown: Callable[[Any], str]) -> list[str]:
    """What is shown of each text of a column; each distinct text is worked on once."""
    shown = cache(shown)
    return [shown(text) for text in column.to_pylist()]


def _criterion(run: AuditRun, name: str) -> dict[str, Any]:
    criterion = run.criteria[name]
    nominal = criterion.scale.measure == "nominal"
    return {
        "label": printable(criterion.title),
        "question": printable(criterion.question),
        "nominal": nominal,
        "span": 1 if nominal else run.span(name),
        "levels": [[level.value, printable(level.label)] for level in criterion.scale.levels],
    }


def _raters(run: AuditRun, raters: Iterable[str]) -> list[list[str]]:
    """Each rater's name, kind and group; raters whose shortened names are equal get a number."""
    names: dict[str, list[str]] = {}
    for rater in raters:
        shown = name(rater)
        if shown in names:
            shown = f"{shown} ({len(names) + 1})"
        names[shown] = [shown, KINDS[run.raters[rater].kind], name(run.raters[rater].group)]
    return list(names.values())


def _clipped(text: str | None, length: int) -> str:
    clean = printable(text or "")
    if len(clean) <= length:
        return clean
    return f"{clean[:length]}… [{len(clean) - length:,} more characters in disagreements.parquet]"
