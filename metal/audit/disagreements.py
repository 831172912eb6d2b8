"""Outputs about which a judge and the people differ, or the people among themselves: METAL's Tables 5 and 7, in full.

One row an output x criterion, with the texts and every rating, so that the table can be read by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from metal.audit.cells import Cell
from metal.dataset import Dataset
from metal.records import KINDS
from metal.stats.aggregate import ALL, CASES

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
    items = pd.concat([_items(cell) for cell in found], ignore_index=True)
    outputs = [dataset.outputs[name] for name in items["output"]]
    sources = [dataset.sources[output.source] for output in outputs]
    columns = {
        "language": items["language"].tolist(),
        "criterion": items["criterion"].tolist(),
        "source": [source.source for source in sources],
        "output": items["output"].tolist(),
        "generator": [output.generator for output in outputs],
        "case": items["case"].tolist(),
        "people": items["people"].tolist(),
        "people_range": items["people_range"].tolist(),
        "judge_difference": items["judge_difference"].tolist(),
        "judges_differing": items["judges_differing"].tolist(),
        "title": [source.title for source in sources],
        "source_text": [source.text for source in sources],
        "output_text": [output.text for output in outputs],
    }
    arrays = [pa.array(values, SCHEMA.field(name).type, from_pandas=True) for name, values in columns.items()]
    return pa.table([*arrays, _ratings(items, found, dataset)], SCHEMA)


def _items(cell: Cell) -> pd.DataFrame:
    """The outputs of a cell with any disagreement, and how large it is."""
    judges = list(cell.judges)
    codes = cell.matrix.of(judges) if judges else np.empty((len(cell.truth), 0), dtype=np.int16)
    away = np.where((codes >= 0) & (cell.truth >= 0)[:, None], _distance(cell, codes, cell.truth[:, None]), np.nan)
    differs = away > 0
    people = cell.by_people
    low = np.where(people >= 0, people, cell.levels).min(axis=1)
    spread = np.where(cell.complete, _distance(cell, people.max(axis=1), low), 0.0)
    rows = np.flatnonzero(cell.complete & (differs.any(axis=1) | (cell.case != ALL)))
    largest = np.max(np.nan_to_num(away[rows], nan=-1), axis=1, initial=-1)
    names = np.asarray(judges, dtype=object)
    return pd.DataFrame(
        {
            "language": cell.language,
            "criterion": cell.criterion.name,
            "output": [cell.matrix.outputs[row] for row in rows],
            "case": [CASES[case] for case in cell.case[rows]],
            "people": np.where(cell.truth[rows] >= 0, cell.values[cell.truth[rows]], np.nan),
            "people_range": spread[rows],
            "judge_difference": np.where(largest >= 0, largest, np.nan),
            "judges_differing": [names[mine].tolist() for mine in differs[rows]],
        }
    )


def _distance(cell: Cell, first: Any, second: Any) -> Any:
    """How far two class codes are apart; codes that are no class give nonsense, to be masked by the caller."""
    if not cell.ordered:
        return (first != second).astype(np.float64)
    return np.abs(cell.values[np.clip(first, 0, None)] - cell.values[np.clip(second, 0, cell.levels - 1)])


def _ratings(items: pd.DataFrame, found: Sequence[Cell], dataset: Dataset) -> Any:
    """For each item the ratings of all people and judges, people first."""
    table = dataset.ratings
    compared = {name for cell in found for name in (*cell.people, *cell.judges)}
    table = table[table["rater"].isin(compared)]
    criteria, outputs = table["criterion"].cat, table["output"].cat
    size = len(outputs.categories)
    of_criterion = criteria.categories.get_indexer(pd.Index(items["criterion"])).astype(np.int64)
    wanted = of_criterion * size + outputs.categories.get_indexer(pd.Index(items["output"])).astype(np.int64)
    mine = criteria.codes.to_numpy(np.int64) * size + outputs.codes.to_numpy(np.int64)
    order = np.argsort(wanted)
    at = np.searchsorted(wanted, mine, sorter=order)
    item = order[np.minimum(at, max(len(order) - 1, 0))] if len(order) else np.zeros(len(mine), dtype=np.int64)
    hit = np.flatnonzero(wanted[item] == mine) if len(order) else np.array([], dtype=np.int64)
    rows = table.iloc[hit].assign(item=item[hit])
    rank = {name: position for position, name in enumerate(sorted(rows["rater"].cat.categories))}
    kinds = {kind: position for position, kind in enumerate(KINDS)}
    rows = rows.assign(
        by_kind=rows["kind"].map(kinds).astype(int), by_name=rows["rater"].map(rank).astype(int)
    ).sort_values(["item", "by_kind", "by_name"])
    fields = [
        pa.array(rows["rater"].astype(object), pa.string()),
        pa.array(rows["kind"].astype(object), pa.string()),
        pa.array(rows["score"], pa.float64(), from_pandas=True),
        pa.array(_labels(rows, dataset), pa.string()),
        pa.array(rows["reason"].astype(object), pa.string()),
        pa.array(rows["comment"].astype(object), pa.string()),
    ]
    counts = np.bincount(rows["item"].to_numpy(), minlength=len(items))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays(fields, fields=list(RATING)))


def _labels(rows: pd.DataFrame, dataset: Dataset) -> list[str]:
    """The word for each score; empty where there is none."""
    labels = {
        (name, level.value): level.label
        for name, criterion in dataset.criteria.items()
        for level in criterion.scale.levels
    }
    return [labels.get(pair, "") for pair in zip(rows["criterion"].astype(object), rows["score"], strict=True)]
