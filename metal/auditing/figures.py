"""A statistic as an Estimate: its value from observed counts, its interval from resampled
counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from metal.auditing.settings import MIN_RATED
from metal.data.records import Criterion, Estimate
from metal.stats.agreement import MOST_COMPARED, STANDING_IN, Disagreement
from metal.stats.alpha import alpha_disagreement
from metal.stats.bootstrap import SourceBootstrap, SourceDraws, percentile_interval
from metal.stats.interval import Interval
from metal.stats.intervals import (
    beyond_chance_interval,
    few_sources,
    jackknife_variance,
    share_interval,
)
from metal.stats.patterns import Codes, Numbers, Patterns, class_counts, find_patterns, total
from metal.stats.significance import t_test

FEW_OF_A_CLASS = 5  # items with a second class, below which nothing is known of chance agreement
ONE_SOURCE = "one source: no interval"
# (...) from weights (..., patterns), or from sums over them (..., F)
Statistic = Callable[[Any], Numbers]


class Sums:
    """The sums from which several figures are computed: over all sources, over resamples, over all
    sources but one, and over one source. Each is computed once.
    """

    def __init__(self, *makers: Callable[[], Numbers]) -> None:
        self._made = makers

    @cached_property
    def observed(self) -> Numbers:
        """(...) the sums over all sources, as observed."""
        return self._made[0]()

    @cached_property
    def resamples(self) -> Numbers:
        """(resamples, ...) the sums in each resample."""
        return self._made[1]()

    @cached_property
    def without_one(self) -> Numbers:
        """(kinds, ...) the sums without one source of each kind (see `Resampled.without_one`)."""
        return self._made[2]()

    @cached_property
    def alone(self) -> Numbers:
        """(kinds, ...) the sums over a single source of each kind."""
        return self._made[3]()

    def then(self, work: Callable[[Numbers], Numbers]) -> Sums:
        """Apply `work` to these sums; it must keep the leading axis."""
        return Sums(
            lambda: work(self.observed),
            lambda: work(self.resamples),
            lambda: work(self.without_one),
            lambda: work(self.alone),
        )

    def given(self, resamples: Numbers, without_one: Callable[[], Numbers]) -> Sums:
        """The same observed sums, with resamples and leave-one-source-out sums that were computed
        elsewhere.
        """
        return Sums(lambda: self.observed, lambda: resamples, without_one)


class Resampled:
    """The distinct rows of ratings of some items, and bootstrap resamples of them, which are drawn
    once, when first needed.

    among: see SourceBootstrap.draws.
    """

    def __init__(
        self, codes: Codes, sources: Codes, bootstrap: SourceBootstrap, among: Codes | None = None
    ) -> None:
        self.patterns: Patterns = find_patterns(codes)
        self.n = len(codes)
        self.n_sources = int(np.count_nonzero(np.bincount(sources)))
        self._sources, self._among = sources, among
        self._bootstrap = bootstrap

    @property
    def rows(self) -> Codes:
        """(patterns, columns) the distinct rows of ratings."""
        return self.patterns.rows

    @property
    def observed(self) -> Codes:
        """(patterns,) how often each pattern occurs."""
        return self.patterns.counts

    @cached_property
    def by_source(self) -> SourceDraws | None:
        """The resamples of sources, which figures with the same number of sources share; None if
        items are drawn, or there are none.
        """
        return (
            self._bootstrap.by_source(self.patterns, self._sources, self._among) if self.n else None
        )

    @cached_property
    def resamples(self) -> Numbers | SourceDraws:
        """(resamples, patterns) how often each pattern occurs in each resample, or an object that
        multiplies (`@`) like it.
        """
        return self.by_source or self._bootstrap.draw_counts(self.observed)

    def kinds(self, features: Codes) -> tuple[Codes, Codes]:
        """What a source of each kind adds to the sums of features (patterns, F): (kinds, F); and
        the number of such sources: (kinds,).
        """
        return _kinds(self.observed, self.by_source, features)

    @cached_property
    def without_one(self) -> WithoutOne:
        """(kinds, patterns) how often each pattern occurs if one source of each kind is
        left out.
        """
        return WithoutOne(self.observed, self.by_source)

    @cached_property
    def alone(self) -> OneAlone:
        """(kinds, patterns) how often each pattern occurs in one source of each kind."""
        return OneAlone(self.observed, self.by_source)

    def sums(self, of: Callable[[Any], Numbers]) -> Sums:
        """Sums over the items, which `of` computes from the weights of the patterns."""
        return Sums(
            lambda: of(self.observed),
            lambda: of(self.resamples),
            lambda: of(self.without_one),
            lambda: of(self.alone),
        )

    def estimate(self, statistic: Statistic, undefined: str, of: Sums | None = None) -> Estimate:
        """The statistic with its 95% interval.

        undefined: the reason to give if the statistic is NaN.

        of: the sums from which it is computed; by default the weights of the patterns.
        """
        weights = of or self
        value = float(statistic(weights.observed)) if self.n else math.nan
        if math.isnan(value) or self.n_sources < 2:
            return self._short(value, undefined)
        method = f"percentile bootstrap over {self.n_sources} sources"
        interval = percentile_interval(statistic(weights.resamples))
        if interval is None:
            return Estimate(
                value, n=self.n, method=method, reason="undefined in most resamples: no interval"
            )
        return Estimate(value, *interval, n=self.n, method=method)

    def share(
        self,
        statistic: Statistic,
        undefined: str,
        of: Sums | None = None,
        items: float = 0,
        alike: float = math.inf,
    ) -> Estimate:
        """A statistic that is a share, with its 95% interval by Wilson (see `estimate`, and
        metal.stats.intervals).

        items: the largest number of independent items that the share can be worth; by default all
        items. alike: this number if all sources agree.
        """
        weights = of or self
        value = float(statistic(weights.observed)) if self.n else math.nan
        if math.isnan(value) or self.n_sources < 2:
            return self._short(value, undefined)
        variance = self._variance(statistic(weights.without_one))
        ends = share_interval(value, variance, items or self.n, self.n_sources, alike=alike)
        return self._with_ends(
            value, ends, f"Wilson's interval, variance over {self.n_sources} sources"
        )

    def jackknifed(self, statistic: Statistic, undefined: str, of: Sums | None = None) -> Estimate:
        """A statistic that is not a share, with its 95% interval by Student's t on the jackknife
        variance.
        """
        weights = of or self
        value = float(statistic(weights.observed)) if self.n else math.nan
        if math.isnan(value) or self.n_sources < 2:
            return self._short(value, undefined)
        half = few_sources(0.975, self.n_sources) * math.sqrt(
            self._variance(statistic(weights.without_one))
        )
        if math.isnan(half):
            return Estimate(value, n=self.n, reason="undefined without most sources: no interval")
        return self._with_ends(
            value, Interval.around(value, half), f"jackknife over {self.n_sources} sources"
        )

    def beyond_chance(
        self,
        disagreement: Callable[[Any], Disagreement],
        undefined: str,
        of: Sums | None = None,
        few: str = "",
        items: float = 0,
    ) -> Estimate:
        """Agreement beyond chance with its 95% interval: see
        metal.stats.intervals.beyond_chance_interval.

        few: the reason why there can be no interval. items: the number of items that the observed
        disagreement can be worth if its variance cannot be seen; by default all items. Losses by
        distance vary less than a share of items does, so they are worth more items.
        """
        weights = of or self
        seen = disagreement(weights.observed) if self.n else None
        value = float(seen.beyond_chance) if seen else math.nan
        if seen is None or math.isnan(value) or self.n_sources < 2:
            return self._short(value, undefined)
        if few:
            return Estimate(value, n=self.n, reason=few)
        without, alone = disagreement(weights.without_one), disagreement(weights.alone)
        ends = beyond_chance_interval(seen, without, alone, self.without_one.times, items or self.n)
        if ends is None:
            return Estimate(value, n=self.n, reason=ONE_SOURCE)
        sources = int(self.without_one.times[~np.isnan(alone.observed)].sum())
        return self._with_ends(
            value, ends, f"jackknife of the log of observed / expected over {sources} sources"
        )

    def p_value(self, of: Sums) -> float:
        """Two-sided p-value that a figure is 0, by t on its variance over sources."""
        return (
            t_test(float(of.observed), self._variance(of.without_one), self.n_sources)
            if self.n
            else math.nan
        )

    def _variance(self, without_one: Numbers) -> float:
        defined = ~np.isnan(without_one)
        return jackknife_variance(without_one[defined], self.without_one.times[defined])

    def _short(self, value: float, undefined: str) -> Estimate:
        """An estimate without an interval."""
        if not self.n or math.isnan(value):
            return Estimate.undefined(undefined if self.n else "no items", self.n)
        return Estimate(value, n=self.n, reason=ONE_SOURCE)

    def _with_ends(self, value: float, ends: Interval, method: str) -> Estimate:
        return Estimate(*ends.holding(value), n=self.n, method=method)


class OneAlone:
    """How often each pattern occurs in one source of each kind; `@` gives the sums of that source.

    times: (kinds,) the number of sources of each kind. If there are many sources, random blocks of
    sources replace them.
    """

    def __init__(self, observed: Codes, by_source: SourceDraws | None) -> None:
        self._observed, self._by_source = observed, by_source
        self.times = observed if by_source is None else np.ones(by_source.sources, dtype=np.int64)
        self.shape = len(self.times), len(observed)

    def __matmul__(self, features: Any) -> Numbers:
        flat = np.asarray(features).reshape(len(features), -1)
        sums = self._of(flat)
        return sums.reshape(len(sums), *np.shape(features)[1:])

    def _of(self, features: Codes) -> Numbers:
        return np.asarray(_kinds(self._observed, self._by_source, features)[0])


class WithoutOne(OneAlone):
    """How often each pattern occurs without one source of each kind; `@` gives the sums of the
    rest.
    """

    def _of(self, features: Codes) -> Numbers:
        return total(self._observed, features) - super()._of(features)


def _kinds(observed: Codes, by_source: SourceDraws | None, features: Codes) -> tuple[Codes, Codes]:
    """What a source of each kind adds, and the number of sources of each kind; see
    `Resampled.kinds`.
    """
    if by_source is None:  # each source has one item, and its pattern is its kind
        return features, observed
    added = by_source.contributions(features)
    return added, np.ones(len(added), dtype=np.int64)


def few_of_a_second_class(items: int, of_one_class: int) -> str:
    """The reason why chance agreement cannot be known; empty if it can.

    of_one_class: the number of items on which only the commonest class occurs.

    >>> few_of_a_second_class(100, 98)
    '2 items hold a second class, 5 needed: no interval'
    """
    if items - of_one_class >= FEW_OF_A_CLASS:
        return ""
    hold = "1 item holds" if items - of_one_class == 1 else f"{items - of_one_class} items hold"
    return f"{hold} a second class, {FEW_OF_A_CLASS} needed: no interval"


def few_on_panels(times: Codes, counts: Codes) -> str:
    """The result of `few_of_a_second_class` for a panel.

    times: (patterns,) how often each pattern occurs. counts: (patterns, levels) numbers of ratings.
    """
    commonest = counts[:, int((times @ counts).argmax())]
    return few_of_a_second_class(
        int(times.sum()), int(times[commonest == counts.sum(axis=1)].sum())
    )


def of_the_most_active(answers: Codes) -> tuple[str, ...]:
    """The caveat of a figure that compares people one by one; see agreement.raters_with.

    answers: (items, people) codes, negative if a person did not rate.

    >>> of_the_most_active(np.zeros((40, 5000))), of_the_most_active(np.zeros((40, 20)))
    (('of the 50 people with the most ratings, out of 5,000',), ())
    """
    enough = int(((answers >= 0).sum(axis=0) >= MIN_RATED).sum())
    if (enough if enough > 1 else answers.shape[1]) <= MOST_COMPARED:
        return ()
    return (f"of the {STANDING_IN} people with the most ratings, out of {answers.shape[1]:,}",)


def krippendorff_alpha(drawn: Resampled, criterion: Criterion) -> Estimate:
    """Krippendorff's alpha of all columns at the scale's measure, on items with two or more
    ratings.
    """
    scale = criterion.scale
    values = np.asarray(scale.values, dtype=np.float64)
    counts = class_counts(drawn.rows, len(values))
    paired = drawn.observed * (counts.sum(axis=1) >= 2)
    items = int(paired.sum())
    if not items:
        return Estimate.undefined("no item with two ratings")
    estimate = drawn.beyond_chance(
        lambda weights: alpha_disagreement(weights, drawn.observed, counts, values, scale.measure),
        "one class",
        few=few_on_panels(paired, counts),
        items=items if scale.measure == "nominal" else math.inf,
    )
    return replace(estimate, n=items)


def column_names(figures: Iterable[str]) -> list[str]:
    """The names of the columns of figures in a table: the figure and its two limits.

    >>> column_names(["kappa"])
    ['kappa', 'kappa_low', 'kappa_high']
    """
    return [f"{name}{end}" for name in figures for end in ("", "_low", "_high")]


def columns(figures: Mapping[str, Estimate]) -> dict[str, float]:
    """The values of figures in the columns of `column_names`; NaN where undefined."""
    values = [
        value
        for estimate in figures.values()
        for value in (estimate.value, estimate.low, estimate.high)
    ]
    return {
        name: math.nan if value is None else value
        for name, value in zip(column_names(figures), values, strict=True)
    }


def range_columns(name: str, values: Iterable[Any]) -> dict[str, float]:
    """Columns with the lowest and highest value of a figure when each person is left out in turn;
    NaN if it is always undefined.

    >>> range_columns("kappa", [0.2, 0.5, math.nan])
    {'kappa_least': 0.2, 'kappa_most': 0.5}
    """
    defined = [float(value) for value in values if not math.isnan(value)] or [math.nan]
    return {f"{name}_least": min(defined), f"{name}_most": max(defined)}


def undefined_note(figures: Mapping[str, Estimate]) -> str:
    """A note with the reasons of undefined figures or intervals: `kappa: one class; ...`."""
    notes = []
    for name, estimate in figures.items():
        if estimate.reason:
            notes.append(f"{name}: {estimate.reason}")
        notes.extend(f"{name}: {caveat}" for caveat in estimate.caveats)
    return "; ".join(notes)


def dropped_note(dropped: Mapping[str, int]) -> str:
    """How many items were left out, by reason: `incomplete 12, tied 3`; empty if none were."""
    return ", ".join(f"{reason} {count}" for reason, count in dropped.items())
