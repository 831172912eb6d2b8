"""A stream of values from 0 to 1, watched by betting (an e-process), and the level that it is held
against.

Whoever bets against "the mean is at least m" multiplies the stake by 20 with a chance of at most
1/20, however often one looks. m is not known: the baseline is a sample of sources. So a stream is
held against a level that the true mean of the baseline exceeds in all but alpha / 2 of baselines,
over all streams; the bets have the other half of alpha.

Sources: Waudby-Smith and Ramdas (2024), betting; Ville (1939); Clopper and Pearson (1934), the
limit of a mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

# steps that the null hypothesis is worth at the start; steps that a bet looks back on
PRIOR, WINDOW = 10, 100
BOLDEST = 0.5  # share of the largest bet that cannot ruin


@dataclass(frozen=True)
class Baseline:
    """What a stream was before. mean: over the sources, of each source's mean value, from 0 to 1;
    sources: how many.
    """

    mean: float
    sources: int

    def lower(self, alpha: float, streams: int) -> float:
        """A limit that the true mean exceeds in all but alpha / 2 of baselines, for all of so many
        streams at once.

        >>> round(Baseline(0.8, 100).lower(0.05, 8), 4), Baseline(0.0, 100).lower(0.05, 8)
        (0.6711, 0.0)
        """
        from scipy.special import betaincinv

        total = self.sources * self.mean
        if not total:
            return 0.0
        return float(betaincinv(total, self.sources - total + 1, alpha / (2 * streams)))

    def level(self, margin: float, alpha: float, streams: int) -> float:
        """The mean that a stream must not fall below: the limit, or the mean less the margin if
        that is lower. It is 0, so no bet is ever made, where nothing can fall that far.
        """
        return max(min(self.mean - margin, self.lower(alpha, streams)), 0.0)

    def loss_seen(self, margin: float, alpha: float, streams: int) -> float:
        """About the loss of the mean that a watch finds within some hundred steps, if the baseline
        is what it seems.
        """
        return 2 * (self.mean - min(self.mean - margin, self.lower(alpha, streams)))

    def sources_for(self, loss: float, alpha: float, streams: int) -> int:
        """About how many sources a baseline with this mean needs, so that such a loss is seen.

        At least as many as a baseline without any miss needs.
        >>> Baseline(0.8, 100).sources_for(0.15, 0.05, 8)  # 0.8 * 0.2 * (2 * 2.734 / 0.15)**2
        213
        """
        error = alpha / (2 * streams)
        z = NormalDist().inv_cdf(1 - error)
        without_miss = math.log(error) / math.log1p(-loss / 2)
        return math.ceil(max(self.mean * (1 - self.mean) * (2 * z / loss) ** 2, without_miss))


def stake_at_alarm(alpha: float, streams: int) -> float:
    """What a stake of 1 has to become in any of so many streams, for an alarm: half of alpha is the
    bets'.
    """
    return 2 * streams / alpha


@dataclass(frozen=True)
class Stream:
    """Bets that the mean of values from 0 to 1 is below `least`, after so many steps.

    log_e: the logarithm of the e-value, what a stake of 1 has become. mean: what the next bet takes
    the mean for, from the values so far, the latest counting most. All are numbers, or arrays of as
    many streams.
    """

    least: Any
    steps: int = 0
    log_e: Any = 0.0
    mean: Any = None
    total: Any = 0.0

    def after(self, value: Any) -> Stream:
        """The stream after one more value, on which the bet was placed before it was seen."""
        mean = self.least if self.mean is None else self.mean
        short = np.maximum(self.least - mean, 0.0)
        bet = np.minimum(short / (mean * (1 - mean) + short**2 + 1e-9), BOLDEST / (1 - self.least))
        step = max(1 / (self.steps + 1 + PRIOR), 1 / WINDOW)
        log_e = self.log_e + np.log1p(bet * (self.least - value))
        return Stream(
            self.least, self.steps + 1, log_e, mean + step * (value - mean), self.total + value
        )
