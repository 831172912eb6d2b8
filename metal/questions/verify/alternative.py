"""The alternative annotator test, step by step, with scipy and statsmodels.

No library has this test: the steps are those of the paper's authors (Calderon, Reichart and Dror
2025, github.com/nitaytech/AltTest), whose program also uses scipy's test. METAL's own code is not
used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from metal.questions.verify.libraries import p_below, rejected
from metal.questions.verify.panels import Panel

Q = 0.05
LEAST_ITEMS, LEAST_RANKED = 30, 6  # outputs of a person: for the t test, for Wilcoxon's
DIGITS = 9  # of a closeness, so that equal ones tie
Answers = Mapping[str, float]


def alternative_annotator(
    panel: Panel, judge: str, epsilon: float
) -> Iterator[tuple[str, float, int]]:
    """Winning rate and advantage of a judge, with the number of people tested.

    epsilon: by how much a person may be better, as in the run's settings.
    """
    ranked = panel.settings.get("small") == "wilcoxon"
    p_values, wins = [], []
    for judge_wins, person_wins in _wins(panel, judge):
        if len(judge_wins) < (LEAST_RANKED if ranked else LEAST_ITEMS):
            continue
        lead = person_wins - judge_wins
        by_ranks = ranked and len(lead) < LEAST_ITEMS
        p_values.append(p_below(lead, float(epsilon), signed_ranks=by_ranks))
        wins.append(float(np.mean(judge_wins)))
    tested = len(p_values)
    rate = sum(rejected(p_values, Q)) / tested if tested else math.nan
    yield "winning_rate", rate, tested
    yield "advantage", sum(wins) / tested if tested else math.nan, tested


def _wins(panel: Panel, judge: str) -> Iterator[tuple[Any, Any]]:
    """For each person, on the person's outputs: whether the judge is at least as close to the
    others as the person, and the reverse.
    """
    answer = panel.judges[judge]
    usable = answer.notna() & (panel.ratings >= 2)
    rows = panel.people[usable].to_numpy().tolist()
    answers = answer[usable].tolist()
    for person in range(panel.people.shape[1]):
        closer = []
        for row, by_judge in zip(rows, answers, strict=True):
            if row[person] != row[person]:
                continue
            others = [score for at, score in enumerate(row) if at != person and score == score]
            of_judge, of_person = (
                _closeness(score, others, panel.ordered) for score in (by_judge, row[person])
            )
            closer.append((of_judge >= of_person, of_person >= of_judge))
        if closer:
            yield tuple(np.array(closer, dtype=float).T)


def _closeness(score: float, others: Sequence[float], ordered: bool) -> float:
    """Minus the root mean squared difference from the others; for labels without an order, the
    share of equal labels.
    """
    if ordered:
        squares = [(score - other) ** 2 for other in others]
        return -round(math.sqrt(sum(squares) / len(squares)), DIGITS)
    return sum(score == other for other in others) / len(others)
