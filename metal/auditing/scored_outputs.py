"""The scores on one criterion in several languages, with the language and condition of
each output.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from metal.data.dataset import Dataset
from metal.data.ratings import CodeMatrix, code_matrix
from metal.data.records import SWAPPED, Criterion
from metal.stats.leniency import Shifts
from metal.stats.patterns import Codes, Numbers

EVEN, LEANS, UNKNOWN = "even", "leans", "cannot say"
MARGIN = 0.1  # of the scale's range: a shift that is surely smaller is none


@dataclass(frozen=True)
class ScoredOutputs:
    """The outputs scored on one criterion, in all languages, with their sources and conditions.

    language, source, content, unit: (items,) codes. of: (items,) the position of the output from
    which it was made, or -1. condition: (items,) how it was made.
    """

    criterion: Criterion
    matrix: CodeMatrix
    languages: tuple[str, ...]
    language: Codes
    source: Codes
    content: Codes
    unit: Codes
    of: Codes
    condition: Any

    def scores(self, raters: Sequence[str]) -> Numbers:
        """(items, raters) scores, NaN without an answer; reversed if lower is better, so that
        higher is more lenient.
        """
        codes = self.matrix.of(raters)
        return np.asarray(np.where(codes >= 0, np.append(self.values, np.nan)[codes], np.nan))

    @property
    def values(self) -> Numbers:
        """The value of each code, reversed if needed so that higher is better."""
        return self.matrix.values if self.criterion.direction == "higher" else -self.matrix.values

    @property
    def span(self) -> float:
        """The range of the scale or, if it has no ends, of the scores that occur."""
        low, high = self.criterion.scale.ends or (
            self.matrix.values.min(),
            self.matrix.values.max(),
        )
        return float(high - low)


def scored_outputs(
    dataset: Dataset,
    criterion: Criterion,
    raters: set[str],
    languages: tuple[str, ...],
    least: int = 2,
) -> ScoredOutputs | None:
    """What the raters scored on a criterion in these languages; None if they scored it in fewer
    than `least` of them.
    """
    table = dataset.ratings
    rows = table[
        (table["criterion"] == criterion.name)
        & table["rater"].isin(list(raters))
        & table["language"].isin(list(languages))
    ]
    if rows.empty or rows["language"].nunique() < least:
        return None
    matrix = code_matrix(rows, criterion)
    outputs = [dataset.outputs[name] for name in matrix.outputs]
    places = {name: index for index, name in enumerate(matrix.outputs)}
    contents = [dataset.sources[output.source].content or output.source for output in outputs]
    units = list(zip(contents, (output.generator for output in outputs), strict=True))
    content, unit = (
        pd.factorize(np.array(contents, dtype=object))[0],
        pd.factorize(pd.Series(units))[0],
    )
    language = np.array([languages.index(output.language) for output in outputs])
    unit_of_each_pair = np.unique(np.stack([unit, language]), axis=1)[0]
    if len(np.unique(unit_of_each_pair)) == len(unit_of_each_pair):
        unit = content  # each language has generators of its own
    return ScoredOutputs(
        criterion,
        matrix,
        languages,
        language,
        matrix.sources,
        content,
        unit,
        np.array(
            [places.get(output.of, -1) if output.condition != SWAPPED else -1 for output in outputs]
        ),
        np.array([output.condition for output in outputs], dtype=object),
    )


def says(shifts: Shifts | None, index: int, p: float, span: float, otherwise: str) -> str:
    """Say whether a shift is even, or `otherwise`, or unknown.

    It is even if the 90% interval is within MARGIN of the scale (two one-sided tests). It is
    `otherwise` if the corrected p shows that the shift is not 0.
    """
    if shifts is None or not math.isfinite(shifts.value[index]):
        return UNKNOWN
    if shifts.interval(index, 0.95).inside(MARGIN * span):
        return EVEN
    return otherwise if p < 0.05 else UNKNOWN
