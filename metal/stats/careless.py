"""Who rates without care: people who agree with the others far less than the others do.

Looked at on untied seats, where the others have one most frequent label, in two ways: the share of them that a person
hits, and the mean of this share over labels, each beside the same of all other people. This is the one place where it
matters who gave a rating.
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
_LEAST_OF_LABEL, _LEAST_WEIGHT = 5, 10  # untied seats on either side, and weight of the person, of a label looked at


@dataclass(frozen=True)
class Careless:
    """Who leaves, the farthest first. below: how far each is below the others. median_seats: of the people at first.

    many: those who would leave where they are half or more of the people looked at; then nobody does.
    """

    people: tuple[int, ...] = ()
    below: tuple[float, ...] = ()
    median_seats: float = math.nan
    many: tuple[int, ...] = ()


def careless(people: Codes, sources: Codes, levels: int) -> Careless:
    """The careless people among columns of people (items, people), codes that are negative without an answer.

    Nobody of fewer than three people. Rounds go on with those who are left; a round is not made after which fewer than
    half of the items with two ratings would have two; at least two people stay.
    """
    there = np.flatnonzero((people >= 0).any(axis=0))
    if len(there) < 3:
        return Careless()
    several = (people >= 0).sum(axis=1) >= 2
    ratings, place = people[several].copy(), distinct(sources[several])[1]
    looked, median = 0, math.nan
    gone: dict[int, float] = {}
    for turn in range(MOST_ROUNDS):
        looks = _Looks(ratings, place, levels)
        if turn == 0:
            median = float(np.median(looks.untied_seats[there]))
        found = looks.far()
        looked = looked or len(looks.people)
        leave = sorted(found, key=found.__getitem__)[: len(there) - 2 - len(gone)]
        fewer = ratings.copy()
        fewer[:, leave] = -1
        if not leave or 2 * int(((fewer >= 0).sum(axis=1) >= 2).sum()) < len(ratings):
            break
        ratings = fewer
        gone |= {person: found[person] for person in leave}
    if gone and 2 * len(gone) >= looked:
        return Careless(median_seats=median, many=tuple(gone))
    return Careless(tuple(gone), tuple(gone.values()), median)


class _Looks:
    """A round: all people beside the others.

    people: who is looked at. untied_seats: (people,) of everybody.
    """

    def __init__(self, ratings: Codes, sources: Codes, levels: int) -> None:
        votes = Votes.of(ratings, levels)
        seats = Seats(votes.counts)
        at = np.full((len(votes.counts), levels), -1)
        at[seats.item, seats.own] = np.arange(len(seats.own))
        item, person = np.nonzero(ratings >= 0)
        seat = at[votes.kind[item], ratings[item, person]]
        sits = seat >= 0  # an item with one rating has no seat
        item, person, seat = item[sits], person[sits], seat[sits]
        self._count, self.levels = ratings.shape[1], levels
        self._sums: dict[tuple[int, ...], tuple[Numbers, Numbers]] = {}
        self.weight = np.zeros((self._count, levels))
        np.add.at(self.weight, person, seats.target[seat])
        untied = seats.untied[seat]
        self.person, self.source = person[untied], sources[item[untied]]
        self.label = seats.target[seat[untied]].argmax(axis=1)
        self.hit = (self.label == seats.own[seat[untied]]).astype(float)
        self.sources = int(sources.max()) + 1
        self.seats_of = np.zeros((self._count, levels))
        np.add.at(self.seats_of, (self.person, self.label), 1.0)
        self.hits_of = np.zeros((self._count, levels))
        np.add.at(self.hits_of, (self.person, self.label), self.hit)
        self.untied_seats = self.seats_of.sum(axis=1)
        self.rated_sources = [np.unique(sources[ratings[:, column] >= 0]).size for column in range(self._count)]
        self.people = np.flatnonzero(self.untied_seats >= LEAST_SEATS).tolist()
        self.order = np.argsort(self.person, kind="stable")
        self.starts = np.searchsorted(self.person[self.order], np.arange(self._count + 1))

    def far(self) -> dict[int, float]:
        """People who are far below the others, with how far: the farther of the two looks."""
        if not self.people:
            return {}
        share = self.hits_of.sum(axis=1) / np.maximum(self.untied_seats, 1)
        median = float(np.median(share[self.people]))
        p = 1 - _ERROR / max(3, len(self.people))
        found: dict[int, float] = {}
        for person in self.people:
            if not share[person] < median - 1e-12 or self.rated_sources[person] < _LEAST_SOURCES:
                continue
            looks = [gap for labels in self._labels(person) if (gap := self._below(person, labels, p)) is not None]
            if looks:
                found[person] = min(looks)
        return found

    def _labels(self, person: int) -> list[list[Codes]]:
        """The labels of each look: all of them together, and one by one those that are often enough."""
        rest = self.seats_of.sum(axis=0) - self.seats_of[person]
        often = (self.seats_of[person] >= _LEAST_OF_LABEL) & (rest >= _LEAST_OF_LABEL)
        each = np.flatnonzero(often & (self.weight[person] >= _LEAST_WEIGHT))
        together = [np.arange(self.levels)]
        return [together, [np.array([label]) for label in each]] if len(each) >= 2 else [together]

    def _below(self, person: int, labels: list[Codes], p: float) -> float | None:
        """How far the person is below all others, where that is shown to be more than FAR; else None."""
        share = np.array([[self.hits_of[person, group].sum(), self.seats_of[person, group].sum()] for group in labels])
        every = np.array([[self.hits_of[:, group].sum(), self.seats_of[:, group].sum()] for group in labels])
        rest = every - share
        if not rest[:, 1].all():
            return None
        mine, others = share[:, 0] / share[:, 1], rest[:, 0] / rest[:, 1]
        value, own, seats = float((mine - others).mean()), float(mine.mean()), float(self.untied_seats[person])
        if value >= -FAR:
            return None
        influence = np.zeros(self.sources)
        rows = self.order[self.starts[person] : self.starts[person + 1]]
        for group, my_share, other, mine_in, rest_in in zip(labels, mine, others, share[:, 1], rest[:, 1], strict=True):
            hits, given = self._by_source(group)
            influence -= (hits - other * given) / rest_in
            here = rows[np.isin(self.label[rows], group)]
            np.add.at(influence, self.source[here], (self.hit[here] - my_share) / mine_in)
            np.add.at(influence, self.source[here], (self.hit[here] - other) / rest_in)
        sources, drawn = self.rated_sources[person], (own * seats + 1) / (seats + 2)
        spread = sources / (sources - 1) * float((influence**2).sum()) / len(labels) ** 2
        error = math.sqrt(max(spread, drawn * (1 - drawn) / (seats + 2)))
        return value if value + quantile(p, sources - 1) * error < -FAR else None

    def _by_source(self, group: Codes) -> tuple[Numbers, Numbers]:
        """(sources,) hits and seats of everybody, of some labels; computed once."""
        key = tuple(group.tolist())
        if key not in self._sums:
            here = np.isin(self.label, group)
            hits = np.bincount(self.source[here], weights=self.hit[here], minlength=self.sources)
            seats = np.bincount(self.source[here], minlength=self.sources)
            self._sums[key] = np.asarray(hits, dtype=float), np.asarray(seats, dtype=float)
        return self._sums[key]
