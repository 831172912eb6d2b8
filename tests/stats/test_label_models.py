"""Dawid-Skene and MACE by hand, and what holds of both whatever people said."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import digamma

from metal.stats.aggregate import NOBODY, TIE, consensus
from metal.stats.answers import answers_of_matrix, most_probable
from metal.stats.dawid_skene import RIVAL, SMOOTHING, _Fit, dawid_skene
from metal.stats.mace import mace
from tests.saying import tells

LEVELS = 3
CODES = hnp.arrays(
    np.int64, st.tuples(st.integers(1, 12), st.integers(1, 5)), elements=st.integers(-1, LEVELS - 1)
)
MODELS: Any = pytest.mark.parametrize("model", [dawid_skene, mace])
SKILLS = [0.9, 0.7, 0.5, 0.3, 0.0]


def crowd(
    items: int, skills: list[float], levels: int = 3, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """The truth and (items, raters) codes of raters who know the answer so often and guess
    otherwise.
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, levels, items)
    knows = rng.random((items, len(skills))) < np.array(skills)
    return truth, np.where(knows, truth[:, None], rng.integers(0, levels, (items, len(skills))))


# ---------------------------------------------------------------- both models


@MODELS
def test_nothing_one_rater_one_class(model: Any) -> None:
    nothing = model(answers_of_matrix(np.full((3, 2), -1), 3))
    assert nothing.labels.tolist() == [NOBODY] * 3
    assert np.isnan(nothing.competence).all()
    assert model(answers_of_matrix(np.zeros((0, 0), dtype=int), 3)).labels.tolist() == []
    alone = model(answers_of_matrix(np.array([[0], [1], [-1]]), 3))
    assert alone.labels.tolist() == [0, 1, NOBODY]
    assert np.isnan(alone.competence).all()  # nobody to agree with
    assert model(answers_of_matrix(np.full((4, 3), 2), 3)).labels.tolist() == [2] * 4


@MODELS
@settings(max_examples=20, deadline=None)
@given(codes=CODES)
def test_no_iteration_lowers_the_likelihood_or_its_bound(model: Any, codes: np.ndarray) -> None:
    fit = model(answers_of_matrix(codes, LEVELS), max_iterations=60)
    assert (np.diff(fit.history) > -1e-8).all()
    rated = (codes >= 0).any(axis=1)
    assert fit.probabilities[rated].sum(axis=1) == pytest.approx(1)
    assert np.isnan(fit.probabilities[~rated]).all()
    defined = fit.competence[~np.isnan(fit.competence)]
    assert ((defined >= 0) & (defined <= 1 + 1e-12)).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "error", "of_history"),
    [(partial(dawid_skene, max_iterations=30), 1e-6, 1e-3), (partial(mace, starts=4), 1e-4, 1e-4)],
)
@settings(max_examples=20, deadline=None)
@given(codes=CODES, seed=st.integers(0, 99))
def test_the_order_of_items_raters_and_classes_does_not_matter(
    model: Any, error: float, of_history: float, codes: np.ndarray, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    items, raters, classes = (rng.permutation(size) for size in (*codes.shape, LEVELS))
    turned = np.where(codes >= 0, classes[codes], -1)[items][:, raters]
    first, second = (model(answers_of_matrix(table, LEVELS)) for table in (codes, turned))
    # else one stopped earlier by rounding, or two are as good
    if len(first.history) == len(second.history):
        assert second.probabilities[:, classes] == pytest.approx(
            first.probabilities[items], abs=error, nan_ok=True
        )
        assert second.competence == pytest.approx(first.competence[raters], abs=error, nan_ok=True)
    assert second.history[-1:] == pytest.approx(first.history[-1:], abs=of_history)


# ---------------------------------------------------------------- Dawid and Skene


def test_one_step_of_dawid_and_skene_by_hand() -> None:
    # Two raters; votes are the shares of items 0 (both say 0), 1 (both say 1), 2 (0 and 1: half
    # each).
    # Counts of rater 0: true 0 -> says 0: 1 + .5, says 1: 0; true 1 -> says 0: .5, says 1: 1.
    # Smoothing 0.5 a cell:
    # true 0: (2, .5) / 2.5 = .8 .2    true 1: (1, 1.5) / 2.5 = .4 .6;   rater 1 the same the other
    # way round.
    # Prior (1.5 + .5) / 4 = .5 each. Item 2 (rater 0 says 0, rater 1 says 1):
    # class 0: .5 * .8 * P1(1|0), where rater 1: true 0: says 0: 1, says 1: .5 -> (1.5, 1)/2.5 = .6
    # .4
    #   class 1: .5 * .4 * P1(1|1), true 1: says 0: 0, says 1: 1.5 -> (.5, 2)/2.5 = .2 .8
    # .5 * .8 * .4 = .16 and .5 * .4 * .8 = .16: a tie.   Item 0: .5 * .8 * .6 = .24, .5 * .4 * .2 =
    # .04
    fit = dawid_skene(
        answers_of_matrix(np.array([[0, 0], [1, 1], [0, 1]]), 2), smoothing=0.5, max_iterations=1
    )
    assert fit.probabilities == pytest.approx(
        np.array([[0.24 / 0.28, 0.04 / 0.28], [0.04 / 0.28, 0.24 / 0.28], [0.5, 0.5]])
    )
    assert fit.confusion[0] == pytest.approx(np.array([[0.8, 0.2], [0.4, 0.6]]))
    assert fit.competence == pytest.approx([0.5 * 0.8 + 0.5 * 0.6, 0.5 * 0.6 + 0.5 * 0.8])
    pseudo = 0.5 * np.log([0.5, 0.5, 0.8, 0.2, 0.4, 0.6, 0.6, 0.4, 0.2, 0.8]).sum()
    assert fit.history == pytest.approx((2 * np.log(0.28) + np.log(0.32) + pseudo,))
    assert fit.labels.tolist() == [0, 1, TIE]


def test_it_finds_the_truth_and_the_skills() -> None:
    truth, codes = crowd(2000, SKILLS)
    fit = dawid_skene(answers_of_matrix(codes, 3))
    voted = consensus(codes, np.arange(3.0), "majority")
    assert (fit.labels == truth).mean() > (voted == truth).mean() + 0.03
    assert fit.competence == pytest.approx([skill + (1 - skill) / 3 for skill in SKILLS], abs=0.04)
    assert len(fit.history) < 1000
    assert not len(fit.misnamed)


def test_who_turns_the_scale_round_is_read_the_other_way() -> None:
    truth, codes = crowd(400, [0.8, 0.8, 0.8], 2)
    codes = np.column_stack([codes, 1 - truth])
    fit = dawid_skene(answers_of_matrix(codes, 2))
    assert (fit.labels == truth).all()
    assert fit.competence[3] < 0.05


def test_a_class_that_is_never_answered_by_its_name_is_told() -> None:
    # Half of the items are answered at random by all: the model keeps a class for them, the rare
    # one.
    rng = np.random.default_rng(1)
    truth = rng.integers(1, 5, 600)
    codes = np.repeat(truth[:, None], 4, axis=1)
    codes[:300] = rng.choice(5, (300, 4), p=[0.02, 0.1, 0.3, 0.3, 0.28])
    fit = dawid_skene(answers_of_matrix(codes, 5))
    assert len(fit.misnamed) >= 1


def test_the_fit_ends_where_two_thousand_plain_steps_end() -> None:
    answers = answers_of_matrix(crowd(300, [0.5, 0.4, 0.3])[1], 3)
    fit = dawid_skene(answers)
    plain = _Fit(answers, SMOOTHING)
    share, likelihood = plain.votes(np.ones(3)), 0.0
    for _ in range(2500):
        share, likelihood = plain.posterior(plain.parameters(share))
    assert fit.probabilities == pytest.approx(answers.by_item(share), abs=1e-3)
    assert fit.history[-1] == pytest.approx(likelihood, abs=1e-6)
    assert len(fit.history) < 100


def test_several_starts_the_likeliest_is_kept_and_a_close_second_is_told() -> None:
    answers = answers_of_matrix(crowd(150, [0.3] * 4, seed=10)[1], 3)
    alone: list[Any] = []
    _Fit(answers, SMOOTHING).run(np.ones(4), 1000, alone)  # from the votes
    fit = dawid_skene(answers)
    assert fit.history[-1] > alone[0].history[-1] + 0.5
    assert 0 < fit.gap < RIVAL
    assert tells(fit.doubt, "other labels", "almost as likely", f"{fit.others:.0%}")
    clear = dawid_skene(answers_of_matrix(crowd(300, [0.9, 0.8, 0.8])[1], 3))
    assert (clear.gap, clear.doubt) == (np.inf, "")


def test_who_shares_no_item_keeps_their_labels() -> None:
    # Half of the items have the first three raters, the others the fourth alone, who says 1 more
    # often than they do.
    codes = np.column_stack([crowd(200, [0.9, 0.8, 0.7], 2)[1], np.full(200, -1)])
    codes[100:, :3], codes[100:, 3] = -1, np.arange(100) % 4 > 0
    fit = dawid_skene(answers_of_matrix(codes, 2))
    assert (fit.labels[100:] == codes[100:, 3]).all()


def test_an_item_with_one_rating_counts_and_an_absent_rater_has_no_figures() -> None:
    fit = dawid_skene(answers_of_matrix(np.array([[0, 0, -1], [1, 1, -1], [1, -1, -1]]), 2))
    assert fit.labels.tolist() == [0, 1, 1]
    assert np.isnan(fit.competence[2])
    assert np.isnan(fit.confusion[2]).all()


def test_one_class_makes_everyone_competent() -> None:
    same = dawid_skene(answers_of_matrix(np.full((4, 3), 2), 3))
    assert same.competence == pytest.approx([1, 1, 1])
    assert same.prior.tolist() == [0, 0, 1]
    assert np.isnan(same.confusion[:, :2]).all()


# ---------------------------------------------------------------- MACE


def test_one_step_of_mace_by_hand() -> None:
    # Two raters, one item, both say 0 of two classes that occur (a second item, both say 1, makes
    # the second occur).
    # Votes are unanimous and all are trusted: each rater is counted as knowing both times, careless
    # never.
    # log knows = psi(.5 + 2) - psi(1 + 2);  log careless(a) = psi(.5) - psi(3) + psi(10) - psi(20)
    knows = np.exp(digamma(2.5) - digamma(3))
    careless = np.exp(digamma(0.5) - digamma(3) + digamma(10) - digamma(20))
    right, wrong = (knows + careless) ** 2, careless**2
    fit = mace(answers_of_matrix(np.array([[0, 0], [1, 1]]), 2), starts=1, max_iterations=1)
    assert fit.probabilities[0] == pytest.approx([right / (right + wrong), wrong / (right + wrong)])
    assert fit.competence == pytest.approx([2.5 / 3, 2.5 / 3])
    # Bound: log of the mean over classes, an item, minus the divergence of Beta(2.5, .5) from
    # Beta(.5, .5), a rater.
    # B(.5, .5) = pi, B(2.5, .5) = 3 pi / 8:  log(8 / 3) + 2 (psi(2.5) - psi(3)).
    divergence = np.log(8 / 3) + 2 * (digamma(2.5) - digamma(3))
    assert fit.history[-1] == pytest.approx(2 * np.log((right + wrong) / 2) - 2 * divergence)


def test_it_finds_the_truth_and_the_spammer() -> None:
    truth, codes = crowd(2000, SKILLS)
    fit = mace(answers_of_matrix(codes, 3))
    assert (fit.labels == truth).mean() > 0.9
    assert fit.competence == pytest.approx(SKILLS, abs=0.05)


def test_who_always_says_the_same_is_found() -> None:
    _, codes = crowd(800, [0.8, 0.8, 0.8, 0.8])
    codes = np.column_stack([codes, np.full(800, 2)])
    assert mace(answers_of_matrix(codes, 3)).competence[4] < 0.05


def test_people_of_whom_none_knows_are_told() -> None:
    said = np.random.default_rng(0).choice(3, (300, 3), p=[0.05, 0.15, 0.8])
    assert tells(mace(answers_of_matrix(said, 3)).doubt, "competences", "below 0.1")
    assert mace(answers_of_matrix(crowd(300, SKILLS)[1], 3)).doubt == ""


def test_two_people_who_always_differ_are_a_tie() -> None:
    assert mace(answers_of_matrix(np.array([[0, 1], [1, 0]]), 2)).labels.tolist() == [TIE, TIE]


def test_the_same_seed_gives_the_same_bits() -> None:
    answers = answers_of_matrix(crowd(100, [0.7, 0.6, 0.5])[1], 3)
    assert (mace(answers, seed=4).probabilities == mace(answers, seed=4).probabilities).all()


def test_more_starts_never_end_lower() -> None:
    for seed in range(5):
        answers = answers_of_matrix(crowd(40, [0.6, 0.4, 0.3, 0.2], seed=seed)[1], 3)
        assert mace(answers, starts=10).history[-1] >= mace(answers, starts=1).history[-1] - 1e-6


def test_knowing_and_always_saying_so_look_the_same() -> None:
    assert np.isnan(mace(answers_of_matrix(np.full((4, 3), 2), 3)).competence).all()
    with pytest.raises(ValueError, match="starts"):
        mace(answers_of_matrix(np.array([[0]]), 2), starts=0)


# ---------------------------------------------------------------- answers and labels


@given(codes=CODES)
def test_equal_items_are_kept_once_and_nothing_is_lost(codes: np.ndarray) -> None:
    answers = answers_of_matrix(codes, LEVELS)
    again = np.full_like(codes, -1)
    for item, pattern in enumerate(answers.which):
        places = answers.pattern == pattern
        again[item, answers.rater[places]] = answers.code[places]
    assert (again == codes).all()
    rated = codes >= 0
    assert len(answers.times) == len(np.unique(codes[rated.any(axis=1)], axis=0))
    assert answers.given.tolist() == rated.sum(axis=0).tolist()
    assert answers.shared.tolist() == rated[rated.sum(axis=1) > 1].sum(axis=0).tolist()


def test_an_item_with_a_hundred_ratings_among_many_with_one() -> None:
    codes = np.full((200, 100), -1)
    codes[0], codes[:, 0] = 1, 1
    answers = answers_of_matrix(codes, 2)
    assert len(answers.times) == 200  # not compared: the table would be 200 x 100 for 299 answers
    assert dawid_skene(answers).labels.tolist() == [1] * 200


def test_impossible_answers_are_refused() -> None:
    with pytest.raises(ValueError, match="code"):
        answers_of_matrix(np.array([[3]]), 3)
    with pytest.raises(ValueError, match="smoothing"):
        dawid_skene(answers_of_matrix(np.array([[0]]), 2), smoothing=0)


def test_ties_within_rounding() -> None:
    shares = np.array([[0.5, 0.5 - 1e-12, 1e-12], [0.5, 0.5 - 1e-6, 1e-6], [np.nan] * 3])
    assert most_probable(shares).tolist() == [TIE, 0, NOBODY]


def test_consensus_by_model_and_by_vote() -> None:
    _, codes = crowd(60, [0.9, 0.8, 0.7])
    assert (
        consensus(codes, np.arange(3.0), "dawid-skene")
        == dawid_skene(answers_of_matrix(codes, 3)).labels
    ).all()
    assert consensus(np.array([[0, 2, 1]]), np.arange(3.0)).tolist() == [1]
    assert consensus(np.zeros((2, 0), dtype=int), np.arange(3.0), "mace").tolist() == [
        NOBODY,
        NOBODY,
    ]
    with pytest.raises(ValueError, match="dawid-skene, mace"):
        consensus(codes, np.arange(3.0), "vote")
