"""One label for each item from its ratings, by any rule: a vote on the item alone, or a model of all raters."""

from __future__ import annotations

import numpy as np

from metal.stats.aggregate import NOBODY, RULES, aggregate
from metal.stats.answers import answers_of_matrix
from metal.stats.dawid_skene import dawid_skene
from metal.stats.mace import mace
from metal.stats.patterns import Codes, Numbers

MODELS = ("dawid-skene", "mace")
ALL_RULES = (*RULES, *MODELS)


def consensus(codes: Codes, values: Numbers, rule: str = "majority-or-mean", *, ordered: bool = True) -> Codes:
    """(items,) the class the raters settle on, TIE where there is none, NOBODY without ratings.

    codes: (items, raters), negative where a rater gave no answer. RULES look at each item alone (see aggregate). MODELS
    are fitted to all items passed in: an item's most probable class depends on its raters' answers to other items; TIE
    where two classes are equally probable. Items with the same answers by the same raters get the same label. The
    models know classes, but not their order: they ignore values and ordered.
    >>> codes = np.array([[0, 0, 1], [2, 2, 1], [0, 0, 1], [2, 2, 1], [2, 0, 1]])
    >>> consensus(codes, np.arange(3.0), "majority").tolist(), consensus(codes, np.arange(3.0), "mace").tolist()
    ([0, 2, 0, 2, -1], [0, 2, 0, 2, -1])
    """
    if rule in RULES:
        return aggregate(codes, values, rule, ordered=ordered)
    if rule not in MODELS:
        raise ValueError(f"rule {rule!r}: one of {', '.join(ALL_RULES)}")
    if not np.size(codes):
        return np.full(len(codes), NOBODY)
    answers = answers_of_matrix(codes, len(values))
    return dawid_skene(answers).labels if rule == "dawid-skene" else mace(answers).labels
