"""The Beta mixture: closed forms by hand, EM against its own promises, and against the published
code's figures.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import betaln, gammaln
from scipy.stats import beta as beta_distribution

from metal.stats import beta_mixture_fit
from metal.stats.beta_mixture import BetaMixture, find_pairs
from metal.stats.beta_mixture_fit import Starts, draw_starts, fit, fit_groups

UNIFORM = BetaMixture(np.ones(1), np.ones(1), np.ones(1))
TWO = BetaMixture(np.array([0.25, 0.75]), np.array([1.0, 3.0]), np.array([2.0, 1.0]))


def starts(components: int, number: int = 10, seed: int = 0) -> Starts:
    return draw_starts(np.random.default_rng(seed), components, number)


def log_likelihood(mixture: BetaMixture, right: np.ndarray, asked: np.ndarray) -> float:
    """Person after person, with Beta functions: neither grouped nor by rising factorials."""
    x, n = right[:, None], asked[:, None]
    coefficient = gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1)
    beta_functions = betaln(mixture.alpha + x, mixture.beta + n - x) - betaln(
        mixture.alpha, mixture.beta
    )
    with np.errstate(divide="ignore"):  # a component nobody comes from
        logs = np.log(mixture.probabilities) + coefficient + beta_functions
    return float(np.logaddexp.reduce(logs, axis=1).sum())


# ---------------------------------------------------------------- closed forms


def test_two_components_by_hand() -> None:
    # 1 right of 2 under Beta(1, 2): 2 * (1 * 2) / (3 * 4) = 1/3; under Beta(3, 1): 2 * (3 * 1) / (4
    # * 5) = 3/10.
    # Together 1/4 * 1/3 + 3/4 * 3/10 = 1/12 + 9/40 = 37/120, of which the first makes (10/120) /
    # (37/120) = 10/37.
    right, asked = np.array([1]), np.array([2])
    assert np.exp(log_likelihood(TWO, right, asked)) == pytest.approx(37 / 120)
    assert TWO.responsibilities(right, asked) == pytest.approx(np.array([[10 / 37, 27 / 37]]))
    # Posteriors Beta(2, 3) and Beta(4, 2), means 2/5 and 2/3: 10/37 * 2/5 + 27/37 * 2/3 = 22/37.
    assert TWO.accuracy(right, asked) == pytest.approx([22 / 37])
    # Below 1/2: Beta(2, 3) 11/16; Beta(4, 2) = P(at least 4 of 5) = 6/32. 10/37 * 22/32 + 27/37 *
    # 6/32 = 382/1184.
    assert TWO.probability_below(0.5, right, asked) == pytest.approx([382 / 1184])


def test_uniform_prior_and_one_wrong_answer() -> None:
    # Beta(1, 2): P(P < 0.9) = 1 - 0.1**2. Quantiles of its distribution 1 - (1 - p)**2: 1 - sqrt(1
    # - q).
    right, asked = np.array([0]), np.array([1])
    assert UNIFORM.probability_below(0.9, right, asked) == pytest.approx([0.99], abs=1e-15)
    wanted = [[1 - math.sqrt(0.975), 1 - math.sqrt(0.025)]]
    assert UNIFORM.accuracy_interval(right, asked) == pytest.approx(np.array(wanted), abs=1e-13)


def test_nobody_asked_has_the_prior() -> None:
    nothing = np.array([0]), np.array([0])
    assert TWO.responsibilities(*nothing) == pytest.approx(np.array([[0.25, 0.75]]))
    # Means 1/3 and 3/4: 1/12 + 9/16 = 31/48.
    assert TWO.accuracy(*nothing) == pytest.approx([31 / 48])


def test_interval_leaves_as_much_on_either_side() -> None:
    right, asked = np.array([0, 3, 9, 0]), np.array([0, 7, 9, 12])
    low, high = TWO.accuracy_interval(right, asked, 0.8).T
    for x, n, ends in zip(right, asked, np.stack([low, high], axis=1), strict=True):
        weight = TWO.responsibilities(np.array([x]), np.array([n]))[0]
        below = [
            (weight * beta_distribution.cdf(end, TWO.alpha + x, TWO.beta + n - x)).sum()
            for end in ends
        ]
        assert below == pytest.approx([0.1, 0.9], abs=1e-10)


def test_impossible_parameters_are_refused() -> None:
    for wrong in ([0.5, 0.6], [1.5, -0.5]):
        with pytest.raises(ValueError, match="probabilities"):
            BetaMixture(np.array(wrong), np.ones(2), np.ones(2))
    with pytest.raises(ValueError, match="above 0"):
        BetaMixture(np.ones(1), np.zeros(1), np.ones(1))
    with pytest.raises(ValueError, match="each component"):
        BetaMixture(np.ones(1), np.ones(2), np.ones(2))


components = st.tuples(st.floats(0.05, 1), st.floats(0.01, 200), st.floats(0.01, 200))


@given(
    st.lists(components, min_size=1, max_size=3), st.integers(1, 40), st.sampled_from([0.5, 0.9])
)
def test_who_is_right_more_often_is_less_likely_below(
    rows: list[tuple[float, float, float]], asked: int, threshold: float
) -> None:
    weight, alpha, beta = np.array(rows).T
    mixture = BetaMixture(weight / weight.sum(), alpha, beta)
    right, questions = np.arange(asked + 1), np.full(asked + 1, asked)
    assert (np.diff(mixture.probability_below(threshold, right, questions)) <= 1e-12).all()
    assert (np.diff(mixture.accuracy(right, questions)) >= -1e-12).all()


# ---------------------------------------------------------------- EM

people = st.lists(
    st.integers(0, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), max_size=25
)


def arrays(counts: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    right, asked = np.array(counts, dtype=np.int64).reshape(-1, 2).T
    return right, asked


@given(people, st.integers(1, 3), st.integers(0, 5))
@example([(5, 5), (30, 30)], 2, 0)
@example([(0, 1)], 2, 0)
@example([(9, 10)] * 20, 2, 0)
@settings(max_examples=20)
def test_em_never_lowers_the_likelihood(
    counts: list[tuple[int, int]], components: int, seed: int
) -> None:
    right, asked = arrays(counts)
    start = starts(components, 1, seed)
    shares = np.full(components, 1 / components)
    before = log_likelihood(BetaMixture(shares, start.alpha[0], start.beta[0]), right, asked)
    for rounds in range(12):
        reached = log_likelihood(fit(right, asked, start, most_rounds=rounds), right, asked)
        # The M-step is solved by Newton's method, to rounding: (4, 4), (17, 20) fell by 4e-9.
        assert reached >= before - 1e-7 * (1 + abs(before))
        before = reached


@given(people, st.randoms(use_true_random=False))
@settings(max_examples=20)
def test_the_order_of_people_does_not_matter(counts: list[tuple[int, int]], random: object) -> None:
    shuffled = counts.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first, second = (
        fit(*arrays(order), starts(2, 3), most_rounds=50) for order in (counts, shuffled)
    )
    assert first.alpha.tolist() == second.alpha.tolist()


def two_kinds(seed: int, number: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    asked = rng.geometric(0.1, number)
    accuracy = np.where(rng.random(number) < 0.2, rng.beta(3, 6, number), rng.beta(40, 3, number))
    return rng.binomial(asked, accuracy), asked


def test_grouping_changes_nothing() -> None:
    right, asked = two_kinds(0)
    fitted = fit(right, asked, starts(2))
    assert len(find_pairs(right, asked).count) < len(right)
    tenfold = fit(np.repeat(right, 10), np.repeat(asked, 10), starts(2))  # everyone ten times
    assert tenfold.means == pytest.approx(fitted.means, abs=1e-4)
    reached, of_tenfold = (log_likelihood(mixture, right, asked) for mixture in (fitted, tenfold))
    assert of_tenfold == pytest.approx(reached, abs=1e-5)


def test_no_parameters_nearby_fit_better() -> None:
    right, asked = two_kinds(1, 400)
    best = fit(right, asked, starts(2), tolerance=1e-13)
    reached = log_likelihood(best, right, asked)
    for name in ("alpha", "beta", "probabilities"):
        for place in (0, 1):
            for factor in (0.98, 1.02):
                moved = {
                    key: getattr(best, key).copy() for key in ("probabilities", "alpha", "beta")
                }
                moved[name][place] *= factor
                moved["probabilities"] /= moved["probabilities"].sum()
                assert log_likelihood(BetaMixture(**moved), right, asked) < reached


def test_the_truth_is_found_again() -> None:
    rng = np.random.default_rng(2)
    asked = np.full(20_000, 30)
    accuracy = np.where(rng.random(20_000) < 0.1, rng.beta(2, 6, 20_000), rng.beta(60, 3, 20_000))
    fitted = fit(rng.binomial(asked, accuracy), asked, starts(2, 3))
    assert fitted.probabilities == pytest.approx([0.1, 0.9], abs=0.01)
    assert fitted.alpha == pytest.approx([2, 60], rel=0.1)
    assert fitted.beta == pytest.approx([6, 3], rel=0.1)


def test_people_as_alike_as_coins_are_put_at_the_cap() -> None:
    # 9 of 10, everyone: they vary less than a binomial, whose mean is then 0.9, in a handful of
    # rounds.
    fitted = fit(np.full(40, 9), np.full(40, 10), starts(1), most_rounds=9)
    assert fitted.alpha + fitted.beta == pytest.approx([1e6])
    assert fitted.means == pytest.approx([0.9], abs=1e-6)


@pytest.mark.parametrize("components", [1, 2, 3])
@pytest.mark.parametrize(
    "counts", [[], [(0, 0)] * 5, [(5, 5), (10, 10)], [(0, 5), (0, 10)], [(1, 1)], [(0, 1)]]
)
def test_where_nothing_varies_it_is_defined_and_quick(
    counts: list[tuple[int, int]], components: int
) -> None:
    fitted = fit(*arrays(counts), starts(components), most_rounds=60)
    assert log_likelihood(fitted, *arrays(counts)) == pytest.approx(0, abs=1e-6)  # certain
    assert np.isfinite([fitted.alpha, fitted.beta, fitted.probabilities]).all()


def test_groups_are_fitted_as_if_alone() -> None:
    groups = [two_kinds(seed, 10 + 20 * seed) for seed in range(4)] + [
        (np.zeros(3, int), np.zeros(3, int))
    ]
    for (right, asked), together in zip(groups, fit_groups(groups, starts(2)), strict=True):
        alone = fit(right, asked, starts(2))
        assert together.means == pytest.approx(alone.means, abs=1e-4)
    assert fit_groups([], starts(2)) == []


def test_rows_taken_in_portions_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    right, asked = two_kinds(4)
    together = fit(right, asked, starts(2))
    monkeypatch.setattr(beta_mixture_fit, "_CELLS", 1)  # a row at a time
    assert fit(right, asked, starts(2)).means == pytest.approx(together.means, abs=1e-9)


def test_thousands_of_questions() -> None:
    # Two binomials, 0.9 and 0.1: counts as far apart as theirs are, and the mixture halves.
    asked = np.full(6, 10_000)
    fitted = fit(np.array([9000, 9001, 8999, 1000, 1001, 999]), asked, starts(2, 4))
    assert fitted.means == pytest.approx([0.1, 0.9], abs=1e-5)
    assert fitted.probabilities == pytest.approx([0.5, 0.5])


def test_starts_are_drawn_as_published() -> None:
    drawn = draw_starts(np.random.default_rng(5), 2, 20_000)
    concentration = drawn.alpha + drawn.beta
    mean = drawn.alpha / concentration
    assert np.quantile(mean, [0.25, 0.5, 0.75]) == pytest.approx([0.25, 0.5, 0.75], abs=0.01)
    # gamma of shape 2
    assert (concentration.mean(), concentration.var()) == pytest.approx((2, 2), rel=0.05)
    again = draw_starts(np.random.default_rng(5), 2, 20_000)
    assert (again.alpha == drawn.alpha).all()


# ---------------------------------------------------------------- the published code's figures


@pytest.mark.reference
def test_as_good_as_the_published_code_and_as_the_optimum(reference: Path) -> None:
    oracle = json.loads((reference / "oracle" / "genie.json").read_text(encoding="utf-8"))
    pseudo = oracle["conventions"]["pseudo_data"]
    compared = 0
    for data in oracle["sets"]:
        right, asked = np.array(data["successes"], dtype=int), np.array(data["trials"], dtype=int)
        to_fit = right, asked
        if data["fit_with_pseudo_data"]:
            to_fit = np.append(right, pseudo["successes"]), np.append(asked, pseudo["trials"])
        for name in ("rate_learned1", "rate_learned2"):
            wanted = data["models"][name]
            fitted = fit(
                *to_fit, Starts(np.array(wanted["init_alpha"]), np.array(wanted["init_beta"]))
            )
            optimum = wanted["optimum"]
            reached = log_likelihood(fitted, *to_fit)
            assert reached >= wanted["loglik_fit"] - 1e-6
            assert reached == pytest.approx(optimum["loglik_fit"], abs=1e-4)
            below = fitted.probability_below(0.9, right, asked)
            assert below == pytest.approx(np.array(optimum["p_noisy"]), abs=1e-3)
            compared += 1
    assert compared == 42
