"""How a metric's agreement with people changes with the number of references.

Source: Bidimensional Leaderboards, M.3 and Figure 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from metal.boards.cells import BoardCell, board_cells, left_out, main_criterion
from metal.boards.crowd_rows import reference_name
from metal.boards.settings import BoardSettings, ReferenceSettings
from metal.data.dataset import Dataset
from metal.data.progress import Progress, no_progress
from metal.data.records import Output, Rater
from metal.data.text import signature_line
from metal.errors import Undefined, UsageError
from metal.raters.metrics import Item, Metric, Scored, scored
from metal.raters.metrics.contract import same_text
from metal.raters.metrics.dataset_scores import about_references
from metal.stats.correlation import pearson
from metal.stats.patterns import Numbers
from metal.version import __version__

BATCH = 256  # texts handed to a metric at once

Key = tuple[str, str, frozenset[int], str]  # source, text, places of its references, language

COLUMNS = (
    "language",
    "criterion",
    "metric",
    "references",
    "pearson",
    "spread",
    "draws",
    "outputs",
    "sources",
)


@dataclass(frozen=True, repr=False)
class ReferenceCurve:
    """Metrics' correlations with people by number of references. table: its first columns are
    COLUMNS.

    main: the criterion shown first. reference: the name of the reference people. titles: criterion
    -> title. notes: problems of the data. warnings: about people left out beforehand. pictures: how
    many pictures were written.
    """

    main: str
    reference: str
    table: pd.DataFrame
    notes: tuple[str, ...]
    signature: str
    warnings: tuple[str, ...] = ()
    pictures: int = 0
    titles: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"ReferenceCurve(against {self.reference}, {len(self.table)} rows in .table)"


def reference_curve(
    dataset: Dataset,
    metrics: Sequence[Metric],
    settings: BoardSettings,
    choices: ReferenceSettings | None = None,
    *,
    progress: Progress = no_progress,
) -> ReferenceCurve:
    """Pearson correlation with the reference people by metric and number of references, in every
    cell.

    Only outputs that reference people rated count. For each number k and each draw, k references of
    every source are chosen at random, the same for all outputs of the source. Within a draw, the
    choice for k + 1 adds one reference to the choice for k. Sources with fewer than k references
    are left out at k. One draw is enough if no source has more than k references.

    Columns: language, criterion, metric, references (None for a metric that needs no references and
    for a rater of choices.beside; charts draw these as lines), pearson (mean over draws), spread
    (their standard deviation, None with one), lowest, highest, draws, outputs and sources (that
    counted), left_out (sources with too few references), kind, undefined (reason).

    progress: called with the number of texts scored and of all texts. Raises UsageError if no
    source has references, or none has as many as asked for. Also raises the errors of
    metal.raters.metrics.scored and metal.boards.cells.board_cells.
    """
    choices = choices or ReferenceSettings()
    cells = _cells(dataset, metrics, settings, choices)
    texts = _Texts.of(dataset, cells)
    most = _most(texts, choices, dataset)
    drawn = _draws(texts, most, choices.draws, settings.seed)
    none: Draws = {None: [dict.fromkeys(texts.references, ())]}
    draws_of = {metric: drawn if "references" in metric.needs else none for metric in metrics}
    scores = _score(
        {metric: _needed(metric, texts, draws) for metric, draws in draws_of.items()},
        texts,
        progress,
    )
    rows = []
    for cell in cells:
        for metric in sorted(metrics, key=lambda metric: draws_of[metric] is none):
            rows += [
                _point(cell, metric, k, subsets, texts, scores[metric])
                for k, subsets in draws_of[metric].items()
            ]
        rows += _lines(cell, choices.beside)
    signature = _signature(dataset, metrics, settings, choices, most)
    table = pd.DataFrame([row | {"signature": signature} for row in rows])
    figures = dict.fromkeys(("pearson", "spread", "lowest", "highest"), "float64")
    table = table.astype({"references": "Int64", **figures})
    return ReferenceCurve(
        main_criterion([cell.criterion for cell in cells]),
        reference_name(settings.reference),
        table[[*COLUMNS, *(column for column in table if column not in COLUMNS)]],
        (
            *_notes(cells, texts, choices, most),
            *about_references(metrics, dataset, [texts.outputs[index] for index in texts.places]),
            *left_out(dataset, settings),
        ),
        signature,
        titles={cell.criterion: dataset.called(cell.criterion) for cell in cells},
    )


# ---------------------------------------------------------------- what is to be scored


@dataclass(frozen=True)
class _Texts:
    """outputs: all outputs of the dataset. places: positions of the outputs that count. references:
    source -> its references without empty ones. sources: source -> its text.
    """

    outputs: tuple[Output, ...]
    places: tuple[int, ...]
    references: Mapping[str, tuple[str, ...]]
    sources: Mapping[str, str]

    @classmethod
    def of(cls, dataset: Dataset, cells: Sequence[BoardCell]) -> _Texts:
        outputs = tuple(dataset.outputs.values())
        places = sorted({int(index) for cell in cells for index in cell.outputs[cell.rated]})
        used = dict.fromkeys(outputs[index].source for index in places)
        references = {
            name: tuple(text for text in dataset.sources[name].references if text.strip())
            for name in used
        }
        return cls(
            outputs, tuple(places), references, {name: dataset.sources[name].text for name in used}
        )

    def key(self, index: int, subset: Sequence[int]) -> Key:
        """Everything that an output's score depends on. Equal keys are scored only once."""
        output = self.outputs[index]
        return output.source, output.text, frozenset(subset), output.language

    def item(self, key: Key) -> Item:
        source, text, subset, language = key
        references = (self.references[source][index] for index in sorted(subset))
        others = tuple(reference for reference in references if not same_text(text, reference))
        return Item(text, others, self.sources[source], language)


# k (None: a metric that reads no references) -> draws -> source -> places of its references
Draws = Mapping[int | None, Sequence[Mapping[str, tuple[int, ...]]]]


def _cells(
    dataset: Dataset, metrics: Sequence[Metric], settings: BoardSettings, choices: ReferenceSettings
) -> list[BoardCell]:
    """The board's cells. The first metric is added as a rater, because a dataset may have no raters
    other than people.
    """
    if not metrics:
        raise UsageError("no metric: name some in `metrics`, such as chrf,rouge-l")
    to_come = {metrics[0].name: Rater(metrics[0].name, "metric")}
    with_metric = replace(dataset, raters=to_come | dict(dataset.raters))
    return board_cells(with_metric, replace(settings, raters=choices.beside or tuple(to_come)))


def _most(texts: _Texts, choices: ReferenceSettings, dataset: Dataset) -> int:
    counts = list(map(len, texts.references.values()))
    numbers = list(filter(None, counts))
    if not numbers:
        raise UsageError(
            f"dataset {dataset.card.name}: no source with rated outputs has references; "
            "give them as `references` in sources.jsonl"
        )
    if choices.most is None:
        return min(numbers)
    if choices.most > max(numbers):
        raise UsageError(
            f"`most` {choices.most}: no source has more than {max(numbers)} references"
        )
    return choices.most


def _draws(texts: _Texts, most: int, draws: int, seed: int) -> Draws:
    orders = []
    for draw in range(draws):
        rng = np.random.default_rng([seed, draw])
        orders.append(
            {name: rng.permutation(len(kept)).tolist() for name, kept in texts.references.items()}
        )
    draws_of: dict[int | None, list[dict[str, tuple[int, ...]]]] = {}
    for k in range(1, most + 1):
        enough = [name for name, references in texts.references.items() if len(references) >= k]
        several = any(len(texts.references[name]) > k for name in enough)
        draws_of[k] = [
            {name: tuple(order[name][:k]) for name in enough}
            for order in orders[: None if several else 1]
        ]
    return draws_of


def _needed(metric: Metric, texts: _Texts, draws: Draws) -> list[Key]:
    """The keys that have to be scored, each once."""
    keys: dict[Key, None] = {}
    for subsets in (subset for of_k in draws.values() for subset in of_k):
        for index in texts.places:
            keys |= dict.fromkeys(_keys(metric, texts, index, subsets))
    return list(keys)


def _keys(
    metric: Metric, texts: _Texts, index: int, subsets: Mapping[str, tuple[int, ...]]
) -> list[Key]:
    """The keys of an output: one key with all chosen references or, if the metric takes the best of
    single scores, one key per reference. Empty if the source has too few references.
    """
    subset = subsets.get(texts.outputs[index].source)
    if subset is None:
        return []
    parts = (
        [subset] if metric.multi_reference or not subset else [(reference,) for reference in subset]
    )
    return [texts.key(index, part) for part in parts]


def _score(
    work: Mapping[Metric, Sequence[Key]], texts: _Texts, progress: Progress
) -> dict[Metric, dict[Key, Scored]]:
    done, total = 0, sum(map(len, work.values()))
    scores: dict[Metric, dict[Key, Scored]] = {}
    for metric, needed in work.items():
        of_metric = scores[metric] = {}
        for start in range(0, len(needed), BATCH):
            keys = needed[start : start + BATCH]
            progress(done, total)
            of_metric |= dict(zip(keys, scored(metric, list(map(texts.item, keys))), strict=True))
            done += len(keys)
    progress(total, total)
    return scores


# ---------------------------------------------------------------- figures


def _point(
    cell: BoardCell,
    metric: Metric,
    k: int | None,
    draws: Sequence[Mapping[str, tuple[int, ...]]],
    texts: _Texts,
    scores: Mapping[Key, Scored],
) -> dict[str, Any]:
    """The row of a metric with k references in a cell. If an output has several scores, the highest
    counts.
    """
    sign = -1.0 if metric.direction == "lower" else 1.0
    drawn = []
    for subsets in draws:
        numbers = np.full(len(cell.outputs), np.nan)
        for row in np.flatnonzero(cell.rated):
            answers = [
                scores[key].score for key in _keys(metric, texts, int(cell.outputs[row]), subsets)
            ]
            if answered := [score for score in answers if score is not None]:
                numbers[row] = sign * metric.better(answered)
        drawn.append(numbers)
    sources = {texts.outputs[int(index)].source for index in cell.outputs[cell.rated]}
    left_out = sum(len(texts.references[name]) < (k or 0) for name in sources)
    return _row(cell, metric.name, "metric", drawn) | {"references": k, "left_out": left_out}


def _lines(cell: BoardCell, names: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of those raters named in `names` that the cell has; charts draw them as lines."""
    rows = []
    kinds = {rater.name: rater.kind for rater in cell.raters}
    for name in names:
        if name in kinds:
            row = _row(cell, name, kinds[name], [cell.of(name)])
            rows.append(row | {"references": None, "left_out": 0})
    return rows


def _row(cell: BoardCell, name: str, kind: str, drawn: Sequence[Numbers]) -> dict[str, Any]:
    """A row of the table. drawn: (items,) the scores in each draw."""
    values, reason = [], ""
    for numbers in drawn:
        try:
            values.append(pearson(numbers, cell.human))
        except Undefined as error:
            reason = f"pearson: {error}"
    mean = float(np.mean(values)) if values else None
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
    counted = ~np.isnan(drawn[-1]) & cell.rated
    return {
        **cell.place,
        "metric": name,
        "pearson": mean,
        "spread": spread,
        "lowest": min(values, default=None),
        "highest": max(values, default=None),
        "draws": len(values),
        "outputs": int(counted.sum()),
        "sources": cell.sources(counted),
        "kind": kind,
        "undefined": reason,
    }


def _notes(
    cells: Sequence[BoardCell], texts: _Texts, choices: ReferenceSettings, most: int
) -> tuple[str, ...]:
    counts = list(map(len, texts.references.values()))
    notes = []
    if empty := counts.count(0):
        notes.append(f"{empty:,} of {len(counts):,} sources have no reference and are left out")
    if fewer := sum(0 < count < most for count in counts):
        notes.append(
            f"{fewer:,} of {len(counts):,} sources have fewer than {most} references and are left"
            " out there"
        )
    for name in choices.beside:
        if not any(rater.name == name for cell in cells for rater in cell.raters):
            notes.append(f"{name} scored nothing that the people rated; it has no line")
    return tuple(notes)


def _signature(
    dataset: Dataset,
    metrics: Sequence[Metric],
    settings: BoardSettings,
    choices: ReferenceSettings,
    most: int,
) -> str:
    return signature_line(
        {
            "metal": __version__,
            "data": dataset.identity,
            "stat": "references",
            "ref": settings.reference or "all-people",
            "metrics": "+".join(f"{metric.name}[{metric.signature}]" for metric in metrics),
            "beside": "+".join(choices.beside),
            "crit": "+".join(settings.criteria),
            "lang": "+".join(settings.languages),
            "most": most,
            "draws": choices.draws,
            "seed": settings.seed,
        }
    )
