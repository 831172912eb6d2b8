"""How often people are right, if each person's accuracy comes from a mixture of Beta distributions.

Of n questions, a person answers X correctly: X ~ Binomial(n, P), P ~ Beta(alpha_Z, beta_Z), Z =
component k with probability probabilities_k. The Beta is conjugate to the binomial, so all
posterior figures of P and Z after X of n have a closed form. `right` and `asked` are (people,)
whole numbers, 0 <= right <= asked; for a person who was asked nothing, the posterior is the prior.
Each distinct pair (right, asked) is computed once. The parameters are fitted in `beta_mixture_fit`.
Source: Khashabi et al., GENIE (2022), section 5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc

from metal.stats.patterns import Counts, Numbers

_HALVINGS = 49  # of the interval from 0 to 1 in the search for a quantile: exact to 2e-15


@dataclass(frozen=True)
class CountPairs:
    """The distinct pairs of `right` and `asked`.

    right, asked: (pairs,) in rising order; count: (pairs,) how many people have each pair; which:
    (people,) each person's pair.
    """

    right: Counts
    asked: Counts
    count: Counts
    which: Counts


@dataclass(frozen=True)
class BetaMixture:
    """probabilities, alpha, beta: (components,).

    Raises ValueError unless alpha and beta are above 0 and the probabilities are not negative and
    sum to 1.
    """

    probabilities: Numbers
    alpha: Numbers
    beta: Numbers

    def __post_init__(self) -> None:
        if not len(self.probabilities) == len(self.alpha) == len(self.beta) > 0:
            raise ValueError("probabilities, alpha and beta have one number for each component")
        if not (
            (self.alpha > 0).all() and (self.beta > 0).all() and (self.probabilities >= 0).all()
        ):
            raise ValueError("alpha and beta must be above 0, and probabilities not below 0")
        if not np.isclose(self.probabilities.sum(), 1):
            raise ValueError("probabilities sum to 1")

    @property
    def means(self) -> Numbers:
        """(components,) the expected accuracy of each component."""
        return self.alpha / (self.alpha + self.beta)

    def responsibilities(self, right: Counts, asked: Counts) -> Numbers:
        """(people, components) the posterior of Z: how probably each person comes from each
        component.
        """
        return _by_pair(right, asked, self._responsibilities)

    def probability_below(self, threshold: float, right: Counts, asked: Counts) -> Numbers:
        """(people,) posterior probability that a person's accuracy is below `threshold`.

        >>> uniform = BetaMixture(np.ones(1), np.ones(1), np.ones(1))
        >>> uniform.probability_below(0.9, np.array([0]), np.array([1])).round(12)  # 1 - 0.1**2
        array([0.99])
        """
        return _by_pair(right, asked, lambda x, n: self._below(np.full(len(x), threshold), x, n))

    def accuracy(self, right: Counts, asked: Counts) -> Numbers:
        """(people,) posterior mean of each person's accuracy.

        >>> uniform = BetaMixture(np.ones(1), np.ones(1), np.ones(1))
        >>> # Beta(4, 2) and the prior, Beta(1, 1)
        >>> uniform.accuracy(np.array([3, 0]), np.array([4, 0])).round(4)
        array([0.6667, 0.5   ])
        """

        def mean(right: Counts, asked: Counts) -> Numbers:
            alpha, beta = self._posterior(right, asked)
            return np.asarray(
                (self._responsibilities(right, asked) * alpha / (alpha + beta)).sum(axis=1)
            )

        return _by_pair(right, asked, mean)

    def accuracy_interval(self, right: Counts, asked: Counts, level: float = 0.95) -> Numbers:
        """(people, 2) the central posterior interval of each person's accuracy, with equal
        probability below and above.
        """

        def interval(right: Counts, asked: Counts) -> Numbers:
            outside = (1 - level) / 2
            return np.stack(
                [self._quantile(share, right, asked) for share in (outside, 1 - outside)], axis=1
            )

        return _by_pair(right, asked, interval)

    def _quantile(self, share: float, right: Counts, asked: Counts) -> Numbers:
        low, high = np.zeros(len(right)), np.ones(len(right))
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            above = self._below(middle, right, asked) < share
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        return (low + high) / 2

    def _below(self, threshold: Numbers, right: Counts, asked: Counts) -> Numbers:
        alpha, beta = self._posterior(right, asked)
        below = betainc(alpha, beta, threshold[:, None])
        return np.asarray((self._responsibilities(right, asked) * below).sum(axis=1))

    def _posterior(self, right: Counts, asked: Counts) -> tuple[Numbers, Numbers]:
        return self.alpha + right[:, None], self.beta + (asked - right)[:, None]

    def _responsibilities(self, right: Counts, asked: Counts) -> Numbers:
        joint = self._joint(right, asked)
        likelihood = np.exp(joint - joint.max(axis=1, keepdims=True))
        return np.asarray(likelihood / likelihood.sum(axis=1, keepdims=True))

    def _joint(self, right: Counts, asked: Counts) -> Numbers:
        """(pairs, components) log of probability_k alpha^(X) beta^(n-X) / (alpha+beta)^(n), rising
        factorials.
        """
        with np.errstate(divide="ignore"):  # a component nobody comes from
            log_probabilities = np.log(self.probabilities)
        wrong = asked - right
        rising = log_rising(self.alpha, right)[:, right] + log_rising(self.beta, wrong)[:, wrong]
        return np.asarray(
            log_probabilities + (rising - log_rising(self.alpha + self.beta, asked)[:, asked]).T
        )


def find_pairs(right: Counts, asked: Counts) -> CountPairs:
    """The distinct pairs of `right` and `asked`, both (people,) whole numbers.

    >>> pairs = find_pairs(np.array([3, 0, 3, 3]), np.array([3, 2, 5, 3]))
    >>> pairs.right.tolist(), pairs.asked.tolist(), pairs.count.tolist(), pairs.which.tolist()
    ([0, 3, 3], [2, 3, 5], [1, 2, 1], [1, 0, 2, 1])
    """
    right, asked = np.asarray(right, dtype=np.int64), np.asarray(asked, dtype=np.int64)
    base = int(right.max(initial=0)) + 1
    keys, which, count = np.unique(asked * base + right, return_inverse=True, return_counts=True)
    return CountPairs(keys % base, keys // base, count, which)


def log_rising(start: Numbers, counts: Counts) -> Numbers:
    """(starts, 1 + highest of counts) log of start (start + 1) ... (start + n - 1) for n = 0, 1,
    ...

    A sum of logarithms, because a difference of log gammas loses its digits where `start` is large.
    """
    most = int(np.max(counts, initial=0))
    table: Numbers = np.zeros((len(start), most + 1))
    np.cumsum(np.log(start[:, None] + np.arange(most)), axis=1, out=table[:, 1:])
    return table


def _by_pair(
    right: Counts, asked: Counts, of_pairs: Callable[[Counts, Counts], Numbers]
) -> Numbers:
    """(people, ...) the values of a function of right and asked, which is computed once for each
    distinct pair.
    """
    pairs = find_pairs(right, asked)
    return np.asarray(of_pairs(pairs.right, pairs.asked)[pairs.which])
