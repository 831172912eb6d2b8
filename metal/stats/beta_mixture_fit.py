"""Fitting a `BetaMixture` by maximum likelihood: EM from several starts, for several groups of people at once.

Shapes: a row is one start for one group of people; arrays are (rows, components, 3, positions or pairs). The 3 are
the rising factorials of the likelihood alpha^(X) beta^(n-X) / (alpha+beta)^(n), whose logarithm is
sum_{i<X} log(alpha+i) + sum_{i<n-X} log(beta+i) - sum_{i<n} log(alpha+beta+i). All that the M step needs to know is
therefore, for each i, how many people (by responsibility) have X > i, n - X > i, and n > i: there are no gamma
functions, and nothing grows with the number of people.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from metal.stats.beta_mixture import BetaMixture, CountPairs, find_pairs, log_coefficient
from metal.stats.beta_mixture_maximisation import SMALLEST, TINY, Logarithms, maximisation, within_bounds
from metal.stats.patterns import Counts, Numbers

TOLERANCE = 1e-9  # EM stops when a round gains less log-likelihood than this for each person
MOST_ROUNDS = 5_000

_CELLS = 2_000_000  # size of the largest array, which decides how many rows are computed together
_SIGNS = np.array([1.0, 1.0, -1.0])


@dataclass(frozen=True)
class Starts:
    """Where EM starts: alpha and beta, (starts, components), above 0. The components start equally probable."""

    alpha: Numbers
    beta: Numbers

    def __post_init__(self) -> None:
        if self.alpha.ndim != 2 or self.alpha.shape != self.beta.shape or not self.alpha.size:
            raise ValueError("alpha and beta are (starts, components)")


@dataclass(frozen=True)
class Fit:
    """The best of all starts.

    mixture: components in rising order of their means; log_likelihood: with binomial coefficients, in nats;
    by_start: (starts,) the log-likelihood that each start reached; rounds: (starts,) EM rounds; converged: whether all
    starts stopped before the last round.
    """

    mixture: BetaMixture
    log_likelihood: float
    by_start: Numbers
    rounds: Counts
    converged: bool


def draw_starts(rng: np.random.Generator, components: int, starts: int = 10) -> Starts:
    """Random starts: means uniform from 0 to 1, alpha + beta from a gamma distribution of shape 2.

    Source: GENIE (2022), appendix B.1.
    """
    mean, concentration = rng.uniform(size=(starts, components)), rng.gamma(2.0, size=(starts, components))
    return Starts(*(np.maximum(concentration * share, SMALLEST) for share in (mean, 1 - mean)))


def fit(
    right: Counts, asked: Counts, starts: Starts, *, tolerance: float = TOLERANCE, most_rounds: int = MOST_ROUNDS
) -> Fit:
    """The mixture under which the counts `right` and `asked`, each (people,), are most likely.

    People who were asked nothing do not matter. Where nobody was asked anything, every mixture is equally likely, and
    the first start is returned with log-likelihood 0.
    """
    return fit_groups([(right, asked)], starts, tolerance=tolerance, most_rounds=most_rounds)[0]


def fit_groups(
    groups: Sequence[tuple[Counts, Counts]],
    starts: Starts,
    *,
    tolerance: float = TOLERANCE,
    most_rounds: int = MOST_ROUNDS,
) -> list[Fit]:
    """A mixture for each group of people, given as (right, asked): `fit` of each group, computed together."""
    pairs = [_pairs_of_asked(right, asked) for right, asked in groups]
    batch = _Batch.of(pairs, starts)
    for rows in batch.portions():
        _expectation_maximisation(batch, rows, tolerance, most_rounds)
    return [batch.best(group, pairs[group]) for group in range(len(groups))]


def _pairs_of_asked(right: Counts, asked: Counts) -> CountPairs:
    """The pairs of the people who were asked anything."""
    pairs = find_pairs(right, asked)
    some = pairs.asked > 0
    return CountPairs(pairs.right[some], pairs.asked[some], pairs.count[some], pairs.which)


@dataclass(frozen=True)
class _Batch:
    """All rows with their data, and the arrays that EM fills.

    values: (groups, 3, pairs) X, n - X and n; people: (groups, pairs), 0 for padding; group: (rows,); parameters:
    (rows, components, 2) log alpha, log beta; log_shares: (rows, components); reached, rounds, stopped: (rows,).
    """

    values: Counts
    people: Numbers
    group: Counts
    parameters: Numbers
    log_shares: Numbers
    reached: Numbers
    rounds: Counts
    stopped: Counts

    @classmethod
    def of(cls, groups: Sequence[CountPairs], starts: Starts) -> _Batch:
        values = np.zeros((len(groups), 3, max((len(pairs.count) for pairs in groups), default=0)), dtype=np.int64)
        people = np.zeros((len(groups), values.shape[2]))
        for place, pairs in enumerate(groups):
            some = len(pairs.count)
            values[place, :, :some] = pairs.right, pairs.asked - pairs.right, pairs.asked
            people[place, :some] = pairs.count
        each, components = starts.alpha.shape
        rows = len(groups) * each
        start = within_bounds(np.log(np.stack([starts.alpha, starts.beta], axis=-1)))
        return cls(
            values,
            people,
            np.repeat(np.arange(len(groups)), each),
            np.tile(start, (len(groups), 1, 1)),
            np.full((rows, components), -np.log(components)),
            np.zeros(rows),
            np.zeros(rows, dtype=np.int64),
            np.zeros(rows, dtype=bool),
        )

    def portions(self) -> Iterator[Counts]:
        """The rows to compute together, as their numbers. A group without any pair needs no EM."""
        rows = np.flatnonzero((self.people.sum(axis=1) > 0)[self.group])
        wide = 3 * self.log_shares.shape[1] * max(self.values.shape[2], int(self.values.max(initial=0)) + 1)
        size = max(1, _CELLS // wide)
        return (rows[start : start + size] for start in range(0, len(rows), size))

    def best(self, group: int, pairs: CountPairs) -> Fit:
        rows = np.flatnonzero(self.group == group)
        best = rows[int(np.argmax(self.reached[rows]))]
        alpha, beta = np.exp(self.parameters[best]).T
        shares = np.exp(self.log_shares[best])
        order = np.argsort(alpha / (alpha + beta), kind="stable")
        coefficients = float(pairs.count @ log_coefficient(pairs.right, pairs.asked))
        return Fit(
            BetaMixture((shares / shares.sum())[order], alpha[order], beta[order]),
            float(self.reached[best]) + coefficients,
            self.reached[rows] + coefficients,
            self.rounds[rows],
            bool(self.stopped[rows].all()) or not len(pairs.count),
        )


def _expectation_maximisation(batch: _Batch, rows: Counts, tolerance: float, most_rounds: int) -> None:
    """Run EM on `rows` and write the results into the batch. A row that has stopped is no longer computed."""
    positions = np.arange(int(batch.values.max()), dtype=np.float64)
    parameters, log_shares = batch.parameters[rows], batch.log_shares[rows]
    people, places = batch.people[batch.group[rows]], _places(batch, rows)
    logarithms, before = Logarithms(parameters, positions), np.full(len(rows), -np.inf)
    for number in range(most_rounds + 1):
        likelihood, responsible = _expectation(logarithms, log_shares, people, places)
        stopped = likelihood - before < tolerance * people.sum(axis=1)
        batch.parameters[rows], batch.log_shares[rows] = parameters, log_shares
        batch.reached[rows], batch.rounds[rows], batch.stopped[rows] = likelihood, number, stopped
        if stopped.all() or number == most_rounds:
            return
        if stopped.any():
            on = ~stopped
            rows, parameters, people, likelihood = rows[on], parameters[on], people[on], likelihood[on]
            responsible, places = responsible[on], _places(batch, rows)
            logarithms = Logarithms(parameters, positions)
        before = likelihood
        shares = responsible.sum(axis=-1) / people.sum(axis=1)[:, None]
        log_shares = np.log(np.maximum(shares, TINY))
        signed = _more_than(responsible, places, len(positions)) * _SIGNS[:, None]
        parameters, logarithms = maximisation(parameters, logarithms, signed, positions)


def _places(batch: _Batch, rows: Counts) -> Counts:
    """(rows, components, 3, pairs) the places of each pair's X, n - X and n in (rows, components, 3, values) tables."""
    components, values = batch.log_shares.shape[1], int(batch.values.max()) + 1
    tables = np.arange(len(rows) * components * 3).reshape(len(rows), components, 3, 1)
    return np.asarray(tables * values + batch.values[batch.group[rows]][:, None])


def _expectation(
    logarithms: Logarithms, log_shares: Numbers, people: Numbers, places: Counts
) -> tuple[Numbers, Numbers]:
    """(rows,) the log-likelihood without coefficients; (rows, components, pairs) people by component."""
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
    exactly = np.bincount(places.ravel(), weights.ravel(), minlength=int(np.prod(shape))).reshape(shape)
    return np.asarray(exactly[..., :0:-1].cumsum(axis=-1)[..., ::-1])
