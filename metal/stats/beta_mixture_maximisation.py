"""The M step of `beta_mixture_fit`: better alpha and beta, given the probability of each component for each person.

Shapes are (rows, components, 3, positions) as there: position i of the 3 holds log(alpha + i), log(beta + i) and
log(alpha + beta + i), and in `signed`, how many people have X > i, n - X > i, and, negative, n > i. The expected
log-likelihood is the sum of their products.

It is one Newton step on (log alpha, log beta), damped so that the likelihood never falls. People whose accuracies vary
less than a binomial would have their best fit at infinite alpha + beta, where Newton's method is very slow. Such a
component is recognised (by Tarone's statistic, in the limit) and put at the cap at once, where its mean has a closed
form.
"""

from __future__ import annotations

import numpy as np

from metal.stats.patterns import Numbers

MOST_CONCENTRATED = 1e6  # cap of alpha + beta
SMALLEST = 1e-10  # lower bound of alpha and beta: where nobody is ever wrong, beta goes to 0
TINY = 1e-280  # replaces 0 in a logarithm or a denominator

_REACH = 3.0  # the longest step in (log alpha, log beta)
_SHORTER_STEPS = 12


class Logarithms:
    """log(alpha + i), log(beta + i), log(alpha + beta + i) for i = 0, 1, ...: (rows, components, 3, positions)."""

    def __init__(self, parameters: Numbers, positions: Numbers) -> None:
        alpha_beta = np.exp(parameters)
        self.arguments = np.concatenate([alpha_beta, alpha_beta.sum(axis=-1, keepdims=True)], axis=-1)
        self.shifted = self.arguments[..., None] + positions
        self.logs = np.log(self.shifted)

    def expected(self, signed: Numbers) -> Numbers:
        """(rows, components) the expected log-likelihood of the people counted in `signed`."""
        return np.asarray((signed * self.logs).sum(axis=(-1, -2)))


def maximisation(
    parameters: Numbers, logarithms: Logarithms, signed: Numbers, positions: Numbers
) -> tuple[Numbers, Logarithms]:
    """New parameters whose expected log-likelihood is not lower, with their logarithms.

    These are the cap where it is best, else a Newton step; if that does not help, a shorter step, and finally none.
    """
    before = logarithms.expected(signed)
    step = _newton_step(logarithms, signed)
    at_cap, belongs_there = _at_cap(signed, positions)
    proposed = np.where(belongs_there[..., None], at_cap, within_bounds(parameters + step))
    length = np.where(belongs_there, 2.0, 1.0)
    for _ in range(_SHORTER_STEPS):
        proposal = Logarithms(proposed, positions)
        worse = proposal.expected(signed) < before - 1e-12 * np.abs(before)
        if not worse.any():
            return proposed, proposal
        length = np.where(worse, length / 2, length)
        proposed = np.where(worse[..., None], within_bounds(parameters + length[..., None] * step), proposed)
    proposed = np.where(worse[..., None], parameters, proposed)
    return proposed, Logarithms(proposed, positions)


def _newton_step(logarithms: Logarithms, signed: Numbers) -> Numbers:
    """(rows, components, 2) a step in (log alpha, log beta), uphill and not longer than _REACH."""
    inverse = 1 / logarithms.shifted
    first = (signed * inverse).sum(axis=-1)
    second = -(signed * inverse**2).sum(axis=-1)
    alpha_beta = logarithms.arguments[..., :2]
    slope = alpha_beta * (first[..., :2] + first[..., 2:])
    bend = slope + alpha_beta**2 * (second[..., :2] + second[..., 2:])
    cross = alpha_beta.prod(axis=-1) * second[..., 2]
    # Where the surface bends upwards, both curvatures are lowered until the step is uphill and within reach.
    highest = bend.mean(axis=-1) + np.hypot((bend[..., 0] - bend[..., 1]) / 2, cross)
    steepness = np.hypot(slope[..., 0], slope[..., 1])
    bend = bend - np.where(highest < 0, 0, highest + steepness / _REACH)[..., None]
    determinant = bend.prod(axis=-1) - cross**2
    step = cross[..., None] * slope[..., ::-1] - bend[..., ::-1] * slope
    step = step / np.where(determinant > 0, determinant, np.inf)[..., None]
    length = np.hypot(step[..., 0], step[..., 1])
    return np.asarray(step * np.minimum(1, _REACH / np.maximum(length, TINY))[..., None])


def _at_cap(signed: Numbers, positions: Numbers) -> tuple[Numbers, Numbers]:
    """(rows, components, 2) the best parameters at the cap; (rows, components) whether the fit improves towards it.

    With s = alpha + beta and mean m, the log-likelihood is that of a binomial plus 1/s times
    sum i R_i / m + sum i W_i / (1-m) - sum i N_i, plus terms in 1/s^2; R, W, N are the three of `_more_than`. At the
    binomial's own mean this is Tarone's statistic of overdispersion; below 0, the likelihood rises with s. At the cap,
    that mean is off by at most half of 1/s, which costs a few 1e-6 nats with a million questions.
    """
    counts = np.abs(signed).sum(axis=-1)
    weighted = np.abs(signed * positions).sum(axis=-1)
    right, wrong, asked = np.moveaxis(np.maximum(counts, TINY), -1, 0)
    mean, rest = right / asked, wrong / asked
    overdispersion = weighted[..., 0] / mean + weighted[..., 1] / rest - weighted[..., 2]
    belongs = (overdispersion < 0) & (counts > 0).all(axis=-1)
    return within_bounds(np.log(MOST_CONCENTRATED * np.stack([mean, rest], axis=-1))), belongs


def within_bounds(parameters: Numbers) -> Numbers:
    """The parameters with alpha and beta at least SMALLEST, and alpha + beta at most the cap, with the same mean."""
    bounded = np.maximum(parameters, np.log(SMALLEST))
    concentration = np.logaddexp(bounded[..., 0], bounded[..., 1])
    return np.asarray(bounded - np.maximum(0, concentration - np.log(MOST_CONCENTRATED))[..., None])
