"""Outputs about which a judge and the people differ, or the people among themselves: METAL's Tables 5 and 7, in full.

One row an output x criterion, with the texts and every rating, so that the table can be read by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from metal.auditing.cells import Cell
from metal.data.dataset import Dataset
from metal.stats.aggregate import ALL, CASES
from metal.stats.patterns import Codes, Numbers

RATING = pa.struct(
    {
        "rater": pa.string(),
        "kind": pa.string(),
        "score": pa.float64(),
        "label": pa.string(),
        "reason": pa.string(),
        "comment": pa.string(),
    }
)
SCHEMA = pa.schema(
    {
        "language": pa.string(),
        "criterion": pa.string(),
        "source": pa.string(),
        "output": pa.string(),
        "generator": pa.string(),
        "case": pa.string(),  # how far the people agree
        "people": pa.float64(),  # their aggregate; null where it is no class
        "people_range": pa.float64(),  # largest distance between two people
        "judge_difference": pa.float64(),  # largest distance of a judge from the aggregate; null without one
        "judges_differing": pa.list_(pa.string()),
        "title": pa.string(),
        "source_text": pa.string(),
        "output_text": pa.string(),
        "ratings": pa.list_(RATING),
    }
)


def disagreements(found: Sequence[Cell], dataset: Dataset) -> pa.Table:
    """The disagreements of all cells (SCHEMA), criteria and languages in the order of the cells.

    Only outputs with enough people count. Distances are in units of the scale; on a nominal one every
    difference is 1. An unanswered question is no disagreement, but stands among the ratings.
    """
    outputs = _Outputs(dataset)
    return pa.concat_tables([SCHEMA.empty_table(), *(_of_cell(cell, dataset, outputs) for cell in found)])


class _Outputs:
    """What is known of the outputs in the table, as columns."""

    def __init__(self, dataset: Dataset) -> None:
        names = dataset.ratings["output"].cat.categories
        outputs = [dataset.outputs[name] for name in names]
        sources = [dataset.sources[output.source] for output in outputs]
        self.columns = {
            "source": pa.array([source.source for source in sources], pa.string()),
            "output": pa.array([output.output for output in outputs], pa.string()),
            "generator": pa.array([output.generator for output in outputs], pa.string()),
            "title": pa.array([source.title for source in sources], pa.string()),
            "source_text": pa.array([source.text for source in sources], pa.string()),
            "output_text": pa.array([output.text for output in outputs], pa.string()),
        }


def _of_cell(cell: Cell, dataset: Dataset, outputs: _Outputs) -> pa.Table:
    """The outputs of a cell with any disagreement, how large it is, and what everybody said."""
    judges = list(cell.judges)
    codes = cell.matrix.of(judges) if judges else np.empty((len(cell.truth), 0), dtype=np.int16)
    away = np.where((codes >= 0) & (cell.truth >= 0)[:, None], _distance(cell, codes, cell.truth[:, None]), np.nan)
    differs = away > 0
    people = cell.by_people
    low = np.where(people >= 0, people, cell.levels).min(axis=1)
    spread = np.where(cell.complete, _distance(cell, people.max(axis=1), low), 0.0)
    items = np.flatnonzero(cell.complete & (differs.any(axis=1) | (cell.case != ALL)))
    largest = np.max(np.nan_to_num(away[items], nan=-1), axis=1, initial=-1)
    truth = cell.truth[items]
    places = cell.matrix.places[items].max(axis=1, initial=-1)
    output = dataset.ratings["output"].cat.codes.to_numpy()[cell.rows[places]]
    columns = {name: column.take(pa.array(output)) for name, column in outputs.columns.items()} | {
        "language": _repeated(cell.language, len(items)),
        "criterion": _repeated(cell.criterion.name, len(items)),
        "case": pa.array(CASES).take(pa.array(cell.case[items])),
        "people": _known(np.where(truth >= 0, cell.values[truth], np.nan)),
        "people_range": pa.array(spread[items]),
        "judge_difference": _known(np.where(largest >= 0, largest, np.nan)),
        "judges_differing": _listed(differs[items], _named(np.nonzero(differs[items])[1], judges)),
        "ratings": _ratings(cell, items, dataset),
    }
    return pa.table([columns[name] for name in SCHEMA.names], SCHEMA)


def _distance(cell: Cell, first: Any, second: Any) -> Any:
    """How far two class codes are apart; codes that are no class give nonsense, to be masked by the caller."""
    if not cell.ordered:
        return (first != second).astype(np.float64)
    return np.abs(cell.values[np.clip(first, 0, None)] - cell.values[np.clip(second, 0, cell.levels - 1)])


def _ratings(cell: Cell, items: Codes, dataset: Dataset) -> pa.Array:
    """For each item the ratings of all people and judges, people first."""
    names = [*cell.people, *cell.judges]
    order = [cell.matrix.raters.index(name) for name in names]
    places, codes = cell.matrix.places[items][:, order], cell.matrix.codes[items][:, order]
    there = places >= 0
    rows = cell.rows[places[there]]
    rater, code = np.nonzero(there)[1], codes[there]
    table = dataset.ratings
    reasons = table["reason"].cat
    labels = [*(level.label for level in cell.criterion.scale.levels), ""]
    fields = [
        _named(rater, names),
        _named(rater, [dataset.raters[name].kind for name in names]),
        _known(table["score"].to_numpy()[rows]),
        _named(np.where(code < 0, cell.levels, code), labels),
        _named(reasons.codes.to_numpy()[rows], [str(reason) for reason in reasons.categories]),
        pa.array(table["comment"].iloc[rows], pa.string(), from_pandas=True),
    ]
    return _listed(there, pa.StructArray.from_arrays(fields, fields=list(RATING)))


def _listed(there: Codes, values: pa.Array) -> pa.Array:
    """One list a row of the mask `there`, of the values in order."""
    offsets = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int32)
    return pa.ListArray.from_arrays(offsets, values)


def _named(codes: Codes, names: Sequence[str]) -> pa.Array:
    """The name for each code; null where it is negative."""
    return pa.array(names, pa.string()).take(pa.array(codes, mask=codes < 0))


def _known(numbers: Numbers) -> pa.Array:
    """Numbers, null where they are NaN."""
    return pa.array(numbers, pa.float64(), from_pandas=True)


def _repeated(text: str, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(text), count)
