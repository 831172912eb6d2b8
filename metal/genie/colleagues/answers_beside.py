"""The answers of a language x criterion, or of several criteria together, each beside the colleagues' answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from metal.data.records import Criterion
from metal.stats.colleagues import Beside, Labels, difference_to_others
from metal.stats.patterns import Codes, Numbers


@dataclass(frozen=True)
class ColleagueAnswers:
    """The answers of a cell, or of several one after the other. Arrays have one row an answer, names as they are.

    beside: each among its colleagues' on the same output and criterion. signed: share of the scale minus the mean share
    of the colleagues. code: class codes. labels: of each cell.
    """

    rater: Codes
    source: Codes
    output: Codes
    comment: Codes
    beside: Beside
    signed: Numbers
    code: Codes
    labels: tuple[Labels, ...]

    @cached_property
    def source_code(self) -> Codes:
        """(answers,) the place of each source's name in string order."""
        return np.asarray(pd.factorize(self.source, sort=True)[0])

    @cached_property
    def label_shares(self) -> Numbers:
        """(answers, levels) the share of the colleagues who gave each label; cells of one scale only."""
        return np.concatenate([labels.shares() for labels in self.labels])

    @cached_property
    def _rows(self) -> dict[str, Codes]:
        return {str(name): np.sort(rows) for name, rows in pd.Series(self.rater).groupby(self.rater).indices.items()}

    def rows_of(self, rater: str) -> Codes:
        """Indices of the answers of a rater."""
        return self._rows.get(rater, np.zeros(0, dtype=np.int64))


@dataclass(frozen=True)
class ColleaguesCell:
    """One language x criterion: rows of the ratings table by the people and by whoever is set beside them."""

    language: str
    criterion: Criterion
    rows: pd.DataFrame
    people: frozenset[str]

    @cached_property
    def asked(self) -> dict[str, int]:
        """How many rows each rater has, answered or not."""
        return {str(name): int(count) for name, count in self.rows["rater"].value_counts().items() if count}

    @cached_property
    def answers(self) -> ColleagueAnswers:
        """Its answers, in the order of outputs and raters."""
        rows = self.rows[self.rows["score"].notna()]
        rows = rows.assign(output=rows["output"].astype(str), rater=rows["rater"].astype(str))
        rows = rows.sort_values(["output", "rater"], kind="stable")
        item, outputs = pd.factorize(rows["output"].to_numpy(dtype=object))
        person = rows["rater"].isin(self.people).to_numpy()
        score = rows["score"].to_numpy(dtype=np.float64)
        levels = self.criterion.scale.values
        values = np.asarray(levels) if levels else np.unique(score)
        order = np.argsort(values)
        code = order[np.searchsorted(values[order], score)]
        labels = Labels(item, code, person, (len(outputs), len(values)))
        beside = labels.beside()
        if not levels:
            nothing = np.full(len(score), np.nan)
            beside = Beside(beside.others, nothing, nothing, nothing, np.zeros(len(score), dtype=bool))
        rater, source, output, comment = (
            rows[name].to_numpy(dtype=object) for name in ("rater", "source", "output", "comment")
        )
        signed = difference_to_others(item, self.criterion.share(score), person, len(outputs))
        return ColleagueAnswers(rater, source, output, comment, beside, signed, code, (labels,))


def all_cells_together(parts: Sequence[ColleagueAnswers]) -> ColleagueAnswers:
    """The answers of several cells as one."""

    def joined(name: str) -> Codes:
        return np.concatenate([getattr(part, name) for part in parts])

    def beside(name: str) -> Codes:
        return np.concatenate([getattr(part.beside, name) for part in parts])

    return ColleagueAnswers(
        joined("rater"),
        joined("source"),
        joined("output"),
        joined("comment"),
        Beside(beside("others"), beside("agreement"), beside("among"), beside("majority"), beside("tied")),
        joined("signed"),
        joined("code"),
        tuple(labels for part in parts for labels in part.labels),
    )
