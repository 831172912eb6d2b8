"""A statistic as an Estimate: its value from the observed counts, its interval from the resampled counts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from metal.data.records import Criterion, Estimate
from metal.errors import Undefined
from metal.stats import agreement
from metal.stats.bootstrap import SourceBootstrap, SourceDraws, percentile_interval
from metal.stats.patterns import Codes, Numbers, Patterns, class_counts, distinct, find_patterns

Statistic = Callable[[Any], Numbers]  # (...) from weights (..., patterns), or from sums over them (..., F)


class Sums:
    """What several figures are computed from, made once: as observed, and in each resample."""

    def __init__(self, observed: Callable[[], Numbers], resamples: Callable[[], Numbers]) -> None:
        self._observed, self._resamples = observed, resamples

    @cached_property
    def observed(self) -> Numbers:
        """(...) as observed."""
        return self._observed()

    @cached_property
    def resamples(self) -> Numbers:
        """(resamples, ...) in each resample."""
        return self._resamples()

    def then(self, work: Callable[[Numbers], Numbers]) -> Sums:
        """The result of `work` on these sums; it must keep the leading axis."""
        return Sums(lambda: work(self.observed), lambda: work(self.resamples))

    def resampled(self, values: Numbers) -> Sums:
        """The same sums, with resamples that were made elsewhere."""
        return Sums(lambda: self.observed, lambda: values)


class Resampled:
    """The rating patterns of some items, with their bootstrap resamples drawn once and on demand.

    among: see SourceBootstrap.draws.
    """

    def __init__(self, codes: Codes, sources: Codes, bootstrap: SourceBootstrap, among: Codes | None = None) -> None:
        self.patterns: Patterns = find_patterns(codes)
        self.n = len(codes)
        self.n_sources = len(distinct(sources)[0])
        self._sources, self._among = sources, among
        self._bootstrap = bootstrap

    @property
    def rows(self) -> Codes:
        """(patterns, columns) the distinct rows."""
        return self.patterns.rows

    @property
    def observed(self) -> Codes:
        """(patterns,) how often each pattern occurs."""
        return self.patterns.counts

    @cached_property
    def resamples(self) -> Numbers | SourceDraws:
        """(resamples, patterns) how often each pattern occurs in each resample, or an object with the same `@`."""
        return self._bootstrap.draws(self.patterns, self._sources, self._among)

    @property
    def by_source(self) -> SourceDraws | None:
        """The resamples where sources are drawn: figures with as many sources share them. None without items, too."""
        return self.resamples if self.n and isinstance(self.resamples, SourceDraws) else None

    def kinds(self, features: Codes) -> tuple[Codes, Codes]:
        """(kinds, F) what a source of each kind adds to the sums of features, (patterns, F), and (kinds,) how many."""
        if not self.by_source:  # each source has one item, and its pattern is its kind
            return features, self.observed
        added = self.by_source.contributions(features)
        return added, np.ones(len(added), dtype=np.int64)

    def sums(self, of: Callable[[Any], Numbers]) -> Sums:
        """Sums over the items, from the weights of the patterns."""
        return Sums(lambda: of(self.observed), lambda: of(self.resamples))

    def estimate(self, statistic: Statistic, undefined: str, of: Sums | None = None) -> Estimate:
        """The statistic with its 95% interval; undefined: the reason to give when it is NaN.

        of: the sums that it is computed from; by default it gets the weights of the patterns.
        """
        if not self.n:
            return Estimate.undefined("no items")
        weights = of or self
        value = float(statistic(weights.observed))
        if np.isnan(value):
            return Estimate.undefined(undefined, self.n)
        if self.n_sources < 2:
            return Estimate(value, n=self.n, caveats=("one source: no interval",))
        method = f"percentile bootstrap over {self.n_sources} sources"
        interval = percentile_interval(statistic(weights.resamples))
        if interval is None:
            return Estimate(value, n=self.n, method=method, caveats=("undefined in most resamples: no interval",))
        return Estimate(value, *interval, n=self.n, method=method)


def krippendorff_alpha(codes: Codes, criterion: Criterion) -> Estimate:
    """Krippendorff's alpha at the scale's measure, on every item with two ratings; codes: (items, raters)."""
    patterns, scale = find_patterns(codes), criterion.scale
    values = np.asarray(scale.values, dtype=np.float64)
    items = int(((codes >= 0).sum(axis=1) >= 2).sum())
    try:
        counts = class_counts(patterns.rows, len(values))
        value = agreement.krippendorff_alpha(patterns.counts, counts, values, scale.measure)
    except Undefined as error:
        return Estimate.undefined(str(error), items)
    return Estimate(value, n=items, method=f"Krippendorff's alpha, {scale.measure}")


def column_names(figures: Iterable[str], without_interval: Collection[str] = ()) -> list[str]:
    """The columns of figures in a table: name, name_low, name_high.

    >>> column_names(["kappa", "alpha"], without_interval=["alpha"])
    ['kappa', 'kappa_low', 'kappa_high', 'alpha']
    """
    ends = ("", "_low", "_high")
    return [f"{name}{end}" for name in figures for end in (ends[:1] if name in without_interval else ends)]


def columns(figures: Mapping[str, Estimate], without_interval: Collection[str] = ()) -> dict[str, float]:
    """The values of figures in the columns of `column_names`; NaN where undefined."""
    values: list[float | None] = []
    for name, estimate in figures.items():
        values += [estimate.value] if name in without_interval else [estimate.value, estimate.low, estimate.high]
    names = column_names(figures, without_interval)
    return {name: float("nan") if value is None else value for name, value in zip(names, values, strict=True)}


def undefined_note(figures: Mapping[str, Estimate]) -> str:
    """`kappa: one class; ...` for the figures that have no value or no interval."""
    notes = []
    for name, estimate in figures.items():
        if estimate.value is None:
            notes.append(f"{name}: {estimate.reason}")
        notes.extend(f"{name}: {caveat}" for caveat in estimate.caveats)
    return "; ".join(notes)


def dropped_note(dropped: Mapping[str, int]) -> str:
    """`incomplete 12, tied 3`; empty when nothing was left out."""
    return ", ".join(f"{reason} {count}" for reason, count in dropped.items())
