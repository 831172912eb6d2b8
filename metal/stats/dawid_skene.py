"""Labels and the competence of raters without known answers: one confusion matrix for each rater.

Source: Dawid and Skene (1979). Every item has one true class, drawn from the class prior; given that class, raters
answer independently of each other, each by the row of their own confusion matrix. The model is fitted by
expectation-maximisation, starting from each item's shares of votes.

Smoothing is a pseudo-count in every cell of every confusion matrix and of the class prior: the mode under
Dirichlet(1 + smoothing) priors. Clipping probabilities from below, as crowd-kit does, optimises no objective; with
pseudo-counts, no iteration lowers the objective, `history`. After the same number of iterations, the labels are those
of crowd-kit. Crowd-kit stops after a few iterations, because its loss counts the class prior once for each rating
instead of once for each item, and soon falls.

Nothing in the model ties a true class to the answer of that name. With few raters, or where many items are answered at
random, a class may come to stand for something else (`misnamed`), and its items get a label that hardly anybody gave.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from metal.stats.answers import Answers, most_probable
from metal.stats.patterns import Codes, Numbers

SMOOTHING = 0.01  # a hundredth of an answer: keeps zeros from being final, and hardly moves what was observed
TOLERANCE = 1e-7  # the gain of an iteration for each answer, below which the fit stops
MAX_ITERATIONS = 1000


@dataclass(frozen=True)
class DawidSkene:
    """A fitted model.

    probabilities: (items, levels), NaN for items that nobody rated. prior: (levels,), 0 for classes that nobody gave.
    confusion: (raters, levels, levels) how often a rater gives the second class where the first is true; NaN for raters
    without answers and for true classes that nobody gave; uniform over the classes used where a rater saw no item of a
    class. competence: (raters,) expected accuracy under the class prior; NaN for raters who share no item with another.
    given: (raters,) the number of each rater's answers. history: the log-likelihood with the pseudo-counts, after each
    iteration.
    """

    probabilities: Numbers
    prior: Numbers
    confusion: Numbers
    competence: Numbers
    given: Codes
    history: tuple[float, ...]

    @cached_property
    def labels(self) -> Codes:
        """(items,) the most probable class (see most_probable for ties)."""
        return most_probable(self.probabilities)

    @cached_property
    def misnamed(self) -> Codes:
        """The classes to which all raters together, weighted by their answers, more often give another label."""
        rated = self.given > 0
        pooled = np.tensordot(self.given[rated], self.confusion[rated], axes=1)
        return np.flatnonzero((self.prior > 0) & (np.diagonal(pooled) < pooled.max(axis=1, initial=0)))


def dawid_skene(answers: Answers, *, smoothing: float = SMOOTHING, max_iterations: int = MAX_ITERATIONS) -> DawidSkene:
    """Fit the model. Without any rating, the result has no labels and no competences.

    >>> from metal.stats.answers import answers_of_matrix
    >>> dawid_skene(answers_of_matrix(np.array([[0, 0, 0], [1, 1, 0], [1, 1, 0], [0, 0, 0]]), 2)).labels.tolist()
    [0, 1, 1, 0]
    """
    if not smoothing > 0:
        raise ValueError(f"smoothing {smoothing}: a positive pseudo-count")
    classes, levels = len(answers.used), answers.levels
    matrices = np.full((answers.raters, levels, levels), np.nan)
    undefined = np.full(answers.raters, np.nan)
    if not classes:
        probabilities = np.full((len(answers.which), levels), np.nan)
        return DawidSkene(probabilities, np.full(levels, np.nan), matrices, undefined, answers.given, ())
    fit = _Fit(answers, smoothing)
    share = fit.votes()
    history: list[float] = []
    while len(history) < max_iterations:
        prior, confusion = fit.parameters(share)
        share, objective = fit.posterior(prior, confusion)
        history.append(objective)
        if len(history) > 1 and history[-1] - history[-2] < TOLERANCE * fit.answered:
            break
    accuracy = (confusion[:, np.arange(classes), np.arange(classes)] * prior).sum(axis=1)
    matrices[:, answers.used] = answers.over_levels(confusion)
    matrices[answers.given == 0] = np.nan
    return DawidSkene(
        answers.by_item(answers.over_levels(share)),
        answers.over_levels(prior),
        matrices,
        np.where(answers.shared > 0, accuracy, undefined),
        answers.given,
        tuple(history),
    )


class _Fit:
    """The two steps. Shapes: share (patterns, classes), prior (classes,), confusion (raters, true, given).

    `gives` (patterns, raters x given) is 1 where a rater gives that class to that pattern; both steps multiply by it.
    """

    def __init__(self, answers: Answers, smoothing: float) -> None:
        from scipy.sparse import csr_array

        self.answers, self.smoothing = answers, smoothing
        self.classes = len(answers.used)
        self.times = answers.times.astype(np.float64)
        self.answered = float(answers.given.sum())
        cell = answers.rater * self.classes + answers.place
        shape = (len(self.times), answers.raters * self.classes)
        self.gives: Any = csr_array((np.ones(len(cell)), (answers.pattern, cell)), shape=shape)
        self.given_by: Any = self.gives.T.tocsr()

    def votes(self) -> Numbers:
        """The start: the share of an item's raters that gave each class."""
        counts = self.gives @ np.tile(np.eye(self.classes), (self.answers.raters, 1))
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))

    def parameters(self, share: Numbers) -> tuple[Numbers, Numbers]:
        """The most probable class prior and confusion matrices, given the probability of each class for each item."""
        weight = share * self.times[:, None]
        prior = weight.sum(axis=0) + self.smoothing
        counts = (self.given_by @ weight).reshape(self.answers.raters, self.classes, self.classes)  # (, given, true)
        confusion = np.swapaxes(counts, 1, 2) + self.smoothing
        return prior / prior.sum(), confusion / confusion.sum(axis=2, keepdims=True)

    def posterior(self, prior: Numbers, confusion: Numbers) -> tuple[Numbers, float]:
        """The probability of each class for each item; the log-likelihood with the pseudo-counts."""
        log_confusion = np.log(confusion)
        by_cell = np.swapaxes(log_confusion, 1, 2).reshape(-1, self.classes)
        joint = self.gives @ by_cell + np.log(prior)
        top = joint.max(axis=1, keepdims=True)
        scaled = np.exp(joint - top)
        total = scaled.sum(axis=1, keepdims=True)
        likelihood = float(self.times @ (top + np.log(total))[:, 0])
        pseudo = self.smoothing * float(log_confusion[self.answers.given > 0].sum() + np.log(prior).sum())
        return scaled / total, likelihood + pseudo
