"""Compare people with the colleagues who rated the same outputs, without test questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import pandas as pd

from metal.data.ratings import code_matrix
from metal.data.records import Criterion
from metal.stats.answers import answers_of_matrix
from metal.stats.colleagues import Beside, Labels, difference_to_others
from metal.stats.dawid_skene import dawid_skene
from metal.stats.mace import mace
from metal.stats.patterns import Codes, Numbers


@dataclass(frozen=True)
class ColleagueAnswers:
    """The answers of a cell, or of several cells one after the other; with one row for each answer.

    rater, source, output: names. beside: each answer compared with the colleagues' answers to the
    same output and criterion. signed: the score as a share of the scale, minus the colleagues' mean
    share. code: the class. labels: the labels of each cell.
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
        """(answers, levels) the share of the colleagues who gave each label; only for cells of one
        scale.
        """
        return np.concatenate([labels.shares() for labels in self.labels])

    @cached_property
    def _rows(self) -> dict[str, Codes]:
        return {
            str(name): np.sort(rows)
            for name, rows in pd.Series(self.rater).groupby(self.rater).indices.items()
        }

    def rows_of(self, rater: str) -> Codes:
        """Indices of the answers of a rater."""
        return self._rows.get(rater, np.zeros(0, dtype=np.int64))


@dataclass(frozen=True)
class ColleaguesCell:
    """One language x criterion: the ratings of the colleagues, and of the raters compared with
    them.
    """

    language: str
    criterion: Criterion
    rows: pd.DataFrame
    people: frozenset[str]

    @cached_property
    def asked(self) -> dict[str, int]:
        """How many rows each rater has, answered or not."""
        return {
            str(name): int(count)
            for name, count in self.rows["rater"].value_counts().items()
            if count
        }

    @cached_property
    def answers(self) -> ColleagueAnswers:
        """The cell's answers, in the order of outputs and raters."""
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
            beside = Beside(
                beside.others, nothing, nothing, nothing, np.zeros(len(score), dtype=bool)
            )
        rater, source, output, comment = (
            rows[name].to_numpy(dtype=object) for name in ("rater", "source", "output", "comment")
        )
        signed = difference_to_others(item, self.criterion.share(score), person, len(outputs))
        return ColleagueAnswers(rater, source, output, comment, beside, signed, code, (labels,))


def all_cells_together(parts: Sequence[ColleagueAnswers]) -> ColleagueAnswers:
    """The answers of several cells as one."""

    def joined(name: str, records: Sequence[object] = parts) -> Codes:
        return np.concatenate([getattr(record, name) for record in records])

    besides = [part.beside for part in parts]
    return ColleagueAnswers(
        joined("rater"),
        joined("source"),
        joined("output"),
        joined("comment"),
        Beside(*(joined(field.name, besides) for field in fields(Beside))),
        joined("signed"),
        joined("code"),
        tuple(labels for part in parts for labels in part.labels),
    )


# Beyond so many answers MACE gets fewer starts and iterations: its competences are known well
# enough by then, and where
# labels hold no signal it would creep on for minutes.
MANY_ANSWERS = 20_000
NO_LEVELS = "the criterion has no levels"
# DawidSkene.misnamed: right is not right then
MISNAMED = "Dawid and Skene's model mistook one label for another"


@dataclass(frozen=True)
class Competence:
    """How competent a rater seems from the colleagues' answers.

    dawid_skene: expected share of right answers. mace: probability that the rater knows an answer.
    Both are NaN if undefined. ratings: the number of ratings used. reason: why dawid_skene is
    undefined, if that is due to the criterion or the model.
    """

    dawid_skene: float
    mace: float
    ratings: int = 0
    reason: str = ""

    @classmethod
    def mean(cls, parts: Sequence[Competence | None]) -> Competence:
        """The mean over several criteria, weighted by ratings; criteria where it is undefined are
        left out.
        """
        defined = [part for part in parts if part is not None]
        reasons = {part.reason for part in defined}
        return cls(
            _weighted([(part.dawid_skene, part.ratings) for part in defined]),
            _weighted([(part.mace, part.ratings) for part in defined]),
            sum(part.ratings for part in defined),
            reasons.pop() if len(reasons) == 1 else "",
        )


def competences(
    rows: pd.DataFrame, criterion: Criterion, people: frozenset[str]
) -> Mapping[str, Competence]:
    """The competence of every rater in `rows` (one language x criterion).

    People are fitted together. Each judge is fitted alone with all people; otherwise ten judges of
    one family would decide what is true. Persons who are not among `people` are added to their fit.
    """
    if not criterion.scale.levels:
        counts = rows["rater"].value_counts()
        return {
            str(name): Competence(np.nan, np.nan, int(count), NO_LEVELS)
            for name, count in counts.items()
            if count
        }
    matrix = code_matrix(rows, criterion)
    panel = [name for name in matrix.raters if name in people]
    fitted = _fitted(matrix.of(panel), panel, len(criterion.scale.levels))
    kinds = dict(zip(rows["rater"].astype(str), rows["kind"].astype(str), strict=True))
    others = [name for name in matrix.raters if name not in people]
    persons = [name for name in others if kinds[name] == "human"]
    for beside in [
        *([persons] if persons else []),
        *([name] for name in others if name not in persons),
    ]:
        together = _fitted(
            matrix.of([*panel, *beside]), [*panel, *beside], len(criterion.scale.levels)
        )
        fitted |= {name: together[name] for name in beside}
    return fitted


def _fitted(codes: Codes, names: Sequence[str], levels: int) -> dict[str, Competence]:
    answers = answers_of_matrix(codes, levels)
    fit = dawid_skene(answers)
    lost = bool(len(fit.misnamed))
    first = np.where(lost, np.nan, fit.competence).tolist()
    many = answers.given.sum() > MANY_ANSWERS
    guessing = mace(answers, **({"starts": 3, "max_iterations": 60} if many else {}))
    figures = zip(first, guessing.competence.tolist(), answers.given.tolist(), strict=True)
    return {
        name: Competence(*values, MISNAMED if lost else "")
        for name, values in zip(names, figures, strict=True)
    }


def _weighted(parts: Sequence[tuple[float, int]]) -> float:
    defined = [(value, weight) for value, weight in parts if not np.isnan(value)]
    total = sum(weight for _, weight in defined)
    return sum(value * weight for value, weight in defined) / total if total else float("nan")
