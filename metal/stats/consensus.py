"""One label an item from what people said, by any rule: a vote on the item alone, or a model of all raters."""

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
    """(items,) the class the raters settle on, TIE where that is no class, NOBODY without ratings.

    codes: (items, raters), negative where a rater gave no answer. RULES look at each item alone (see aggregate). MODELS
    are fitted to all items handed in: an item's most probable class depends on what its raters said of others; TIE
    where two classes are equally probable. Items with the same answers by the same raters get the same label. The
    models know classes, not their order: values and ordered do not matter to them.
    """
    if rule in RULES:
        return aggregate(codes, values, rule, ordered=ordered)
    if rule not in MODELS:
        raise ValueError(f"rule {rule!r}: one of {', '.join(ALL_RULES)}")
    if not np.size(codes):
        return np.full(len(codes), NOBODY)
    answers = answers_of_matrix(codes, len(values))
    return dawid_skene(answers).labels if rule == "dawid-skene" else mace(answers).labels
