"""Bootstrap over sources: the outputs of one source are not independent, so whole sources are drawn.

A resample is described by how often each rating pattern occurs in it. Where every source has one output,
that is a multinomial over the distinct patterns: counts are drawn, not rows, and the cost does not grow
with the data. Where sources have several outputs, sources are drawn and their patterns added up.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from metal.stats.patterns import Codes, Numbers, Patterns

# Source weights (resamples x sources) are drawn in chunks of at most this many numbers, and kept while small.
_CHUNK = 20_000_000
_KEEP = 50_000_000


@dataclass(frozen=True)
class SourceBootstrap:
    """Draws `resamples` resamples, always the same for the same data and seed.

    The generator is seeded by (seed, the data itself), so that a figure does not depend on which other
    figures were computed before it, and equal data give equal intervals.
    """

    resamples: int = 2000
    seed: int = 0
    _kept: dict[int, list[Codes]] = field(default_factory=dict, repr=False, compare=False)

    def pattern_counts(self, patterns: Patterns, sources: Codes) -> Numbers:
        """(resamples, patterns): how often each pattern occurs in each resample.

        sources: (items,) any whole number naming the source of an item; as many sources as occur are drawn.
        """
        names, source = np.unique(sources, return_inverse=True)
        if len(names) == len(patterns.which):
            return self._draw_patterns(patterns.counts)
        width = len(patterns.rows)
        flat = np.bincount(source * width + patterns.which, minlength=len(names) * width)
        by_source = flat.reshape(len(names), width).astype(np.float32)  # whole numbers far below 2^24
        drawn = [chunk.astype(np.float32) @ by_source for chunk in self.source_weights(len(names))]
        return np.concatenate(drawn).astype(np.float64)

    def totals(self, sums: Numbers) -> Numbers:
        """(resamples, ...) what `sums`, (sources, ...), come to over the sources that were drawn."""
        flat = sums.reshape(len(sums), -1).astype(np.float64)
        drawn = [chunk.astype(np.float64) @ flat for chunk in self.source_weights(len(sums))]
        return np.concatenate(drawn).reshape(self.resamples, *sums.shape[1:])

    def _draw_patterns(self, counts: Codes) -> Numbers:
        total = int(counts.sum())
        if not total:
            return np.zeros((self.resamples, len(counts)))
        rng = np.random.default_rng([self.seed, total, zlib.crc32(counts.astype("<i8").tobytes())])
        return rng.multinomial(total, counts / total, size=self.resamples).astype(np.float64)

    def source_weights(self, sources: int) -> Iterator[Codes]:
        """Chunks of (some resamples, sources), `resamples` rows in all: how often each source is drawn."""
        if sources in self._kept:
            yield from self._kept[sources]
            return
        keep: list[Codes] = []
        step = max(1, _CHUNK // sources)
        for start in range(0, self.resamples, step):
            rng = np.random.default_rng([self.seed, sources, start])
            size = min(step, self.resamples - start)
            chunk = rng.multinomial(sources, np.full(sources, 1 / sources), size=size).astype(np.uint16)
            if self.resamples * sources <= _KEEP:
                keep.append(chunk)
            yield chunk
        if keep:
            self._kept[sources] = keep


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
