"""Seats: every rating of a person, on an item that another person rated, facing what the others
said.

A judge is put on each seat in turn and faces the same others. Who gave a rating is asked nowhere,
so that an item is its votes: how many people gave each label. Items with equal votes are one kind,
however many there are.
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
        """The votes of (items, people) codes; negative codes are no votes."""
        patterns = find_patterns(class_counts(people, levels))
        return cls(patterns.rows, patterns.which)

    def some(self, items: Codes) -> Votes:
        """The votes of some items, by places or as a mask."""
        chosen = self.kind[items]
        first, kind = distinct(chosen)
        return Votes(self.counts[chosen[first]], kind)

    @cached_property
    def less_one(self) -> LessOne:
        """The votes without one of them, whoever gave it."""
        kind, label = np.nonzero(self.counts)
        fewer = self.counts[kind] - one_hot(label, self.counts.shape[1])
        row = np.full((len(self.counts), self.counts.shape[1] + 1), -1)
        row[:, 0] = np.arange(len(self.counts))
        row[kind, label + 1] = len(self.counts) + np.arange(len(kind))
        return LessOne(Seats(np.concatenate([self.counts, fewer])), row)


@dataclass(frozen=True)
class LessOne:
    """The seats of each kind of item, and of each without one of its votes.

    place: (kinds, 1 + levels) the row of a kind in `seats` as it is, and without a vote for each
    label.
    """

    seats: Seats
    place: Codes

    def without(self, kind: Codes, labels: Codes) -> Codes:
        """(items,) the rows in `seats` of items of some kinds without one person, who gave these
        labels, negative without an answer.
        """
        return np.asarray(self.place[kind, np.maximum(labels, -1) + 1])

    @cached_property
    def counts(self) -> Codes:
        """(rows, levels) the votes."""
        return self.seats.counts

    @cached_property
    def several(self) -> Codes:
        """(rows,) whether there are two votes or more."""
        return np.asarray(self.counts.sum(axis=1) >= 2)

    @cached_property
    def sums(self) -> tuple[Numbers, Numbers, Numbers]:
        """(rows, levels) the weights, hits and items of each label."""
        weights = self.seats.weights()
        seats = np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)
        return weights, self.seats.hits(), weights / seats


class Seats:
    """The seats of each kind of item.

    item: (seats,) the kind of item; own: (seats,) the label given there; times: (seats,) how many
    such seats the item has; others: (seats,) how many other people rated it; target: (seats,
    levels) the weight of each label as the most frequent one of the others, 1/k each where k tie;
    rest: (seats, levels) the others' votes.

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
        """(kinds, ...) sums over the seats of each kind of item, of features (seats, ...)."""
        sums = np.zeros((self.kinds, *features.shape[1:]))
        np.add.at(sums, self.item, features * self.times.reshape(-1, *[1] * (features.ndim - 1)))
        return sums

    def weights(self) -> Numbers:
        """(kinds, levels) the weight of each label as a target over the seats."""
        return self.by_item(self.target)

    def hits(self) -> Numbers:
        """(kinds, levels) the part of it that the seats' own ratings hit."""
        own_hits = np.zeros_like(self.target)
        rows = np.arange(len(self.own))
        own_hits[rows, self.own] = self.target[rows, self.own]
        return self.by_item(own_hits)

    def near_hits(self, near: Numbers) -> Numbers:
        """(kinds, levels) the same with partly right answers: near (levels, levels) how right an
        answer is.
        """
        return self.by_item(self.target * near[self.own])

    def numbers(self) -> Numbers:
        """(kinds,) the seats of each kind of item."""
        return self.by_item(np.ones(len(self.own)))

    def unanimous(self, level: int) -> tuple[Numbers, Numbers]:
        """(kinds,) seats with two or more others who all give this label, and how many of them give
        it, too.
        """
        agreed = (self.others >= 2) & (self.rest[:, level] == self.others)
        return self.by_item(agreed.astype(float)), self.by_item(
            (agreed & (self.own == level)).astype(float)
        )
