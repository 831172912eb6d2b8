"""A judge compared with people by scores on a line: 0 to 100 and the like, or standardised levels.

The rules are those for classes, with concordance in place of class-balanced agreement, and 0 as the
value of a constant. If a few ratings cause most of the spread, every score is replaced by its rank
among people's scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from metal.auditing.cells import MOST_LEFT_OUT, AuditCell
from metal.auditing.clauses import HALF, Clause, keeps, limit, not_below, on_people
from metal.auditing.standing import MIN_ITEMS, MIN_SOURCES, Standing, in_bounds, sources_in
from metal.data.ratings import NOT_ASKED
from metal.data.text import figure, signed
from metal.stats.interval import NO_BOUNDS, Bounds
from metal.stats.measured import Measured, P, jackknife, quantile
from metal.stats.order import FigurePair, OrderFigures
from metal.stats.patterns import Codes, Numbers
from metal.stats.score_seats import LEAST_LOW, ScoreSeats, among, heavy_tails
from metal.stats.skill import FOLDS, interval_alpha, panel_features
from metal.stats.source_sums import SourceSums, scattered_rows

RECALIBRATED = "recalibrated"
ONCE = f"like a person once {RECALIBRATED}"  # in the reason of a judge that is informative as given
HEAVY = "scores replaced by their ranks among people's scores: a few scores hold most of the spread"
ALL_EQUAL = "all scores are equal"


class ScorePeople:
    """The people of a cell by their scores; the same object serves all judges of the cell.

    codes: (items, people) scores, NaN without a score; if `heavy`, their ranks among people's
    scores.
    """

    def __init__(self, cell: AuditCell, without: Sequence[int] = ()) -> None:
        self.cell = cell
        self.who = [seat for seat in range(len(cell.people)) if seat not in without]
        self.scores = cell.scores([cell.people[seat] for seat in self.who])
        self.given = self.scores[~np.isnan(self.scores)]
        self.heavy = len(self.given) > 0 and heavy_tails(self.given)
        number = (~np.isnan(self.scores)).sum(axis=1)
        self.several, self.alone = number >= 2, number == 1
        self.sources = cell.matrix.sources

    def placed(self, scores: Numbers) -> Numbers:
        """The scores or, if a few cause most of the spread, their ranks among people's scores."""
        return among(scores, self.given) if self.heavy else scores

    @cached_property
    def alpha(self) -> Bounds:
        """Krippendorff's alpha with squared distances; its limits are by a jackknife of its
        logarithm.
        """
        return _alpha(self.placed(self.scores)[self.several], self.sources[self.several])

    def alpha_without_each(self) -> list[float]:
        """Alpha without each person in turn; empty with fewer than three people, or with
        very many.
        """
        if not 3 <= len(self.who) <= MOST_LEFT_OUT:
            return []
        scores, values = self.placed(self.scores), []
        for column in range(len(self.who)):
            fewer = np.delete(scores, column, axis=1)
            several = (~np.isnan(fewer)).sum(axis=1) >= 2
            values.append(_alpha(fewer[several], self.sources[several]).value)
        return values


def _alpha(scores: Numbers, sources: Codes) -> Bounds:
    if len(scores) < 2:
        return NO_BOUNDS
    scores = np.sort(scores, axis=1)
    content = scattered_rows(scores)
    order = np.argsort(content, kind="stable")
    scores = scores[order]
    by = SourceSums(np.arange(len(scores)), sources[order], content[order])
    rows = by.rows(panel_features(scores - np.nanmean(scores)))
    value = float(interval_alpha(by.total(rows)))
    if not value < 1 - 1e-12 or by.n < 2:
        return Bounds(value, value, value) if value == 1 and by.n >= 2 else NO_BOUNDS
    without = np.log(np.maximum(1 - interval_alpha(by.without(rows)), 1e-12))
    error = jackknife(float(np.log(1 - value)), without, by.times)
    return Bounds(value, 1 - float(np.exp(error.high())), 1 - float(np.exp(error.low())))


class ScoreStanding(Standing):
    """A judge compared with the people of a cell, by scores.

    given: recalibrated scores to use in place of the judge's own.
    """

    def __init__(
        self,
        cell: AuditCell,
        judge: str,
        without: Sequence[int] = (),
        alone: bool = False,
        scores: Numbers | None = None,
    ) -> None:
        self.cell, self.judge, self.alone = cell, judge, alone
        self.panel = _people(cell, without)
        own = cell.scores([judge])[:, 0]
        self.scores = own if scores is None else scores
        asked, answered = cell.by_judge(judge) != NOT_ASKED, ~np.isnan(own)
        several, single = self.panel.several, self.panel.alone
        both = several & answered
        few = both.sum() < MIN_ITEMS or sources_in(self.panel.sources[both]) < MIN_SOURCES
        self.gold = alone or bool(few and (single & answered).any())
        rated = several | single if self.gold else several
        self.rated, self.asked = int(rated.sum()), int((rated & asked).sum())
        self.mixed = not self.gold and bool((single & answered).any())
        self.at = rated & answered
        self.items, self.n_sources = int(self.at.sum()), sources_in(self.panel.sources[self.at])

    @property
    def people(self) -> ScorePeople:  # type: ignore[override]
        """The people, by their scores."""
        return self.panel

    def _seats(self, items: Codes, *, alone: bool = False) -> ScoreSeats:
        panel = self.panel
        people, judge = panel.placed(panel.scores[items]), panel.placed(self.scores[items])
        # about the middle, sums of squares lose no digits
        middle = float(np.mean(np.sort(people[~np.isnan(people)])))
        higher = self.cell.criterion.direction == "higher"
        return ScoreSeats(
            people - middle,
            judge - middle,
            panel.sources[items],
            alone=alone,
            higher=higher,
            ranked=self.scores[items] if panel.heavy else None,
        )

    @cached_property
    def seats(self) -> ScoreSeats:
        """The seats on the items with two people; with `gold`, also on items with one."""
        return self._seats(self.at, alone=self.gold)

    @cached_property
    def all_seats(self) -> ScoreSeats:
        """The seats on all items that anybody scored."""
        if not self.mixed:
            return self.seats
        every = (self.panel.several | self.panel.alone) & ~np.isnan(self.scores)
        return self._seats(every, alone=True)

    def nothing_to_tell(self) -> str:
        """The reason why outputs cannot be told apart; empty if they can."""
        seats = self.seats
        return ALL_EQUAL if np.ptp(seats.facing) < 1e-12 or np.ptp(seats.own) < 1e-12 else ""

    @cached_property
    def above(self) -> Measured:
        """The judge's concordance with people; that of a constant answer is 0."""
        return self.all_seats.concordance.beyond(0.0)

    @cached_property
    def lead(self) -> Measured | None:
        """A person's concordance with the other people."""
        return None if self.gold else self.seats.concordance.of_a_person

    @property
    def below(self) -> Measured:
        """The judge's concordance minus a person's."""
        return self.seats.concordance.beyond(1.0)

    def beyond(self, k: float) -> Measured:
        """The judge's concordance minus k times a person's."""
        return self.seats.concordance.beyond(k)

    @cached_property
    def order(self) -> OrderFigures | None:
        """Rank correlations with the mean of the others, of the judge and of a person."""
        return self._order(self.seats)

    @cached_property
    def whole_order(self) -> OrderFigures | None:
        """Rank correlations of the judge with people, on all items."""
        return self._order(self.all_seats)

    def _order(self, seats: ScoreSeats) -> OrderFigures:
        higher = float((seats.said - seats.facing).mean())
        return OrderFigures(
            seats.ranks, seats.concordance, seats.p, seats.z, seats.person_p, higher
        )

    @property
    def by_either(self) -> bool:
        """Whether answers and order are two separate tests; on scores only the order is tested."""
        return False

    def half_lead_lost(self) -> bool:
        """Always False, because on scores a judge is only compared with a constant."""
        return True

    def class_words(self) -> str:
        """A phrase on how scores are counted; empty if they are counted as given."""
        return f"({HEAVY})" if self.panel.heavy else ""

    def person_knows(self, lead: Measured) -> str:
        """A phrase on how much a person knows."""
        return f"a person's concordance with the others {in_bounds(lead, signed)}"

    def whole_quantile(self, p: float) -> float:
        """The quantile of Student's t for the sources of all items."""
        return quantile(p, self.all_seats.by.n - 1)

    def share(self, p: float = P) -> Bounds | None:
        """The judge's concordance as a share of a person's, with limits at p."""
        return None if self.gold else self.seats.concordance.share_at(p)

    def order_share(self) -> Bounds | None:
        """None: scores have no exact answers, so there is only one share of a person."""
        return None

    def kappa_share(self) -> Bounds | None:
        """The share kept, because concordance is quadratic kappa."""
        return self.share()

    def share_without_each(self) -> list[float]:
        """The share kept without each person in turn; empty with fewer than three people, or with
        very many.
        """
        if self.gold or not 3 <= len(self.panel.who) <= MOST_LEFT_OUT:
            return []
        left_out = set(range(len(self.cell.people))) - set(self.panel.who)
        shares = []
        for seat in self.panel.who:
            fewer = ScoreStanding(self.cell, self.judge, sorted({*left_out, seat}))
            share = fewer.share() if fewer.items and not fewer.gold else None
            if share is not None:
                shares.append(share.value)
        return shares

    def share_by_source(self) -> tuple[Codes, Numbers]:
        """The numbers of the sources in the dataset, (sources,), and what each source adds to the
        share kept, to first order.
        """
        by, without = self.seats.by, self.seats.concordance.share_without
        n = by.n
        return by.sources, ((n - 1) / n * (by.times @ without / n - without))[by.row]

    @cached_property
    def commonest(self) -> tuple[int, int]:
        """The position of the score that the judge gives most often, and how many of its answers
        differ from it.
        """
        _, often = np.unique(self.all_seats.ranked, return_counts=True)
        return int(often.argmax()), int(often.sum() - often.max())

    @property
    def one_answer(self) -> bool:
        """Whether the judge gave the same score throughout."""
        return self.commonest[1] == 0

    def clauses(self) -> Iterator[Clause]:
        """The clauses of rule 3 on scores."""
        settings, n, lead = self.cell.settings, self.items, self.lead
        assert lead is not None  # of a judge beside people
        yield limit(
            lead, 0.0, n, f"{self.person_knows(lead)}, not shown to be more than a constant's"
        )
        yield not_below(self.below, settings.margin, n, "below a person")
        yield keeps(self.beyond(settings.keep), n, f"{settings.keep:.0%} of a person's concordance")
        placed = self._placed_correlation()
        yield not_below(
            placed.beyond(1.0), settings.margin, n, "below a person in rank correlation"
        )
        yield keeps(
            placed.beyond(settings.keep), n, f"{settings.keep:.0%} of a person's rank correlation"
        )
        yield self._bad_end()
        yield from on_people(self)

    def _placed_correlation(self) -> FigurePair:
        """The correlation of ranks among people's scores."""
        panel, items = self.panel, self.at
        people, judge = (
            among(scores[items], panel.given) for scores in (panel.scores, self.scores)
        )
        higher = self.cell.criterion.direction == "higher"
        return ScoreSeats(
            people, judge, panel.sources[items], alone=False, higher=higher
        ).correlation

    def _bad_end(self) -> Clause:
        """The clause that the judge scores low outputs lower, at least half as much lower as a
        person does.
        """
        seats = self.seats
        if seats.low_items < LEAST_LOW:
            return Clause(False, "never tested on low outputs", bad_end=True)
        beyond, judge, person = seats.drop(HALF)
        low = "low" if seats.higher else "high"
        points = "places" if self.panel.heavy else "points"
        open_end = "too uncertain to show that it is half as much"
        how = "less than half as much" if beyond.high() < 0 else open_end
        statement = (
            f"scores the {low} fifth of outputs {figure(judge)} {points} further down than the"
            f" rest, a person {figure(person)}: {how}"
        )
        clause = limit(beyond, 0.0, seats.low_items, statement, self.items)
        return replace(clause, bad_end=True)


def _people(cell: AuditCell, without: Sequence[int]) -> ScorePeople:
    key = "people by score", tuple(sorted(without))
    if key not in cell.shared:
        cell.shared[key] = ScorePeople(cell, without)
    people: ScorePeople = cell.shared[key]
    return people


def recalibrated(beside: ScoreStanding) -> str:
    """The correction of its scores with which the judge would be like a person, although it is not
    with its scores as given; empty if no straight line corrects them enough.

    First a shift is tried, then a rising line, each fitted on the sources of the other folds.
    """
    if beside.gold:
        return ""
    without = sorted(set(range(len(beside.cell.people))) - set(beside.panel.who))
    for how, scores, shift in _corrections(beside):
        after = ScoreStanding(beside.cell, beside.judge, without, scores=scores)
        if all(clause.holds for clause in after.clauses()):
            what = f"{shift:+.3g}" if how == "shift" else "a line corrects its scores"
            return f"{ONCE} ({what}; then {in_bounds(after.below, signed)} against a person)"
    return ""


def _corrections(beside: ScoreStanding) -> Iterator[tuple[str, Numbers, float]]:
    """The scores after a shift and after a line, and the shift over all items."""
    panel, items = beside.panel, np.flatnonzero(beside.at)
    people = np.sort(panel.scores[items], axis=1)
    # in the order of what was scored: folds and digits hang on no name
    content = scattered_rows(np.column_stack([people, beside.scores[items]]))
    order = np.argsort(content, kind="stable")
    items, people, content = items[order], people[order], content[order]
    target = np.nanmean(people, axis=1)
    weight = (~np.isnan(people)).sum(axis=1).astype(float)
    given_scores = beside.scores[items]
    by = SourceSums(np.arange(len(items)), panel.sources[items], content)
    row = by.row[np.searchsorted(by.sources, panel.sources[items])]
    fold = (np.random.default_rng(by.n).permutation(by.n) % FOLDS)[row]
    corrected = {"shift": beside.scores.copy(), "line": beside.scores.copy()}
    for number in range(FOLDS):
        train, test = fold != number, fold == number
        if not train.any():
            continue
        mean_said = np.average(given_scores[train], weights=weight[train])
        mean_target = np.average(target[train], weights=weight[train])
        away = given_scores[train] - mean_said
        spread = float(weight[train] @ away**2)
        together = float(weight[train] @ (away * (target[train] - mean_target)))
        slope = max(together / spread, 0.0) if spread > 0 else 0.0
        shift = _shift(target[train] - given_scores[train], weight[train], panel.heavy)
        corrected["shift"][items[test]] = given_scores[test] + shift
        corrected["line"][items[test]] = mean_target + slope * (given_scores[test] - mean_said)
    shift = _shift(target - given_scores, weight, panel.heavy)
    for how, scores in corrected.items():
        yield how, scores, shift


def _shift(away: Numbers, weight: Numbers, heavy: bool) -> float:
    """How far a judge's scores are from people's: the mean distance or, if a few ratings cause most
    of the spread, the median.
    """
    return float(np.median(away) if heavy else np.average(away, weights=weight))


def standing(
    cell: AuditCell, judge: str, without: Sequence[int] = (), *, alone: bool = False
) -> Standing:
    """The comparison of a judge with the people of a cell, by scores or by classes; it is made once
    and shared.
    """
    key = "standing", judge, tuple(sorted(without)), alone
    if key not in cell.shared:
        cell.shared[key] = (ScoreStanding if cell.by_scores else Standing)(
            cell, judge, without, alone
        )
    beside: Standing = cell.shared[key]
    return beside
