"""A judge's answers and people's seats on the same items, and the sums from which a verdict's
figures are computed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from metal.stats.interval import Bounds
from metal.stats.measured import Measured, jackknife, jackknife_ratio
from metal.stats.order import OrderFigures, order
from metal.stats.patterns import Codes, Numbers, distinct
from metal.stats.recalls import ClassSums
from metal.stats.seats import Seats, Votes
from metal.stats.source_sums import Draws, SourceSums


@dataclass(frozen=True)
class JudgedVotes:
    """Some items with people's votes and a judge's answers.

    votes: the people's. given: (items,) the judge's labels, -1 if it refused. sources: (items,) the
    source of each item.
    """

    votes: Votes
    given: Codes
    sources: Codes

    def some(self, items: Codes) -> JudgedVotes:
        """The items for which a mask is true."""
        return JudgedVotes(self.votes.some(items), self.given[items], self.sources[items])


class SeatedJudge:
    """A judge compared with people on some items, where items with equal votes and an equal answer
    form one kind.

    kind, answer: (kinds,) the kind of votes, and the judge's answer. times: (kinds,) the number of
    items of each kind. alone: whether an item with one rating counts as a seat, with that rating as
    its target.
    """

    def __init__(
        self, items: JudgedVotes, values: Numbers, *, ordered: bool, alone: bool = False
    ) -> None:
        first, joint = distinct(items.votes.kind * (len(values) + 1) + items.given + 1)
        self.kind, self.answer = items.votes.kind[first], items.given[first]
        self.times = np.bincount(joint)
        self._joint, self._sources = joint, items.sources
        self.seats = Seats(items.votes.counts, alone=alone)
        self.values, self.ordered, self.items = values, ordered, len(joint)

    @cached_property
    def by(self) -> SourceSums:
        """A function that computes sums by source from sums by kind of item."""
        return SourceSums(self._joint, self._sources)

    def totals(self) -> tuple[Numbers, Numbers, Numbers]:
        """The weight of each label, (levels,), and the parts of this weight on which the judge and
        people are right.
        """
        of_judge = self.weight * self.said
        weight, judge, people = (self.times @ each for each in (self.weight, of_judge, self.hits))
        return weight, judge, people

    @property
    def levels(self) -> int:
        """The number of labels."""
        return len(self.values)

    @cached_property
    def said(self) -> Numbers:
        """(kinds, levels) 1 for the label that the judge gave."""
        return np.asarray(self.answer[:, None] == np.arange(self.levels), dtype=float)

    @cached_property
    def weight(self) -> Numbers:
        """(kinds, levels) the weight of each label over the seats of an item."""
        return self.seats.weights()[self.kind]

    @cached_property
    def hits(self) -> Numbers:
        """(kinds, levels) the part of that weight on which people are right."""
        return self.seats.hits()[self.kind]

    @cached_property
    def items_of_label(self) -> Numbers:
        """(levels,) the items of each label: an item counts once, however many seats it has."""
        seats = np.maximum(self.weight.sum(axis=1, keepdims=True), 1e-12)
        return np.asarray(self.times @ (self.weight / seats))

    @cached_property
    def sums(self) -> ClassSums:
        """The sums by source from which recalls of the classes are computed."""
        weight, judge, people = map(self.by.rows, (self.weight, self.weight * self.said, self.hits))
        return ClassSums(self.by, weight, judge, people, self.items_of_label)

    @cached_property
    def near_sums(self) -> ClassSums | None:
        """Like `sums`, but near misses count in part; for three or more ordered levels."""
        if not self.ordered or self.levels < 3:
            return None
        values = self.values
        near = 1 - np.abs(values[:, None] - values) / (values.max() - values.min())
        judge = self.weight * near[self.answer]
        people = self.seats.near_hits(near)[self.kind]
        return ClassSums(
            self.by,
            self.sums.weight,
            self.by.rows(judge),
            self.by.rows(people),
            self.items_of_label,
        )

    @cached_property
    def order(self) -> OrderFigures | None:
        """Whether the judge puts items in people's order; None if that is undefined."""
        if not self.ordered or self.levels < 3:
            return None
        return order(self.seats, self.kind, self.answer, self.values, self.by, self.times)

    @cached_property
    def answers_used(self) -> Codes:
        """(levels,) how often the judge gave each label."""
        return np.asarray(self.times @ self.said)

    @cached_property
    def plain(self) -> Measured:
        """How often the judge is right minus how often a person is. All labels and seats have equal
        weight, and refusals count as wrong.
        """
        right, people = (self.weight * self.said).sum(axis=1), self.hits.sum(axis=1)
        above, seats = self.by.rows(right - people), self.by.rows(self.weight.sum(axis=1))
        total = float(self.by.total(seats))
        value = float(self.by.total(above)) / total
        spread = (
            float(self.by.times @ ((above - value * seats) / total) ** 2)
            * self.by.n
            / max(self.by.n - 1, 1)
        )

        def again(draws: Draws, alike: bool) -> tuple[Numbers, Numbers]:
            times = self.by.drawn(draws)
            n, totals = times.sum(axis=1), times @ seats
            values = times @ above / totals
            each = (above - np.outer(values, seats)) / totals[:, None]
            error = np.sqrt((times * each**2).sum(axis=1) * n / np.maximum(n - 1, 1))
            return np.zeros_like(values) if alike else values, error

        return Measured(value, math.sqrt(spread), max(self.by.n - 1, 1), again)

    @property
    def confirmed(self) -> float:
        """How often a person's rating is the most frequent label of the others."""
        return float(self.times @ self.hits.sum(axis=1) / (self.times @ self.weight.sum(axis=1)))

    def unanimous(self, level: int) -> tuple[float, float, float]:
        """Items whose seats face two or more people who all give this label, and the recalls of
        judge and people on them.
        """
        seats, hits = (each[self.kind] for each in self.seats.unanimous(level))
        every = np.maximum(self.weight.sum(axis=1), 1e-12)
        total = float(self.times @ seats)
        if not total:
            return 0.0, np.nan, np.nan
        judge = float(self.times @ (seats * (self.answer == level)))
        return float(self.times @ (seats / every)), judge / total, float(self.times @ hits) / total

    def kappa_share(self) -> Bounds | None:
        """The judge's kappa with the others' label as a share of a person's kappa; None if a
        person's is not above 0.
        """
        own = self.seats.by_item(
            np.asarray(self.seats.own[:, None] == np.arange(self.levels), dtype=float)
        )
        seats = self.weight.sum(axis=1, keepdims=True)
        hits = np.stack([(self.weight * self.said).sum(axis=1), self.hits.sum(axis=1)], axis=1)
        rows = self.by.rows(
            np.column_stack([seats, hits, self.weight, self.said * seats, own[self.kind]])
        )
        judge, person = (float(each[0]) for each in self._kappas(self.by.total(rows)[None]))
        judges, people = self._kappas(self.by.without(rows))
        if not jackknife(person, people, self.by.times).low() > 0:
            return None
        return jackknife_ratio(judge, person, judges, people, self.by.times)

    def _kappas(self, sums: Numbers) -> tuple[Numbers, Numbers]:
        """(rows,) kappa with the others' label, of the judge and of a person."""
        seats, right = np.maximum(sums[:, 0], 1e-12), sums[:, 1:3]
        target, judge, people = np.split(sums[:, 3:], 3, axis=1)
        kappas = []
        for hits, labels in ((right[:, 0], judge), (right[:, 1], people)):
            chance = (target * labels).sum(axis=1) / seats**2
            kappas.append(1 - (1 - hits / seats) / np.where(chance < 1 - 1e-12, 1 - chance, np.nan))
        return kappas[0], kappas[1]
