"""Find careless people: they agree with the others far less than the others agree with each other.

Only untied seats count, on which the others have one most frequent label. Two figures of a person
are compared with the same figures of all other people: the share of these seats on which the person
gives that label, and the mean of this share over labels. Nowhere else does it matter who gave a
rating.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from metal.stats.measured import quantile
from metal.stats.patterns import Codes, Numbers, distinct
from metal.stats.seats import Seats, Votes

LEAST_SEATS = 10  # untied, of a person who is looked at
ENOUGH_SEATS = 50  # of the median person: with fewer, hardly anybody can be found
FAR = 0.10  # below the others
MOST_ROUNDS = 5
_ERROR = 0.03  # of a round, over all people looked at
_LEAST_SOURCES = 8
# untied seats on either side, and weight of the person, of a label looked at
_LEAST_OF_LABEL, _LEAST_WEIGHT = 5, 10


@dataclass(frozen=True)
class Careless:
    """The careless people, the worst first. below: how far each person is below the others.
    median_seats: the median number of seats per person before anybody is left out.

    many: the careless people if they are half or more of all people; then nobody is left out.
    """

    people: tuple[int, ...] = ()
    below: tuple[float, ...] = ()
    median_seats: float = math.nan
    many: tuple[int, ...] = ()


def careless(people: Codes, sources: Codes, levels: int) -> Careless:
    """Find the careless people. people: (items, people) codes, negative without an answer.

    The result is empty for fewer than three people. Each round leaves out the careless people that
    it finds, and the next round looks at the rest. It stops if another round would leave fewer than
    half of the items with two ratings. At least two people stay.
    """
    present = np.flatnonzero((people >= 0).any(axis=0))
    if len(present) < 3:
        return Careless()
    several = (people >= 0).sum(axis=1) >= 2
    ratings, source = people[several].copy(), distinct(sources[several])[1]
    looked, median = 0, math.nan
    gone: dict[int, float] = {}
    for turn in range(MOST_ROUNDS):
        looks = _Looks(ratings, source, levels)
        if turn == 0:
            median = float(np.median(looks.untied_seats[present]))
        far_below = looks.far()
        looked = looked or len(looks.people)
        leave = sorted(far_below, key=far_below.__getitem__)[: len(present) - 2 - len(gone)]
        fewer = ratings.copy()
        fewer[:, leave] = -1
        if not leave or 2 * int(((fewer >= 0).sum(axis=1) >= 2).sum()) < len(ratings):
            break
        ratings = fewer
        gone |= {person: far_below[person] for person in leave}
    if gone and 2 * len(gone) >= looked:
        return Careless(median_seats=median, many=tuple(gone))
    return Careless(tuple(gone), tuple(gone.values()), median)


class _Looks:
    """A round, which compares each person with all others. people: the people who are still
    compared. untied_seats: (people,) the number of untied seats of each person.
    """

    def __init__(self, ratings: Codes, sources: Codes, levels: int) -> None:
        votes = Votes.of(ratings, levels)
        seats = Seats(votes.counts)
        self.ratings, self.sources, self.levels, self.kind = ratings, sources, levels, votes.kind
        self.number = int(sources.max()) + 1
        self.seat_at = np.full((len(votes.counts), levels), -1)
        self.seat_at[seats.item, seats.own] = np.arange(len(seats.own))
        taken = np.stack(
            [
                np.bincount(self._seats_of(column), minlength=len(seats.own))
                for column in self._columns
            ]
        )
        # of each seat, -1 where it is tied
        self.label = np.where(seats.untied, seats.target.argmax(axis=1), -1)
        self.hit = self.label == seats.own
        untied = np.asarray(self.label[:, None] == np.arange(levels), dtype=float)
        self.weight, self.seats_of = taken @ seats.target, taken @ untied
        self.hits_of = taken @ (untied * self.hit[:, None])
        self.untied_seats = self.seats_of.sum(axis=1)
        self.people = np.flatnonzero(self.untied_seats >= LEAST_SEATS).tolist()
        self.by_kind = [seats.by_item(untied * self.hit[:, None]), seats.by_item(untied)]
        self._sums: dict[tuple[int, ...], tuple[Numbers, Numbers]] = {}

    @property
    def _columns(self) -> range:
        return range(self.ratings.shape[1])

    def _seats_of(self, person: int) -> Codes:
        """The seats of a person: one for each item that the person and somebody else rated."""
        seat = self._seat_of_item(person)[1]
        return seat[seat >= 0]

    def _seat_of_item(self, person: int) -> tuple[Codes, Codes]:
        """The items that a person rated, and the seat on each item; -1 if nobody else rated it."""
        items = np.flatnonzero(self.ratings[:, person] >= 0)
        return items, self.seat_at[self.kind[items], self.ratings[items, person]]

    def far(self) -> dict[int, float]:
        """The people who are far below the others, each with the larger of the two differences."""
        if not self.people:
            return {}
        share = self.hits_of.sum(axis=1) / np.maximum(self.untied_seats, 1)
        median = float(np.median(share[self.people]))
        p = 1 - _ERROR / max(3, len(self.people))
        far_below: dict[int, float] = {}
        for person in self.people:
            if not share[person] < median - 1e-12:
                continue
            looks = [
                gap
                for labels in self._labels(person)
                if (gap := self._below(person, labels, p)) is not None
            ]
            if looks:
                far_below[person] = min(looks)
        return far_below

    def _labels(self, person: int) -> list[list[Codes]]:
        """The labels for each of the two figures: first all labels together, then each label that
        is frequent enough.
        """
        rest = self.seats_of.sum(axis=0) - self.seats_of[person]
        often = (self.seats_of[person] >= _LEAST_OF_LABEL) & (rest >= _LEAST_OF_LABEL)
        each = np.flatnonzero(often & (self.weight[person] >= _LEAST_WEIGHT))
        together = [np.arange(self.levels)]
        return [together, [np.array([label]) for label in each]] if len(each) >= 2 else [together]

    def _below(self, person: int, labels: list[Codes], p: float) -> float | None:
        """How far the person is below all others, if the distance is shown to be more than FAR;
        else None.
        """
        share = np.array(
            [
                [self.hits_of[person, group].sum(), self.seats_of[person, group].sum()]
                for group in labels
            ]
        )
        every = np.array(
            [[self.hits_of[:, group].sum(), self.seats_of[:, group].sum()] for group in labels]
        )
        rest = every - share
        if not rest[:, 1].all():
            return None
        own_shares, others = share[:, 0] / share[:, 1], rest[:, 0] / rest[:, 1]
        value, own, seats = (
            float((own_shares - others).mean()),
            float(own_shares.mean()),
            float(self.untied_seats[person]),
        )
        items, seat = self._seat_of_item(person)
        sources = int(np.count_nonzero(np.bincount(self.sources[items])))
        if value >= -FAR or sources < _LEAST_SOURCES:
            return None
        influence = np.zeros(self.number)
        items, seat = items[seat >= 0], seat[seat >= 0]
        for group, my_share, other, mine_in, rest_in in zip(
            labels, own_shares, others, share[:, 1], rest[:, 1], strict=True
        ):
            hits, untied = self._by_source(group)
            influence -= (hits - other * untied) / rest_in
            here = np.isin(self.label[seat], group)
            sat, right = (
                np.bincount(self.sources[items[counted]], minlength=self.number)
                for counted in (here, here & self.hit[seat])
            )
            influence += (right - my_share * sat) / mine_in + (right - other * sat) / rest_in
        drawn = (own * seats + 1) / (seats + 2)
        spread = sources / (sources - 1) * float(np.sort(influence**2).sum()) / len(labels) ** 2
        error = math.sqrt(max(spread, drawn * (1 - drawn) / (seats + 2)))
        return value if value + quantile(p, sources - 1) * error < -FAR else None

    def _by_source(self, group: Codes) -> tuple[Numbers, Numbers]:
        """(sources,) the hits and the untied seats of all people, on some labels; computed once."""
        key = tuple(group.tolist())
        if key not in self._sums:
            hits, seats = (
                np.bincount(
                    self.sources,
                    weights=each[:, group].sum(axis=1)[self.kind],
                    minlength=self.number,
                )
                for each in self.by_kind
            )
            self._sums[key] = np.asarray(hits, dtype=float), np.asarray(seats, dtype=float)
        return self._sums[key]
