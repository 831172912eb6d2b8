"""Bootstrap over sources: sources are drawn with all their outputs, because these are not
independent.

A figure depends only on how often each rating pattern occurs in a resample, and then only on some
sums (confusion matrices, class counts): `draws @ features`. Sources are drawn once for all figures
over the same sources, and what each source adds to the sums is computed first. So the cost of a
resample is (sources x sums), however many ratings and patterns there are. If every source has one
output and no other figure shares the draws, patterns are drawn from a multinomial instead.

If there are more than 2,048 sources, they are put at random into 1,025 to 2,048 blocks of equal
size, and blocks are drawn. The last block may be smaller, so a resample may have a few sources more
or less. (These are random groups: Wolter, Introduction to Variance Estimation, 2nd ed., 2007, ch.
2.) The random assignment to blocks adds an error of 1 / sqrt(2 x blocks), that is 1.6 to 2.2%, to
the width of an interval; with 2,000 resamples, resampling itself has an error of 1.6%. So the cost
of resampling does not grow with the data.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from metal.stats.interval import Interval
from metal.stats.patterns import Codes, Numbers, Patterns, distinct

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

# Source weights (resamples x sources) are drawn in chunks of at most this many numbers, and kept
# while small.
_CHUNK = 20_000_000
# that are added up without scipy.sparse, whose import would take longer; the sums are the same
_FEW_ITEMS = 4_000
_KEEP = 50_000_000
_MOST = 2048  # sources that are drawn one by one
_FEW_PATTERNS = 1_000  # with more patterns, a multinomial takes longer than adding up over sources
_KINDS = np.dtype(np.float32), np.dtype(np.float64)
# integers below this are exact in single precision, whose products are twice as fast
_EXACT = 1 << 24
# of 1: shares of tied labels and partly right answers are mostly whole numbers of these
_PARTS = 240


@dataclass(frozen=True)
class SourceDraws:
    """How often each pattern occurs in each resample. Only the drawn sources are stored, never the
    whole table.

    `draws @ features`, with features (patterns, ...), gives the sums (resamples, ...) over the
    items drawn.
    """

    bootstrap: SourceBootstrap
    patterns: Patterns
    source: Codes  # (items,) numbered from 0; the blocks, where there are many sources
    sources: int

    @property
    def shape(self) -> tuple[int, int]:
        """(resamples, patterns), the shape that the whole table would have."""
        return self.bootstrap.resamples, len(self.patterns.rows)

    def __matmul__(self, features: Any) -> Numbers:
        features = np.asarray(features)
        drawn = self.bootstrap.totals(self.contributions(features.reshape(len(features), -1)))
        return drawn.reshape(len(drawn), *features.shape[1:])

    def contributions(self, features: Any) -> Any:
        """(sources, F) what each source adds to the sums of `features`, (patterns, F)."""
        features = features.astype(np.float64 if features.dtype.kind == "f" else np.int32)
        if len(self.source) > _FEW_ITEMS:
            return self._by_source @ features
        every = features[self.patterns.which]
        sums = np.empty((self.sources, features.shape[1]), dtype=features.dtype)
        for j, column in enumerate(every.T):
            sums[:, j] = np.bincount(self.source, weights=column, minlength=self.sources)
        return sums

    @cached_property
    def _by_source(self) -> csr_matrix:
        """(sources, patterns) how many items of each source have each pattern."""
        from scipy.sparse import csr_matrix

        # which sorts by digits
        small = np.uint16 if self.sources <= np.iinfo(np.uint16).max else np.int64
        order = np.argsort(self.source.astype(small), kind="stable")
        starts = np.append(0, np.cumsum(np.bincount(self.source, minlength=self.sources)))
        ones = np.ones(len(self.source), dtype=np.int32)
        return csr_matrix(
            (ones, self.patterns.which[order], starts), (self.sources, len(self.patterns.rows))
        )


@dataclass(frozen=True)
class SourceBootstrap:
    """Draws `resamples` resamples, always the same for the same data and seed.

    The random generator is seeded by the seed and the data. So a figure does not depend on the
    figures computed before it, and equal data have equal intervals.
    """

    resamples: int = 2000
    seed: int = 0
    _kept: dict[tuple[int, Any], Codes] = field(default_factory=dict, repr=False, compare=False)

    def blocks(self, sources: int) -> Codes | None:
        """(sources,) the block of each source, numbered from 0; None if there are few sources,
        which are then drawn one by one.
        """
        if sources <= _MOST:
            return None
        size = -(-sources // _MOST)
        return np.random.default_rng([self.seed, sources]).permutation(sources) // size

    def draws(
        self, patterns: Patterns, sources: Codes, among: Codes | None = None
    ) -> Numbers | SourceDraws:
        """How often each pattern occurs in each resample: an array (resamples, patterns), or an
        object that supports `@` like it.

        See `by_source`.
        """
        return self.by_source(patterns, sources, among) or self.draw_counts(patterns.counts)

    def by_source(
        self, patterns: Patterns, sources: Codes, among: Codes | None = None
    ) -> SourceDraws | None:
        """How often each pattern occurs in each resample, by drawing sources; None if patterns are
        drawn instead.

        sources: (items,) the source of each item, as whole numbers >= 0. among: all sources to draw
        from, by default those with an item. Give more sources if figures over different items are
        to share their draws.
        """
        names, source = distinct(sources)
        if among is None and len(names) == len(source) and len(patterns.rows) <= _FEW_PATTERNS:
            return None
        count = len(names)
        if among is not None:
            first, _ = distinct(among)
            count, new_number = len(first), np.zeros(int(among.max(initial=0)) + 1, dtype=np.int64)
            new_number[among[first]] = np.arange(count)
            source = new_number[sources]
        block = self.blocks(count)
        if block is not None:
            count, source = int(block.max()) + 1, block[source]
        return SourceDraws(self, patterns, source, count)

    def totals(self, sums: Any) -> Numbers:
        """(resamples, ...) the totals of `sums`, (sources, ...), over the drawn sources."""
        flat = self._in_blocks(np.asarray(sums).reshape(len(sums), -1))
        parts = 1
        if flat.dtype.kind == "f":
            in_parts = np.rint(flat * _PARTS)
            if np.abs(flat * _PARTS - in_parts).max(initial=0) < 1e-6:  # NaN: as they are
                flat, parts = in_parts, _PARTS
        exact = (parts > 1 or flat.dtype.kind in "iub") and len(flat) * float(
            np.abs(flat).max(initial=0)
        ) < _EXACT
        columns: Numbers = np.ascontiguousarray(flat.T, dtype=np.float32 if exact else np.float64)
        chunks = self.source_weights(len(flat), columns.dtype)
        drawn = np.concatenate([columns @ chunk.T for chunk in chunks], axis=1, dtype=np.float64)
        drawn /= parts
        return drawn.T.reshape(self.resamples, *np.shape(sums)[1:])

    def _in_blocks(self, sums: Any) -> Any:
        """(blocks, F) the sums over the sources of each block; with few sources, (sources, F)
        unchanged.
        """
        block = self.blocks(len(sums))
        if block is None:
            return sums
        from scipy.sparse import csr_matrix

        table = csr_matrix((np.ones(len(block), dtype=np.int32), (block, np.arange(len(block)))))
        return table @ (sums if sums.dtype.kind == "f" else sums.astype(np.int64))

    def draw_counts(self, counts: Codes) -> Numbers:
        """(resamples, kinds) how often each kind of source is drawn; counts: (kinds,) how many
        sources there are.
        """
        total = int(counts.sum())
        if not total:
            return np.zeros((self.resamples, len(counts)))
        rng = np.random.default_rng([self.seed, total, zlib.crc32(counts.astype("<i8").tobytes())])
        return rng.multinomial(total, counts / total, size=self.resamples).astype(np.float64)

    def source_weights(self, sources: int, kind: Any = np.float32) -> Iterator[Codes]:
        """How often each source, or block, is drawn, in chunks (some resamples, sources) of
        `resamples` rows in all.
        """
        for kept in (np.dtype(kind), *_KINDS):
            if (sources, kept) in self._kept:
                yield self._keep(self._kept[sources, kept].astype(kind, copy=False))
                return
        keep: list[Codes] = []
        step = max(1, _CHUNK // sources)
        for start in range(0, self.resamples, step):
            rng = np.random.default_rng([self.seed, sources, start])
            size = min(step, self.resamples - start)
            chunk = rng.multinomial(sources, np.full(sources, 1 / sources), size=size).astype(kind)
            if self.resamples * sources <= _KEEP:
                keep.append(chunk)
            yield chunk
        if keep:
            self._keep(np.concatenate(keep))

    def _keep(self, weights: Codes) -> Codes:
        """Keep the weights for the next figure. When there is no more room, the oldest weights are
        dropped.
        """
        self._kept[weights.shape[1], weights.dtype] = weights
        while sum(kept.size for kept in self._kept.values()) > _KEEP:
            del self._kept[next(iter(self._kept))]
        return weights


def percentile_interval(resampled: Numbers, level: float = 0.95) -> Interval | None:
    """The central interval of the resampled values; undefined values are left out.

    None if fewer than half of the values are defined, because an interval over these would answer a
    different question.
    >>> percentile_interval(np.array([*range(21), np.nan]), level=0.5)
    Interval(low=5.0, high=15.0)
    """
    defined = resampled[~np.isnan(resampled)]
    if not len(defined) or 2 * len(defined) < len(resampled):
        return None
    tail = (1 - level) / 2
    return Interval(*quantiles(defined, tail, 1 - tail))


def quantiles(values: Numbers, *shares: float) -> list[float]:
    """The quantiles of defined values. They equal those of `numpy.quantile`, which takes much
    longer for a few thousand values.

    >>> quantiles(np.array([3.0, 1.0, 2.0]), 0.25, 1.0)
    [1.5, 3.0]
    """
    ordered, ends = np.sort(values), []
    for share in shares:
        below, part = divmod((len(ordered) - 1) * share, 1)
        first, second = (
            float(ordered[min(int(below) + step, len(ordered) - 1)]) for step in (0, 1)
        )
        ends.append(
            second - (second - first) * (1 - part)
            if part >= 0.5
            else first + (second - first) * part
        )
    return ends
