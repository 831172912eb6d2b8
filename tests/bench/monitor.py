"""Speed of fitting the Beta mixture behind `metal monitor` against a plain fixed-point EM, in one
run.

    python -m tests.bench.monitor

The plain one does what GENIE's appendix B.1 says: 10 starts, one after the other, up to 1,000
rounds of EM with a relative tolerance of 1e-6, each with Minka's fixed-point iteration for the
Beta-binomial, up to 10,000 steps to a relative tolerance of 1e-7. Both get the same 88 workers,
with the pseudo-workers, and the same starts. Ours is the median of some rounds; the plain one runs
once, and takes minutes.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betaln, digamma

from metal.genie.noisy import draw_round, examine, learning_starts, with_pseudo_people
from metal.stats.beta_mixture import BetaMixture
from metal.stats.beta_mixture_fit import MOST_CONCENTRATED, Starts, fit
from tests.bench.clock import median_seconds, timed
from tests.stats.test_beta_mixture import log_likelihood

ROUNDS = 7
WORKERS, MANY = 88, 100_000


def main() -> None:
    """Print times, their ratio with its target, and by how much the likelihoods differ."""
    few = draw_round(np.random.default_rng(0), WORKERS)
    right, asked = with_pseudo_people(few.right, few.asked)
    for components in (1, 2):
        starts = learning_starts(components)
        ours = median_seconds(lambda starts=starts: fit(right, asked, starts), ROUNDS)
        theirs, plain = timed(lambda starts=starts: plain_fit(right, asked, starts))
        reached, lower = (
            log_likelihood(mixture, right, asked) for mixture in (fit(right, asked, starts), plain)
        )
        target = " (target 1,000)" if components == 2 else ""
        print(
            f"{WORKERS} workers, {components} component(s), 10 starts: ours {ours * 1e3:.1f} ms, ",
            end="",
        )
        print(f"plain EM {theirs:.1f} s, ratio {theirs / ours:,.0f}{target}")
        print(
            f"  log-likelihood: ours {reached:.6f}, plain {lower:.6f}; ours is higher by"
            f" {reached - lower:.6f}"
        )
    many = draw_round(np.random.default_rng(1), MANY)
    whole = median_seconds(lambda: examine(many.right, many.asked), 3)
    print(f"{MANY:,} workers, fitted and examined with intervals: {whole:.2f} s (target 5)")


def plain_fit(right: np.ndarray, asked: np.ndarray, starts: Starts) -> BetaMixture:
    """EM from each start, the best of them."""
    fits = [plain_em(right, asked, *start) for start in zip(starts.alpha, starts.beta, strict=True)]
    return max(fits, key=lambda mixture: log_likelihood(mixture, right, asked))


def plain_em(
    right: np.ndarray, asked: np.ndarray, alpha: np.ndarray, beta: np.ndarray
) -> BetaMixture:
    """One start."""
    alpha, beta = alpha.copy(), beta.copy()
    probabilities = np.full(len(alpha), 1 / len(alpha))
    before = -np.inf
    for _ in range(1_000):
        joint = np.log(probabilities) + betaln(
            alpha + right[:, None], beta + (asked - right)[:, None]
        )
        joint -= betaln(alpha, beta)
        marginal = np.logaddexp.reduce(joint, axis=1)
        likelihood = marginal.sum()
        if np.isfinite(before) and abs(likelihood - before) <= 1e-6 * abs(before):
            break
        before = likelihood
        responsible = np.exp(joint - marginal[:, None])
        probabilities = responsible.mean(axis=0)
        for k in range(len(alpha)):
            alpha[k], beta[k] = fixed_point(right, asked, responsible[:, k], alpha[k], beta[k])
    return BetaMixture(probabilities, alpha, beta)


def fixed_point(
    right: np.ndarray, asked: np.ndarray, weight: np.ndarray, alpha: float, beta: float
) -> tuple[float, float]:
    """Minka (2000), equation 55, for two classes; alpha + beta is held below the same cap as
    ours.
    """
    wrong = asked - right
    for _ in range(10_000):
        below = weight @ (digamma(alpha + beta + asked) - digamma(alpha + beta))
        new_alpha = alpha * (weight @ (digamma(alpha + right) - digamma(alpha))) / below
        new_beta = beta * (weight @ (digamma(beta + wrong) - digamma(beta))) / below
        shrink = min(1.0, MOST_CONCENTRATED / (new_alpha + new_beta))
        new_alpha, new_beta = new_alpha * shrink, new_beta * shrink
        still = abs(new_alpha - alpha) <= 1e-7 * alpha and abs(new_beta - beta) <= 1e-7 * beta
        alpha, beta = new_alpha, new_beta
        if still:
            break
    return alpha, beta


if __name__ == "__main__":
    main()
