"""Outputs on which a judge and people differ, or people among themselves: METAL's Tables 5 and 7 in
full.

One row for each output and criterion, with the texts and every rating, so that the table can be
read on its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from metal.auditing.cells import AuditCell
from metal.data.dataset import Dataset
from metal.stats.aggregate import ALL, CASES, NONE, SOME
from metal.stats.patterns import Codes, Numbers, ratio

DIGITS = 10  # of the mean of equal scores, which would else differ from them

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
        # their aggregate; null where it is no class. Of scores without classes: their mean
        "people": pa.float64(),
        "people_range": pa.float64(),  # largest distance between two people
        # largest distance of a judge from the aggregate; null without one
        "judge_difference": pa.float64(),
        "judges_differing": pa.list_(pa.string()),
        "title": pa.string(),
        "source_text": pa.string(),
        "output_text": pa.string(),
        "ratings": pa.list_(RATING),
    }
)


def disagreements(cells: Sequence[AuditCell], dataset: Dataset) -> pa.Table:
    """The disagreements of all cells (SCHEMA), criteria and languages in the order of the cells.

    Only outputs with enough people count. Distances are in units of the scale; on a nominal scale
    every difference is 1. Scores without classes are compared with the mean of the people's. An
    unanswered question is not a disagreement, but is listed among the ratings.
    """
    outputs = _output_columns(dataset)
    return pa.concat_tables(
        [SCHEMA.empty_table(), *(_rows(cell, dataset, outputs) for cell in cells)]
    )


def _output_columns(dataset: Dataset) -> dict[str, pa.Array]:
    """The columns that describe outputs, with one row for each output in the order of the table's
    categories.
    """
    outputs = [dataset.outputs[name] for name in dataset.ratings["output"].cat.categories]
    sources = [dataset.sources[output.source] for output in outputs]
    columns = {
        "source": [source.source for source in sources],
        "output": [output.output for output in outputs],
        "generator": [output.generator for output in outputs],
        "title": [source.title for source in sources],
        "source_text": [source.text for source in sources],
        "output_text": [output.text for output in outputs],
    }
    return {name: pa.array(texts, pa.string()) for name, texts in columns.items()}


def _rows(cell: AuditCell, dataset: Dataset, outputs: Mapping[str, pa.Array]) -> pa.Table:
    """The outputs of a cell on which people or judges disagree, with the size of the disagreement
    and all ratings.
    """
    judges = list(cell.judges)
    judged = cell.values_of(cell.matrix.of(judges)) if judges else np.empty((len(cell.truth), 0))
    people = cell.values_of(cell.by_people)
    truth = np.where(cell.complete, _answers(cell), np.nan)
    away = _distance(cell, judged, _beside(cell, truth))
    differs = away > 0
    low, high = (np.where(np.isnan(people), unknown, people) for unknown in (np.inf, -np.inf))
    spread = np.where(cell.complete, _distance(cell, high.max(axis=1), low.min(axis=1)), 0.0)
    case = _case(people, spread) if cell.continuous else cell.case
    items = np.flatnonzero(cell.complete & (differs.any(axis=1) | (case > ALL)))
    largest = np.max(np.nan_to_num(away[items], nan=-1), axis=1, initial=-1)
    places = cell.matrix.places[items].max(axis=1, initial=-1)
    output = dataset.ratings["output"].array.codes[cell.rows[places]]
    columns = {name: column.take(pa.array(output)) for name, column in outputs.items()} | {
        "language": pa.repeat(pa.scalar(cell.language), len(items)),
        "criterion": pa.repeat(pa.scalar(cell.criterion.name), len(items)),
        "case": pa.array(CASES).take(pa.array(np.maximum(case[items], ALL))),
        "people": _null_if_nan(truth[items]),
        "people_range": pa.array(spread[items]),
        "judge_difference": _null_if_nan(np.where(largest >= 0, largest, np.nan)),
        "judges_differing": _listed(differs[items], _named(np.nonzero(differs[items])[1], judges)),
        "ratings": _ratings(cell, items, dataset),
    }
    return pa.table([columns[name] for name in SCHEMA.names], SCHEMA)


def _beside(cell: AuditCell, truth: Numbers) -> Numbers:
    """The people's answer with which each judge is compared; people who saw the judge's answers are
    left out.

    The shape is (items, judges), or (items, 1) if all judges are compared with the same answer.
    """
    if not cell.aided(cell.judges):
        return truth[:, None]
    columns = []
    for judge in cell.judges:
        beside = cell.unaided(judge)
        of_judge = _answers(beside)
        columns.append(np.where(cell.complete & beside.complete, of_judge, np.nan))
    return np.column_stack(columns)


def _answers(cell: AuditCell) -> Numbers:
    """(items,) people's answer: the value of their aggregate class or, for scores, their mean."""
    return _mean(cell.values_of(cell.by_people)) if cell.continuous else cell.values_of(cell.truth)


def _mean(scores: Numbers) -> Numbers:
    """(items,) the mean score of the people."""
    return ratio(np.nansum(scores, axis=1), (~np.isnan(scores)).sum(axis=1)).round(DIGITS)


def _case(scores: Numbers, spread: Numbers) -> Codes:
    """(items,) the agreement case of people's scores: all are equal, some are, or no two are."""
    alike = (np.diff(np.sort(scores, axis=1), axis=1) == 0).any(axis=1)
    return np.where(spread == 0, ALL, np.where(alike, SOME, NONE))


def _distance(cell: AuditCell, first: Numbers, second: Numbers) -> Numbers:
    """The distance of scores; NaN if either is missing."""
    away = np.abs(first - second)
    return away if cell.ordered else np.sign(away)


def _ratings(cell: AuditCell, items: Codes, dataset: Dataset) -> pa.Array:
    """The ratings of each item by all people and judges, people first."""
    names = [*cell.people, *cell.judges]
    order = list(map(cell.matrix.raters.index, names))
    places, codes = cell.matrix.places[items][:, order], cell.matrix.codes[items][:, order]
    rated = places >= 0
    rows = cell.rows[places[rated]]
    rater, code = np.nonzero(rated)[1], codes[rated]
    table = dataset.ratings
    reasons = table["reason"].cat
    labels = [*(level.label for level in cell.criterion.scale.levels), ""]
    fields = [
        _named(rater, names),
        _named(rater, [dataset.raters[name].kind for name in names]),
        _null_if_nan(table["score"].to_numpy()[rows]),
        _named(np.where((code < 0) | cell.continuous, cell.levels, code), labels),
        _named(reasons.codes.to_numpy()[rows], list(map(str, reasons.categories))),
        pa.array(table["comment"].iloc[rows], pa.string(), from_pandas=True),
    ]
    return _listed(rated, pa.StructArray.from_arrays(fields, fields=list(RATING)))


def _listed(mask: Codes, values: pa.Array) -> pa.Array:
    """A list for each row of the mask; `values` fill the true places of the mask in order."""
    offsets = np.concatenate([[0], np.cumsum(mask.sum(axis=1))]).astype(np.int32)
    return pa.ListArray.from_arrays(offsets, values)


def _named(codes: Codes, names: Sequence[str]) -> pa.Array:
    """The name for each code; null for negative codes."""
    return pa.array(names, pa.string()).take(pa.array(codes, mask=codes < 0))


def _null_if_nan(numbers: Numbers) -> pa.Array:
    return pa.array(numbers, pa.float64(), from_pandas=True)
