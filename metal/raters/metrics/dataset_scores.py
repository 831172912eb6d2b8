"""The scores of metrics on a dataset's outputs: raters of kind metric, and their ratings.

Scores on METRIC_SCORE are higher-is-better. If a metric's lower scores are better, they are negated
here, and the rater's `about` says so. `about` also has a digest of the compared texts, which shows
whether the scores are still valid. Scores computed elsewhere, such as COMET's in its own
environment, come in a table of outputs and scores.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metal.data.dataset import Dataset, concat_facts
from metal.data.files import whole_text
from metal.data.progress import Progress
from metal.data.ratings import tidy_facts
from metal.data.records import METRIC_SCORE, Direction, Output, Rater
from metal.data.text import counted, first_few
from metal.errors import DataError, UsageError, check_known, nearest
from metal.raters.metrics import scored
from metal.raters.metrics.contract import NO_REFERENCE, Item, Metric, Scored, same_text

GROUP = "metric"
NOT_AGAIN = "not scored again"
ALONE = "the output is the only reference"
AT_ONCE = 256  # texts a metric is handed at a time, between two steps of the progress
NO_NUMBER = ("", "nan", "na", "null", "none")
GIVEN = "It needs a column source and a column for each metric of the board"
WANTED = "It needs the columns output and score, or source, generator and score"


@dataclass(frozen=True)
class Scores:
    """A metric as a rater, and its ratings as facts (metal.data.ratings.FACTS), one row per
    output.
    """

    rater: Rater
    facts: pd.DataFrame

    @property
    def outputs(self) -> list[str]:
        """The outputs that the metric was asked to score."""
        return list(map(str, self.facts["output"]))


def with_metric_score(dataset: Dataset) -> Dataset:
    """Add the criterion of metrics' scores to the dataset. Raises UsageError if a criterion of that
    name has another scale.
    """
    own = dataset.criteria.get(METRIC_SCORE.name)
    if own and (own.scale != METRIC_SCORE.scale or own.direction != METRIC_SCORE.direction):
        raise UsageError(
            f"dataset {dataset.card.name} has a criterion {METRIC_SCORE.name!r} "
            f"({own.scale.describe()}, {own.direction} is better), but metrics need this name "
            "for their own scores (any number; higher is better); rename the criterion"
        )
    return replace(
        dataset, criteria=dict(dataset.criteria) | {METRIC_SCORE.name: own or METRIC_SCORE}
    )


def outputs_to_score(dataset: Dataset, metrics: Iterable[Metric]) -> list[Output]:
    """The outputs that are to be rated and have a text.

    Raises UsageError if there is no such output, or if a metric would have nothing with which to
    compare any of them.
    """
    outputs = [
        output for output in dataset.outputs.values() if output.chosen and output.text.strip()
    ]
    if not outputs:
        raise UsageError(
            f"dataset {dataset.card.name} has no texts of outputs; metrics score texts"
        )
    sources = {output.source: dataset.sources[output.source] for output in outputs}.values()
    has_texts = {
        "references": any(text.strip() for source in sources for text in source.references),
        "source": any(source.text.strip() for source in sources),
    }
    remedies = {
        "references": (
            "has no references, and {} compared with references; add them to its sources.jsonl:"
            ' "references": ["...", ...]'
        ),
        "source": (
            "has no texts of its sources, and {} compared with them; add them to its sources.jsonl"
        ),
    }
    for need, remedy in remedies.items():
        lacking = [whole_text(metric.name) for metric in metrics if need in metric.needs]
        if lacking and not has_texts[need]:
            verb = " is" if len(lacking) == 1 else " are"
            raise UsageError(
                f"dataset {dataset.card.name} " + remedy.format(", ".join(lacking) + verb)
            )
    return outputs


def metric_rater(metric: Metric, name: str = "") -> Rater:
    """The metric as a rater, under its own name or under `name`."""
    more: dict[str, Any] = {"descriptive": True} if metric.descriptive else {}
    ends = [metric.low, metric.high]
    if _negated(metric):
        ends = [None if end is None else 0.0 - end for end in reversed(ends)]
    more |= {"range": ends} if ends != [None, None] else {}
    return rater(
        name or metric.name,
        metric.signature,
        metric.direction,
        metric.summary,
        negated=_negated(metric),
        **more,
    )


def rater(
    name: str,
    signature: str,
    direction: Direction,
    summary: str = "",
    *,
    negated: bool = False,
    **more: Any,
) -> Rater:
    """Make a rater of kind metric. Names and signatures may contain file names, which UTF-8 cannot
    always hold.
    """
    notes: dict[str, Any] = {"signature": whole_text(signature), "direction": direction}
    notes |= {"negated": True} if negated else {}
    return Rater(whole_text(name), "metric", GROUP, notes | {"summary": whole_text(summary)} | more)


def score_outputs(
    metric: Metric,
    dataset: Dataset,
    outputs: Sequence[Output],
    *,
    name: str = "",
    at_once: int = AT_ONCE,
    progress: Progress | None = None,
) -> Scores:
    """Score these outputs with the metric. If several outputs have the same text and are compared
    with the same texts, the metric is asked once.

    If an output is one of its references, it is compared with the other references; without others,
    it has no score.

    at_once: how many texts the metric gets together. progress: called with the number of distinct
    texts done and of all distinct texts.
    """
    items = [Item.of(output, dataset.sources[output.source]) for output in outputs]
    distinct = list(dict.fromkeys(items))
    answer_of: dict[Item, Scored] = {}
    for at in range(0, len(distinct), at_once):
        part = distinct[at : at + at_once]
        answer_of |= zip(part, scored(metric, part), strict=True)
        if progress:
            progress(at + len(part), len(distinct))
    answers = [answer_of[item] for item in items]
    scores = np.array(
        [np.nan if answer.score is None else answer.score for answer in answers], dtype=np.float64
    )
    if _negated(metric):
        scores = 0.0 - scores
    own_rater = metric_rater(metric, name)
    names = [output.output for output in outputs]
    alone = set(references_themselves(dataset, outputs))
    reasons = [
        ALONE if answer.reason == NO_REFERENCE and name in alone else answer.reason
        for name, answer in zip(names, answers, strict=True)
    ]
    rows = facts(own_rater.rater, names, scores, reasons)
    return Scores(with_digest(own_rater, dataset, names), rows)


def references_themselves(dataset: Dataset, outputs: Iterable[Output]) -> list[str]:
    """The outputs that are also a reference of their source, such as texts by people who are listed
    among the generators.
    """
    return [
        output.output
        for output in outputs
        if any(
            same_text(output.text, reference)
            for reference in dataset.sources[output.source].references
        )
    ]


def about_references(
    metrics: Iterable[Metric], dataset: Dataset, outputs: Iterable[Output]
) -> list[str]:
    """A note on how many outputs are references themselves; empty if there are none, or if no
    metric reads references.
    """
    themselves = (
        references_themselves(dataset, outputs)
        if any("references" in each.needs for each in metrics)
        else []
    )
    return (
        [f"{counted(themselves, 'output')} equal to a reference: not compared with it"]
        if themselves
        else []
    )


def facts(name: str, outputs: Sequence[str], scores: Any, reasons: Sequence[str]) -> pd.DataFrame:
    """A metric's ratings as facts. A rating whose score is NaN has a reason."""
    rows = np.zeros(len(outputs), dtype=np.int64)
    return tidy_facts(
        pd.DataFrame(
            {
                "output": pd.Series(outputs, dtype=object),
                "criterion": pd.Categorical.from_codes(rows, pd.Index([METRIC_SCORE.name])),
                "rater": pd.Categorical.from_codes(rows, pd.Index([name])),
                "score": scores,
                "reason": list(map(whole_text, reasons)),
            }
        )
    )


def _negated(metric: Metric) -> bool:
    return metric.direction == "lower" and not metric.descriptive


# ---------------------------------------------------------------- scores that are there already


def with_digest(rater: Rater, dataset: Dataset, outputs: Iterable[str]) -> Rater:
    """Add a digest of these outputs' texts, and of the texts compared with them, to the rater."""
    digest = blake2b(digest_size=8)
    for name in sorted(outputs):
        output = dataset.outputs[name]
        source = dataset.sources[output.source]
        for text in (
            name,
            output.language,
            output.text,
            source.text,
            str(len(source.references)),
            *source.references,
        ):
            digest.update(f"{len(text)} {text}".encode("utf-8", "surrogatepass"))
    return replace(rater, about=dict(rater.about) | {"texts": digest.hexdigest()})


def changed(wanted: Rater, earlier: Scores, dataset: Dataset) -> str:
    """Says why earlier scores differ from the scores that this rater would give now; empty if they
    do not.
    """
    theirs = earlier.rater
    if theirs.kind != wanted.kind:
        return f"is of kind {theirs.kind}"
    if any(
        theirs.about.get(key) != wanted.about.get(key)
        for key in ("signature", "direction", "negated")
    ):
        return f"has another signature ({theirs.about.get('signature') or 'none'})"
    gone = [name for name in earlier.outputs if name not in dataset.outputs]
    if (
        gone
        or theirs.about.get("texts") != with_digest(wanted, dataset, earlier.outputs).about["texts"]
    ):
        return "has scored texts other than the current ones"
    return ""


def together(earlier: Scores, later: Scores, dataset: Dataset) -> Scores:
    """Merge earlier and later scores of a metric. If an output has both, the later score counts."""
    only_earlier = earlier.facts[~earlier.facts["output"].isin(later.outputs)]
    rows = tidy_facts(concat_facts([only_earlier, later.facts]))
    return Scores(with_digest(later.rater, dataset, rows["output"].astype(str)), rows)


def in_place_of(earlier: Scores, later: Scores, dataset: Dataset) -> Scores:
    """Replace earlier scores by later ones. Outputs with only an earlier score lose it."""
    left = sorted(set(earlier.outputs) - set(later.outputs))
    if not left:
        return later
    none = facts(later.rater.rater, left, np.full(len(left), np.nan), [NOT_AGAIN] * len(left))
    return together(Scores(later.rater, none), later, dataset)


def not_in(earlier: Scores | None, outputs: Sequence[Output]) -> list[Output]:
    """The outputs that have no earlier score."""
    scored_before = set(earlier.outputs) if earlier else set()
    return [output for output in outputs if output.output not in scored_before]


# ---------------------------------------------------------------- scores from elsewhere


@dataclass(frozen=True)
class Table:
    """A table as it was read, with all cells as text."""

    path: Path
    frame: pd.DataFrame

    def row(self, at: int) -> str:
        """The location of a row, for a message. at: the row's position, from 0."""
        return f"{self.path} row {at + first_row(self.path)}"


def first_row(path: Path) -> int:
    """The number by which people call the first row of data in a table: 2 below a header, 1 in
    files without a header.
    """
    return 1 if path.suffix.lower() in (".jsonl", ".parquet") else 2


def outside_scores(
    table: Table, dataset: Dataset, rater: Rater, outputs: Sequence[Output]
) -> tuple[Scores, list[str]]:
    """Read the scores in a table. Those of `outputs` that the table lacks get no score. Rows are in
    the order of `outputs`.

    rater: its `about` says whether to negate the scores. Raises DataError for missing columns,
    scores that are not numbers, and outputs that are unknown or occur twice.
    """
    columns = {str(name).strip().lower(): str(name) for name in table.frame.columns}
    if "score" not in columns or not (
        "output" in columns or {"source", "generator"} <= set(columns)
    ):
        listed = ", ".join(map(str, table.frame.columns)) or "none"
        raise DataError(table.path, f"no scores of outputs (columns found: {listed})", WANTED)
    if table.frame.empty:
        raise DataError(table.path, "no rows below the header", WANTED)
    cells = {role: list(map(_text, table.frame[column])) for role, column in columns.items()}
    names = _outputs(table, cells, dataset)
    scores = np.array([_number(cell, table.row(at)) for at, cell in enumerate(cells["score"])])
    if rater.about.get("negated"):
        scores = 0.0 - scores
    reason = f"no score in {whole_text(table.path.name)}"
    rows = facts(
        rater.rater, names, scores, [reason if math.isnan(score) else "" for score in scores]
    )
    with_score = set(names)
    lacking = [output.output for output in outputs if output.output not in with_score]
    return Scores(with_digest(rater, dataset, names), rows), lacking


def file_scores(
    path: Path,
    name: str,
    direction: Direction,
    signature: str,
    dataset: Dataset,
    outputs: Sequence[Output],
    summary: str = "",
) -> tuple[Scores, list[str]]:
    """Read the scores in a file that were computed elsewhere, for a metric of that name. Otherwise
    like `outside_scores`.
    """
    from metal.data.tables.files import read_frame

    table = Table(path, read_frame(path))
    digest = blake2b(path.read_bytes(), digest_size=8).hexdigest()
    signed = f"{signature or name}|from:{path.name}|blake2b:{digest}"
    metric = rater(name, signed, direction, summary, negated=direction == "lower")
    return outside_scores(table, dataset, metric, outputs)


def given_scores(
    frame: pd.DataFrame, dataset: Dataset, outputs: Sequence[Output], path: Path
) -> list[Scores]:
    """Read scores of new outputs by the dataset's metrics from a table with a column source and one
    per metric.

    Scores are as in the dataset: higher is better. A source without a row has no score. Raises
    DataError for columns that are not metrics of the dataset, and for sources that have none of the
    outputs or occur twice.
    """
    columns = {str(name).strip(): str(name) for name in frame.columns}
    metrics = _check_metrics(columns, dataset, path)
    sources = list(map(_text, frame[columns["source"]]))
    _check_sources(sources, outputs, path)
    scores_of_metrics = []
    for name in metrics:
        cells = list(map(_text, frame[columns[name]]))
        numbers = [_number(cell, f"{path} row {row}") for row, cell in enumerate(cells, 2)]
        scores = dict(zip(sources, numbers, strict=True))
        column = np.array([scores.get(output.source, math.nan) for output in outputs])
        no_score = f"no score in {whole_text(path.name)}"
        reasons = [no_score if math.isnan(score) else "" for score in column]
        rows = facts(name, [output.output for output in outputs], column, reasons)
        scores_of_metrics.append(Scores(dataset.raters[name], rows))
    return scores_of_metrics


def _check_metrics(columns: Collection[str], dataset: Dataset, path: Path) -> list[str]:
    """The metrics for which a table has columns. Raises DataError if a column is missing, and
    UnknownName for a metric that the dataset does not have.
    """
    metrics = [name for name in columns if name != "source"]
    of_dataset = [rater.rater for rater in dataset.raters.values() if rater.kind == "metric"]
    if "source" not in columns or not metrics:
        raise DataError(
            path, f"no scores by metrics (columns found: {', '.join(columns) or 'none'})", GIVEN
        )
    check_known(f"{path}: metric", metrics, of_dataset, GIVEN)
    return metrics


def _check_sources(sources: Sequence[str], outputs: Sequence[Output], path: Path) -> None:
    """Raise DataError for sources of a table that have none of the outputs, or that occur twice."""
    of_outputs = {output.source for output in outputs}
    wrong = [name for name in sources if name not in of_outputs]
    again = [name for name, count in Counter(sources).items() if count > 1]
    problems = []
    if wrong:
        problems.append(f"{first_names(wrong)} is not a source of the outputs")
    if again:
        problems.append(f"{first_names(again)} more than once")
    if problems:
        raise DataError(path, "; ".join(problems), "One row per source")


def _text(cell: object) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))  # ids that a missing cell had made floats
    return str(cell)


def _number(cell: str, location: str) -> float:
    if cell.strip().lower() in NO_NUMBER:
        return math.nan
    try:
        score = float(cell)
    except ValueError:
        score = math.inf
    if not math.isfinite(score):
        raise DataError(
            location,
            f"score {cell!r} is not a finite number",
            "Leave it empty where there is no score",
        )
    return score


def _outputs(table: Table, cells: Mapping[str, list[str]], dataset: Dataset) -> list[str]:
    """The output of each row. Raises DataError, which lists all unknown outputs and all that occur
    twice.
    """
    asked, names = _asked_in(cells, dataset)
    unknown = dict.fromkeys(label for label, name in zip(asked, names, strict=True) if name is None)
    again = [name for name, count in Counter(asked).items() if count > 1 and name not in unknown]
    problems = []
    if unknown:
        choices = (
            list(dataset.outputs)
            if "output" in cells
            else [f"{s} by {g}" for s, g in _pairs(dataset)]
        )
        near = nearest(next(iter(unknown)), choices, 3).rstrip("?")
        problems.append(f"{counted(list(unknown), 'output')} not in the dataset; {near}")
    if again:
        problems.append(f"{counted(again, 'output')} more than once")
    if problems:
        raise DataError(table.path, "; ".join(problems), "Nothing was imported; correct the file")
    return [name for name in names if name is not None]


def _asked_in(
    cells: Mapping[str, list[str]], dataset: Dataset
) -> tuple[list[str], list[str | None]]:
    """For each row, the output's name in words, and the output, or None if there is none."""
    if "output" in cells:
        asked = cells["output"]
        return asked, [name if name in dataset.outputs else None for name in asked]
    pairs = list(zip(cells["source"], cells["generator"], strict=True))
    by_pair = _by_pair(dataset, pairs)
    asked = [f"{source} by {generator}" for source, generator in pairs]
    return asked, list(map(by_pair.get, pairs))


def _pairs(dataset: Dataset) -> list[tuple[str, str]]:
    return [(output.source, output.generator) for output in dataset.outputs.values()]


def _by_pair(dataset: Dataset, asked: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    counts = Counter(_pairs(dataset))
    for source, generator in asked:
        if counts[source, generator] > 1:
            raise UsageError(
                f"dataset {dataset.card.name} has {counts[source, generator]} outputs of source"
                f" {source!r} by {generator!r}; name outputs in a column `output`"
            )
    return dict(zip(_pairs(dataset), dataset.outputs, strict=True))


def first_names(names: Sequence[str]) -> str:
    """The first three names, quoted."""
    return first_few(list(map(repr, names)), 3)
