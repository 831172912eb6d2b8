"""The label that people give an item together, by a vote or by a model of raters, and how far they
agree.

Argument of all functions: rows: (patterns, raters) class codes, negative if a rater gave no answer.
"""

from __future__ import annotations

import numpy as np

from metal.stats.patterns import Codes, Numbers, class_counts

RULES = ("majority-or-mean", "majority-or-middle", "majority")
MODELS = ("dawid-skene", "mace")
ALL_RULES = (*RULES, *MODELS)

# Codes of an aggregate that is not a class.
TIE = -1
NOBODY = -2

ALL, SOME, NONE = 0, 1, 2
CASES = ("all agree", "some agree", "none agree")


def aggregate(
    rows: Codes, values: Numbers, rule: str = "majority-or-mean", *, ordered: bool = True
) -> Codes:
    """(patterns,) the class that the raters' votes give, TIE if they give none, NOBODY without
    ratings.

    The majority is the class given more often than any other. Without one, the rule decides:
    majority-or-mean (METAL section 3.2.6): the mean of the ratings if it is a level, else TIE;
    majority-or-middle (METAL's released code): the middle level; majority: TIE. A nominal scale
    (ordered=False) has neither mean nor middle: TIE.
    >>> aggregate(np.array([[0, 2, 2], [0, 1, 2], [0, 1, -1]]), np.array([0.0, 1.0, 2.0])).tolist()
    [2, 1, -1]
    """
    if rule not in RULES:
        raise ValueError(f"rule {rule!r} is not one of {', '.join(RULES)}")
    return settled(class_counts(rows, len(values)), values, rule, ordered=ordered)


def settled(
    counts: Codes, values: Numbers, rule: str = "majority-or-mean", *, ordered: bool = True
) -> Codes:
    """(patterns,) the same for the number of votes that each class has. counts: (patterns, classes)

    >>> settled(np.array([[1, 0, 2], [1, 1, 1], [1, 1, 0]]), np.array([0.0, 1.0, 2.0])).tolist()
    [2, 1, -1]
    """
    values = np.asarray(values, dtype=np.float64)
    sizes = counts.sum(axis=1)
    tied = (counts == counts.max(axis=1, keepdims=True)).sum(axis=1) > 1
    settled = np.where(tied, TIE, counts.argmax(axis=1))
    if ordered and rule == "majority-or-middle" and len(values) % 2:
        settled = np.where(settled == TIE, len(values) // 2, settled)
    elif ordered and rule == "majority-or-mean":
        mean = (counts @ values) / np.maximum(sizes, 1)
        nearest = np.abs(mean[:, None] - values[None, :]).argmin(axis=1)
        is_level = np.isclose(values[nearest], mean, rtol=0, atol=1e-9)
        settled = np.where((settled == TIE) & is_level, nearest, settled)
    return np.where(sizes == 0, NOBODY, settled)


def consensus(
    codes: Codes, values: Numbers, rule: str = "majority-or-mean", *, ordered: bool = True
) -> Codes:
    """(items,) the class that a rule or model gives, TIE if it gives none, NOBODY without ratings.

    codes: (items, raters), negative if a rater gave no answer. RULES look at each item alone (see
    aggregate). MODELS are fitted to all items, so an item's most probable class also depends on its
    raters' answers to other items; it is TIE if two classes are equally probable. Items with the
    same answers by the same raters get the same label. The models ignore the order of classes, and
    with it `values` and `ordered`.
    >>> codes = np.array([[0, 0, 1], [2, 2, 1], [0, 0, 1], [2, 2, 1], [2, 0, 1]])
    >>> (
    ...     consensus(codes, np.arange(3.0), "majority").tolist(),
    ...     consensus(codes, np.arange(3.0), "mace").tolist(),
    ... )
    ([0, 2, 0, 2, -1], [0, 2, 0, 2, -1])
    """
    if rule in RULES:
        return aggregate(codes, values, rule, ordered=ordered)
    if rule not in MODELS:
        raise ValueError(f"rule {rule!r} is not one of {', '.join(ALL_RULES)}")
    if not np.size(codes):
        return np.full(len(codes), NOBODY)
    from metal.stats.answers import answers_of_matrix
    from metal.stats.dawid_skene import dawid_skene
    from metal.stats.mace import mace

    answers = answers_of_matrix(codes, len(values))
    return dawid_skene(answers).labels if rule == "dawid-skene" else mace(answers).labels


def agreement_case(rows: Codes, levels: int) -> Codes:
    """(patterns,) ALL if all ratings are equal, NONE if all differ, SOME otherwise; -1 with fewer
    than two ratings.

    With three raters these are METAL's cases: all, two of three, none (section 4.4.2).
    >>> agreement_case(
    ...     np.array([[1, 1, 1, -1], [0, 1, 1, 0], [2, 0, -1, -1], [2, -1, -1, -1]]), 3
    ... ).tolist()
    [0, 1, 2, -1]
    """
    counts = class_counts(rows, levels)
    sizes = counts.sum(axis=1)
    top = counts.max(axis=1)
    case = np.where(top == sizes, ALL, np.where(top == 1, NONE, SOME))
    return np.where(sizes < 2, -1, case)
