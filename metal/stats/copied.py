"""Find people whose answers look copied from a judge: they agree with it more than their agreement
with other people explains.

A person who is often right agrees with a good judge more than others do, although nothing is
copied; but such a person also agrees more with the other people. If errors are independent given
the right answer, the agreement beyond chance of two raters is a product of what each knows
(Spearman 1904). So the expected agreement of the person with the judge is B C / E, where B is the
agreement of the others with the judge, C that of the person with the others, and E that of the
others with each other. The excess over this, as a share of the largest possible excess, is about
the share of copied answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from metal.stats.measured import Measured
from metal.stats.patterns import Codes, Numbers, distinct

LEAST_ITEMS, LEAST_SOURCES = 30, 20  # that the person, the judge and two others answered
LEAST_SHARED = 10  # of them, of another person whose agreement is looked at
LEAST_COPIED = 0.25  # of a person's answers
AGREEING = 2.0  # standard errors by which the others agree with each other


@dataclass(frozen=True)
class Copied:
    """A person compared with a judge. agreement: how often they give the same answer. others: the
    highest agreement of another person with the judge on the same items. share: the share of
    answers that look copied. p: one-sided, of the hypothesis that nothing was copied.
    """

    agreement: float
    others: float
    share: float = 0.0
    p: float = 1.0


def copied(people: Codes, judge: Codes, sources: Codes, levels: int) -> Iterator[Copied | None]:
    """Compare each person with the judge; None if there is too little data.

    people: (items, people) codes, judge: (items,), negative without an answer; sources: (items,).
    """
    rated = people >= 0
    looked_at = (judge >= 0) & (rated.sum(axis=1) >= 3)
    for person in range(people.shape[1]):
        items = np.flatnonzero(looked_at & rated[:, person])
        by_source = distinct(sources[items])[1]
        if len(items) < LEAST_ITEMS or by_source.max() + 1 < LEAST_SOURCES:
            yield None
            continue
        others = np.delete(people[items], person, axis=1)
        yield _beside(people[items, person], others, judge[items], by_source, levels)


def _beside(own: Codes, others: Codes, judge: Codes, sources: Codes, levels: int) -> Copied:
    """Compare a person with the judge, on items that both and two other people answered."""
    shared = (others >= 0).sum(axis=0)
    equal = (others == judge[:, None]).sum(axis=0)
    often = shared >= LEAST_SHARED
    most = float(np.max(equal[often] / shared[often], initial=equal.sum() / shared.sum()))
    agreement = float((own == judge).mean())
    if agreement <= most:
        return Copied(agreement, most)
    every = np.eye(levels)
    votes = (others[:, :, None] == np.arange(levels)).sum(axis=1).astype(float)
    excess, share = _excess(every[own], votes, every[judge], sources)
    if share < LEAST_COPIED:
        return Copied(agreement, most, share)
    return Copied(agreement, most, share, excess.p_above(0.0, len(own)))


def _excess(own: Numbers, votes: Numbers, judge: Numbers, sources: Codes) -> tuple[Measured, float]:
    """The person's excess agreement with the judge, and this excess as a share of the largest
    possible one. own, judge: (items, levels) one-hot. votes: (items, levels) votes of the other
    people.
    """
    number = votes.sum(axis=1)
    mean = votes / number[:, None]
    middle = mean.mean(axis=0)
    x, y, z = own - own.mean(axis=0), judge - judge.mean(axis=0), mean - middle
    together = ((votes - number[:, None] * middle) ** 2).sum(axis=1)
    alone = number - 2 * votes @ middle + number * (middle @ middle)
    # of each item: person and judge, others and judge, others and person, two others
    added = np.stack([x * y, z * y, z * x]).sum(axis=2)
    of_others = (together - alone) / (number * (number - 1))
    observed, with_judge, with_person = added.mean(axis=1)
    within = of_others.mean()
    if not within > AGREEING * of_others.std() / np.sqrt(len(own)):
        return Measured(0.0, 0.0, 1), 0.0
    expected = with_judge * with_person / within
    room = 1 - own.mean(axis=0) @ judge.mean(axis=0) - expected
    # of each item, what it adds to the excess to first order
    adds = added[0] - observed - (with_person * added[1] + with_judge * added[2]) / within
    adds += expected + expected * of_others / within
    number_of_sources = int(sources.max()) + 1
    of_source = np.bincount(sources, adds)
    df = number_of_sources - 1
    error = np.sqrt(number_of_sources / df * (of_source**2).sum()) / len(own)
    excess = Measured(float(observed - expected), float(error), df)
    return excess, excess.value / max(float(room), 1e-9)
