"""Noisy annotators, found by how many test questions they answered right: the eight models of GENIE's Table 1.

A model has a prior of people's accuracy (a `BetaMixture`), fixed or learned from the people themselves, and a
criterion: by *rate* someone is noisy whose accuracy is below 0.9; by *class* someone who comes from another component
than the most accurate one. Noisy are those whose posterior probability of that is above 0.99. "Above" matters: the
uniform prior gives exactly 0.99 to whoever got their only question wrong (the paper says "at least" and "more than").

Default is the learned prior of two components by rate. The paper's choice, the same by class, over-flags people with
hundreds of questions: someone a little less accurate than the others surely comes from the wider component.
The fixed noisy component has beta 4.5, as printed, which cannot flag anyone with four questions or fewer; 9.5 can.
Source: Khashabi et al. (2022), section 5 and appendix B.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from metal.errors import DataError, UnknownName, UsageError
from metal.stats.beta_mixture import BetaMixture
from metal.stats.beta_mixture_fit import Starts, draw_starts, fit
from metal.stats.patterns import Counts, Numbers

THRESHOLD = 0.9  # by rate, the accuracy below which someone is noisy
CERTAINTY = 0.99  # someone is called noisy when the posterior probability is above this
DEFAULT_MODEL = "rate-learned-2"
NOISY_BETA = 4.5
# People made up, 20 questions each, who join the others when a prior is learned: they keep EM steady (B.1).
PSEUDO_RIGHT = np.array([19] * 36 + [1, 1, 5, 10])
PSEUDO_ASKED = np.full(40, 20)
MOST_QUESTIONS = 1_000_000
_ROUNDING = 1e-12  # a posterior of exactly 0.99 is not above it, whatever its last digit

Flags = np.ndarray[Any, np.dtype[np.bool_]]
Prior = Literal["Jeffreys", "uniform", "fixed", "learned"]


@dataclass(frozen=True)
class NoiseModel:
    """A row of Table 1. components: of the prior, the paper's k."""

    name: str
    criterion: Literal["rate", "class"]
    prior: Prior
    components: int

    @property
    def learned(self) -> bool:
        return self.prior == "learned"

    def fixed_prior(self, noisy_beta: float = NOISY_BETA) -> BetaMixture:
        """The prior of a model that is not learned. noisy_beta: beta of the noisy one of two fixed components."""
        if self.learned:
            raise ValueError(f"{self.name} is learned")
        if self.components == 2:
            return _mixture((0.05, 0.5, noisy_beta), (0.95, 9.5, 0.5))
        alpha, beta = {"Jeffreys": (0.5, 0.5), "uniform": (1.0, 1.0), "fixed": (4.0, 1.0)}[self.prior]
        return _mixture((1.0, alpha, beta))

    def probability_noisy(
        self, mixture: BetaMixture, right: Counts, asked: Counts, threshold: float = THRESHOLD
    ) -> Numbers:
        """(people,) posterior probability of being noisy, with this mixture as the prior."""
        if self.criterion == "rate":
            return mixture.probability_below(threshold, right, asked)
        others = np.arange(len(mixture.means)) != np.argmax(mixture.means)
        return np.asarray(mixture.responsibilities(right, asked)[:, others].sum(axis=1))


MODELS = {
    model.name: model
    for model in (
        NoiseModel("class-fixed-2", "class", "fixed", 2),
        NoiseModel("class-learned-2", "class", "learned", 2),
        NoiseModel("rate-jeffreys", "rate", "Jeffreys", 1),
        NoiseModel("rate-uniform", "rate", "uniform", 1),
        NoiseModel("rate-fixed-1", "rate", "fixed", 1),
        NoiseModel("rate-learned-1", "rate", "learned", 1),
        NoiseModel("rate-fixed-2", "rate", "fixed", 2),
        NoiseModel("rate-learned-2", "rate", "learned", 2),
    )
}


@dataclass(frozen=True)
class Examination:
    """What test questions say about people.

    right, asked, p_noisy, accuracy (posterior mean), low, high (its 95% posterior interval): (people,). mixture: the
    prior, as fixed or learned.
    """

    model: NoiseModel
    mixture: BetaMixture
    right: Counts
    asked: Counts
    p_noisy: Numbers
    accuracy: Numbers
    low: Numbers
    high: Numbers
    threshold: float
    certainty: float

    @property
    def noisy(self) -> Flags:
        """(people,) whether p_noisy is above the certainty."""
        return is_noisy(self.p_noisy, self.certainty)

    def after(self, right: Counts, asked: Counts) -> Examination:
        """The same examination with newer counts: posteriors under the mixture as it stands, nothing fitted anew.

        The people may be others than before. Errors: as `examine`.
        """
        right, asked = checked_counts(right, asked)
        return _with_mixture(self.model, self.mixture, right, asked, self.threshold, self.certainty)


def find_model(name: str) -> NoiseModel:
    """The model of that name; UnknownName with the nearest ones."""
    if name not in MODELS:
        raise UnknownName("model", name, MODELS)
    return MODELS[name]


def model_and_beta(text: str) -> tuple[str, float]:
    """`class-fixed-2@9.5`: the model's name and the beta of its noisy component, NOISY_BETA where there is no @.

    Raises UnknownName for a model that is not there, UsageError for a beta that cannot be.
    """
    name, at, beta = text.partition("@")
    find_model(name)
    try:
        value = float(beta) if at else NOISY_BETA
    except ValueError:
        value = 0.0
    if not 0 < value < 1000:
        raise UsageError(f"model {text}: after @ stands the beta of its noisy component, such as 9.5")
    return name, value


def examine(
    right: Sequence[int] | Counts,
    asked: Sequence[int] | Counts,
    model: str = DEFAULT_MODEL,
    *,
    noisy_beta: float = NOISY_BETA,
    threshold: float = THRESHOLD,
    certainty: float = CERTAINTY,
    starts: Starts | None = None,
    seed: int = 0,
) -> Examination:
    """Who is noisy, of people who answered `right` of `asked` test questions right, (people,) each.

    Positive and negative questions are examined separately. Someone who was asked nothing has the prior as posterior.
    noisy_beta: see `NoiseModel.fixed_prior`. starts: where EM starts; None draws them with `seed` as in appendix B.1.
    Raises DataError where a count is impossible.
    """
    chosen = find_model(model)
    if not (0 < threshold < 1 and 0 < certainty < 1 and noisy_beta > 0):
        raise UsageError("threshold and certainty are between 0 and 1, the noisy component's beta is above 0")
    right, asked = checked_counts(right, asked)
    if chosen.learned:
        starts = starts or learning_starts(chosen.components, seed)
        mixture = fit(*with_pseudo_people(right, asked), starts)
    else:
        mixture = chosen.fixed_prior(noisy_beta)
    return _with_mixture(chosen, mixture, right, asked, threshold, certainty)


def is_noisy(p_noisy: Numbers, certainty: float = CERTAINTY) -> Flags:
    """(people,) whether the posterior probability of being noisy is above the certainty."""
    return np.asarray(p_noisy > certainty + _ROUNDING)


def learning_starts(components: int, seed: int = 0) -> Starts:
    """The ten starts of appendix B.1, the same for everyone with this seed."""
    return draw_starts(np.random.default_rng([seed, components]), components)


def with_pseudo_people(right: Counts, asked: Counts) -> tuple[Counts, Counts]:
    """The counts that a prior is learned from."""
    return np.concatenate([right, PSEUDO_RIGHT]), np.concatenate([asked, PSEUDO_ASKED])


def checked_counts(right: Sequence[int] | Counts, asked: Sequence[int] | Counts) -> tuple[Counts, Counts]:
    """The counts as whole numbers. DataError naming the first person whose counts cannot be."""
    given, questions = _numbers("right", right), _numbers("asked", asked)
    if len(given) != len(questions):
        remedy = "give one of each for every person, 0 of 0 for someone without a test question"
        lengths = f"{len(given)} counts of right answers, but {len(questions)} of questions"
        raise DataError("test questions", lengths, remedy)
    possible = np.isfinite(given) & np.isfinite(questions)
    possible &= (np.trunc(given) == given) & (np.trunc(questions) == questions)
    valid = possible & (given >= 0) & (questions >= given) & (questions <= MOST_QUESTIONS)
    if not valid.all():
        place = int(np.argmin(valid))
        raise DataError(
            f"worker {place + 1} of {len(given)}",
            f"{given[place]:.12g} right of {questions[place]:.12g} test questions is impossible",
            f"Both are whole numbers, 0 <= right <= questions <= {MOST_QUESTIONS:,}; count this person's answers again",
        )
    return given.astype(np.int64), questions.astype(np.int64)


def _numbers(what: str, counts: Sequence[int] | Counts) -> Numbers:
    try:
        numbers = np.asarray(counts, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.zeros((0, 0))
    if numbers.ndim != 1:
        raise DataError("test questions", f"`{what}` is not a list of numbers", "give one whole number a person")
    return numbers


def _with_mixture(
    model: NoiseModel, mixture: BetaMixture, right: Counts, asked: Counts, threshold: float, certainty: float
) -> Examination:
    low, high = mixture.accuracy_interval(right, asked).T
    p_noisy = model.probability_noisy(mixture, right, asked, threshold)
    accuracy = mixture.accuracy(right, asked)
    return Examination(model, mixture, right, asked, p_noisy, accuracy, low, high, threshold, certainty)


def _mixture(*components: tuple[float, float, float]) -> BetaMixture:
    return BetaMixture(*np.array(components).T)
