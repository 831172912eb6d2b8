"""Answers of people who say that another answer would do as well.

Such an answer is a set of levels that would do. To measure agreement, METAL takes the level of the
set that would do for most raters of the output. Among several such levels, it takes the one that
most raters gave, then the lowest. The raters are the people and, for the figures of a judge, this
judge too, so that a judge gains no more from a set than a person does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from metal.data.ratings import ALSO, CodeMatrix, code_matrix, values_of
from metal.data.records import Criterion
from metal.stats.patterns import Codes, Flags


@dataclass(frozen=True)
class Alternatives:
    """The answers that are sets of several levels.

    Attributes:
        items, columns: (answers,) the row and column of the answer in the code matrix.
        own: (answers,) the code of the answer that the person chose.
        allowed: (answers, levels) whether a level would do, including the chosen one.
    """

    items: Codes
    columns: Codes
    own: Codes
    allowed: Flags

    def as_given(self, matrix: CodeMatrix) -> CodeMatrix:
        """The code matrix with the answers that raters themselves chose."""
        codes = matrix.codes.copy()
        codes[self.items, self.columns] = self.own
        return replace(matrix, codes=codes)

    def chosen(self, matrix: CodeMatrix, raters: tuple[str, ...]) -> CodeMatrix:
        """The code matrix with each set replaced by its level that would do for most `raters`."""
        codes = self.as_given(matrix).codes
        among = [matrix.raters.index(rater) for rater in raters if rater in matrix.raters]
        levels = np.arange(self.allowed.shape[1])
        items, at = np.unique(self.items, return_inverse=True)
        own = codes[items][:, :, None] == levels
        would_do = own.copy()
        would_do[at, self.columns] = self.allowed
        support, gave = would_do[:, among].sum(axis=1), own[:, among].sum(axis=1)
        merit = (support * (len(among) + 1) + gave)[at]
        codes[self.items, self.columns] = np.where(self.allowed, merit, -1).argmax(axis=1)
        return replace(matrix, codes=codes)


def with_alternatives(
    rows: pd.DataFrame, criterion: Criterion, people: tuple[str, ...]
) -> tuple[CodeMatrix, Alternatives | None]:
    """The code matrix of a cell with sets resolved for people's own figures, and the sets; None
    without any.
    """
    matrix = code_matrix(rows, criterion)
    alternatives = alternatives_in(rows, matrix)
    return (alternatives.chosen(matrix, people) if alternatives else matrix), alternatives


def alternatives_in(rows: pd.DataFrame, matrix: CodeMatrix) -> Alternatives | None:
    """The answers of a cell that are sets of levels; None if there are none.

    rows: the cell's ratings, to which the matrix's `places` refer.
    """
    if ALSO not in rows or not (rows[ALSO] != "").any():
        return None
    others = rows[ALSO].to_numpy()
    has_others = (matrix.places >= 0) & (matrix.codes >= 0) & (others[matrix.places] != "")
    items, columns = np.nonzero(has_others)
    own, also = matrix.codes[items, columns], others[matrix.places[items, columns]]
    allowed = np.zeros((len(own), len(matrix.values)), dtype=bool)
    for row, text in enumerate(also):
        allowed[row] = np.isin(matrix.values, values_of(text))
    allowed[np.arange(len(own)), own] = True
    return Alternatives(items, columns, own, allowed)
