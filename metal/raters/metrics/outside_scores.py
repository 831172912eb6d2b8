"""Scores computed elsewhere, such as COMET's in its own environment: a table of outputs and scores."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from metal.data.dataset import Dataset
from metal.data.files import whole_text
from metal.data.records import Output, Rater
from metal.errors import DataError, UnknownName, UsageError, nearest
from metal.raters.metrics.dataset_scores import Scores, facts, with_digest

SHOWN = 3
NO_NUMBER = ("", "nan", "na", "null", "none")
GIVEN = "It has the column source and one for each metric of the board"
WANTED = "It has the columns output and score, or source, generator and score"


@dataclass(frozen=True)
class Table:
    """A table as read, all cells as text. first_row: what a person calls its first row."""

    path: Path
    frame: pd.DataFrame
    first_row: int

    def row(self, at: int) -> str:
        return f"{self.path} row {at + self.first_row}"


def outside_scores(table: Table, dataset: Dataset, rater: Rater, outputs: Sequence[Output]) -> tuple[Scores, list[str]]:
    """The scores in a table, and those of `outputs` that it lacks, in their order.

    rater: its `about` says whether the scores are to be negated. Raises DataError for columns that are not there,
    scores that are no numbers, and outputs that are unknown or stand there twice.
    """
    columns = {str(name).strip().lower(): str(name) for name in table.frame.columns}
    if "score" not in columns or not ("output" in columns or {"source", "generator"} <= set(columns)):
        listed = ", ".join(map(str, table.frame.columns)) or "none"
        raise DataError(table.path, f"no scores of outputs (columns found: {listed})", WANTED)
    if table.frame.empty:
        raise DataError(table.path, "no rows below the header", WANTED)
    cells = {role: [_text(cell) for cell in table.frame[column]] for role, column in columns.items()}
    names = _outputs(table, cells, dataset)
    scores = np.array([_number(cell, table.row(at)) for at, cell in enumerate(cells["score"])])
    if rater.about.get("negated"):
        scores = 0.0 - scores
    reason = f"no score in {whole_text(table.path.name)}"
    rows = facts(rater.rater, names, scores, [reason if math.isnan(score) else "" for score in scores])
    given = set(names)
    lacking = [output.output for output in outputs if output.output not in given]
    return Scores(with_digest(rater, dataset, names), rows), lacking


def given_scores(frame: pd.DataFrame, dataset: Dataset, outputs: Sequence[Output], path: Path) -> list[Scores]:
    """The scores of new outputs by the dataset's metrics, from a table: a column source and one for each metric.

    Scores are as in the dataset, higher is better. Sources without a row are without a score. Raises DataError for
    columns that are no metric of the dataset, sources that none of the outputs is of, or that stand there twice.
    """
    columns = {str(name).strip(): str(name) for name in frame.columns}
    metrics = [name for name in columns if name != "source"]
    of_dataset = [rater.rater for rater in dataset.raters.values() if rater.kind == "metric"]
    if "source" not in columns or not metrics:
        raise DataError(path, f"no scores by metrics (columns found: {', '.join(columns) or 'none'})", GIVEN)
    for name in metrics:
        if name not in of_dataset:
            raise UnknownName(f"{path}: metric", name, of_dataset, GIVEN)
    by_source = {output.source: output.output for output in outputs}
    sources = [_text(cell) for cell in frame[columns["source"]]]
    wrong = [name for name in sources if name not in by_source]
    again = [name for name, count in Counter(sources).items() if count > 1]
    if wrong or again:
        problems = [f"{first_names(wrong)} is no source of the outputs"] * bool(wrong)
        problems += [f"{first_names(again)} more than once"] * bool(again)
        raise DataError(path, "; ".join(problems), "One row a source")
    scores_of_metrics = []
    for name in metrics:
        cells = [_text(cell) for cell in frame[columns[name]]]
        numbers = [_number(cell, f"{path} row {row}") for row, cell in enumerate(cells, 2)]
        scores = dict(zip(sources, numbers, strict=True))
        column = np.array([scores.get(output.source, math.nan) for output in outputs])
        reasons = [f"no score in {whole_text(path.name)}" if math.isnan(score) else "" for score in column]
        rows = facts(name, [output.output for output in outputs], column, reasons)
        scores_of_metrics.append(Scores(dataset.raters[name], rows))
    return scores_of_metrics


def _text(cell: object) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))  # ids that a missing cell had made floats
    return str(cell)


def _number(cell: str, where: str) -> float:
    if cell.strip().lower() in NO_NUMBER:
        return math.nan
    try:
        score = float(cell)
    except ValueError:
        score = math.inf
    if not math.isfinite(score):
        raise DataError(where, f"score {cell!r} is not a finite number", "Leave it empty where there is no score")
    return score


def _outputs(table: Table, cells: Mapping[str, list[str]], dataset: Dataset) -> list[str]:
    """The output of each row. Raises DataError with all that is wrong: unknown ones, those that stand there twice."""
    if "output" in cells:
        asked = cells["output"]
        names = [name if name in dataset.outputs else None for name in asked]
    else:
        pairs = list(zip(cells["source"], cells["generator"], strict=True))
        asked = [f"{source} by {generator}" for source, generator in pairs]
        by_pair = _by_pair(dataset, pairs)
        names = [by_pair.get(pair) for pair in pairs]
    unknown = dict.fromkeys(label for label, name in zip(asked, names, strict=True) if name is None)
    again = [name for name, count in Counter(asked).items() if count > 1 and name not in unknown]
    problems = []
    if unknown:
        some = next(iter(unknown))
        choices = list(dataset.outputs) if "output" in cells else [f"{s} by {g}" for s, g in _pairs(dataset)]
        problems.append(f"{_counted(unknown)} not in the dataset; {nearest(some, choices, 3).rstrip('?')}")
    if again:
        problems.append(f"{_counted(again)} more than once")
    if problems:
        raise DataError(table.path, "; ".join(problems), "Nothing was taken in; put the file right")
    return [name for name in names if name is not None]


def _pairs(dataset: Dataset) -> list[tuple[str, str]]:
    return [(output.source, output.generator) for output in dataset.outputs.values()]


def _by_pair(dataset: Dataset, asked: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    counts = Counter(_pairs(dataset))
    for source, generator in asked:
        if counts[source, generator] > 1:
            raise UsageError(
                f"dataset {dataset.card.name} has {counts[source, generator]} outputs of source {source!r} by "
                f"{generator!r}; name outputs in a column `output`"
            )
    return dict(zip(_pairs(dataset), dataset.outputs, strict=True))


def _counted(names: Iterable[str]) -> str:
    listed = list(names)
    return f"{len(listed):,} output{'s' if len(listed) > 1 else ''} ({first_names(listed)})"


def first_names(names: Sequence[str]) -> str:
    """The first of some names."""
    return ", ".join(map(repr, names[:SHOWN])) + (", ..." if len(names) > SHOWN else "")
