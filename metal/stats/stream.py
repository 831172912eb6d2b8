"""A stream of values from 0 to 1, watched by betting (an e-process), and the level with which it is
compared.

If the mean is at least m, somebody who bets against this multiplies the stake by 20 with a chance
of at most 1/20, however often the stake is looked at. m is not known, because the baseline is only
a sample of sources. So a stream is compared with a level that the true mean of the baseline exceeds
in all but alpha / 2 of baselines, over all streams. The bets use the other half of alpha.

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
    """The stream before the watch. mean: the mean over sources of each source's mean value, from 0
    to 1. sources: the number of sources.
    """

    mean: float
    sources: int

    def lower(self, alpha: float, streams: int) -> float:
        """A limit that the true mean exceeds in all but alpha / 2 of baselines, for all of
        `streams` streams together.

        >>> round(Baseline(0.8, 100).lower(0.05, 8), 4), Baseline(0.0, 100).lower(0.05, 8)
        (0.6711, 0.0)
        """
        from scipy.special import betaincinv

        total = self.sources * self.mean
        if not total:
            return 0.0
        return float(betaincinv(total, self.sources - total + 1, alpha / (2 * streams)))

    def level(self, margin: float, alpha: float, streams: int) -> float:
        """The level below which a stream must not fall: the limit or, if it is lower, the mean
        minus the margin. If nothing can fall that far, it is 0, and no bet is ever made.
        """
        return max(min(self.mean - margin, self.lower(alpha, streams)), 0.0)

    def loss_seen(self, margin: float, alpha: float, streams: int) -> float:
        """About how large a loss of the mean has to be for a watch to find it within some hundred
        steps, if the baseline's mean is its true mean.
        """
        return 2 * (self.mean - min(self.mean - margin, self.lower(alpha, streams)))

    def sources_for(self, loss: float, alpha: float, streams: int) -> int:
        """About how many sources a baseline with this mean needs for a watch to find such a loss.

        The number is at least the one that a baseline with a mean of 1 needs.
        >>> Baseline(0.8, 100).sources_for(0.15, 0.05, 8)  # 0.8 * 0.2 * (2 * 2.734 / 0.15)**2
        213
        """
        error = alpha / (2 * streams)
        z = NormalDist().inv_cdf(1 - error)
        without_miss = math.log(error) / math.log1p(-loss / 2)
        return math.ceil(max(self.mean * (1 - self.mean) * (2 * z / loss) ** 2, without_miss))


def stake_at_alarm(alpha: float, streams: int) -> float:
    """How much a stake of 1 has to become in one of so many streams for an alarm. The bets use half
    of alpha.
    """
    return 2 * streams / alpha


@dataclass(frozen=True)
class Stream:
    """Bets that the mean of values from 0 to 1 is below `least`, after some steps.

    log_e: the logarithm of the e-value, which is what a stake of 1 has become. mean: the mean that
    the next bet assumes, from the values so far; the latest values count most. All fields are
    numbers, or arrays with a number for each stream.
    """

    least: Any
    steps: int = 0
    log_e: Any = 0.0
    mean: Any = None
    total: Any = 0.0

    def after(self, value: Any) -> Stream:
        """The stream after one more value; the bet on the value was placed before the value was
        seen.
        """
        mean = self.least if self.mean is None else self.mean
        short = np.maximum(self.least - mean, 0.0)
        bet = np.minimum(short / (mean * (1 - mean) + short**2 + 1e-9), BOLDEST / (1 - self.least))
        step = max(1 / (self.steps + 1 + PRIOR), 1 / WINDOW)
        log_e = self.log_e + np.log1p(bet * (self.least - value))
        return Stream(
            self.least, self.steps + 1, log_e, mean + step * (value - mean), self.total + value
        )
