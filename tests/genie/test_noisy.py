"""Noisy annotators: the eight models by hand, against the published code, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from metal.errors import UnknownName, UsageError
from metal.genie.noisy import CERTAINTY, MODELS, PSEUDO_ASKED, PSEUDO_RIGHT, Examination, examine, model_and_beta
from tests.stats.test_beta_mixture import log_likelihood

ALL = sorted(MODELS)


def judged(right: ArrayLike, asked: ArrayLike, *arguments: Any, **options: Any) -> Examination:
    """`examine`, from lists too."""
    return examine(np.array(right, dtype=np.int64), np.array(asked, dtype=np.int64), *arguments, **options)


def test_one_wrong_answer_is_not_above_the_certainty() -> None:
    # Uniform prior, 0 of 1: Beta(1, 2), below 0.9 with 1 - 0.1**2 = 0.99: not above. 0 of 2: 1 - 0.1**3 = 0.999.
    found = judged([0, 0, 1], [1, 2, 2], "rate-uniform")
    # 1 of 2: Beta(2, 2), whose distribution is 3p^2 - 2p^3: 2.43 - 1.458 = 0.972.
    assert found.p_noisy == pytest.approx([0.99, 0.999, 0.972], abs=1e-14)
    assert found.noisy.tolist() == [False, True, False]
    assert found.accuracy == pytest.approx([1 / 3, 1 / 4, 1 / 2])


def test_the_printed_noisy_component_flags_nobody_with_four_questions() -> None:
    asked = np.array([1, 2, 3, 4, 5])
    right = np.zeros(5, dtype=int)
    printed = judged(right, asked, "class-fixed-2")
    assert printed.noisy.tolist() == [False, False, False, False, True]
    assert printed.p_noisy[3] == pytest.approx(0.98998, abs=5e-6)
    other = judged(right, asked, "class-fixed-2", noisy_beta=9.5)
    assert other.noisy.tolist() == [False, False, False, True, True]


def test_class_fixed_by_hand() -> None:
    # 0 of 1: Beta(0.5, 4.5) gives 0.9, Beta(9.5, 0.5) 0.05: 0.05 * 0.9 / (0.05 * 0.9 + 0.95 * 0.05) = 18/37.
    assert judged([0], [1], "class-fixed-2").p_noisy == pytest.approx([18 / 37])


@pytest.mark.parametrize("model", ALL)
def test_nobody_and_nobody_asked(model: str) -> None:
    assert judged([], [], model).noisy.tolist() == []
    found = judged([0, 0], [0, 0], model)
    assert not found.noisy.any()
    assert log_likelihood(found.mixture, found.right, found.asked) == pytest.approx(0, abs=1e-12)
    if not found.model.learned:  # the prior itself
        mixture = found.mixture
        assert found.accuracy == pytest.approx(np.full(2, mixture.probabilities @ mixture.means))


@pytest.mark.parametrize("model", ALL)
def test_good_and_bad_workers_are_told_apart(model: str) -> None:
    right, asked = [39, 20, 1, 0, 3], [40, 20, 20, 0, 20]
    found = judged(right, asked, model)
    assert found.noisy.tolist() == [False, False, True, False, True]
    low, high = found.interval
    assert (low < found.accuracy).all()
    assert (found.accuracy < high).all()


@pytest.mark.parametrize("model", ["rate-learned-2", "class-learned-2", "rate-learned-1"])
@pytest.mark.parametrize(
    ("right", "asked", "workers", "noisy"), [(7, 7, 9, 0), (0, 7, 9, 9), (3, 3, 1, 0), (0, 3, 1, 1)]
)
def test_all_right_all_wrong_and_one_worker(model: str, right: int, asked: int, workers: int, noisy: int) -> None:
    found = judged([right] * workers, [asked] * workers, model)
    assert found.noisy.sum() == noisy
    assert np.isfinite(found.p_noisy).all()


def test_two_components_of_learned_models_are_one_fit() -> None:
    right, asked = [10, 9, 0, 4, 30], [10, 10, 8, 9, 31]
    rate, by_class = (judged(right, asked, name) for name in ("rate-learned-2", "class-learned-2"))
    assert rate.mixture.alpha.tolist() == by_class.mixture.alpha.tolist()
    assert by_class.p_noisy == pytest.approx(by_class.mixture.responsibilities(np.array(right), np.array(asked))[:, 0])


def test_by_class_those_a_little_less_accurate_are_flagged_when_asked_often() -> None:
    # 470 of 500 is 94%, far above the threshold, but surely not from the component of those with 99%.
    right, asked = [495] * 40 + [470] * 5, [500] * 45
    assert judged(right, asked, "class-learned-2").noisy.tolist() == [False] * 40 + [True] * 5
    assert not judged(right, asked, "rate-learned-2").noisy.any()


def test_later_counts_under_the_mixture_as_it_stands() -> None:
    found = judged([10, 0, 18], [10, 6, 20])
    later = found.after(np.array([10, 0, 18, 0]), np.array([10, 7, 20, 0]))
    assert later.mixture is found.mixture
    assert later.p_noisy[[0, 2]].tolist() == found.p_noisy[[0, 2]].tolist()
    assert later.p_noisy[1] > found.p_noisy[1]
    assert len(later.noisy) == 4


@given(st.lists(st.integers(0, 20).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), max_size=12))
@settings(max_examples=15)
def test_order_does_not_matter_and_one_more_right_is_never_noisier(counts: list[tuple[int, int]]) -> None:
    right, asked = np.array(counts, dtype=int).reshape(-1, 2).T
    found = judged(right, asked)
    assert judged(right[::-1], asked[::-1]).p_noisy.tolist() == found.p_noisy[::-1].tolist()
    better = found.after(np.minimum(right + 1, asked), asked)
    assert (better.p_noisy <= found.p_noisy + 1e-12).all()


def test_wrong_choices_are_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'rate-learned-2'"):
        judged([1], [1], "rate-learnd-2")
    with pytest.raises(UsageError, match="beta is above 0"):
        judged([1], [1], noisy_beta=0.0)


# ---------------------------------------------------------------- the published code's figures

THEIRS = {
    "class_fixed2": ("class-fixed-2", 4.5),
    "class_fixed2_beta9.5": ("class-fixed-2", 9.5),
    "rate_jeffreys": ("rate-jeffreys", 4.5),
    "rate_uniform": ("rate-uniform", 4.5),
    "rate_fixed1": ("rate-fixed-1", 4.5),
    "rate_fixed2": ("rate-fixed-2", 4.5),
    "rate_fixed2_beta9.5": ("rate-fixed-2", 9.5),
}
LEARNED = {"rate_learned1": "rate-learned-1", "rate_learned2": "rate-learned-2", "class_learned2": "class-learned-2"}


@pytest.fixture
def oracle(reference: Path) -> dict[str, Any]:
    return dict(json.loads((reference / "oracle" / "genie.json").read_text(encoding="utf-8")))


@pytest.mark.reference
def test_the_largest_flagged_count_per_number_of_questions(oracle: dict[str, Any]) -> None:
    asked = np.repeat(np.arange(1, 61), np.arange(2, 62))
    right = np.concatenate([np.arange(n + 1) for n in range(1, 61)])
    for theirs, (model, noisy_beta) in THEIRS.items():
        found = judged(right, asked, model, noisy_beta=noisy_beta)
        flagged = {str(n): max((int(x) for x in right[found.noisy & (asked == n)]), default=None) for n in range(1, 61)}
        assert flagged == oracle["fixed_model_max_flagged_successes_by_trials"][theirs], theirs


@pytest.mark.reference
def test_fixed_priors_as_the_published_code(oracle: dict[str, Any]) -> None:
    assert oracle["conventions"]["pseudo_data"]["successes"] == PSEUDO_RIGHT.tolist()
    assert oracle["conventions"]["pseudo_data"]["trials"] == PSEUDO_ASKED.tolist()
    compared = 0
    for one in oracle["sets"]:
        for theirs, (model, noisy_beta) in THEIRS.items():
            wanted = one["models"][theirs]
            found = judged(one["successes"], one["trials"], model, noisy_beta=noisy_beta)
            assert found.p_noisy == pytest.approx(np.array(wanted["p_noisy"]), abs=1e-9)
            assert log_likelihood(found.mixture, found.right, found.asked) == pytest.approx(
                wanted["loglik_workers"], abs=1e-8
            )
            compared += 1
    assert compared == 21 * 7


@pytest.mark.reference
def test_learned_priors_flag_whom_the_optimum_flags(oracle: dict[str, Any]) -> None:
    compared = 0
    for one in oracle["sets"]:
        if not one["fit_with_pseudo_data"]:
            continue  # a learned model always has the pseudo-workers; the fit without is in tests/stats
        for theirs, model in LEARNED.items():
            wanted = one["models"][theirs]
            found = judged(one["successes"], one["trials"], model)
            best = np.array(wanted["optimum"]["p_noisy"])
            assert found.p_noisy == pytest.approx(best, abs=0.01)
            assert found.noisy.tolist() == (best > CERTAINTY).tolist()
            compared += 1
    assert compared == 18 * 3


def test_a_model_may_come_with_its_beta() -> None:
    assert model_and_beta("class-fixed-2@9.5") == ("class-fixed-2", 9.5)
    assert model_and_beta("rate-learned-2") == ("rate-learned-2", 4.5)
    with pytest.raises(UsageError, match="after @ stands the beta"):
        model_and_beta("class-fixed-2@much")
    with pytest.raises(UnknownName):
        model_and_beta("datasets/mine")
