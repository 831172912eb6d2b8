"""Numeric scores compared with the mean of the other people, seat by seat.

A *seat* is one person's score on an item that at least one other person scored too. At each seat,
the person's score and the judge's are each compared with the mean of the others' scores.
Concordance (Lin 1989) takes the place of agreement: 0 for a constant, 1 for equal scores.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from metal.stats.measured import Measured, jackknife, jackknife_again
from metal.stats.order import FigurePair, midranks, p_no_order, pair_sums, z_of_order
from metal.stats.patterns import Codes, Numbers
from metal.stats.source_sums import Draws, SourceSums, scattered_rows

HEAVY = 0.6  # of all squared distances to the median that the farthest tenth of the ratings holds
LOW = 0.2  # of the seats are low
LEAST_LOW = 5  # items
_DIGITS = 9


def heavy_tails(scores: Numbers) -> bool:
    """Whether a few of the scores account for most of the spread.

    >>> heavy_tails(np.arange(100.0)), heavy_tails(np.append(np.zeros(95), [1, 2, 5, 20, 25]))
    (False, True)
    """
    apart = np.sort((scores - np.median(scores)) ** 2)
    return (
        bool(apart[-max(len(apart) // 10, 1) :].sum() > HEAVY * apart.sum())
        if apart.any()
        else False
    )


def among(scores: Numbers, reference: Numbers) -> Numbers:
    """The position of each score in `reference`, 0 to 1: the mean of the share of scores below it
    and the share at or below it. NaN stays NaN.

    >>> among(np.array([1.0, 2.0, 9.0, np.nan]), np.array([1.0, 2.0, 2.0, 3.0])).tolist()
    [0.125, 0.5, 1.0, nan]
    """
    ordered = np.sort(reference)
    middle = np.searchsorted(ordered, scores, "left") + np.searchsorted(ordered, scores, "right")
    return np.asarray(np.where(np.isnan(scores), np.nan, middle / (2 * len(ordered))))


class ScoreSeats:
    """A judge and people on the items that both scored.

    people: (items, people), NaN without a score; judge: (items,); sources: (items,). alone: whether
    an item with only one score is also a seat, compared with that score. higher: whether higher
    scores are better. ranked: (items,) the judge's scores as given, if `judge` has positions among
    people's scores (see `among`). Ranks use them, because all scores beyond people's have the same
    position.
    """

    def __init__(
        self,
        people: Numbers,
        judge: Numbers,
        sources: Codes,
        *,
        alone: bool,
        higher: bool,
        ranked: Numbers | None = None,
    ) -> None:
        people = np.sort(people, axis=1)  # by score: no digit may hang on who is in which column
        people = people[:, : max(int((~np.isnan(people)).sum(axis=1).max(initial=1)), 1)]
        if ranked is None:
            content = scattered_rows(np.column_stack([people, judge]))
            ranked = judge
        else:
            content = scattered_rows(np.column_stack([people, judge, ranked]))
        order = np.argsort(content, kind="stable")  # nor on the order of items
        people, judge, ranked = people[order], judge[order], ranked[order]
        sources, content = sources[order], content[order]
        rated = ~np.isnan(people)
        number = rated.sum(axis=1, keepdims=True)
        total = np.where(rated, people, 0.0).sum(axis=1, keepdims=True)
        facing = (total - people) / np.maximum(number - 1, 1)
        if alone:
            facing = np.where(number == 1, people, facing)
        seats = rated & (number >= (1 if alone else 2))
        self.item, _ = np.nonzero(seats)
        self.facing, self.own, self.judge, self.ranked = facing[seats], people[seats], judge, ranked
        self.items, self.higher = len(judge), higher
        self.by = SourceSums(np.arange(len(judge)), sources, content)

    def _rows(self, features: Numbers) -> Numbers:
        """(rows, F) sums by source of features (seats, F)."""
        sums = np.zeros((self.items, features.shape[1]))
        np.add.at(sums, self.item, features)
        return self.by.rows(sums)

    def pair(self, kind: str, facing: Numbers, own: Numbers, judge: Numbers) -> FigurePair:
        """A figure of judge and person. All arguments: (seats,)."""
        ones = np.ones(len(facing))
        rows = [self._rows(pair_sums(ones, facing, rater)) for rater in (judge, own)]
        return FigurePair(self.by, rows[0], rows[1], kind)

    @property
    def said(self) -> Numbers:
        """(seats,) the judge's score on the item of each seat."""
        return np.asarray(self.judge[self.item])

    @cached_property
    def concordance(self) -> FigurePair:
        """Lin's concordance of the scores as they are."""
        return self.pair("kappa", self.facing, self.own, self.said)

    @cached_property
    def correlation(self) -> FigurePair:
        """Pearson's correlation of the scores as they are."""
        return self.pair("order", self.facing, self.own, self.said)

    @cached_property
    def ranks(self) -> FigurePair:
        """The correlation of midranks."""
        ones = np.ones(len(self.facing))
        each = (
            np.round(self.facing, _DIGITS),
            np.round(self.own, _DIGITS),
            np.round(self.ranked[self.item], _DIGITS),
        )
        facing, own, answered = (midranks(values, ones) for values in each)
        return self.pair("order", facing, own, answered)

    @property
    def p(self) -> float:
        """The one-sided p-value for the claim that the judge knows people's order at all."""
        return p_no_order(self.by, self.ranks.of_judge)

    @property
    def z(self) -> float:
        """The z-value behind `p`; see metal.stats.order.z_of_order."""
        return z_of_order(self.by, self.ranks.of_judge)

    @property
    def person_p(self) -> float:
        """The one-sided p-value for the claim that a person knows the others' order at all."""
        return p_no_order(self.by, self.ranks.of_person)

    @cached_property
    def low(self) -> Codes:
        """(seats,) whether the others' mean is in the worst fifth, including ties."""
        facing = self.facing if self.higher else -self.facing
        return np.asarray(facing <= np.quantile(facing, LOW) + 1e-12)

    @property
    def low_items(self) -> int:
        """How many items have a low seat; 0 if all seats are low."""
        return 0 if self.low.all() else len(np.unique(self.item[self.low]))

    def drop(self, k: float) -> tuple[Measured, float, float]:
        """How much lower than usual low outputs are scored: the judge's drop minus k times a
        person's, and both drops.

        A drop is positive towards the bad end of the scale.
        """
        low, sign = self.low.astype(float), 1.0 if self.higher else -1.0
        features = np.stack(
            [np.ones(len(low)), low, self.said, self.own, self.said * low, self.own * low], axis=1
        )
        rows = self._rows(features)

        def drops(sums: Numbers) -> tuple[Numbers, Numbers]:
            seats, low_seats, judged, own, low_judged, low_own = np.moveaxis(sums, -1, 0)
            safe = np.where(low_seats > 0, low_seats, np.nan)
            return sign * (judged / seats - low_judged / safe), sign * (
                own / seats - low_own / safe
            )

        judge, person = map(float, drops(self.by.total(rows)))
        of_judge, of_person = drops(self.by.without(rows))

        def again(draws: Draws, alike: bool) -> tuple[Numbers, Numbers]:
            def beyond(sums: Numbers) -> Numbers:
                of_judge, of_person = drops(sums)
                return of_judge - k * of_person

            value, error = jackknife_again(self.by, rows, beyond, draws)
            if alike:
                value = (1 - k) * drops(self.by.drawn(draws) @ rows)[1]
            return value, error

        measured = jackknife(judge - k * person, of_judge - k * of_person, self.by.times)
        return replace(measured, again=again), judge, person
