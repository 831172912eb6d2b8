"""Estimate labels and raters' competence without known answers: who knows the answer, and who
answers carelessly.

Source: Hovy, Berg-Kirkpatrick, Vaswani and Hovy (2013), MACE. Every item has one true class; all
classes are equally likely. For each item, a rater either knows the class and gives it, or answers
carelessly, by drawing from the rater's own distribution over the classes. The model is fitted by
variational Bayes with the priors of the authors' program (Beta(0.5, 0.5) on knowing, Dirichlet(10)
on the careless answers), from several starts at once; the start with the highest bound is kept.

Given the true class k, an answer a has probability careless(a) + knows * [a = k]. So, compared with
the case that nobody knows, each answer changes the log-likelihood only of its own class, by log(1 +
knows / careless(a)). The cost of a step grows with the number of answers, not with answers times
classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from metal.stats.answers import Answers, most_probable
from metal.stats.patterns import Codes, Numbers

KNOWING = 0.5  # both parameters of the Beta prior on the probability of knowing
CARELESS = 10.0  # each parameter of the Dirichlet prior on careless answers
STARTS = 10
TOLERANCE = 1e-7  # the gain of an iteration for each answer, below which a start stops
MAX_ITERATIONS = 500
# Starts that have met continue identically: every LOOK_EVERY iterations, all of them except the
# best stop.
LOOK_EVERY = 5
LITTLE = 0.1  # where nobody knows the answer more often, the labels say little
SAME_WAY = 0.01  # two starts have met if no rater's share of known answers differs by more


@dataclass(frozen=True)
class Mace:
    """A fitted model.

    probabilities: (items, levels), NaN for items that nobody rated. competence: (raters,) the mean
    probability of knowing, 1 - P(spam); NaN for raters who share no item with another rater, and
    for all raters if only one class was given (knowing and carelessness then look the same).
    history: for the start that was kept, the bound on the log-likelihood after each iteration.
    """

    probabilities: Numbers
    competence: Numbers
    history: tuple[float, ...]

    @property
    def doubt(self) -> str:
        """The reason to doubt the labels; empty if there is none."""
        defined = self.competence[~np.isnan(self.competence)]
        return (
            f"all competences are below {LITTLE}" if len(defined) and defined.max() < LITTLE else ""
        )

    @cached_property
    def labels(self) -> Codes:
        """(items,) the most probable class (see most_probable for ties)."""
        return most_probable(self.probabilities)


def mace(
    answers: Answers, *, starts: int = STARTS, seed: int = 0, max_iterations: int = MAX_ITERATIONS
) -> Mace:
    """Fit the model. Without any rating, the result has no labels and no competences.

    The starts are the same for the same answers, whatever the order of raters, items and classes.
    >>> from metal.stats.answers import answers_of_matrix
    >>> mace(
    ...     answers_of_matrix(np.array([[0, 0, 1], [1, 1, 1], [0, 0, 1], [1, 1, 1]]), 2)
    ... ).labels.tolist()
    [0, 1, 0, 1]
    """
    if starts < 1:
        raise ValueError(f"{starts} starts: at least one is needed")
    if not len(answers.used):
        return Mace(
            np.full((len(answers.which), answers.levels), np.nan),
            np.full(answers.raters, np.nan),
            (),
        )
    fit = _Fit(answers)
    trust = np.repeat(answers.trust(starts, seed), fit.classes, axis=1)
    knowing, careless = fit.counts(trust, fit.vote_shares(starts))
    histories: list[list[float]] = [[] for _ in range(starts)]
    running = np.arange(starts)
    while len(running):
        knew, share, bound = fit.step(knowing[running], careless[running])
        for start, value in zip(running, bound.tolist(), strict=True):
            histories[start].append(value)
        going = np.array(
            [_gains(histories[start], fit.answered, max_iterations) for start in running]
        )
        if len(histories[running[0]]) % LOOK_EVERY == 0:
            going &= _alone(knowing[running] / (answers.given + 1), bound)
        running = running[going]
        if len(running):
            knowing[running], careless[running] = fit.counts(knew[going], share[going])
    best = _best([history[-1] for history in histories])
    _, share, _ = fit.step(knowing[[best]], careless[[best]])
    mean_knowing = (KNOWING + knowing[best]) / (2 * KNOWING + answers.given)
    defined = (answers.shared > 0) & (len(answers.used) > 1)
    return Mace(
        answers.by_item(answers.over_levels(share[0])),
        np.where(defined, mean_knowing, np.nan),
        tuple(histories[best]),
    )


def _gains(history: list[float], answered: float, max_iterations: int) -> bool:
    """Whether a start is worth another iteration."""
    if len(history) >= max_iterations:
        return False
    return len(history) < 2 or history[-1] - history[-2] >= TOLERANCE * answered


def _alone(knowing: Numbers, bound: Numbers) -> Codes:
    """(starts,) whether each start still differs from all starts with a higher bound."""
    alone = np.ones(len(bound), dtype=bool)
    order = np.argsort(-bound, kind="stable")
    for rank, start in enumerate(order):
        ahead = order[:rank][alone[order[:rank]]]
        alone[start] = not (np.abs(knowing[ahead] - knowing[start]).max(axis=1) < SAME_WAY).any()
    return alone


def _best(bounds: list[float]) -> int:
    """The start with the highest bound; the first of several that are equal up to rounding."""
    return next(
        start
        for start, bound in enumerate(bounds)
        if bound >= max(bounds) - 1e-9 * (1 + abs(max(bounds)))
    )


class _Fit:
    """The two steps of the fit, for all running starts at once.

    A cell is a pair of rater and class; a vote is a pair of pattern and class. `gives` (votes,
    cells) is 1 if the rater gives this class to this pattern. Both steps are products with `gives`.
    knowing: (starts, raters) and careless: (starts, raters, classes) are expected counts of
    answers; together with the priors they are the parameters of the posteriors of knowing and of
    careless answers.
    """

    def __init__(self, answers: Answers) -> None:
        from scipy.sparse import csr_array

        self.answers = answers
        self.classes, self.patterns = len(answers.used), len(answers.times)
        self.times = answers.times.astype(np.float64)
        cell = answers.rater * self.classes + answers.place
        vote = answers.pattern * self.classes + answers.place
        shape = (self.patterns * self.classes, answers.raters * self.classes)
        self.gives: Any = csr_array((np.ones(len(cell)), (vote, cell)), shape=shape)
        self.given_by: Any = self.gives.T.tocsr()
        self.answered = float(answers.given.sum())
        self.given = self.given_by @ np.repeat(self.times, self.classes)

    def vote_shares(self, starts: int) -> Numbers:
        """(starts, patterns, classes) the share of a pattern's raters that gave each class."""
        votes = self.gives.sum(axis=1).reshape(self.patterns, self.classes)
        return np.repeat((votes / votes.sum(axis=1, keepdims=True))[None], starts, axis=0)

    def counts(self, knew: Numbers, share: Numbers) -> tuple[Numbers, Numbers]:
        """The expected counts: how many of each rater's answers the rater knew, and how many of the
        rater's answers in each class were careless.

        knew: (starts, cells) the probability that the rater knew the class, if it is the true one;
        share: (starts, patterns, classes) the probability of each class.
        """
        right = (share * self.times[:, None]).reshape(len(share), -1)
        knowing = knew * (self.given_by @ np.ascontiguousarray(right.T)).T
        shape = (len(knew), self.answers.raters, self.classes)
        return knowing.reshape(shape).sum(axis=2), np.maximum(self.given - knowing, 0.0).reshape(
            shape
        )

    def step(self, knowing: Numbers, careless: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """The arguments `knew` and `share` of `counts`, and the bound (starts,), under these
        expected counts.
        """
        from scipy.special import digamma

        spam = careless.sum(axis=2)
        total_answers = digamma(2 * KNOWING + knowing + spam)
        strategy = (
            digamma(CARELESS + careless) - digamma(CARELESS * self.classes + spam)[:, :, None]
        )
        log_careless = ((digamma(KNOWING + spam) - total_answers)[:, :, None] + strategy).reshape(
            len(knowing), -1
        )
        log_knows = np.repeat(digamma(KNOWING + knowing) - total_answers, self.classes, axis=1)
        gain = np.logaddexp(0.0, log_knows - log_careless)
        votes = (self.gives @ np.ascontiguousarray(gain.T)).T.reshape(
            len(knowing), self.patterns, self.classes
        )
        top = votes.max(axis=2, keepdims=True)
        scaled = np.exp(votes - top)
        total = scaled.sum(axis=2, keepdims=True)
        # The likelihood if nobody knew is the same for every class: only the bound needs it, cell
        # by cell.
        likelihood = log_careless @ self.given + (top + np.log(total))[:, :, 0] @ self.times
        bound = (
            likelihood - self.times.sum() * np.log(self.classes) - _divergence(knowing, careless)
        )
        return np.exp(log_knows - log_careless - gain), scaled / total, bound


def _divergence(knowing: Numbers, careless: Numbers) -> Numbers:
    """(starts,) the Kullback-Leibler divergence of the posteriors from the priors, over all
    raters.
    """
    both = np.stack([knowing, careless.sum(axis=2)], axis=2)
    return np.asarray((_dirichlet(both, KNOWING) + _dirichlet(careless, CARELESS)).sum(axis=1))


def _dirichlet(counts: Any, prior: float) -> Any:
    """The Kullback-Leibler divergence of Dirichlet(prior + counts) from the symmetric
    Dirichlet(prior), along the last axis.
    """
    from scipy.special import digamma, gammaln

    size = counts.shape[-1]
    posterior, total = prior + counts, prior * size + counts.sum(axis=-1)
    constant = (
        gammaln(total)
        - gammaln(posterior).sum(axis=-1)
        - gammaln(prior * size)
        + size * gammaln(prior)
    )
    return constant + (counts * (digamma(posterior) - digamma(total)[..., None])).sum(axis=-1)
