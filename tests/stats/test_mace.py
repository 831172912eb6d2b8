"""MACE by hand, and what holds of it whatever people said."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import digamma

from metal.stats.aggregate import NOBODY, TIE
from metal.stats.answers import answers_of_matrix
from metal.stats.mace import mace
from tests.stats.test_dawid_skene import CODES, LEVELS, crowd


def test_one_step_by_hand() -> None:
    # Two raters, one item, both say 0 of two classes that occur (a second item, both say 1, makes the second occur).
    # Votes are unanimous and all are trusted: each rater is counted as knowing both times, careless never.
    #   log knows = psi(.5 + 2) - psi(1 + 2);  log careless(a) = psi(.5) - psi(3) + psi(10) - psi(20)
    knows = np.exp(digamma(2.5) - digamma(3))
    careless = np.exp(digamma(0.5) - digamma(3) + digamma(10) - digamma(20))
    right, wrong = (knows + careless) ** 2, careless**2
    fit = mace(answers_of_matrix(np.array([[0, 0], [1, 1]]), 2), starts=1, max_iterations=1)
    assert fit.probabilities[0] == pytest.approx([right / (right + wrong), wrong / (right + wrong)])
    assert fit.competence == pytest.approx([2.5 / 3, 2.5 / 3])
    # Bound: log of the mean over classes, an item, minus the divergence of Beta(2.5, .5) from Beta(.5, .5), a rater.
    # B(.5, .5) = pi, B(2.5, .5) = 3 pi / 8:  log(8 / 3) + 2 (psi(2.5) - psi(3)).
    divergence = np.log(8 / 3) + 2 * (digamma(2.5) - digamma(3))
    assert fit.history[-1] == pytest.approx(2 * np.log((right + wrong) / 2) - 2 * divergence)


def test_it_finds_the_truth_and_the_spammer() -> None:
    skills = [0.9, 0.7, 0.5, 0.3, 0.0]
    truth, codes = crowd(2000, skills)
    fit = mace(answers_of_matrix(codes, 3))
    assert (fit.labels == truth).mean() > 0.9
    assert fit.competence == pytest.approx(skills, abs=0.05)


def test_who_always_says_the_same_is_found() -> None:
    _, codes = crowd(800, [0.8, 0.8, 0.8, 0.8])
    codes = np.column_stack([codes, np.full(800, 2)])
    assert mace(answers_of_matrix(codes, 3)).competence[4] < 0.05


def test_two_colluding_spammers_do_not_outvote() -> None:
    truth, codes = crowd(600, [0.85, 0.8, 0.75], seed=3)
    same = np.random.default_rng(5).choice(3, 600, p=[0.1, 0.1, 0.8])
    codes = np.column_stack([codes, same, np.full(600, 2)])
    voted = (codes[:, :3] == truth[:, None]).mean()
    assert (mace(answers_of_matrix(codes, 3)).labels == truth).mean() > voted


def test_nothing_one_rater_one_class() -> None:
    nothing = mace(answers_of_matrix(np.full((3, 2), -1), 3))
    assert nothing.labels.tolist() == [NOBODY] * 3
    assert np.isnan(nothing.competence).all()
    alone = mace(answers_of_matrix(np.array([[0], [1], [-1]]), 3))
    assert alone.labels.tolist() == [0, 1, NOBODY]
    assert np.isnan(alone.competence).all()
    same = mace(answers_of_matrix(np.full((4, 3), 2), 3))
    assert same.labels.tolist() == [2] * 4
    assert np.isnan(same.competence).all()  # knowing and always saying so look the same
    with pytest.raises(ValueError, match="starts"):
        mace(answers_of_matrix(np.array([[0]]), 2), starts=0)


def test_two_people_who_always_differ_are_a_tie() -> None:
    assert mace(answers_of_matrix(np.array([[0, 1], [1, 0]]), 2)).labels.tolist() == [TIE, TIE]


def test_the_same_seed_gives_the_same_bits() -> None:
    answers = answers_of_matrix(crowd(100, [0.7, 0.6, 0.5])[1], 3)
    assert (mace(answers, seed=4).probabilities == mace(answers, seed=4).probabilities).all()


def test_more_starts_never_end_lower() -> None:
    for seed in range(5):
        answers = answers_of_matrix(crowd(40, [0.6, 0.4, 0.3, 0.2], seed=seed)[1], 3)
        assert mace(answers, starts=10).history[-1] >= mace(answers, starts=1).history[-1] - 1e-6


@settings(max_examples=60, deadline=None)
@given(codes=CODES)
def test_no_iteration_lowers_the_bound(codes: np.ndarray) -> None:
    fit = mace(answers_of_matrix(codes, LEVELS), starts=3, max_iterations=60)
    assert (np.diff(fit.history) > -1e-8).all()
    rated = (codes >= 0).any(axis=1)
    assert fit.probabilities[rated].sum(axis=1) == pytest.approx(1)
    defined = fit.competence[~np.isnan(fit.competence)]
    assert ((defined >= 0) & (defined <= 1)).all()


@settings(max_examples=60, deadline=None)
@given(codes=CODES, seed=st.integers(0, 99))
def test_the_order_of_items_raters_and_classes_does_not_matter(codes: np.ndarray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    items, raters, classes = (rng.permutation(size) for size in (*codes.shape, LEVELS))
    turned = np.where(codes >= 0, classes[codes], -1)[items][:, raters]
    first, second = (mace(answers_of_matrix(table, LEVELS), starts=4) for table in (codes, turned))
    assert second.history[-1:] == pytest.approx(first.history[-1:], abs=1e-4)
    if len(first.history) == len(
        second.history
    ):  # else one stopped a rounding error earlier, or two optima are as good
        assert second.probabilities[:, classes] == pytest.approx(first.probabilities[items], abs=1e-4, nan_ok=True)
        assert second.competence == pytest.approx(first.competence[raters], abs=1e-4, nan_ok=True)
