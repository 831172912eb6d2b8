"""Speed of METAL's statistics against scikit-learn, statsmodels and mt-metrics-eval, in one run.

    python -m tests.bench.figures

All data is made here: boards in the sizes of the published ones; audits of 10 languages x 5
criteria, 1,000 resamples of weighted F1 (6 judges) and of Fleiss' kappa, and paired differences of
two judges. Ours is the median of some rounds; what takes long at the others runs once, and loops
over resamples are timed on a sample of these and extrapolated. Tests compare the figures.
mt-metrics-eval is Google's, from its repository: the package of that name on PyPI is something
else. Where it is not installed, loops that do what it does stand in, and say so.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import statsmodels.api as sm
from scipy.stats import pearsonr, zscore
from sklearn.linear_model import Lasso
from sklearn.metrics import f1_score
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from metal.stats import agreement
from metal.stats.bootstrap import SourceBootstrap, percentile_interval
from metal.stats.ensemble import generator_moments, leave_one_out_correlation
from metal.stats.mixed_model import random_intercept
from metal.stats.pairwise import calibrate_ties
from metal.stats.patterns import class_counts, find_patterns, margins
from metal.stats.permutation import correlates_better
from tests.bench.clock import median_seconds, seconds

GENERATORS, SEGMENTS, METRICS, ALPHAS = 8, 2_000, 15, 20
MIXED_GENERATORS, MIXED_SOURCES = 18, 1_000
SYSTEMS, SOURCES, RATERS, RESAMPLES = 15, 1_315, 10, 1_000
CELLS, JUDGES, LEVELS, SAMPLE = 50, 6, 3, 20


def main() -> None:
    """Print a table of ours, theirs, the ratios and the targets."""
    warnings.simplefilter("ignore")
    print(f"{'task':<46}{'ours s':>10}{'theirs s':>12}{'ratio':>9}{'target':>9}  peer")
    leave_one_out()
    mixed_model()
    pairs()
    bootstrap(1_000, 500)
    bootstrap(10_000, 1_000)


def bootstrap(items: int, target: int) -> None:
    """Intervals of a whole audit, and of paired differences, with so many items a language."""
    worlds = [cell(items, seed) for seed in range(CELLS)]
    scale = RESAMPLES / SAMPLE * CELLS
    resample_cells(worlds[:1])  # warm up
    loop(*worlds[0], 2)
    ours, theirs = (
        seconds(lambda: resample_cells(worlds)),
        seconds(lambda: loop(*worlds[0], SAMPLE)) * scale,
    )
    report(
        f"bootstrap, {items:,} items",
        ours,
        theirs,
        target,
        "loop over scikit-learn and statsmodels",
    )
    ours, theirs = (
        seconds(lambda: resample_pairs(worlds)),
        seconds(lambda: loop_pairs(*worlds[0], SAMPLE)) * scale,
    )
    report(f"paired differences, {items:,} items", ours, theirs, 200, "loop over scikit-learn")


def cell(items: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """People (items, 3), their majority or middle (items,), judges (items, 6)."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(LEVELS, items, p=[0.2, 0.3, 0.5])

    def noisy(columns: int) -> np.ndarray:
        wrong = rng.random((items, columns)) < 0.25
        return np.where(wrong, rng.integers(0, LEVELS, (items, columns)), truth[:, None])

    return noisy(3), truth, noisy(JUDGES)


def resample_cells(worlds: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> None:
    for people, truth, judges in worlds:
        drawn, sources = SourceBootstrap(RESAMPLES), np.arange(len(truth))
        for judge in judges.T:
            patterns = find_patterns(np.column_stack([truth, judge]))
            both = margins(drawn.draws(patterns, sources), *patterns.rows.T, LEVELS)
            percentile_interval(agreement.weighted_f1(both))
        patterns = find_patterns(np.sort(people, axis=1))
        counts = class_counts(patterns.rows, LEVELS)
        percentile_interval(
            agreement.fleiss_disagreement(drawn.draws(patterns, sources), counts).beyond_chance
        )


def resample_pairs(worlds: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> None:
    for _, truth, judges in worlds:
        patterns = find_patterns(np.column_stack([truth, judges[:, :2]]))
        counts = SourceBootstrap(RESAMPLES).draws(patterns, np.arange(len(truth)))
        answers, *both = patterns.rows.T
        first, second = (
            agreement.weighted_f1(margins(counts, answers, judge, LEVELS)) for judge in both
        )
        percentile_interval(first - second)


def loop(people: np.ndarray, truth: np.ndarray, judges: np.ndarray, resamples: int) -> None:
    for rows in np.random.default_rng(0).integers(0, len(truth), (resamples, len(truth))):
        for judge in judges.T:
            f1_score(truth[rows], judge[rows], average="weighted", zero_division=0)
        fleiss_kappa(aggregate_raters(people[rows], n_cat=LEVELS)[0])


def loop_pairs(_: np.ndarray, truth: np.ndarray, judges: np.ndarray, resamples: int) -> None:
    for rows in np.random.default_rng(0).integers(0, len(truth), (resamples, len(truth))):
        for judge in judges.T[:2]:
            f1_score(truth[rows], judge[rows], average="weighted", zero_division=0)


def leave_one_out() -> None:
    """20 alphas x 8 folds on 16,000 rows, scaler and intercept refitted in each."""
    rng = np.random.default_rng(0)
    generator = np.repeat(np.arange(GENERATORS), SEGMENTS)
    truth = rng.normal(size=len(generator)) + rng.normal(size=GENERATORS)[generator] / 3
    shared = rng.normal(size=(len(generator), 3)) @ rng.normal(size=(3, METRICS))
    metrics = (
        truth[:, None] * rng.uniform(0.3, 1, METRICS)
        + shared
        + rng.normal(size=(len(generator), METRICS))
    )
    metrics[:, 1] = metrics[:, 0]
    target = 80 + 8 * truth + 12 * rng.normal(size=len(generator))
    alphas = np.geomspace(0.05, 4, ALPHAS)

    def ours() -> np.ndarray:
        return leave_one_out_correlation(generator_moments(metrics, target, generator), alphas)

    def theirs() -> np.ndarray:
        predicted = np.zeros((ALPHAS, len(target)))
        for fold in range(GENERATORS):
            out = generator == fold
            mean, spread = metrics[~out].mean(axis=0), metrics[~out].std(axis=0)
            train, test = (metrics[~out] - mean) / spread, (metrics[out] - mean) / spread
            for place, alpha in enumerate(alphas):
                fitted = Lasso(alpha=alpha, max_iter=100_000).fit(train, target[~out])
                predicted[place, out] = fitted.predict(test)
        return np.array([np.corrcoef(row, target)[0, 1] for row in predicted])

    name = f"leave-one-out, {ALPHAS} alphas x {GENERATORS} folds"
    report(
        name, median_seconds(ours), seconds(theirs), 15, "scikit-learn Lasso, its default tolerance"
    )


def mixed_model() -> None:
    """s ~ machine + h + (1 | source) on 18,000 rows, balanced and not."""
    rng = np.random.default_rng(1)
    everything = np.repeat(np.arange(MIXED_SOURCES), MIXED_GENERATORS)
    machine = np.tile(np.arange(MIXED_GENERATORS) > 0, MIXED_SOURCES).astype(float)
    for balanced in (True, False):
        kept = (
            np.ones(len(everything), dtype=bool) if balanced else rng.random(len(everything)) < 0.9
        )
        source = everything[kept]
        columns = np.column_stack(
            [np.ones(len(source)), machine[kept], rng.normal(size=len(source))]
        )
        score = (
            columns @ [0.0, 0.3, 0.4]
            + rng.normal(size=MIXED_SOURCES)[source]
            + rng.normal(size=len(source))
        )

        def ours(score=score, columns=columns, source=source) -> object:
            return random_intercept(score, columns, source)

        def theirs(score=score, columns=columns, source=source) -> object:
            return sm.MixedLM(score, columns, groups=source).fit(reml=True)

        name = f"mixed model, {len(source):,} rows, {'balanced' if balanced else 'unbalanced'}"
        report(name, median_seconds(ours), seconds(theirs), 50, "statsmodels MixedLM")


def pairs() -> None:
    """Tie calibration of one rater, and PERM-BOTH of all pairs of ten, on 15 systems x 1,315
    segments.
    """
    rng = np.random.default_rng(2)
    people = np.round(rng.normal(size=(SYSTEMS, 1)) / 3 + rng.normal(size=(SYSTEMS, SOURCES)), 1)
    raters = (
        people
        + rng.normal(size=(RATERS, SYSTEMS, SOURCES)) * np.linspace(1, 1.2, RATERS)[:, None, None]
    )
    first, second = raters[0], raters[1]
    calibrate, test, peer = mt_metrics_eval() or (
        plain_calibration,
        plain_test,
        "plain loops in its stead",
    )

    def ours() -> float:
        return calibrate_ties(people, first).accuracy

    report(
        "tie calibration", median_seconds(ours), seconds(lambda: calibrate(people, first)), 20, peer
    )
    flat = raters.reshape(RATERS, -1)

    def all_pairs() -> np.ndarray:
        return correlates_better(
            people.ravel(), flat, np.random.default_rng(0), resamples=RESAMPLES
        )

    one_pair = seconds(lambda: test(people, first, second))
    count = RATERS * (RATERS - 1) // 2
    mine = median_seconds(
        lambda: correlates_better(people.ravel(), flat[:2], np.random.default_rng(0))
    )
    report("PERM-BOTH, one pair of raters", mine, one_pair, 20, peer)
    report(
        f"PERM-BOTH, all {count} pairs of {RATERS} raters",
        median_seconds(all_pairs),
        one_pair * count,
        20,
        peer,
    )


def mt_metrics_eval() -> tuple[Callable[..., float], Callable[..., float], str] | None:
    """Its tie calibration and permutation test, where it is installed."""
    try:
        from mt_metrics_eval import stats, tau_optimization
    except ImportError:
        return None

    def calibrate(people: np.ndarray, rater: np.ndarray) -> float:
        accuracy = tau_optimization.TauSufficientStats.acc_23
        return float(tau_optimization.tau_optimization(rater.T, people.T, accuracy).best_tau)

    def test(people: np.ndarray, first: np.ndarray, second: np.ndarray) -> float:
        wanted = people.ravel().tolist()
        one, other = (
            stats.Correlation(SYSTEMS, wanted, rater.ravel().tolist()) for rater in (second, first)
        )
        whole = stats.PermutationSigDiffParams(block_size=RESAMPLES)
        return float(stats.PermutationSigDiff(one, other, pearsonr, "none", RESAMPLES, whole)[0])

    return calibrate, test, "mt-metrics-eval"


# how the two stand on a pair of one source
CONCORDANT, DISCORDANT, TIED_PEOPLE, TIED_RATER, TIED_BOTH = range(5)


def plain_calibration(people: np.ndarray, rater: np.ndarray) -> float:
    """Pair after pair: sort by the rater's difference, then turn each into a tie, and its source's
    share with it.
    """
    pairs, sources = [], [[0] * 5 for _ in people.T]
    for source, (wanted, given) in enumerate(zip(people.T, rater.T, strict=True)):
        for i in range(len(wanted)):
            for j in range(i + 1, len(wanted)):
                before, after = before_and_after(wanted[i] - wanted[j], given[i] - given[j])
                pairs.append((abs(given[i] - given[j]), source, before, after))
                sources[source][before] += 1
    pairs.sort(key=lambda pair: pair[0])
    total = sum(map(accuracy, sources))
    epsilons, totals = [0.0], [total]
    for gap, source, before, after in pairs:
        total -= accuracy(sources[source])
        sources[source][before] -= 1
        sources[source][after] += 1
        total += accuracy(sources[source])
        if gap == epsilons[-1]:
            totals[-1] = total
        else:
            epsilons.append(gap)
            totals.append(total)
    return max(totals) / len(sources)


def accuracy(counts: list[int]) -> float:
    return (counts[CONCORDANT] + counts[TIED_BOTH]) / sum(counts)


def before_and_after(gap_people: float, gap: float) -> tuple[int, int]:
    """How a pair stands, and how it would as a tie of the rater's."""
    if gap_people == 0:
        return (TIED_BOTH if gap == 0 else TIED_PEOPLE), TIED_BOTH
    if gap == 0:
        return TIED_RATER, TIED_RATER
    return (CONCORDANT if gap_people * gap > 0 else DISCORDANT), TIED_RATER


def plain_test(people: np.ndarray, first: np.ndarray, second: np.ndarray) -> float:
    """Resample after resample: swap, correlate twice with scipy, compare."""
    rng = np.random.default_rng(0)
    wanted, one, other = (
        people.ravel(),
        zscore(first, axis=None).ravel(),
        zscore(second, axis=None).ravel(),
    )
    observed = pearsonr(one, wanted)[0] - pearsonr(other, wanted)[0]
    above = 0
    for _ in range(RESAMPLES):
        swap = rng.binomial(1, 0.5, len(wanted)).astype(bool)
        left, right = np.where(swap, other, one), np.where(swap, one, other)
        above += pearsonr(left, wanted)[0] - pearsonr(right, wanted)[0] >= observed
    return above / RESAMPLES


def report(task: str, mine: float, theirs: float, target: int, peer: str) -> None:
    print(f"{task:<46}{mine:>10.4f}{theirs:>12.2f}{theirs / mine:>8.0f}x{target:>8}x  {peer}")


if __name__ == "__main__":
    main()
