"""Which rater gave which class to which item: the input of models without known answers
(Dawid-Skene, MACE).

Items to which the same people gave the same classes form one pattern, which is stored once with the
number of its items. So the cost of a model grows with the number of patterns, and items with equal
answers get exactly equal labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from metal.stats.aggregate import NOBODY, TIE
from metal.stats.patterns import Codes, Numbers, find_patterns

CLOSE = 1e-9  # two classes whose probabilities differ by less are tied
# items are compared only if the table that this needs has at most this many cells per answer
_PADDING = 8


@dataclass(frozen=True)
class Answers:
    """Answers to patterns, in order of pattern and rater.

    pattern, rater, code: (answers,) the pattern, who rated it, and the class given. times:
    (patterns,) how many items have the pattern. which: (items,) the pattern of each item, -1 if
    nobody rated it. raters, levels: their numbers, including raters and levels that do not occur.
    """

    pattern: Codes
    rater: Codes
    code: Codes
    times: Codes
    which: Codes
    raters: int
    levels: int

    @cached_property
    def used(self) -> Codes:
        """The classes that somebody gave, in rising order. Models use only these as labels."""
        return np.unique(self.code)

    @cached_property
    def place(self) -> Codes:
        """(answers,) the position of each answer's class in `used`."""
        return np.searchsorted(self.used, self.code)

    @cached_property
    def given(self) -> Codes:
        """(raters,) how many items each rater rated."""
        return self.by_rater(np.ones(len(self.rater)))

    @cached_property
    def shared(self) -> Codes:
        """(raters,) how many of the rater's items somebody else rated, too."""
        return self.by_rater(np.bincount(self.pattern, minlength=len(self.times))[self.pattern] > 1)

    def by_rater(self, answers: Codes) -> Codes:
        """(raters,) the sum, over all items, of a number that each answer has."""
        sums = np.bincount(
            self.rater, weights=answers * self.times[self.pattern], minlength=self.raters
        )
        return np.rint(sums).astype(np.int64)

    def trust(self, starts: int, seed: int = 0) -> Numbers:
        """(starts, raters) how much each rater is trusted at first: 1 in the first start, a random
        number in the others.

        The random numbers depend on how much raters rated and agreed, not on their position, so the
        order of raters does not matter.
        """
        vote = self.pattern * len(self.used) + self.place
        same = np.bincount(vote)[vote]
        asked = np.bincount(self.pattern)[self.pattern]
        facts = np.stack([self.given, self.by_rater(same), self.by_rater(asked)], axis=1)
        _, kind = np.unique(facts, axis=0, return_inverse=True)
        trust = np.random.default_rng(seed).random((starts, self.raters))
        trust[0] = 1.0
        return np.asarray(trust[:, kind.reshape(-1)])

    def by_item(self, of_pattern: Numbers) -> Numbers:
        """(items, ...) each item's value from (patterns, ...) values of patterns; NaN if nobody
        rated the item.
        """
        values = np.full((len(self.which), *of_pattern.shape[1:]), np.nan)
        rated = self.which >= 0
        values[rated] = of_pattern[self.which[rated]]
        return values

    def over_levels(self, of_used: Numbers) -> Numbers:
        """Expand (..., classes used) to (..., levels), with 0 for classes that nobody gave."""
        values = np.zeros((*of_used.shape[:-1], self.levels))
        values[..., self.used] = of_used
        return values


def answers_of_matrix(codes: Codes, levels: int) -> Answers:
    """Make Answers from (items, raters) class codes, which are negative if there is no answer.

    Raises ValueError for a code that is not below `levels`.
    >>> answers_of_matrix(np.array([[0, 1], [0, 1], [-1, 1]]), 2).times.tolist()
    [2, 1]
    """
    codes = np.asarray(codes).astype(np.int64)
    items, raters = codes.shape
    item, rater = np.nonzero(codes >= 0)
    code = codes[item, rater]
    if code.max(initial=-1) >= levels:
        raise ValueError(f"code {code.max()}: below {levels}")
    rated, row = np.unique(item, return_inverse=True)
    sizes = np.bincount(row, minlength=len(rated))
    which = np.full(items, -1, dtype=np.int64)
    if len(rated) * int(sizes.max(initial=0)) > _PADDING * len(item):
        which[rated] = np.arange(len(rated))
        return Answers(row, rater, code, np.ones(len(rated), dtype=np.int64), which, raters, levels)
    table = np.zeros((len(rated), int(sizes.max(initial=0))), dtype=np.int64)
    table[row, np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)] = (
        rater * levels + code + 1
    )
    patterns = find_patterns(table)
    which[rated] = patterns.which
    pattern, column = np.nonzero(patterns.rows)
    key = patterns.rows[pattern, column] - 1
    return Answers(
        pattern, key // max(levels, 1), key % max(levels, 1), patterns.counts, which, raters, levels
    )


def most_probable(probabilities: Numbers) -> Codes:
    """(items,) the most probable class; TIE if two probabilities differ by less than CLOSE; NOBODY
    if they are NaN.

    >>> most_probable(np.array([[0.2, 0.8], [0.5, 0.5], [np.nan, np.nan]])).tolist()
    [1, -1, -2]
    """
    if not len(probabilities) or not probabilities.shape[1]:
        return np.full(len(probabilities), NOBODY)
    rated = ~np.isnan(probabilities[:, 0])
    shares = np.where(rated[:, None], probabilities, 0.0)
    tied = (shares > shares.max(axis=1, keepdims=True) - CLOSE).sum(axis=1) > 1
    return np.where(rated, np.where(tied, TIE, shares.argmax(axis=1)), NOBODY)
