"""A statistic as an Estimate: its value from the observed counts, its interval from resampled ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from metal.data.records import Estimate
from metal.stats.bootstrap import SourceBootstrap, SourceDraws, percentile_interval
from metal.stats.patterns import Codes, Numbers, Patterns, distinct, find_patterns

Statistic = Callable[[Any], Numbers]  # weights (..., patterns), or sums over them (..., F), -> (...)


class Sums:
    """What several figures are made from, once: as observed, and in each resample."""

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
        """What is made of these; `work` keeps the leading axis."""
        return Sums(lambda: work(self.observed), lambda: work(self.resamples))

    def resampled(self, values: Numbers) -> Sums:
        """The same with resamples that were made elsewhere."""
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
        """(patterns,) how often each occurs."""
        return self.patterns.counts

    @cached_property
    def resamples(self) -> Numbers | SourceDraws:
        """(resamples, patterns) how often each occurs in each resample, or what adds up like such a table."""
        return self._bootstrap.draws(self.patterns, self._sources, self._among)

    @property
    def by_source(self) -> bool:
        """Whether the resamples are of the sources: the same for whatever was said of outputs of as many sources."""
        return bool(self.n) and isinstance(self.resamples, SourceDraws)

    @property
    def sources_drawn(self) -> int:
        """How many sources, or blocks of them, a resample is drawn from, where resamples are by_source."""
        assert isinstance(self.resamples, SourceDraws)
        return self.resamples.sources

    def contributions(self, features: Codes) -> Codes:
        """(sources, F) what each source adds to the sums of features, (patterns, F); where resamples are by_source."""
        assert isinstance(self.resamples, SourceDraws)
        found: Codes = self.resamples.contributions(features)
        return found

    def sums(self, of: Callable[[Any], Numbers]) -> Sums:
        """Sums over the items, from the weights of the patterns."""
        return Sums(lambda: of(self.observed), lambda: of(self.resamples))

    def estimate(
        self,
        statistic: Statistic,
        undefined: str,
        dropped: Mapping[str, int] | None = None,
        of: Sums | None = None,
    ) -> Estimate:
        """The statistic with its 95% interval; undefined: the reason to give when it is NaN.

        of: the sums it is made from; without, it gets the weights of the patterns.
        """
        if not self.n:
            return Estimate.undefined("no items", 0, dropped)
        weights = of or self
        value = float(statistic(weights.observed))
        if np.isnan(value):
            return Estimate.undefined(undefined, self.n, dropped)
        method = f"percentile bootstrap over {self.n_sources} sources"
        if self.n_sources < 2:
            return Estimate(value, n=self.n, dropped=dropped or {}, caveats=("one source: no interval",))
        interval = percentile_interval(statistic(weights.resamples))
        if interval is None:
            caveat = "undefined in most resamples: no interval"
            return Estimate(value, n=self.n, dropped=dropped or {}, method=method, caveats=(caveat,))
        return Estimate(value, *interval, n=self.n, dropped=dropped or {}, method=method)


def columns(name: str, estimate: Estimate, *, interval: bool = True) -> dict[str, float]:
    """The estimate as table columns: name, name_low, name_high; NaN where undefined."""
    record = {name: _number(estimate.value)}
    if interval:
        record[f"{name}_low"] = _number(estimate.low)
        record[f"{name}_high"] = _number(estimate.high)
    return record


def undefined_note(estimates: Mapping[str, Estimate]) -> str:
    """`kappa: one class; ...` for the figures that have no value or no interval."""
    notes = []
    for name, estimate in estimates.items():
        if estimate.value is None:
            notes.append(f"{name}: {estimate.reason}")
        notes.extend(f"{name}: {caveat}" for caveat in estimate.caveats)
    return "; ".join(notes)


def dropped_note(dropped: Mapping[str, int]) -> str:
    """`incomplete 12, tied 3`; empty when nothing was left out."""
    return ", ".join(f"{reason} {count}" for reason, count in dropped.items())


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
