"""Compare a rater with the others who rated the same items: how often they agree with the rater,
and with each other.

Every figure belongs to a rating, so a mean over any group (a person, a source) is one line of code.
The colleagues of a rating are the people who rated the same item, except the rater. A rater who
rates like the others agrees with them as often as they agree with one another, on hard and on easy
items. So the difference of these two shares of agreeing pairs has mean 0. The share of ratings that
equal the majority of the others does not have this property. On a panel of three, the other two
have a majority only if they agree with each other, so on these items they could never look worse
than the third person.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metal.stats.patterns import Codes, Numbers, ratio


@dataclass(frozen=True)
class Beside:
    """Each rating compared with its colleagues' ratings, (ratings,) each; NaN if undefined.

    others: how many colleagues rated the item. agreement: the share of colleagues who gave this
    label (needs one colleague). among: the share of pairs of colleagues who gave the same label
    (needs two). majority: 1 if this label is the colleagues' most frequent label, 0 if another
    label is; NaN without colleagues or if two labels are equally frequent (tied).
    """

    others: Codes
    agreement: Numbers
    among: Numbers
    majority: Numbers
    tied: Codes


@dataclass(frozen=True)
class Labels:
    """Ratings of one criterion by class. item, code: (ratings,). person: (ratings,) whether a
    person gave the rating. shape: the numbers of items and levels. Each rater rates an item at most
    once.

    Only people count as colleagues. The colleagues of a judge or metric are all people who rated
    the item.
    >>> Labels(
    ...     np.array([0, 0, 0]), np.array([1, 1, 0]), np.ones(3, bool), (1, 2)
    ... ).beside().agreement.tolist()
    [0.5, 0.5, 0.0]
    """

    item: Codes
    code: Codes
    person: Codes
    shape: tuple[int, int]

    def beside(self) -> Beside:
        """Compare each rating with its colleagues' ratings."""
        rest = self._rest()
        others = rest.sum(axis=1)
        same = rest[np.arange(len(rest)), self.code]
        top = rest.max(axis=1, initial=0)
        tied = (others > 0) & ((rest == top[:, None]).sum(axis=1) > 1)
        return Beside(
            others,
            ratio(same, others),
            ratio((rest * (rest - 1)).sum(axis=1), others * (others - 1)),
            np.where(tied | (others == 0), np.nan, (same == top).astype(np.float64)),
            tied,
        )

    def shares(self) -> Numbers:
        """(ratings, levels) the share of colleagues who gave each label; NaN without colleagues."""
        rest = self._rest()
        return ratio(rest, rest.sum(axis=1, keepdims=True))

    def _rest(self) -> Codes:
        """(ratings, levels) how many colleagues gave each label."""
        items, levels = self.shape
        flat = self.item[self.person] * levels + self.code[self.person]
        rest = np.bincount(flat, minlength=items * levels).reshape(items, levels)[self.item]
        rest[np.arange(len(rest)), self.code] -= self.person.astype(np.int64)
        return np.asarray(rest)


def difference_to_others(item: Codes, value: Numbers, person: Codes, items: int) -> Numbers:
    """(ratings,) each value minus the mean of the colleagues' values for the item; NaN without
    colleagues or value.

    >>> difference_to_others(
    ...     np.array([0, 0, 0]), np.array([1.0, 0.5, 0.0]), np.ones(3, bool), 1
    ... ).tolist()
    [0.75, 0.0, -0.75]
    """
    counted = np.asarray(person, dtype=bool) & ~np.isnan(value)
    total = np.bincount(item[counted], weights=value[counted], minlength=items)
    number = np.bincount(item[counted], minlength=items)
    return np.asarray(
        value - ratio(total[item] - np.where(counted, value, 0.0), number[item] - counted)
    )
