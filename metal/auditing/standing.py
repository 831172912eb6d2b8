"""A judge beside the people of a cell: what the rules of a verdict look at."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from statistics import NormalDist

import numpy as np

from metal.auditing.cells import MOST_LEFT_OUT, AuditCell
from metal.auditing.figures import Resampled
from metal.data.ratings import NOT_ASKED, UNANSWERED
from metal.data.text import MINUS, figure, interval, listed
from metal.errors import Undefined
from metal.stats.agreement import alpha_disagreement
from metal.stats.bootstrap import SourceBootstrap, SourceDraws, quantiles
from metal.stats.correlation import distinct as ranked
from metal.stats.correlation import rank_correlations
from metal.stats.intervals import few_sources, interval_of_sums
from metal.stats.patterns import Codes, Numbers, class_counts, distinct, total
from metal.stats.standing import JUDGE, LEAST_WEIGHT, WEIGHT, Balanced, Seats, balanced_agreement, careless

MOST_NEEDED = 20  # times the items there are: beyond, a number of items says nothing
P = 0.95  # of a one-sided limit
MIN_ITEMS = 30  # of a verdict
NOTHING = "nothing to tell apart"
THIN = "too few items of each answer"
MIN_SHARED = 30  # items of two people whose ranks are compared


@dataclass(frozen=True)
class Bounds:
    """A figure with its one-sided 5% limits."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return self.text()

    def text(self, form: Callable[[float], str] = figure) -> str:
        """`-0.09 [-0.12, -0.04]`, in a format of metal.data.text."""
        return f"{form(self.value)} {interval(self.low, self.high, form)}".strip().replace(MINUS, "-")

    def needed(self, bound: float, items: int) -> float:
        """About how many items would show that the figure is above a bound; NaN where it is not, or hardly."""
        if not self.value > bound:
            return math.nan
        needed = items * ((self.value - self.low) / (self.value - bound)) ** 2
        return needed if needed < MOST_NEEDED * items else math.nan


NO_BOUNDS = Bounds(math.nan, math.nan, math.nan)


class Standing:
    """A judge beside the people of a cell, with everything that the rules look at; without a name, people alone.

    Items: with an answer of the judge and two people; by `gold`, with one person, whose answer is the label. By
    default only where most items have one person, and fewer than MIN_ITEMS have two.
    """

    measure = "alpha"  # of people's agreement

    def __init__(
        self,
        cell: AuditCell,
        judge: str,
        bootstrap: SourceBootstrap,
        without: Sequence[int] = (),
        gold: bool | None = None,
    ) -> None:
        self.cell, self.judge, self.bootstrap = cell, judge, bootstrap
        several = int((cell.ratings_per_item >= 2).sum())
        self.mostly_alone = 2 * several < int((cell.ratings_per_item >= 1).sum())
        self.gold = self.mostly_alone and several < MIN_ITEMS if gold is None else gold
        self.who = [seat for seat in range(len(cell.people)) if seat not in without]
        people = cell.by_people[:, self.who]
        answers = cell.by_judge(judge) if judge else np.zeros(len(people), dtype=np.int16)
        rated = (people >= 0).sum(axis=1) >= (1 if self.gold else 2)
        self.rated, self.asked = int(rated.sum()), int((rated & (answers != NOT_ASKED)).sum())
        self.items = np.flatnonzero(rated & (answers >= 0))
        self.sources = cell.matrix.sources[self.items]
        self.n_sources = int(np.count_nonzero(np.bincount(self.sources)))
        self.codes = np.column_stack([people[self.items], answers[self.items]])
        self.answers_used = int(np.count_nonzero(np.bincount(answers[self.items])))

    @cached_property
    def drawn(self) -> Resampled:
        """The ratings of the items, the judge's last."""
        return Resampled(self.codes, self.sources, self.bootstrap)

    @property
    def answers(self) -> Codes:
        """(patterns,) the judge's."""
        return self.drawn.rows[:, -1]

    @property
    def people(self) -> Codes:
        """(patterns, people); with one person per item the judge sits beside itself, facing the person."""
        return self.drawn.rows if self.gold else self.drawn.rows[:, :-1]

    @property
    def seats(self) -> list[int]:
        """The people beside whom the judge stands."""
        return [len(self.who)] if self.gold else list(range(len(self.who)))

    def upper(self, values: Numbers) -> float:
        """The one-sided 99% upper limit of a figure."""
        return self.limits(values, 0.99).high

    def draw(self, features: Numbers) -> tuple[Numbers, Numbers]:
        """Sums of features (patterns, ...) as observed and in each resample."""
        flat = features.reshape(len(features), -1)
        shape = features.shape[1:]
        observed, resamples = (total(weights, flat) for weights in (self.drawn.observed, self.drawn.resamples))
        return observed.reshape(shape), resamples.reshape(-1, *shape)

    def without_each_source(self) -> tuple[Codes, Balanced | None]:
        """(sources,) their numbers in the dataset, and `balanced`, exact, without each of them in turn."""
        first, place = distinct(self.sources)
        by_source = SourceDraws(self.bootstrap, self.drawn.patterns, place, len(first))

        def draw(features: Numbers) -> tuple[Numbers, Numbers]:
            flat = features.reshape(len(features), -1)
            observed = self.drawn.observed @ flat
            left = observed - by_source.contributions(flat)
            return observed.reshape(features.shape[1:]), left.reshape(-1, *features.shape[1:])

        about = self.people, self.answers, self.cell.values
        return self.sources[first], balanced_agreement(*about, False, draw, self.seats)

    @property
    def without_one(self) -> Iterator[Balanced | None]:
        """`balanced` as observed, exact, without each of the people in turn; nothing with fewer than three of them."""
        cell, rows = self.cell, self.people
        for seat in self.seats if not self.gold and 3 <= len(self.who) <= MOST_LEFT_OUT else ():
            fewer = rows.copy()
            fewer[:, seat] = UNANSWERED
            times = self.drawn.observed * ((fewer >= 0).sum(axis=1) >= 2)
            rest = [each for each in self.seats if each != seat]
            yield balanced_agreement(fewer, self.answers, cell.values, False, partial(_observed, times), rest)

    def rank_agreement(self) -> float:
        """The mean rank correlation of two people with MIN_SHARED items in common; NaN without any."""
        every, rho = self.cell.scores(self.cell.people[:MOST_LEFT_OUT]), []
        for first, second in combinations(every.T, 2):
            both = ~np.isnan(first) & ~np.isnan(second)
            if both.sum() >= MIN_SHARED:
                with suppress(Undefined):
                    rho.append(rank_correlations(first[both], ranked(second[both]))[0].value)
        return float(np.mean(rho)) if rho else math.nan

    def limits(self, values: Numbers, p: float = P, sources: int = 0) -> Bounds:
        """The one-sided limits of a figure, from its values as observed and in each resample.

        sources: how many were resampled; by default those of the items.
        """
        sources = sources or self.n_sources
        value, drawn = float(values[0]), values[1:][~np.isnan(values[1:])]
        if 2 * len(drawn) < len(values) - 1 or sources < 2:
            return Bounds(value, -math.inf, math.inf)
        low, high = quantiles(drawn, 1 - p, p)
        wider = few_sources(p, sources) / NormalDist().inv_cdf(p) if sources < 30 else 1.0
        return Bounds(value, value + (low - value) * wider, value + (high - value) * wider)

    @property
    def correlates(self) -> bool:
        """Whether scores are shown to go with people's; of classes nothing is said."""
        return False

    def nothing_to_tell(self) -> str:
        """Why no two answers can be told apart; empty where they can."""
        levels, items = self.cell.criterion.scale.levels, self.items_of_class
        second, first = np.argsort(items)[-2:].tolist()
        if items[second] >= LEAST_WEIGHT:
            return ""
        if items.sum() - items[first] < LEAST_WEIGHT:
            return f"only {levels[first].shown!r} has {LEAST_WEIGHT:.0f} items: {NOTHING}"
        have = listed([f"{int(items[level])} of {levels[level].shown!r}" for level in (first, second)])
        needed = LEAST_WEIGHT * len(self.items) / items[second]
        return f"{THIN}: {have}, {LEAST_WEIGHT:.0f} of two needed (of about {needed:,.0f} items)"

    @cached_property
    def above(self) -> list[Bounds]:
        """How far the judge is above a constant; on ordered scales also with partly right answers."""
        balanced = self.balanced
        if balanced is None:
            return []
        above = [self.limits(balanced.judge - balanced.constant)]
        if balanced.near_judge is not None:
            above.append(self.limits(balanced.near_judge - balanced.near_constant))
        return above

    @cached_property
    def balanced(self) -> Balanced | None:
        """Class-balanced agreement; None where fewer than two classes count."""
        cell = self.cell
        return balanced_agreement(self.people, self.answers, cell.values, cell.ordered, self.draw, self.seats)

    @property
    def alpha(self) -> Bounds:
        """People's alpha on all items with two ratings; NaN where it is undefined. All judges of a cell share it."""
        key = "alpha", tuple(self.who), self.bootstrap
        if key not in self.cell.shared:
            self.cell.shared[key] = self._alpha()
        alpha: Bounds = self.cell.shared[key]
        return alpha

    def _alpha(self) -> Bounds:
        codes = self.cell.by_people[:, self.who]
        rated = (codes >= 0).sum(axis=1) >= 2
        drawn = Resampled(codes[rated], self.cell.matrix.sources[rated], self.bootstrap)
        if not drawn.n:
            return NO_BOUNDS
        counts, scale = class_counts(drawn.rows, self.cell.levels), self.cell.criterion.scale
        about = drawn.observed, counts, self.cell.values, scale.measure
        seen = (alpha_disagreement(weights, *about) for weights in (drawn.observed[None], drawn.resamples))
        values = np.concatenate([disagreement.beyond_chance for disagreement in seen])
        return self.limits(values, sources=drawn.n_sources)

    @cached_property
    def recalls(self) -> Numbers:
        """(patterns, sums, levels) WEIGHT, JUDGE and PERSON of each class, added up over the people."""
        beside = Seats(self.people, self.answers, self.cell.values, False)
        sums = np.zeros((len(self.answers), 3, self.cell.levels))
        for seat in self.seats:
            sums += beside.features(seat)
        return sums

    @cached_property
    def items_of_class(self) -> Numbers:
        """(levels,) the items of each class: an item's weight is 1 in all, however many people it is counted for."""
        weight = self.recalls[:, WEIGHT]
        return np.asarray(self.drawn.observed @ (weight / np.maximum(weight.sum(axis=1, keepdims=True), 1e-12)))

    def recall_limits(self, level: int) -> tuple[float, float]:
        """The limits of the judge's recall of a class."""
        added, times = self.drawn.kinds(self.recalls[:, [JUDGE, WEIGHT], level])
        return interval_of_sums(added, times, float(self.items_of_class[level]), P)


def _observed(times: Codes, features: Numbers) -> tuple[Numbers, Numbers]:
    """Sums of features when patterns occur so many times, and no resample."""
    observed = np.tensordot(times, features, axes=1)
    return observed, np.zeros((0, *observed.shape))


def careless_people(cell: AuditCell, bootstrap: SourceBootstrap) -> list[int]:
    """The people of a cell who agree far less with the others: the same for all its judges."""
    key = "careless", bootstrap
    if key not in cell.shared:
        panel = Standing(cell, "", bootstrap)
        cell.shared[key] = careless(panel.people, cell.values, panel.drawn.observed, panel.draw, panel.upper)
    people: list[int] = cell.shared[key]
    return people
