"""Simulated worlds with a known truth: Good, Medium, Bad in shares 90/7/3, people who share hard
items.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from metal.questions.adjudicate.compute import (
    BadEnd,
    Codes,
    Difference,
    Flags,
    JudgeBeside,
    Numbers,
    Truth,
    bad_end,
    difference,
    draw,
)

SHARES = np.array([0.90, 0.07, 0.03])
BAD = 2
TEMPTED = 0.85  # of wrong answers, those that are the same one for everybody
HARD = {0.0: 0.01, 0.32: 2.0, 0.58: 4.0}  # correlation of two people's errors -> spread of hardness


@cache
def start(accuracy: float, spread: float) -> float:
    """The intercept at which answers are right so often."""
    hard = np.random.default_rng(0).normal(size=20_000) * spread
    low, high = -30.0, 30.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        right = float((1 / (1 + np.exp(hard - middle))).mean())
        low, high = (middle, high) if right < accuracy else (low, middle)
    return low


def answers(
    rng: np.random.Generator, items: int, spread: float, accuracies: list[float]
) -> tuple[Codes, Codes]:
    """The truth, and (items, raters) what each rater answers."""
    truth = rng.choice(3, items, p=SHARES)
    hard = rng.normal(size=items) * spread
    tempting = (truth + 1 + rng.integers(0, 2, items)) % 3
    given = []
    for accuracy in accuracies:
        right = rng.random(items) < 1 / (1 + np.exp(hard - start(accuracy, spread)))
        wrong = np.where(rng.random(items) < TEMPTED, tempting, 3 - truth - tempting)
        given.append(np.where(right, truth, wrong))
    return truth, np.stack(given, axis=1)


def decided(truth: Codes, looked_at: Flags) -> Truth:
    """What somebody says who is always right."""
    right = np.full((len(truth), 3), math.nan)
    right[looked_at] = np.eye(3)[truth[looked_at]]
    return Truth(right, right)


def run(
    rng: np.random.Generator,
    person: float,
    judge: float,
    correlation: float,
    looked_at: int,
    *,
    items: int = 300,
    lenient: float = 0.0,
    error: float = 0.0,
    with_crowd: bool = False,
) -> tuple[Difference, BadEnd | None]:
    """One study: three people right so often, a judge, so many answers. lenient: the share of bad
    outputs that the judge calls good; error: how often the adjudicator errs.
    """
    truth, given = answers(rng, items, HARD[correlation], [person] * 3 + [judge])
    people, judged = given[:, :3], given[:, 3]
    if lenient:
        judged = np.where((truth == BAD) & (rng.random(items) < lenient), 0, judged)
    beside = JudgeBeside(judged, people, np.arange(items), BAD)
    drawn: Numbers = draw(beside.strata, looked_at, rng)
    says = truth
    if error:
        votes = (people[:, :, None] == np.arange(3)).sum(axis=1)
        other = votes.argmax(axis=1) if with_crowd else (truth + 1 + rng.integers(0, 2, items)) % 3
        says = np.where(rng.random(items) < error, other, truth)
    made = decided(says, drawn > 0)
    return difference(beside, made.right), bad_end(beside, made)
