"""A judge in each person's place: the answers of the judge, of the person, and of the
other people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from metal.questions.verify import libraries
from metal.questions.verify.libraries import SCIPY, STATSMODELS, Recomputed
from metal.questions.verify.panels import Panel

DIGITS = 9  # of a mean of levels, so that equal means tie


def of_seats(
    panel: Panel, judge: str, left_out: Sequence[str], items: int
) -> Iterator[tuple[str, Recomputed]]:
    """The judge's and a person's correlations and quadratic kappa with the other people.

    Each rating of an output that another person also rated is an observation. left_out: people who
    do not count. items: the number of outputs on which the run bases its figures.
    """
    people, answered = answered_outputs(panel, judge, left_out, items)
    alone = bool((people.notna().sum(axis=1) < 2).any())
    means, own, answers = [], [], []
    of_judge, of_person = np.zeros((2, len(panel.levels), len(panel.levels)))
    for row, answer in zip(people.to_numpy().tolist(), answered, strict=True):
        scores = [score for score in row if score == score]
        for index, score in enumerate(scores):
            others = scores[:index] + scores[index + 1 :] or scores
            means.append(sum(others) / len(others))
            own.append(score)
            answers.append(float(answer))
            votes = Counter(others)
            commonest = [level for level in votes if votes[level] == max(votes.values())]
            by_person, by_judge = panel.codes([score, answer])
            for level in panel.codes(commonest):
                of_person[level, by_person] += 1 / len(commonest)
                of_judge[level, by_judge] += 1 / len(commonest)
    tied = [round(mean, DIGITS) for mean in means]
    for whose, answered_with, table in (("", answers, of_judge), ("person_", own, of_person)):
        if whose and alone:
            continue
        kappa = libraries.quadratic_kappa(table, panel.levels)
        yield f"{whose}spearman", Recomputed(libraries.spearman(tied, answered_with), SCIPY, items)
        yield f"{whose}pearson", Recomputed(libraries.pearson(means, answered_with), SCIPY, items)
        yield f"{whose}kappa_with_others", Recomputed(kappa, STATSMODELS, items)


def answered_outputs(
    panel: Panel, judge: str, left_out: Sequence[str], items: int
) -> tuple[pd.DataFrame, pd.Series]:
    """People's scores and the judge's, for the outputs that the judge answered and at least two
    people rated.

    If the number of these outputs is not `items`, outputs with one person are included.
    """
    people = panel.people.drop(columns=[name for name in left_out if name in panel.people])
    number, answer = people.notna().sum(axis=1), panel.judges[judge]
    several = answer.notna() & (number >= 2)
    if int(several.sum()) != items:
        several = answer.notna() & (number >= 1)
    return people[several], answer[several]


def beside_the_rest(
    panel: Panel, judge: str, left_out: Sequence[str], items: int, least: int
) -> list[np.ndarray[Any, np.dtype[np.float64]]]:
    """For each person, the mean of the others, the judge's score and the person's: (3, outputs).

    People with fewer than `least` outputs are treated as one person. If outputs have one person
    each, the result has only the mean of the people and the judge's score: (2, outputs).
    """
    people, answer = answered_outputs(panel, judge, left_out, items)
    number, total = people.notna().sum(axis=1), people.sum(axis=1)
    if (number < 2).any():
        return [np.array([total / number, answer])]
    each = []
    for person in people:
        own = people[person].dropna()
        others = (total - people[person].fillna(0.0)) / (number - 1)
        each.append(np.array([others[own.index], answer[own.index], own]))
    few = [side for side in each if side.shape[1] < least]
    sides = [side for side in each if side.shape[1] >= least]
    together = np.concatenate(few, axis=1) if few else np.zeros((3, 0))
    return [*sides, together] if together.shape[1] >= least else sides
