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

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from metal.errors import UnknownName, UsageError
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
        if self.components == 2:
            return _mixture((0.05, 0.5, noisy_beta), (0.95, 9.5, 0.5))
        alpha, beta = {"Jeffreys": (0.5, 0.5), "uniform": (1.0, 1.0), "fixed": (4.0, 1.0)}[self.prior]
        return _mixture((1.0, alpha, beta))

    def probability_noisy(self, mixture: BetaMixture, right: Counts, asked: Counts) -> Numbers:
        """(people,) posterior probability of being noisy, with this mixture as the prior."""
        if self.criterion == "rate":
            return mixture.probability_below(THRESHOLD, right, asked)
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
    """What test questions say about people. right, asked: (people,). mixture: the prior, as fixed or learned."""

    model: NoiseModel
    mixture: BetaMixture
    right: Counts
    asked: Counts

    @cached_property
    def p_noisy(self) -> Numbers:
        """(people,) posterior probability of being noisy."""
        return self.model.probability_noisy(self.mixture, self.right, self.asked)

    @cached_property
    def noisy(self) -> Flags:
        """(people,) whether p_noisy is above the certainty."""
        return is_noisy(self.p_noisy)

    @cached_property
    def accuracy(self) -> Numbers:
        """(people,) posterior mean of the accuracy."""
        return self.mixture.accuracy(self.right, self.asked)

    @cached_property
    def interval(self) -> Numbers:
        """(2, people) the ends of its 95% posterior interval."""
        return self.mixture.accuracy_interval(self.right, self.asked).T

    def after(self, right: Counts, asked: Counts) -> Examination:
        """The same examination with newer counts: posteriors under the mixture as it stands, nothing fitted anew.

        The people may be others than before.
        """
        return Examination(self.model, self.mixture, right, asked)


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
    right: Counts, asked: Counts, model: str = DEFAULT_MODEL, *, noisy_beta: float = NOISY_BETA, seed: int = 0
) -> Examination:
    """Who is noisy, of people who answered `right` of `asked` test questions right, (people,) each.

    Positive and negative questions are examined separately. Someone who was asked nothing has the prior as posterior.
    noisy_beta: see `NoiseModel.fixed_prior`. seed: of the starts of EM, as in appendix B.1.
    """
    chosen = find_model(model)
    if noisy_beta <= 0:
        raise UsageError("the noisy component's beta is above 0")
    if chosen.learned:
        mixture = fit(*with_pseudo_people(right, asked), learning_starts(chosen.components, seed))
    else:
        mixture = chosen.fixed_prior(noisy_beta)
    return Examination(chosen, mixture, right, asked)


def is_noisy(p_noisy: Numbers) -> Flags:
    """(people,) whether the posterior probability of being noisy is above the certainty."""
    return np.asarray(p_noisy > CERTAINTY + _ROUNDING)


def learning_starts(components: int, seed: int = 0) -> Starts:
    """The ten starts of appendix B.1, the same for everyone with this seed."""
    return draw_starts(np.random.default_rng([seed, components]), components)


def with_pseudo_people(right: Counts, asked: Counts) -> tuple[Counts, Counts]:
    """The counts that a prior is learned from."""
    return np.concatenate([right, PSEUDO_RIGHT]), np.concatenate([asked, PSEUDO_ASKED])


def _mixture(*components: tuple[float, float, float]) -> BetaMixture:
    return BetaMixture(*np.array(components).T)
