"""A judge beside each person, both facing the same other people: class-balanced agreement.

For a person r, over the items that r, the judge and other people answered: t is the others' most frequent label, with
weight 1/k each where k labels tie. The recall of a class is the share of its weight that was answered right. Agreement
is the mean recall over the classes, then the mean over the people, so that a rare class counts as much as a common
one, and a constant answer gets 1 / (number of classes). A class counts for a person where its weight is 10 or more;
people for whom fewer than two classes count are taken together as one.

On ordered scales everything is also computed with partly right answers: 1 - |answer - t| / range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from metal.stats.patterns import Codes, Numbers, class_counts, mean_of_defined, ratio

LEAST_WEIGHT = 10.0  # of a class, to count for a person
FAR = 0.1  # below the others' agreement, to be careless
_CHUNK = 2_000  # classes of people whose sums are held at once
WEIGHT, JUDGE, PERSON = range(3)  # the sums of a class; then, on ordered scales, both with partly right answers

Draw = Callable[[Numbers], tuple[Numbers, Numbers]]
"""From features (patterns, ...) their sums as observed (...) and in each resample (resamples, ...)."""


@dataclass(frozen=True)
class Balanced:
    """Class-balanced agreement, (1 + resamples,) each: as observed, then in each resample.

    judge, person: exact; near_judge, near_person: with partly right answers, None on nominal scales. constant,
    near_constant: of the best answer that could always be given.
    """

    judge: Numbers
    person: Numbers
    near_judge: Numbers | None
    near_person: Numbers | None
    constant: float
    near_constant: float


def others_labels(people: Codes, person: int, votes: Codes) -> Numbers:
    """(patterns, levels) the weight of each label as the most frequent of the people but one; zeros where none is.

    people: (patterns, people) codes; votes: (patterns, levels) how many people gave each.
    """
    rest = votes.T - (people[:, person] == np.arange(votes.shape[1])[:, None])  # by level: sums of rows take longer
    top = rest.max(axis=0)
    modal = (rest == top) & (top > 0)
    return np.ascontiguousarray((modal / np.maximum(modal.sum(axis=0), 1)).T)


@dataclass(frozen=True)
class Seats:
    """A judge on the chair of each person: what the patterns of ratings add to the sums of the classes.

    people: (patterns, people); judge: (patterns,) codes, negative without an answer; values: (levels,) what each level
    stands for; ordered: whether partly right answers are added up, too.
    """

    people: Codes
    judge: Codes
    values: Numbers
    ordered: bool

    @cached_property
    def votes(self) -> Codes:
        """(patterns, levels) how many people gave each."""
        return class_counts(self.people, len(self.values))

    @cached_property
    def _judge_right(self) -> list[Numbers]:
        return [table[self.judge] for table in _tables(self.values, self.ordered)]

    def features(self, seat: int) -> Numbers:
        """(patterns, sums, levels) what a pattern adds to a person's sums: WEIGHT, JUDGE, PERSON; if ordered, more."""
        own = self.people[:, seat]
        weight = others_labels(self.people, seat, self.votes) * ((own >= 0) & (self.judge >= 0))[:, None]
        sums = np.empty((len(own), 5 if self.ordered else 3, len(self.values)))
        sums[:, WEIGHT] = weight
        for place, table in enumerate(_tables(self.values, self.ordered)):
            np.multiply(weight, self._judge_right[place], out=sums[:, JUDGE + 2 * place])
            np.multiply(weight, table[own], out=sums[:, PERSON + 2 * place])
        return sums


def _tables(values: Numbers, ordered: bool) -> list[Numbers]:
    """(levels + 1, levels) how right each answer is where a class is true, exactly and, if ordered, partly.

    The last row is of no answer.
    """
    tables = [np.eye(len(values))]
    if ordered:
        tables.append(1 - np.abs(values[:, None] - values[None, :]) / (values.max() - values.min()))
    return [np.vstack([table, np.zeros(len(values))]) for table in tables]


def balanced_agreement(
    people: Codes, judge: Codes, values: Numbers, ordered: bool, draw: Draw, seats: Sequence[int]
) -> Balanced | None:
    """The agreement of the judge and of the people with the others' labels; None where fewer than two classes count.

    people: (patterns, people); judge: (patterns,); values: (levels,) what each level stands for. seats: the people
    beside whom the judge stands.
    """
    beside = Seats(people, judge, values, ordered)
    units: list[Numbers] = []  # (1 + resamples, sums - 1) each
    counting: list[Codes] = []  # (levels,) each: which classes count
    rest: Any = 0.0
    size = max(1, _CHUNK // len(values))
    for start in range(0, len(seats), size):
        chunk = seats[start : start + size]
        observed, resamples = draw(np.stack([beside.features(seat) for seat in chunk], axis=1))
        sums = np.concatenate([observed[None], resamples])  # (1 + resamples, people, sums, levels)
        enough = observed[:, WEIGHT] >= LEAST_WEIGHT
        alone = enough.sum(axis=1) >= 2
        for place in np.flatnonzero(alone):
            units.append(_mean_recall(sums[:, place], enough[place]))
            counting.append(enough[place])
        rest = rest + sums[:, ~alone].sum(axis=1)
    together = rest[0, WEIGHT] >= LEAST_WEIGHT
    if together.sum() >= 2:
        units.append(_mean_recall(rest, together))
        counting.append(together)
    if not units:
        return None
    means = mean_of_defined(units)
    constants = [
        float(np.mean([table[:, classes].mean(axis=1).max() for classes in counting]))
        for table in _tables(values, ordered)
    ]
    return Balanced(
        judge=means[:, 0],
        person=means[:, 1],
        near_judge=means[:, 2] if ordered else None,
        near_person=means[:, 3] if ordered else None,
        constant=constants[0],
        near_constant=constants[-1],
    )


def _mean_recall(sums: Numbers, classes: Codes) -> Numbers:
    """(..., sums - 1) recalls from sums (..., sums, levels), averaged over the classes that count."""
    shares = ratio(sums[..., 1:, classes], sums[..., :1, classes])
    return mean_of_defined(list(np.moveaxis(shares, -1, 0)))


def careless(people: Codes, values: Numbers, times: Codes, draw: Draw, upper: Callable[[Numbers], float]) -> list[int]:
    """People who agree with the others far less than the others do, the farthest first; at least two remain.

    people: (patterns, people). times: (patterns,) how often each occurs. Only people for whom two classes count are
    looked at, on the classes that count for all of them; then items without a single most frequent label are left out,
    and classes of which half that weight or less remains. A person's agreement minus the mean of the others' and its
    upper limit are below -0.1, and the person is in the worse half. upper: the one-sided 99% limit, from the value as
    observed and in each resample. Nobody of fewer than three people.
    """
    alone = Seats(people, np.zeros(len(people), dtype=np.int64), values, False)

    def features(seat: int) -> Numbers:
        """(patterns, 3, levels): WEIGHT; without tied items WEIGHT and PERSON."""
        sums = alone.features(seat)[:, [WEIGHT, PERSON]]
        return np.concatenate([sums[:, :1], sums * (sums[:, :1].max(axis=2, keepdims=True) == 1)], axis=1)

    def apart(sums: Numbers) -> tuple[Numbers, Numbers]:
        """(..., people) their agreement, and how far it is from the others'."""
        recalls = _mean_recall(sums[..., 1:, :], classes)[..., 0]
        return recalls, recalls - (recalls.sum(axis=-1, keepdims=True) - recalls) / (len(seats) - 1)

    observed = np.stack([np.tensordot(times, features(seat), axes=1) for seat in range(people.shape[1])])
    counts = observed[:, 0] >= LEAST_WEIGHT
    seats = np.flatnonzero(counts.sum(axis=1) >= 2).tolist()
    classes = np.asarray((counts & (observed[:, 1] > LEAST_WEIGHT / 2))[seats].all(axis=0))
    if len(seats) < 3 or classes.sum() < 2:
        return []
    recalls, below = apart(observed[seats])
    far = [place for place in np.argsort(below) if recalls[place] < np.median(recalls) and below[place] < -FAR]
    if far:
        drawn = apart(np.stack([draw(features(seat))[1] for seat in seats], axis=1))[1]
        every = np.concatenate([below[None], drawn])
        far = [place for place in far if upper(every[:, place]) < -FAR]
    return [seats[place] for place in far[: len(seats) - 2]]
