"""Estimate labels and raters' competence without known answers, by a confusion matrix for each
rater.

Source: Dawid and Skene (1979). Every item has one true class, drawn from the class prior; given
that class, raters answer independently of each other, each by the row of their own confusion
matrix. The model is fitted by expectation-maximisation, accelerated (SQUAREM, Varadhan and Roland
2008), from the shares of votes and from nine random weightings of the raters; the start with the
highest likelihood is kept.

Smoothing adds a pseudo-count to every cell of every confusion matrix and of the class prior, which
gives the mode under Dirichlet(1 + smoothing) priors. With pseudo-counts, no iteration lowers the
objective (`history`); clipping probabilities from below, as crowd-kit does, optimises no objective.
After the same number of plain steps from the votes, the labels equal those of crowd-kit. But
crowd-kit stops after a few steps, because its loss counts the class prior once for each rating
instead of once for each item, and soon falls.

A rater who shares no item with others cannot be identified: their items keep the labels they gave.

Nothing in the model forces a true class to mean the answer with the same name. With few raters, or
many random answers, a class may come to stand for another answer (`misnamed`). Its items then get a
label that hardly anybody gave.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from metal.stats.answers import Answers, most_probable
from metal.stats.patterns import Codes, Numbers

# a hundredth of an answer: keeps zeros from being final, and hardly moves what was observed
SMOOTHING = 0.01
STARTS = 10
MAX_ITERATIONS = 1000
MOVED = 1e-4  # a start ends when an iteration moves no probability of a class by more,
GAIN = 1e-12  # and raises the log-likelihood by less than this share of it
# the longest leap grows by this factor when it was taken, and shrinks by it when it led down
LONGER = 4.0
# a start that comes so near to where an earlier one ended, in the prior and every rate, ends there,
# too
MET = 0.01
# a gap that does not decide between two fits: one is at most seven times as likely as the other
RIVAL = 2.0
# a start that after so many iterations is more than RIVAL below an earlier one is given up
LOOK = 50


@dataclass(frozen=True)
class DawidSkene:
    """A fitted model.

    probabilities: (items, levels), NaN for items that nobody rated. prior: (levels,), 0 for classes
    that nobody gave. confusion: (raters, levels, levels) how often a rater gives the second class
    if the first is true; NaN for raters without answers and for true classes that nobody gave;
    uniform over the classes in use if a rater saw no item of a class. competence: (raters,)
    expected accuracy under the class prior; NaN for raters who share no item with another. given:
    (raters,) the number of each rater's answers. history: the log-likelihood with pseudo-counts
    after each iteration of the start that was kept. gap: how much lower the log-likelihood of the
    best start with other labels is, infinite if there is no such start; others: the share of rated
    items that have another label there.
    """

    probabilities: Numbers
    prior: Numbers
    confusion: Numbers
    competence: Numbers
    given: Codes
    history: tuple[float, ...]
    gap: float = math.inf
    others: float = 0.0

    @property
    def doubt(self) -> str:
        """The reason to doubt the labels; empty if there is none."""
        rival = f"other labels are almost as likely for {self.others:.0%} of the outputs"
        return f"{rival} (log-likelihood -{self.gap:.2f})" if self.gap < RIVAL else ""

    @cached_property
    def labels(self) -> Codes:
        """(items,) the most probable class (see most_probable for ties)."""
        return most_probable(self.probabilities)

    @cached_property
    def misnamed(self) -> Codes:
        """The classes whose items get another label more often than their own, over all raters
        weighted by their numbers of answers.
        """
        rated = self.given > 0
        pooled = np.tensordot(self.given[rated], self.confusion[rated], axes=1)
        return np.flatnonzero(
            (self.prior > 0) & (np.diagonal(pooled) < pooled.max(axis=1, initial=0))
        )


def dawid_skene(
    answers: Answers, *, smoothing: float = SMOOTHING, max_iterations: int = MAX_ITERATIONS
) -> DawidSkene:
    """Fit the model. Without any rating, the result has no labels and no competences.

    The starts are the same for the same answers, whatever the order of raters, items and classes.
    >>> from metal.stats.answers import answers_of_matrix
    >>> dawid_skene(
    ...     answers_of_matrix(np.array([[0, 0, 0], [1, 1, 0], [1, 1, 0], [0, 0, 0]]), 2)
    ... ).labels.tolist()
    [0, 1, 1, 0]
    """
    if not smoothing > 0:
        raise ValueError(f"smoothing {smoothing} is not a positive pseudo-count")
    classes, levels = len(answers.used), answers.levels
    matrices = np.full((answers.raters, levels, levels), np.nan)
    undefined = np.full(answers.raters, np.nan)
    if not classes:
        probabilities = np.full((len(answers.which), levels), np.nan)
        return DawidSkene(
            probabilities, np.full(levels, np.nan), matrices, undefined, answers.given, ()
        )
    fit = _Fit(answers, smoothing)
    ends: list[_End] = []
    for trust in answers.trust(STARTS):
        fit.run(trust, max_iterations, ends)
    # the first of those that are equally likely
    best = max(ends, key=lambda end: round(end.history[-1], 3))
    labels = most_probable(best.share)
    differ = [
        float((most_probable(end.share) != labels) @ fit.times / fit.times.sum()) for end in ends
    ]
    gaps = [
        (best.history[-1] - end.history[-1], share)
        for end, share in zip(ends, differ, strict=True)
        if share
    ]
    prior, confusion = best.chances[0], best.chances[1:].reshape(-1, classes, classes)
    accuracy = (confusion[:, np.arange(classes), np.arange(classes)] * prior).sum(axis=1)
    matrices[:, answers.used] = answers.over_levels(confusion)
    matrices[answers.given == 0] = np.nan
    return DawidSkene(
        answers.by_item(answers.over_levels(best.share)),
        answers.over_levels(prior),
        matrices,
        np.where(answers.shared > 0, accuracy, undefined),
        answers.given,
        tuple(best.history),
        *min(gaps, default=(math.inf, 0.0)),
    )


@dataclass(frozen=True)
class _End:
    """The result of a start: the class prior and the rows of the confusion matrices, the share of
    each class, and the likelihoods after each iteration.
    """

    chances: Numbers
    share: Numbers
    history: list[float]


class _Fit:
    """The two steps of the fit. Shapes: share (patterns, classes); logs (1 + raters x true, given):
    log-probabilities, first the class prior, then the rows of the confusion matrices.

    `gives` (patterns, raters x given) is 1 where a rater gives that class to that pattern; both
    steps multiply by it. possible: (patterns, classes) 0, or minus infinity for an impossible
    class; if a rater shares no item with anybody, only the rater's own label is possible.
    """

    def __init__(self, answers: Answers, smoothing: float) -> None:
        from scipy.sparse import csr_array

        self.answers, self.smoothing = answers, smoothing
        self.classes = len(answers.used)
        self.times = answers.times.astype(np.float64)
        cell = answers.rater * self.classes + answers.place
        shape = (len(self.times), answers.raters * self.classes)
        self.gives: Any = csr_array((np.ones(len(cell)), (answers.pattern, cell)), shape=shape)
        self.given_by: Any = self.gives.T.tocsr()
        alone = answers.shared[answers.rater] == 0
        self.possible = np.zeros((len(self.times), self.classes))
        self.possible[answers.pattern[alone]] = -np.inf
        self.possible[answers.pattern[alone], answers.place[alone]] = 0.0

    def run(self, trust: Numbers, max_iterations: int, ends: list[_End]) -> None:
        """Run a start and add its result to `ends`, unless it would end like one of them, or far
        below.

        An iteration is two steps of expectation-maximisation, an extrapolation from both, and one
        more step (SQUAREM, Varadhan and Roland 2008). If this would lower the likelihood, only the
        two steps are taken.
        """
        share, longest = self.votes(trust), 1.0
        logs = self.parameters(share)
        share, likelihood = self.posterior(logs)
        history = [likelihood]
        while len(history) < max_iterations:
            before, once = share, self.parameters(share)
            share, floor = self.posterior(once)
            twice = self.parameters(share)
            step, bend = once - logs, twice - 2 * once + logs
            length = (
                max(1.0, min(longest, float(np.linalg.norm(step) / np.linalg.norm(bend))))
                if bend.any()
                else 1.0
            )
            ahead = self.parameters(
                self.posterior(_normal(logs + 2 * length * step + length**2 * bend))[0]
            )
            share, likelihood = self.posterior(ahead)
            logs = ahead
            if likelihood < floor:
                logs, longest = twice, max(1.0, longest / LONGER)
                share, likelihood = self.posterior(twice)
            elif length == longest:
                longest *= LONGER
            history.append(likelihood)
            behind = len(history) == LOOK and any(
                likelihood < end.history[-1] - RIVAL for end in ends
            )
            if behind or any(np.abs(np.exp(logs) - end.chances).max() < MET for end in ends):
                return
            if np.abs(share - before).max() < MOVED and likelihood - history[-2] < GAIN * abs(
                likelihood
            ):
                break
        ends.append(_End(np.exp(logs), share, history))

    def votes(self, trust: Numbers) -> Numbers:
        """The starting shares: for each item, the share of its raters that gave each class, with
        raters weighted by trust.
        """
        counts = self.gives @ np.kron(trust[:, None], np.eye(self.classes))
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))

    def parameters(self, share: Numbers) -> Numbers:
        """The most probable class prior and confusion matrices, given the probability of each class
        for each item.
        """
        weight = share * self.times[:, None]
        # (, given, true)
        counts = (self.given_by @ weight).reshape(self.answers.raters, self.classes, self.classes)
        rows = np.swapaxes(counts, 1, 2).reshape(-1, self.classes)
        return _normal(np.log(np.vstack([weight.sum(axis=0), rows]) + self.smoothing))

    def posterior(self, logs: Numbers) -> tuple[Numbers, float]:
        """The probability of each class for each item; the log-likelihood with the
        pseudo-counts.
        """
        prior, confusion = logs[0], logs[1:].reshape(-1, self.classes, self.classes)
        joint = (
            self.gives @ np.swapaxes(confusion, 1, 2).reshape(-1, self.classes)
            + prior
            + self.possible
        )
        top = joint.max(axis=1, keepdims=True)
        scaled = np.exp(joint - top)
        total = scaled.sum(axis=1, keepdims=True)
        likelihood = float(self.times @ (top + np.log(total))[:, 0])
        pseudo = self.smoothing * float(confusion[self.answers.given > 0].sum() + prior.sum())
        return scaled / total, likelihood + pseudo


def _normal(logs: Numbers) -> Numbers:
    """Rows of log-probabilities that sum to 1."""
    return np.asarray(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))
