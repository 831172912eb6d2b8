"""The judge's accuracy minus a person's, estimated from few decisions of somebody who knows.

If the judge and all its people gave the same answer to an item, the item adds 0 to the difference,
whatever is right. So only the other items, the disputed ones, are drawn and adjudicated; half of
those drawn are items to which anybody gave the label at the bad end. Source: two-phase sampling
(Neyman 1938); Albert and Dodd (2008) for a gold standard on a part of the items.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from metal.stats.measured import Measured
from metal.stats.patterns import Codes, Flags, Numbers

AGREED, WITH_BAD, OTHERS = 0, 1, 2  # strata of items
STRATA = (WITH_BAD, OTHERS)
LEVEL = 0.95  # of one-sided limits
LEAST_BAD = 3  # items of the bad end, for it to count


@dataclass(frozen=True)
class Sets:
    """Answers of people who say that other answers would do as well.

    Attributes:
        items, people: (answers,) the item and the person of each answer.
        allowed: (answers, levels) whether a level would do, including the answer itself.
    """

    items: Codes
    people: Codes
    allowed: Flags

    def credited(self, values: Numbers, right: Numbers) -> Numbers:
        """(items, people) `values`, in which an answer with others counts as right as the best of
        them.
        """
        credited = values.copy()
        best = np.where(self.allowed, right[self.items], 0.0).max(axis=1)
        credited[self.items, self.people] = np.where(np.isnan(right[self.items, 0]), np.nan, best)
        return credited


@dataclass(frozen=True)
class JudgeBeside:
    """A judge and people on the items of a cell that the judge was asked about and a person rated.

    Attributes:
        judge: (items,) class codes; negative without an answer, which is never right.
        people: (items, people) class codes; negative without an answer.
        sources: (items,) codes of sources.
        bad: The code of the label at the bad end; None without one.
        named_bad: (items,) whether anybody gave the bad end's label, including other judges that
            share the draw; None if there are no others.
        sets: The answers of people who say that other answers would do as well.
    """

    judge: Codes
    people: Codes
    sources: Codes
    bad: int | None = None
    named_bad: Flags | None = None
    sets: Sets | None = None

    @cached_property
    def disputed(self) -> Flags:
        """(items,) whether a person gave another answer than the judge."""
        differs = (self.people >= 0) & (self.people != self.judge[:, None])
        return np.asarray(differs.any(axis=1))

    @cached_property
    def strata(self) -> Codes:
        """(items,) AGREED, WITH_BAD or OTHERS; all disputed items of a stratum had the same chance
        of being drawn.
        """
        named_bad = self.names_bad if self.named_bad is None else self.named_bad
        return strata_of(self.disputed, named_bad)

    @cached_property
    def names_bad(self) -> Flags:
        """(items,) whether the judge or a person gave the label at the bad end."""
        if self.bad is None:
            return np.zeros(len(self.judge), dtype=bool)
        return np.asarray((self.judge == self.bad) | (self.people == self.bad).any(axis=1))


def strata_of(disputed: Flags, names_bad: Flags) -> Codes:
    """(items,) the stratum of each item."""
    return np.asarray(np.where(disputed, np.where(names_bad, WITH_BAD, OTHERS), AGREED))


def draw(strata: Codes, items: int, rng: np.random.Generator) -> Numbers:
    """(items,) the probability with which each drawn item was drawn; 0 for items that were not
    drawn.

    Half of the `items` are drawn from those to which somebody gave the bad end's label, the rest
    evenly from the others. A stratum that is too small is taken whole, and the other one gives
    more. With the same seed, a larger draw contains a smaller one.
    """
    places = {stratum: np.flatnonzero(strata == stratum) for stratum in STRATA}
    with_bad, others = (len(places[stratum]) for stratum in STRATA)
    of_bad = min(with_bad, max(items // 2, items - others))
    wanted = {WITH_BAD: of_bad, OTHERS: min(others, items - of_bad)}
    chances = np.zeros(len(strata))
    for stratum, number in wanted.items():
        drawn = rng.permutation(places[stratum])[:number]
        chances[drawn] = number / max(len(places[stratum]), 1)
    return chances


@dataclass(frozen=True)
class Truth:
    """What adjudicators said. The row of an item that nobody decided is NaN.

    Attributes:
        right: (items, levels) the share of adjudicators for whom the level is right.
        first: (items, levels) the share of adjudicators whose own answer it is; other answers that
            would also do are not counted.
    """

    right: Numbers
    first: Numbers

    @property
    def decided(self) -> Flags:
        """(items,) whether anybody decided the item."""
        return np.asarray(~np.isnan(self.right[:, 0]))


@dataclass(frozen=True)
class Difference:
    """The judge's accuracy minus a person's.

    Attributes:
        figure: The difference with its standard error; None if undefined.
        by_draw: The part of its variance that comes from not deciding every disputed item.
        by_items: The part of its variance that comes from the items being a sample themselves.
        decided, disputed, items: The numbers of the judge's items that were decided, that are
        disputed, and of all its items.
        undefined: Why there is no figure.
    """

    figure: Measured | None
    by_draw: float = 0.0
    by_items: float = 0.0
    decided: int = 0
    disputed: int = 0
    items: int = 0
    undefined: str = ""


def gains(beside: JudgeBeside, right: Numbers) -> Numbers:
    """(items,) whether the judge is right, minus the share of its people who are right.

    NaN if nobody decided a disputed item; 0 if the item is not disputed.
    """
    judge = credit(beside.judge[:, None], right)[:, 0]
    by_people = credit(beside.people, right)
    if beside.sets is not None:
        by_people = beside.sets.credited(by_people, right)
    people = share_of_people(by_people, beside.people >= 0)
    return np.where(beside.disputed, judge - people, 0.0)


def credit(codes: Codes, right: Numbers) -> Numbers:
    """(items, raters) how right each answer is; 0 without an answer."""
    rows = np.arange(len(codes))[:, None]
    value = right[rows, np.maximum(codes, 0)]
    return np.where(codes >= 0, value, np.where(np.isnan(right[:, :1]), np.nan, 0.0))


def share_of_people(values: Numbers, counted: Flags) -> Numbers:
    """(items,) the mean over the people who answered."""
    total = np.where(counted, values, 0.0).sum(axis=1)
    return np.asarray(total / np.maximum(counted.sum(axis=1), 1))


def difference(beside: JudgeBeside, right: Numbers) -> Difference:
    """The judge's accuracy minus a person's, over all items that the judge was asked about.

    Undefined with fewer than two sources, or if a stratum with undecided items has fewer than two
    decided ones.
    """
    gain, strata = gains(beside, right), beside.strata
    decided = beside.disputed & ~np.isnan(gain)
    items, disputed = len(gain), int(beside.disputed.sum())
    counts = Difference(None, decided=int(decided.sum()), disputed=disputed, items=items)
    if reason := _too_few(beside, decided):
        return replace(counts, undefined=reason)
    weights = weights_of(strata, decided)
    counted = np.where(decided, gain, 0.0)
    value = float((weights * counted).sum() / items)
    sums = (_variance_of_sum(counted, decided, strata == stratum) for stratum in STRATA)
    by_draw = sum(sums) / items**2
    spread = float((weights * counted**2).sum() / items)
    alike = _clustering(counted - value, beside, decided)
    by_items = alike * max(spread - value**2, 0.0) / items
    figure = Measured(value, math.sqrt(by_draw + by_items), degrees_of_freedom(beside, decided))
    return replace(counts, figure=figure, by_draw=by_draw, by_items=by_items)


def degrees_of_freedom(beside: JudgeBeside, decided: Flags) -> int:
    """The number of sources with a decided item, minus one; at least 1."""
    return max(len(np.unique(beside.sources[decided])) - 1, 1)


def _too_few(beside: JudgeBeside, decided: Flags) -> str:
    """The reason why nothing can be estimated; empty if it can."""
    if len(np.unique(beside.sources)) < 2:
        return "fewer than two sources"
    for stratum in STRATA:
        every = beside.strata == stratum
        answers, disputed = int((every & decided).sum()), int(every.sum())
        if answers < min(2, disputed):
            what = (
                "with the bad end's label" if stratum == WITH_BAD else "without the bad end's label"
            )
            return f"{answers} of {disputed} disputed items {what} are decided; two are needed"
    if beside.disputed.any() and len(np.unique(beside.sources[decided])) < 2:
        return "the decided items are of one source"
    return ""


def weights_of(strata: Codes, decided: Flags) -> Numbers:
    """(items,) how many items of its stratum each decided item stands for; 1 for items that are not
    disputed, 0 for undecided ones.
    """
    weights = np.where(strata == AGREED, 1.0, 0.0)
    for stratum in STRATA:
        chosen = decided & (strata == stratum)
        if chosen.any():
            weights[chosen] = (strata == stratum).sum() / chosen.sum()
    return weights


def _variance_of_sum(gain: Numbers, decided: Flags, stratum: Flags) -> float:
    """The part of the variance of a stratum's sum that is due to deciding only some of its
    items.
    """
    gains_known, disputed = gain[decided & stratum], int(stratum.sum())
    if len(gains_known) < 2 or len(gains_known) == disputed:
        return 0.0
    share = len(gains_known) / disputed
    return float(disputed**2 * (1 - share) * gains_known.var(ddof=1) / len(gains_known))


def _clustering(values: Numbers, beside: JudgeBeside, decided: Flags) -> float:
    """The factor by which the variance of a sum grows because items of one source are alike; at
    least 1.

    It is estimated from pairs of items of one source. A pair of decided items stands for all pairs
    of their strata, so that the variance of the draw, which is counted separately, does not enter.
    Source: Horvitz and Thompson (1952).
    """
    sources, number = beside.sources, int(beside.sources.max()) + 1
    sums, alone, pairs = [], 0.0, 0.0
    for stratum in (AGREED, *STRATA):
        every = beside.strata == stratum
        counted = every if stratum == AGREED else every & decided
        of, taken = int(every.sum()), int(counted.sum())
        total = np.bincount(sources[counted], values[counted], number)
        squares = float((values[counted] ** 2).sum())
        alone += of / max(taken, 1) * squares
        pairs += of * (of - 1) / max(taken * (taken - 1), 1) * float((total**2).sum() - squares)
        sums.append(of / max(taken, 1) * total)
    between = np.sum(sums, axis=0) ** 2 - np.sum(np.square(sums), axis=0)
    return max(1 + (pairs + float(between.sum())) / alone, 1.0) if alone else 1.0


@dataclass(frozen=True)
class BadEnd:
    """The label at the bad end, as adjudicated: how much of it the judge and a person find, and how
    often they are right if they give it.

    A figure is None if no item counts.

    Attributes:
        recall, recall_of_people: The recall of the bad end, by the judge and by a person.
        precision, precision_of_people: The precision at the bad end, by the judge and by a person.
        items: The number of items for recall: those that are agreed or decided to be bad.
        called: The number of items that the judge calls bad and that are agreed on or decided.
        called_by_people: The same number for items that a person calls bad.
    """

    recall: Measured | None
    recall_of_people: Measured | None
    precision: Measured | None
    precision_of_people: Measured | None
    items: float
    called: int
    called_by_people: int

    @property
    def too_little(self) -> str:
        """Say if the judge has less than half of a person's recall or precision; otherwise empty.

        Nothing is said about fewer than LEAST_BAD items.
        """
        judge, person = self.recall, self.recall_of_people
        if judge and person and self.items >= LEAST_BAD and judge.value < person.value / 2:
            return f"it finds {judge.value:.0%} of the bad end, a person {person.value:.0%}"
        judge, person = self.precision, self.precision_of_people
        if judge and person and self.called >= LEAST_BAD and judge.value < person.value / 2:
            return (
                f"it is right in {judge.value:.0%} of what it calls the bad end, a person in"
                f" {person.value:.0%}"
            )
        return ""


def bad_end(beside: JudgeBeside, truth: Truth) -> BadEnd | None:
    """Recall and precision of the bad end's label for the judge and for a person; None without such
    a label. An answer on which everybody agrees counts as right.
    """
    if beside.bad is None:
        return None
    agreed = ~beside.disputed
    decided = beside.disputed & truth.decided
    called = (beside.judge == beside.bad).astype(float)
    by_people = share_of_people((beside.people == beside.bad).astype(float), beside.people >= 0)
    bad = np.where(agreed, called, np.where(decided, truth.first[:, beside.bad], 0.0))
    right = np.where(agreed, called, np.where(decided, truth.right[:, beside.bad], 0.0))
    weights = weights_of(beside.strata, decided)
    of_items = partial(ratio, weights, beside.sources, degrees_of_freedom(beside, decided))
    return BadEnd(
        of_items(bad * called, bad),
        of_items(bad * by_people, bad),
        of_items(right * called, called),
        of_items(right * by_people, by_people),
        float(bad.sum()),
        int(called[agreed | decided].sum()),
        int((by_people[agreed | decided] > 0).sum()),
    )


def ratio(
    weights: Numbers, sources: Codes, df: int, above: Numbers, below: Numbers
) -> Measured | None:
    """A ratio of weighted sums, with its error over sources (linearised); None if the denominator
    is 0.
    """
    total = float((weights * below).sum())
    if not total > 0:
        return None
    value = float((weights * above).sum()) / total
    by_source = np.bincount(sources, weights=weights * (above - value * below) / total)
    number = len(np.unique(sources))
    error = math.sqrt(float((by_source**2).sum()) * number / max(number - 1, 1))
    return Measured(value, error, df)
