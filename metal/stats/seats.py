"""Seats: every rating of a person on an item that another person rated is a seat, compared with the
others' ratings.

A judge takes each seat in turn and is compared with the same others. It does not matter who gave a
rating, so an item is described by its votes: how many people gave each label. Items with equal
votes are of one kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from metal.stats.patterns import Codes, Numbers, class_counts, distinct, find_patterns, one_hot


@dataclass(frozen=True)
class Votes:
    """How often people gave each label, by kind of item.

    counts: (kinds, levels). kind: (items,) the kind of each item.
    """

    counts: Codes
    kind: Codes

    @classmethod
    def of(cls, people: Codes, levels: int) -> Votes:
        """Count the votes of (items, people) codes. Negative codes are not votes."""
        patterns = find_patterns(class_counts(people, levels))
        return cls(patterns.rows, patterns.which)

    def some(self, items: Codes) -> Votes:
        """The votes of some items, given by indices or as a mask."""
        chosen = self.kind[items]
        first, kind = distinct(chosen)
        return Votes(self.counts[chosen[first]], kind)

    @cached_property
    def less_one(self) -> LessOne:
        """The votes without one vote, for each label that it may have."""
        kind, label = np.nonzero(self.counts)
        fewer = self.counts[kind] - one_hot(label, self.counts.shape[1])
        row = np.full((len(self.counts), self.counts.shape[1] + 1), -1)
        row[:, 0] = np.arange(len(self.counts))
        row[kind, label + 1] = len(self.counts) + np.arange(len(kind))
        return LessOne(Seats(np.concatenate([self.counts, fewer])), row)


@dataclass(frozen=True)
class LessOne:
    """The seats of each kind of item, and of each kind without one of its votes.

    place: (kinds, 1 + levels) the row in `seats` of a kind as it is, and of the kind without a vote
    for each label.
    """

    seats: Seats
    place: Codes

    def without(self, kind: Codes, labels: Codes) -> Codes:
        """(items,) the rows in `seats` of items without one person. kind: (items,) kinds. labels:
        (items,) the labels that the person gave, negative without an answer.
        """
        return np.asarray(self.place[kind, np.maximum(labels, -1) + 1])

    @cached_property
    def counts(self) -> Codes:
        """(rows, levels) the votes."""
        return self.seats.counts

    @cached_property
    def several(self) -> Codes:
        """(rows,) whether the row has two votes or more."""
        return np.asarray(self.counts.sum(axis=1) >= 2)

    @cached_property
    def sums(self) -> tuple[Numbers, Numbers, Numbers]:
        """(rows, levels) the weights, hits and items of each label."""
        weights = self.seats.weights()
        seats = np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)
        return weights, self.seats.hits(), weights / seats


class Seats:
    """The seats of each kind of item.

    item: (seats,) the kind of item. own: (seats,) the label given on the seat. times: (seats,) how
    many such seats an item of the kind has. others: (seats,) how many other people rated the item.
    target: (seats, levels) 1 for the others' most frequent label; if k labels are tied, 1/k for
    each. rest: (seats, levels) the others' votes.

    alone: whether an item with one rating is a seat, whose target is that rating.
    """

    def __init__(self, counts: Codes, *, alone: bool = False) -> None:
        self.counts = counts
        item, own = np.nonzero(counts)
        rest = counts[item].astype(np.int64)
        rest[np.arange(len(item)), own] -= 1
        others = rest.sum(axis=1)
        if alone:
            rest[(others == 0).nonzero()[0], own[others == 0]] = 1
        sits = rest.any(axis=1)
        self.kinds, self.item, self.own, self.rest = len(counts), item[sits], own[sits], rest[sits]
        self.times, self.others = counts[item, own][sits], others[sits]
        most = self.rest.max(axis=1, initial=0, keepdims=True)
        modal = self.rest == most
        self.target: Numbers = modal / modal.sum(axis=1, keepdims=True)
        self.levels = counts.shape[1]

    @property
    def untied(self) -> Codes:
        """(seats,) whether the others have one most frequent label."""
        return np.asarray(self.target.max(axis=1, initial=0) == 1)

    def by_item(self, features: Numbers) -> Numbers:
        """(kinds, ...) the sums of features (seats, ...) over the seats of each kind of item."""
        sums = np.zeros((self.kinds, *features.shape[1:]))
        np.add.at(sums, self.item, features * self.times.reshape(-1, *[1] * (features.ndim - 1)))
        return sums

    def weights(self) -> Numbers:
        """(kinds, levels) the weight of each label as a target, summed over seats."""
        return self.by_item(self.target)

    def hits(self) -> Numbers:
        """(kinds, levels) the part of `weights` that the seats' own ratings hit."""
        own_hits = np.zeros_like(self.target)
        rows = np.arange(len(self.own))
        own_hits[rows, self.own] = self.target[rows, self.own]
        return self.by_item(own_hits)

    def near_hits(self, near: Numbers) -> Numbers:
        """(kinds, levels) `hits` if answers can be partly right. near: (levels, levels) how right
        an answer is.
        """
        return self.by_item(self.target * near[self.own])

    def numbers(self) -> Numbers:
        """(kinds,) the seats of each kind of item."""
        return self.by_item(np.ones(len(self.own)))

    def unanimous(self, level: int) -> tuple[Numbers, Numbers]:
        """(kinds,) the number of seats whose others (two or more) all give this label, and on how
        many of these the person gives it, too.
        """
        agreed = (self.others >= 2) & (self.rest[:, level] == self.others)
        return self.by_item(agreed.astype(float)), self.by_item(
            (agreed & (self.own == level)).astype(float)
        )
