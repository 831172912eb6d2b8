"""A judge compared with the people of a cell: the figures that the rules of a verdict use.

A person's figures are computed from seats: people's ratings of items that somebody else rated, too.
If items have one person each, that rating is the label, and there is no person to compare the judge
with. If both kinds of items occur, a person's figures use the items with two people, and the
judge's lead over a constant uses all items.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import combinations

import numpy as np

from metal.auditing.cells import MOST_LEFT_OUT, AuditCell
from metal.auditing.side import JudgedVotes, SeatedJudge
from metal.data.ratings import NOT_ASKED, UNANSWERED
from metal.data.text import MINUS, figure, first_few, interval, listed, plural, signed
from metal.errors import Undefined
from metal.stats.alpha import alpha_limits
from metal.stats.careless import Careless, careless
from metal.stats.correlation import distinct as ranked
from metal.stats.correlation import rank_correlations
from metal.stats.interval import NO_BOUNDS, Bounds
from metal.stats.measured import Measured, P, quantile
from metal.stats.order import OrderFigures
from metal.stats.patterns import Codes, Numbers
from metal.stats.recalls import Recalls
from metal.stats.seats import Votes
from metal.stats.source_sums import scattered

MIN_ITEMS = 30  # of a verdict
MIN_SOURCES = 20
LEAST_ITEMS = 10  # of two labels, or off the commonest
LEAST_OF_CLASS = 3  # items of a label that counts as a class
LEAST_SHARE = 0.02  # of all weight, of a label that counts as a class
ONE_PERSON = "one person per item"  # where no judge can be shown to be like a person
UNKNOWN_PERSON = "what a person knows is unknown"  # nor where too few items have two
NOTHING = "nothing to tell apart"
THIN = "too few items of each answer"
MIN_SHARED = 30  # items of two people whose ranks are compared


def bounds(measured: Measured | Bounds | None, p: float = P) -> Bounds:
    """A figure with one-sided limits: at p if the figure was measured, otherwise at 5%."""
    if measured is None:
        return NO_BOUNDS
    if isinstance(measured, Measured):
        return Bounds(measured.value, measured.low(p), measured.high(p))
    return measured


def in_bounds(
    measured: Measured | Bounds | None, form: Callable[[float], str] = figure, p: float = P
) -> str:
    """A figure with its limits in words, such as `-0.09 [-0.12, -0.04]`.

    form: a function of metal.data.text that formats a number.
    """
    value, low, high = bounds(measured, p)
    return f"{form(value)} {interval(low, high, form)}".strip().replace(MINUS, "-")


class People:
    """The people of a cell who count; the same object serves all judges of the cell.

    who: the columns of these people. codes: (items, people) labels. several, alone: (items,)
    whether an item has two or more ratings, or one.
    """

    def __init__(self, cell: AuditCell, without: Sequence[int] = ()) -> None:
        self.cell = cell
        self.who = [seat for seat in range(len(cell.people)) if seat not in without]
        self.codes = cell.by_people[:, self.who]
        number = (self.codes >= 0).sum(axis=1)
        self.several, self.alone = number >= 2, number == 1
        self.votes = Votes.of(self.codes, cell.levels)
        self.sources = cell.matrix.sources

    @cached_property
    def alpha(self) -> Bounds:
        """Krippendorff's alpha at the scale's measure, on all items with two ratings."""
        return _alpha(self.cell, self.votes, self.several)

    def alpha_without_each(self) -> list[float]:
        """Alpha without each person in turn; empty with fewer than three people, or with
        very many.
        """
        if not 3 <= len(self.who) <= MOST_LEFT_OUT:
            return []
        return [_alpha(self.cell, *self.without(column)).value for column in range(len(self.who))]

    def without(self, column: int) -> tuple[Votes, Codes]:
        """The votes without one person, and which items then have two ratings."""
        fewer = self.votes.less_one
        kind = fewer.without(self.votes.kind, self.codes[:, column])
        return Votes(fewer.counts, kind), fewer.several[kind]


def _alpha(cell: AuditCell, votes: Votes, several: Codes) -> Bounds:
    if not several.any():
        return NO_BOUNDS
    rated = votes.some(several)
    arguments = cell.matrix.sources[several], cell.values, cell.criterion.scale.measure
    return alpha_limits(rated.counts, rated.kind, *arguments)


def people_of(cell: AuditCell, without: Sequence[int] = ()) -> People:
    """The figures of a cell's people, computed once and used for all its judges."""
    key = "people", tuple(sorted(without))
    if key not in cell.shared:
        cell.shared[key] = People(cell, without)
    people: People = cell.shared[key]
    return people


def careless_people(cell: AuditCell) -> Careless:
    """The columns of people in a cell who agree far less with the others than these with each
    other; the same for all judges.
    """
    key = "careless"
    if key not in cell.shared:
        cell.shared[key] = careless(cell.by_people, cell.matrix.sources, cell.levels)
    careless_ones: Careless = cell.shared[key]
    return careless_ones


class Standing:
    """A judge compared with the people of a cell.

    gold: whether there is no person to compare the judge with, because items have one person, too
    few items have two, or `alone` asks for that. mixed: whether some items have one person, so that
    only the other items decide how good a person is. rated, asked, items, n_sources: the numbers of
    items with two people (with `gold`, one) that people rated, that the judge was asked about, that
    it answered, and the number of sources of the answered items.
    """

    measure = "alpha"  # of people's agreement

    def __init__(
        self, cell: AuditCell, judge: str, without: Sequence[int] = (), alone: bool = False
    ) -> None:
        self.cell, self.judge, self.alone = cell, judge, alone
        self.people = people_of(cell, without)
        answers = cell.by_judge(judge)
        self._given, self._asked = np.maximum(answers, UNANSWERED), answers != NOT_ASKED
        self.gold = alone or self._too_few_with_two()
        rated = self.people.several | self.people.alone if self.gold else self.people.several
        self.rated, self.asked = int(rated.sum()), int((rated & self._asked).sum())
        self.mixed = not self.gold and bool((self.people.alone & (answers >= 0)).any())
        answered = rated & (answers >= 0)
        self.items, self.n_sources = int(answered.sum()), sources_in(self.people.sources[answered])
        self.at = answered

    def _too_few_with_two(self) -> bool:
        """Whether items with two people are too few for a verdict while other items exist."""
        answered = self._given >= 0
        several = self.people.several & answered
        if not (self.people.alone & answered).any():
            return False
        if several.sum() < MIN_ITEMS or sources_in(self.people.sources[several]) < MIN_SOURCES:
            return True
        side = self._side(several)
        return len(classes_of(side, self.cell.bad_end)) < 2 or _thin(side)

    def _side(self, items: Codes, *, alone: bool = False) -> SeatedJudge:
        answers = JudgedVotes(
            self.people.votes.some(items), self._given[items], self.people.sources[items]
        )
        return SeatedJudge(answers, self.cell.values, ordered=self.cell.ordered, alone=alone)

    @cached_property
    def paired(self) -> SeatedJudge:
        """The judge and people on the answered items that have two people; with `gold`, also on
        those with one.
        """
        return self._side(self.at, alone=self.gold)

    @cached_property
    def whole(self) -> SeatedJudge:
        """The judge on all items that anybody rated."""
        if not self.mixed:
            return self.paired
        every = (self.people.several | self.people.alone) & (self._given >= 0)
        return self._side(every, alone=True)

    @cached_property
    def with_refusals(self) -> SeatedJudge:
        """`paired` on all items that the judge was asked about."""
        asked = self.people.several & self._asked
        return self.paired if int(asked.sum()) == self.items else self._side(asked)

    @cached_property
    def classes(self) -> Codes:
        """(classes,) the labels that count, on items with two people."""
        return classes_of(self.paired, self.cell.bad_end)

    @cached_property
    def recalls(self) -> Recalls:
        """The agreement over the classes, of the judge and of a person."""
        return self.paired.sums.of(self.classes)

    @cached_property
    def above(self) -> Measured:
        """The judge's agreement minus a constant's, on all items."""
        if not self.mixed:
            return self.recalls.above
        return self.whole.sums.of(classes_of(self.whole, self.cell.bad_end)).above

    @cached_property
    def lead(self) -> Measured | None:
        """A person's agreement minus a constant's."""
        return None if self.gold else self.recalls.lead

    @property
    def below(self) -> Measured:
        """The judge's agreement minus a person's."""
        return self.recalls.below

    @cached_property
    def near(self) -> Measured | None:
        """The judge's agreement minus a person's if near misses count in part; for ordered scales
        of three or more levels.
        """
        sums = self.paired.near_sums
        return sums.of(self.classes).below if sums else None

    @cached_property
    def order(self) -> OrderFigures | None:
        """How well the judge and a person rank items as the others do, on items with two people."""
        return self.paired.order

    @cached_property
    def whole_order(self) -> OrderFigures | None:
        """How well the judge ranks all items as people do."""
        return self.whole.order

    def beyond(self, k: float) -> Measured:
        """The judge's lead over a constant minus k times a person's."""
        return self.recalls.measured(1, k)

    def order_beyond(self, k: float) -> Measured | None:
        """The judge's order minus k times a person's; with `gold` nothing is subtracted."""
        order = self.order
        taken_away = 0.0 if self.gold else k
        return order.ranks.beyond(taken_away) if order else None

    @property
    def confirmed(self) -> float:
        """How often a person's rating is the others' most frequent label, on all items that the
        judge was asked about.

        Items that the judge refused count too, because a refusal does not change people's ratings.
        """
        return math.nan if self.gold else self.with_refusals.confirmed

    @property
    def by_either(self) -> bool:
        """Whether answers and order are two separate tests of what a judge knows."""
        return True

    def half_lead_lost(self) -> bool:
        """Whether the judge is shown to know less than half of what a person does."""
        return self.beyond(0.5).high() < 0

    def order_share(self) -> Bounds | None:
        """The judge's order as a share of a person's; None if that is undefined."""
        order = None if self.gold else self.order
        return order.ranks.share if order else None

    def kappa_share(self) -> Bounds | None:
        """The judge's quadratic kappa (kappa if the scale has no order) as a share of a
        person's.
        """
        if self.gold:
            return None
        return self.order.kappa.share if self.order else self.paired.kappa_share()

    def label(self, level: int) -> str:
        """A label as written in a sentence; on an ordered scale with its number."""
        entry = self.cell.criterion.scale.levels[level]
        return repr(entry.shown if self.cell.ordered else entry.label)

    def class_words(self) -> str:
        """The labels that count, if not all do: `over 'Good' and 'Medium'; 'Bad' has 1 item`."""
        labels = [repr(level.label) for level in self.cell.criterion.scale.levels]
        rare = [code for code in range(len(labels)) if code not in self.classes]
        if not rare:
            return ""
        items = [in_items(float(self.paired.items_of_label[code])) for code in rare]
        few = [f"{labels[code]} has {number}" for code, number in zip(rare, items, strict=True)]
        return f"over {listed([labels[code] for code in self.classes])}; {first_few(few, 3)}"

    def person_knows(self, lead: Measured) -> str:
        """A phrase on how much a person knows."""
        return f"a person knows {in_bounds(lead, signed)} more than a constant"

    def whole_quantile(self, p: float) -> float:
        """The quantile of Student's t for the sources of all items."""
        return quantile(p, self.whole.by.n - 1)

    @cached_property
    def commonest(self) -> tuple[int, int]:
        """The label that the judge gives most often, and how many of its answers differ from it."""
        used = self.whole.answers_used
        return int(used.argmax()), int(used.sum() - used.max())

    @property
    def one_answer(self) -> bool:
        """Whether the judge gave the same answer throughout."""
        return int((self.whole.answers_used > 0).sum()) == 1

    @property
    def three_levels(self) -> bool:
        """Whether enough levels are in use to look at the order of answers."""
        return self.order is not None

    def thin(self) -> bool:
        """Whether fewer than two labels have LEAST_ITEMS items."""
        return _thin(self.paired)

    def nothing_to_tell(self) -> str:
        """The reason why answers cannot be told apart; empty if they can."""
        items = self.paired.items_of_label
        second, first = np.argsort(items, kind="stable")[-2:].tolist()
        off = float(items.sum() - items[first])
        if len(self.classes) >= 2 and (
            not self.thin() or (self.three_levels and off >= LEAST_ITEMS)
        ):
            return ""
        if off < LEAST_ITEMS:
            return f"only {self.label(first)} has {LEAST_ITEMS} items: {NOTHING}"
        have = listed([f"{int(items[level])} of {self.label(level)}" for level in (first, second)])
        needed = LEAST_ITEMS * self.items / max(items[second], 1)
        in_all = f"about {needed:,.0f} items in all"
        return f"{THIN}: {have}; two answers need {LEAST_ITEMS} each ({in_all})"

    def share(self, p: float = P) -> Bounds | None:
        """The share of a person's lead that the judge keeps, with limits at p; None if no lead of a
        person is shown.
        """
        bad, lead = self.cell.bad_end, self.lead
        tested = bad is None or self.paired.items_of_label[bad] > 0
        return self.recalls.share(p) if lead and lead.low() > 0 and tested else None

    def share_without_each(self) -> list[float]:
        """The share kept when each person is left out in turn; empty with fewer than three people,
        or very many.

        Also empty if a person's lead would then be smaller than its uncertainty with all people.
        """
        people = self.people
        if self.gold or not 3 <= len(people.who) <= MOST_LEFT_OUT:
            return []
        unsure = self.recalls.lead.value - self.recalls.lead.low()
        levels, (weights, hits, shares) = self.cell.levels, people.votes.less_one.sums
        kept = []
        for column in range(len(people.who)):
            votes, several = people.without(column)
            items = several & (self._given >= 0)
            answers = np.bincount(
                votes.kind[items] * levels + self._given[items],
                minlength=len(votes.counts) * levels,
            ).reshape(-1, levels)
            times = answers.sum(axis=1)
            weight, person, items_of_label = (times @ each for each in (weights, hits, shares))
            classes = counted(weight, items_of_label, self.cell.bad_end)
            if len(classes) < 2:
                continue
            judge = (answers * weights).sum(axis=0)
            above, lead = (
                float((right[classes] / weight[classes]).mean()) - 1 / len(classes)
                for right in (judge, person)
            )
            if lead > unsure:
                kept.append(above / lead)
        return kept

    def share_by_source(self) -> tuple[Codes, Numbers]:
        """The numbers of the sources in the dataset, (sources,), and what each source adds to the
        share kept, to first order.
        """
        recalls, by = self.recalls, self.paired.by
        lead = recalls.person - recalls.constant
        share = (recalls.judge - recalls.constant) / lead
        judge, person = recalls.influence
        return by.sources, ((judge - share * person) / lead)[by.row]

    def rank_agreement(self) -> float:
        """The mean rank correlation of two people with MIN_SHARED items in common; NaN if no two
        people have that many.
        """
        values = self.cell.values_of(self.cell.by_people)
        # who rated most; of equally many, whoever gave which ratings, not who comes first by name
        ratings, number = scattered(values).sum(axis=0), (~np.isnan(values)).sum(axis=0)
        most = np.lexsort((ratings, number))[-MOST_LEFT_OUT:]
        people = [self.cell.people[index] for index in most]
        every, rho = self.cell.scores(people), []
        for first, second in combinations(every.T, 2):
            both = ~np.isnan(first) & ~np.isnan(second)
            if both.sum() >= MIN_SHARED:
                with suppress(Undefined):
                    rho.append(rank_correlations(first[both], ranked(second[both]))[0].value)
        return float(np.mean(sorted(rho))) if rho else math.nan


def classes_of(side: SeatedJudge, bad: int | None) -> Codes:
    """The labels that count on the items of `side`; see `counted`."""
    return counted(side.totals()[0], side.items_of_label, bad)


def counted(weight: Numbers, items: Numbers, bad: int | None) -> Codes:
    """The labels that count: each needs LEAST_SHARE of all weight, unless it is the bad end, and
    LEAST_OF_CLASS items.
    """
    often = weight >= LEAST_SHARE * weight.sum()
    if bad is not None:
        often[bad] = True
    return np.flatnonzero(often & (items >= LEAST_OF_CLASS - 1e-9))


def in_items(number: float) -> str:
    """A number of items of a label in words; it may be a fraction, because each person of an item
    adds a part.

    >>> in_items(0.33), in_items(1.2), in_items(11.0)
    ('less than one item', '1 item', '11 items')
    """
    return "less than one item" if number < 0.5 else plural(round(number), "item")


def few_with_two(beside: Standing) -> str:
    """The reason why there is no person to compare the judge with."""
    several = beside.people.several & beside.at
    items, sources = int(several.sum()), sources_in(beside.people.sources[several])
    if 2 * items < beside.items:
        return ONE_PERSON if not items else f"most items have one person ({items:,} have two)"
    if sources < MIN_SOURCES:
        return (
            f"{items:,} items of {plural(sources, 'source')} have two people; {MIN_SOURCES} sources"
            " are needed"
        )
    return f"the {items:,} items with two people hold too few of each answer"


def sources_in(sources: Codes) -> int:
    """The number of different sources."""
    return int(np.count_nonzero(np.bincount(sources)))


def _thin(side: SeatedJudge) -> bool:
    items = np.sort(side.items_of_label)
    return len(items) < 2 or bool(items[-2] < LEAST_ITEMS - 1e-9)
