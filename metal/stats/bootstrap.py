"""Bootstrap over sources: the outputs of one source are not independent, so whole sources are drawn.

A figure needs of a resample only how often each rating pattern occurs in it, and of that only some sums (confusion
matrices, class counts): `draws @ features`. Sources are drawn, once for all figures over the same ones, and what each
contributes to the sums is added up first, so that a resample costs (sources x sums): ratings and patterns have no part
in it. Of more sources than draws can be kept of, those that are alike in all their patterns are drawn as kinds, from a
multinomial; so are the patterns themselves where every source has one output and no other figure shares its draws.
That costs the same whatever the number of sources.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from metal.stats.patterns import Codes, Numbers, Patterns, distinct, total

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

# Source weights (resamples x sources) are drawn in chunks of at most this many numbers, and kept while small.
_CHUNK = 20_000_000
_KEEP = 50_000_000
_FEW_PATTERNS = 1_000  # of more, a multinomial takes longer than adding up over sources
_EXACT = 1 << 24  # whole numbers below it are exact in single precision, whose products are twice as fast


@dataclass(frozen=True)
class SourceDraws:
    """How often each pattern occurs in each resample, as the sources that were drawn: never a table of its own.

    `draws @ features`, features (patterns, ...), are the sums (resamples, ...) over the items that were drawn.
    """

    bootstrap: SourceBootstrap
    patterns: Patterns
    source: Codes  # (items,) from 0
    sources: int

    @property
    def shape(self) -> tuple[int, int]:
        """(resamples, patterns), as of the table it stands for."""
        return self.bootstrap.resamples, len(self.patterns.rows)

    @property
    def of_weights(self) -> bool:
        """Whether the sums are over source_weights, and so go with all others that are, over as many sources."""
        return self._kinds is None

    def __matmul__(self, features: Any) -> Numbers:
        features = np.asarray(features)
        by_source = self.contributions(features.reshape(len(features), -1))
        if self._kinds is None:
            drawn = self.bootstrap.totals(by_source)
        else:
            first, draws = self._kinds
            drawn = total(draws, by_source[first])
        return drawn.reshape(len(drawn), *features.shape[1:])

    def contributions(self, features: Any) -> Any:
        """(sources, F) what each source adds to the sums, features (patterns, F)."""
        whole = features.dtype.kind != "f"
        return self._by_source @ features.astype(np.int32 if whole else np.float64)

    @cached_property
    def _by_source(self) -> csr_matrix:
        """(sources, patterns) how many items of each pattern a source has."""
        from scipy.sparse import csr_matrix

        one = np.ones(len(self.source), dtype=np.int32)
        shape = self.sources, len(self.patterns.rows)
        return csr_matrix((one, (self.source, self.patterns.which)), shape=shape)

    @cached_property
    def _kinds(self) -> tuple[Codes, Numbers] | None:
        """A source of each kind (alike in all patterns), and (resamples, kinds) how often the kind is drawn.

        None where the draws of sources can be kept, or most sources are of a kind of their own.
        """
        table = self._by_source
        sources, width = table.shape
        if self.bootstrap.keeps(sources):
            return None
        random = np.random.default_rng(0).integers(0, 1 << 62, width)
        _, first, kind, counts = np.unique(table @ random, return_index=True, return_inverse=True, return_counts=True)
        if len(first) * 4 > sources or (table != table[first[kind]]).nnz:  # equal sums are no proof
            return None
        return first, self.bootstrap.draw_counts(counts)


@dataclass(frozen=True)
class SourceBootstrap:
    """Draws `resamples` resamples, always the same for the same data and seed.

    The generator is seeded by (seed, the data itself), so that a figure does not depend on which other
    figures were computed before it, and equal data give equal intervals.
    """

    resamples: int = 2000
    seed: int = 0
    _kept: dict[int, Codes] = field(default_factory=dict, repr=False, compare=False)

    def keeps(self, sources: int) -> bool:
        """Whether the draws of so many sources are few enough to be kept for other figures."""
        return self.resamples * sources <= _KEEP

    def draws(self, patterns: Patterns, sources: Codes, among: Codes | None = None) -> Numbers | SourceDraws:
        """How often each pattern occurs in each resample: (resamples, patterns), or what gives `@` like such a table.

        sources: (items,) whole numbers, none below 0, naming the source of an item. among: the names of all sources to
        draw from, those without an item as well, so that figures over other items of these share the draws; without
        it, as many sources are drawn as have an item.
        """
        names, source = distinct(sources)
        alone = len(names) == len(source) and len(patterns.rows) <= max(_FEW_PATTERNS, len(names) // 4)
        if among is None:
            return self.draw_counts(patterns.counts) if alone else SourceDraws(self, patterns, source, len(names))
        every = np.asarray(among)[distinct(among)[0]]
        if alone and not self.keeps(len(every)):
            absent = len(every) - len(names)
            return self.draw_counts(np.append(patterns.counts, absent))[:, :-1]
        return SourceDraws(self, patterns, np.searchsorted(every, sources), len(every))

    def pattern_counts(self, patterns: Patterns, sources: Codes) -> Numbers:
        """(resamples, patterns) the same as a table, for few patterns."""
        drawn = self.draws(patterns, sources)
        return drawn if isinstance(drawn, np.ndarray) else drawn @ np.eye(len(patterns.rows), dtype=np.int32)

    def totals(self, sums: Any) -> Numbers:
        """(resamples, ...) what `sums`, (sources, ...), come to over the sources that were drawn."""
        flat = np.asarray(sums).reshape(len(sums), -1)
        whole = flat.dtype.kind in "iub" and len(flat) * float(np.abs(flat).max(initial=0)) < _EXACT
        flat = flat.astype(np.float32 if whole else np.float64)
        drawn = [flat.T @ np.asarray(chunk, dtype=flat.dtype).T for chunk in self.source_weights(len(sums))]
        return np.concatenate(drawn, axis=1, dtype=np.float64).T.reshape(self.resamples, *np.shape(sums)[1:])

    def draw_counts(self, counts: Codes) -> Numbers:
        """(resamples, kinds) how often each kind of source is drawn, of which there are so many."""
        total = int(counts.sum())
        if not total:
            return np.zeros((self.resamples, len(counts)))
        rng = np.random.default_rng([self.seed, total, zlib.crc32(counts.astype("<i8").tobytes())])
        return rng.multinomial(total, counts / total, size=self.resamples).astype(np.float64)

    def source_weights(self, sources: int) -> Iterator[Codes]:
        """Chunks of (some resamples, sources), `resamples` rows in all: how often each source is drawn."""
        if sources in self._kept:
            yield self._kept[sources]
            return
        keep: list[Codes] = []
        step = max(1, _CHUNK // sources)
        for start in range(0, self.resamples, step):
            rng = np.random.default_rng([self.seed, sources, start])
            size = min(step, self.resamples - start)
            chunk = rng.multinomial(sources, np.full(sources, 1 / sources), size=size).astype(np.float32)
            if self.keeps(sources):
                keep.append(chunk)
            yield chunk
        if keep:
            self._keep(np.concatenate(keep))

    def _keep(self, weights: Codes) -> None:
        """Keep them for the next figure, and of others as many as there is room for, the oldest first to go."""
        self._kept[weights.shape[1]] = weights
        while sum(kept.size for kept in self._kept.values()) > _KEEP:
            del self._kept[next(iter(self._kept))]


def percentile_interval(resampled: Numbers, level: float = 0.95) -> tuple[float, float] | None:
    """The central interval of the resampled values; undefined ones are left out.

    None when fewer than half are defined: an interval over the rest would be about another question.
    """
    defined = resampled[~np.isnan(resampled)]
    if len(defined) == 0 or len(defined) * 2 < len(resampled):
        return None
    tail = (1 - level) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return float(low), float(high)


def share_at_most(resampled: Numbers, bound: float = 0.0) -> float:
    """One-sided bootstrap p-value that the figure exceeds `bound`.

    (1 + resamples at most `bound`) / (1 + resamples); NaN when fewer than half of the resamples are defined.
    """
    defined = resampled[~np.isnan(resampled)]
    if len(defined) == 0 or len(defined) * 2 < len(resampled):
        return float("nan")
    return float((1 + (defined <= bound).sum()) / (1 + len(defined)))
