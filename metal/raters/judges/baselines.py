"""Baseline judges, which need no network: the floor that every LLM judge has to beat.

majority  the people's most frequent class in the *other* languages; with one language, in the other folds
random    a seeded draw from those class frequencies
lexical   transparent rules on overlap, length, repetition and script (lexical.py)

None of them is fitted on the items that it scores.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from metal.data.dataset import Dataset
from metal.data.ratings import code_matrix, facts_from
from metal.data.records import Criterion, Output, Rater, Rating
from metal.errors import UnknownName
from metal.raters.judges.lexical import lexical_rating
from metal.stats.aggregate import aggregate

FOLDS = 5
UNTRAINED = "no ratings by people elsewhere"

ClassCounts = np.ndarray[Any, Any]
Choose = Callable[[Sequence[Output], ClassCounts, np.random.Generator], np.ndarray[Any, Any]]


def run_baselines(dataset: Dataset, names: Sequence[str], *, seed: int = 0) -> tuple[list[Rater], pd.DataFrame]:
    """The raters and facts of the named baselines on every output and criterion with levels.

    Where a baseline has no answer (no rule for a criterion, nothing to learn from), `reason` says why.
    Raises UnknownName for a name not in BASELINES.
    """
    for name in names:
        if name not in BASELINES:
            raise UnknownName("judge", name, BASELINES)
    criteria = [criterion for criterion in dataset.criteria.values() if criterion.scale.levels]
    ratings = [
        rating for name in names for criterion in criteria for rating in BASELINES[name](dataset, criterion, seed)
    ]
    raters = [Rater(name, "baseline", "baseline", {"seed": seed}) for name in names]
    return raters, facts_from(ratings)


def majority(dataset: Dataset, criterion: Criterion, seed: int) -> Iterator[Rating]:
    """The most frequent class elsewhere; the lowest such class on a tie."""

    def most_frequent(outputs: Sequence[Output], counts: ClassCounts, rng: np.random.Generator) -> ClassCounts:
        return np.full(len(outputs), counts.argmax())

    return _learned("majority", dataset, criterion, seed, most_frequent)


def random(dataset: Dataset, criterion: Criterion, seed: int) -> Iterator[Rating]:
    """A class drawn with the frequencies elsewhere."""

    def draw(outputs: Sequence[Output], counts: ClassCounts, rng: np.random.Generator) -> ClassCounts:
        return rng.choice(len(counts), size=len(outputs), p=counts / counts.sum())

    return _learned("random", dataset, criterion, seed, draw)


def lexical(dataset: Dataset, criterion: Criterion, seed: int) -> Iterator[Rating]:
    """The rules of lexical.py."""
    for output in dataset.outputs.values():
        score, why = lexical_rating(output, dataset.sources[output.source], criterion)
        if score is None:
            yield Rating(output.output, criterion.name, "lexical", None, why)
        else:
            yield Rating(output.output, criterion.name, "lexical", score, "", why)


BASELINES: Mapping[str, Callable[[Dataset, Criterion, int], Iterator[Rating]]] = {
    "majority": majority,
    "random": random,
    "lexical": lexical,
}


def _learned(name: str, dataset: Dataset, criterion: Criterion, seed: int, choose: Choose) -> Iterator[Rating]:
    """A rating for each output, chosen from the people's class frequencies in the parts that the output is not in."""
    table = dataset.ratings
    rated = table[(table["kind"] == "human") & (table["criterion"] == criterion.name)]
    held_out = _held_out(dataset, rated["language"].nunique())
    counts = _counts_by_part(rated, criterion, held_out)
    total = sum(counts.values(), np.zeros(len(criterion.scale.levels), dtype=np.int64))
    parts: dict[str, list[Output]] = {}
    for output in dataset.outputs.values():
        parts.setdefault(held_out[output.output], []).append(output)
    for part, outputs in parts.items():
        elsewhere = total - counts.get(part, 0)
        if not elsewhere.sum():
            yield from (Rating(output.output, criterion.name, name, None, UNTRAINED) for output in outputs)
            continue
        rng = np.random.default_rng([seed, zlib.crc32(f"{criterion.name}/{part}".encode())])
        codes = choose(outputs, elsewhere, rng)
        for output, code in zip(outputs, codes, strict=True):
            yield Rating(output.output, criterion.name, name, criterion.scale.values[int(code)])


def _held_out(dataset: Dataset, languages: int) -> dict[str, str]:
    """Output -> the part it belongs to: its language, or, with one rated language, a fold of its source."""
    if languages > 1:
        return {output.output: output.language for output in dataset.outputs.values()}
    return {output.output: f"fold {zlib.crc32(output.source.encode()) % FOLDS}" for output in dataset.outputs.values()}


def _counts_by_part(rows: pd.DataFrame, criterion: Criterion, held_out: Mapping[str, str]) -> dict[str, ClassCounts]:
    """How often each class is the people's aggregate rating, by part."""
    if rows.empty:
        return {}
    matrix = code_matrix(rows, criterion)
    ordered = criterion.scale.measure != "nominal"
    classes = aggregate(matrix.codes, np.asarray(criterion.scale.values), ordered=ordered)
    counts: dict[str, ClassCounts] = {}
    for output, code in zip(matrix.outputs, classes.tolist(), strict=True):
        if code >= 0:
            part = counts.setdefault(held_out[output], np.zeros(len(criterion.scale.levels), dtype=np.int64))
            part[code] += 1
    return counts
