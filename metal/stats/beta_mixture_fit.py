"""Fit a `BetaMixture` by maximum likelihood: EM from several starts, for several groups of people
at once.

Shapes: a row is one start for one group of people; arrays are (rows, components, 3, positions or
pairs). The 3 are the rising factorials of the likelihood alpha^(X) beta^(n-X) / (alpha+beta)^(n),
whose logarithm is sum_{i<X} log(alpha+i) + sum_{i<n-X} log(beta+i) - sum_{i<n} log(alpha+beta+i).
So the M step needs to know only, for each i, how many people (weighted by responsibility) have X >
i, n - X > i, and n > i. It needs no gamma functions, and its cost does not grow with the number of
people.

In the M step, position i of the 3 holds log(alpha + i), log(beta + i) and log(alpha + beta + i). In
`signed`, it holds how many people have X > i, n - X > i and, with a minus sign, n > i. The expected
log-likelihood is the sum of the products of both. The step is a Newton step on (log alpha, log
beta), damped so that the likelihood never falls. People whose accuracies vary less than a binomial
would have their best fit at infinite alpha + beta, where Newton's method is very slow. Such a
component is recognised by Tarone's statistic (in the limit) and put at the cap of alpha + beta at
once; its mean there has a closed form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from metal.stats.beta_mixture import BetaMixture, find_pairs
from metal.stats.patterns import Counts, Numbers

TOLERANCE = 1e-9  # EM stops when a round gains less log-likelihood than this for each person
MOST_ROUNDS = 5_000

MOST_CONCENTRATED = 1e6  # cap of alpha + beta
_SMALLEST = 1e-10  # lower bound of alpha and beta: where nobody is ever wrong, beta goes to 0
_TINY = 1e-280  # replaces 0 in a logarithm or a denominator

_REACH = 3.0  # the longest step in (log alpha, log beta)
_SHORTER_STEPS = 12
_CELLS = 2_000_000  # size of the largest array, which decides how many rows are computed together
_SIGNS = np.array([1.0, 1.0, -1.0])


@dataclass(frozen=True)
class Starts:
    """Starting values of EM: alpha and beta, (starts, components), above 0. All components start
    with equal probability.
    """

    alpha: Numbers
    beta: Numbers


def draw_starts(rng: np.random.Generator, components: int, starts: int = 10) -> Starts:
    """Draw random starts: means are uniform from 0 to 1, alpha + beta comes from a gamma
    distribution of shape 2.

    Source: GENIE (2022), appendix B.1.
    """
    mean, concentration = (
        rng.uniform(size=(starts, components)),
        rng.gamma(2.0, size=(starts, components)),
    )
    return Starts(*(np.maximum(concentration * share, _SMALLEST) for share in (mean, 1 - mean)))


def fit(
    right: Counts,
    asked: Counts,
    starts: Starts,
    *,
    tolerance: float = TOLERANCE,
    most_rounds: int = MOST_ROUNDS,
) -> BetaMixture:
    """Find the mixture, the best of all starts, under which the counts `right` and `asked`,
    (people,) each, are most likely.

    Its components are in rising order of their means. People who were asked nothing are ignored. If
    nobody was asked anything, every mixture is equally likely, and the first start is returned.
    """
    return fit_groups([(right, asked)], starts, tolerance=tolerance, most_rounds=most_rounds)[0]


def fit_groups(
    groups: Sequence[tuple[Counts, Counts]],
    starts: Starts,
    *,
    tolerance: float = TOLERANCE,
    most_rounds: int = MOST_ROUNDS,
) -> list[BetaMixture]:
    """Fit a mixture to each group of people, given as (right, asked). The result is that of `fit`,
    computed together.
    """
    batch = _Batch(groups, starts)
    for rows in batch.portions():
        _expectation_maximisation(batch, rows, tolerance, most_rounds)
    return list(map(batch.best, range(len(groups))))


class _Batch:
    """All rows (starts) with their data, and the arrays that EM fills.

    values: (groups, 3, pairs) X, n - X and n of the people who were asked anything; people:
    (groups, pairs) how many people each pair stands for, 0 for padding; group: (rows,); parameters:
    (rows, components, 2) log alpha, log beta; log_shares: (rows, components); reached: (rows,) the
    log-likelihood, without binomial coefficients.
    """

    def __init__(self, groups: Sequence[tuple[Counts, Counts]], starts: Starts) -> None:
        pairs = [find_pairs(right[asked > 0], asked[asked > 0]) for right, asked in groups]
        widest = max((len(of.count) for of in pairs), default=0)
        self.values = np.zeros((len(groups), 3, widest), dtype=np.int64)
        self.people = np.zeros((len(groups), widest))
        for group, of in enumerate(pairs):
            self.values[group, :, : len(of.count)] = of.right, of.asked - of.right, of.asked
            self.people[group, : len(of.count)] = of.count
        each, components = starts.alpha.shape
        start = _within_bounds(np.log(np.stack([starts.alpha, starts.beta], axis=-1)))
        self.group = np.repeat(np.arange(len(groups)), each)
        self.parameters = np.tile(start, (len(groups), 1, 1))
        self.log_shares = np.full((len(self.group), components), -np.log(components))
        self.reached = np.zeros(len(self.group))

    def portions(self) -> Iterator[Counts]:
        """The indices of the rows to compute together, in portions. A group without any pair needs
        no EM.
        """
        rows = np.flatnonzero((self.people.sum(axis=1) > 0)[self.group])
        wide = (
            3
            * self.log_shares.shape[1]
            * max(self.values.shape[2], int(self.values.max(initial=0)) + 1)
        )
        size = max(1, _CELLS // wide)
        return (rows[start : start + size] for start in range(0, len(rows), size))

    def best(self, group: int) -> BetaMixture:
        """The mixture of the group's start with the highest likelihood."""
        rows = np.flatnonzero(self.group == group)
        best = rows[int(np.argmax(self.reached[rows]))]
        alpha, beta = np.exp(self.parameters[best]).T
        shares = np.exp(self.log_shares[best])
        order = np.argsort(alpha / (alpha + beta), kind="stable")
        return BetaMixture((shares / shares.sum())[order], alpha[order], beta[order])


def _expectation_maximisation(
    batch: _Batch, rows: Counts, tolerance: float, most_rounds: int
) -> None:
    """Run EM on `rows` and write the results into the batch. A row that has stopped is no longer
    computed.
    """
    positions = np.arange(int(batch.values.max()), dtype=np.float64)
    parameters, log_shares = batch.parameters[rows], batch.log_shares[rows]
    people, places = batch.people[batch.group[rows]], _places(batch, rows)
    logarithms, before = _Logarithms(parameters, positions), np.full(len(rows), -np.inf)
    for number in range(most_rounds + 1):
        likelihood, responsible = _expectation(logarithms, log_shares, people, places)
        stopped = likelihood - before < tolerance * people.sum(axis=1)
        batch.parameters[rows], batch.log_shares[rows], batch.reached[rows] = (
            parameters,
            log_shares,
            likelihood,
        )
        if stopped.all() or number == most_rounds:
            return
        if stopped.any():
            on = ~stopped
            rows, parameters, people, likelihood = (
                rows[on],
                parameters[on],
                people[on],
                likelihood[on],
            )
            responsible, places = responsible[on], _places(batch, rows)
            logarithms = _Logarithms(parameters, positions)
        before = likelihood
        shares = responsible.sum(axis=-1) / people.sum(axis=1)[:, None]
        log_shares = np.log(np.maximum(shares, _TINY))
        signed = _more_than(responsible, places, len(positions)) * _SIGNS[:, None]
        parameters, logarithms = _maximisation(parameters, logarithms, signed, positions)


def _places(batch: _Batch, rows: Counts) -> Counts:
    """(rows, components, 3, pairs) the indices of each pair's X, n - X and n in tables (rows,
    components, 3, values).
    """
    components, values = batch.log_shares.shape[1], int(batch.values.max()) + 1
    tables = np.arange(len(rows) * components * 3).reshape(len(rows), components, 3, 1)
    return np.asarray(tables * values + batch.values[batch.group[rows]][:, None])


def _expectation(
    logarithms: _Logarithms, log_shares: Numbers, people: Numbers, places: Counts
) -> tuple[Numbers, Numbers]:
    """(rows,) the log-likelihood without binomial coefficients; (rows, components, pairs) how many
    people of each pair belong to each component.
    """
    logs = logarithms.logs
    table = np.zeros((*logs.shape[:-1], logs.shape[-1] + 1))
    np.cumsum(logs, axis=-1, out=table[..., 1:])
    right, wrong, asked = np.moveaxis(table.reshape(-1)[places], 2, 0)
    joint = right + wrong - asked + log_shares[..., None]
    highest = joint.max(axis=1, keepdims=True)
    relative = np.exp(joint - highest)
    total = relative.sum(axis=1, keepdims=True)
    likelihood = ((highest + np.log(total))[:, 0] * people).sum(axis=-1)
    return likelihood, relative / total * people[:, None]


def _more_than(responsible: Numbers, places: Counts, positions: int) -> Numbers:
    """(rows, components, 3, positions) how many people have X > i, n - X > i, n > i."""
    weights = np.broadcast_to(responsible[:, :, None], places.shape)
    shape = (*places.shape[:3], positions + 1)
    exactly = np.bincount(places.ravel(), weights.ravel(), minlength=int(np.prod(shape))).reshape(
        shape
    )
    return np.asarray(exactly[..., :0:-1].cumsum(axis=-1)[..., ::-1])


class _Logarithms:
    """log(alpha + i), log(beta + i), log(alpha + beta + i) for i = 0, 1, ...: (rows, components, 3,
    positions).
    """

    def __init__(self, parameters: Numbers, positions: Numbers) -> None:
        alpha_beta = np.exp(parameters)
        self.arguments = np.concatenate(
            [alpha_beta, alpha_beta.sum(axis=-1, keepdims=True)], axis=-1
        )
        self.shifted = self.arguments[..., None] + positions
        self.logs = np.log(self.shifted)

    def expected(self, signed: Numbers) -> Numbers:
        """(rows, components) the expected log-likelihood of the people that `signed` counts."""
        return np.asarray((signed * self.logs).sum(axis=(-1, -2)))


def _maximisation(
    parameters: Numbers, logarithms: _Logarithms, signed: Numbers, positions: Numbers
) -> tuple[Numbers, _Logarithms]:
    """New parameters whose expected log-likelihood is not lower, with their logarithms.

    The new parameters are at the cap if that is best, else after a Newton step. If this step does
    not help, shorter steps are tried; if none helps, the parameters stay.
    """
    before = logarithms.expected(signed)
    step = _newton_step(logarithms, signed)
    at_cap, belongs_there = _at_cap(signed, positions)
    proposed = np.where(belongs_there[..., None], at_cap, _within_bounds(parameters + step))
    length = np.where(belongs_there, 2.0, 1.0)
    for _ in range(_SHORTER_STEPS):
        proposal = _Logarithms(proposed, positions)
        worse = proposal.expected(signed) < before - 1e-12 * np.abs(before)
        if not worse.any():
            return proposed, proposal
        length = np.where(worse, length / 2, length)
        proposed = np.where(
            worse[..., None], _within_bounds(parameters + length[..., None] * step), proposed
        )
    proposed = np.where(worse[..., None], parameters, proposed)
    return proposed, _Logarithms(proposed, positions)


def _newton_step(logarithms: _Logarithms, signed: Numbers) -> Numbers:
    """(rows, components, 2) a step in (log alpha, log beta) that goes uphill and is not longer than
    _REACH.
    """
    inverse = 1 / logarithms.shifted
    first = (signed * inverse).sum(axis=-1)
    second = -(signed * inverse**2).sum(axis=-1)
    alpha_beta = logarithms.arguments[..., :2]
    slope = alpha_beta * (first[..., :2] + first[..., 2:])
    bend = slope + alpha_beta**2 * (second[..., :2] + second[..., 2:])
    cross = alpha_beta.prod(axis=-1) * second[..., 2]
    # Where the surface bends upwards, both curvatures are lowered until the step is uphill and
    # within reach.
    highest = bend.mean(axis=-1) + np.hypot((bend[..., 0] - bend[..., 1]) / 2, cross)
    steepness = np.hypot(slope[..., 0], slope[..., 1])
    bend = bend - np.where(highest < 0, 0, highest + steepness / _REACH)[..., None]
    determinant = bend.prod(axis=-1) - cross**2
    step = cross[..., None] * slope[..., ::-1] - bend[..., ::-1] * slope
    step = step / np.where(determinant > 0, determinant, np.inf)[..., None]
    length = np.hypot(step[..., 0], step[..., 1])
    return np.asarray(step * np.minimum(1, _REACH / np.maximum(length, _TINY))[..., None])


def _at_cap(signed: Numbers, positions: Numbers) -> tuple[Numbers, Numbers]:
    """(rows, components, 2) the best parameters at the cap; (rows, components) whether the fit
    improves towards it.

    With s = alpha + beta and mean m, the log-likelihood is that of a binomial plus 1/s times sum i
    R_i / m + sum i W_i / (1-m) - sum i N_i, plus terms in 1/s^2; R, W, N are the three of
    `_more_than`. At the binomial's own mean, the factor of 1/s is Tarone's statistic of
    overdispersion; if it is below 0, the likelihood rises with s. At the cap, the true best mean
    differs from the binomial's by at most half of 1/s, which costs a few 1e-6 nats with a million
    questions.
    """
    counts = np.abs(signed).sum(axis=-1)
    weighted = np.abs(signed * positions).sum(axis=-1)
    right, wrong, asked = np.moveaxis(np.maximum(counts, _TINY), -1, 0)
    mean, rest = right / asked, wrong / asked
    overdispersion = weighted[..., 0] / mean + weighted[..., 1] / rest - weighted[..., 2]
    belongs = (overdispersion < 0) & (counts > 0).all(axis=-1)
    return _within_bounds(np.log(MOST_CONCENTRATED * np.stack([mean, rest], axis=-1))), belongs


def _within_bounds(parameters: Numbers) -> Numbers:
    """Limit the parameters: alpha and beta are at least _SMALLEST, alpha + beta is at most the cap,
    and the mean stays.
    """
    bounded = np.maximum(parameters, np.log(_SMALLEST))
    concentration = np.logaddexp(bounded[..., 0], bounded[..., 1])
    return np.asarray(bounded - np.maximum(0, concentration - np.log(MOST_CONCENTRATED))[..., None])
