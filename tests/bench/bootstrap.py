"""Speed of the bootstrap against loops over scikit-learn and statsmodels, in one run.

    python -m tests.bench.bootstrap

1,000 resamples of weighted F1 (6 judges) and of Fleiss' kappa, 10 languages x 5 criteria, at 1,000 and
10,000 items a language; and paired differences of two judges. The loops are timed on a sample of their
resamples and extrapolated, and say so; ours runs in full.
"""

from __future__ import annotations

import resource
import time
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.metrics import f1_score
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from metal.stats import agreement
from metal.stats.bootstrap import SourceBootstrap, percentile_interval
from metal.stats.patterns import class_counts, confusion, find_patterns

LANGUAGES, CRITERIA, JUDGES, RESAMPLES, LEVELS = 10, 5, 6, 1000, 3
SAMPLE = 20
TARGETS = {("bootstrap", 1_000): 500, ("bootstrap", 10_000): 1000, ("paired", 1_000): 200, ("paired", 10_000): 200}


def world(items: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """People (items, 3), their majority or middle (items,), judges (items, 6)."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(LEVELS, items, p=[0.2, 0.3, 0.5])

    def noisy(columns: int) -> np.ndarray:
        wrong = rng.random((items, columns)) < 0.25
        return np.where(wrong, rng.integers(0, LEVELS, (items, columns)), truth[:, None])

    return noisy(3), truth, noisy(JUDGES)


def ours(people: np.ndarray, truth: np.ndarray, judges: np.ndarray, bootstrap: SourceBootstrap) -> None:
    sources = np.arange(len(truth))
    for judge in judges.T:
        patterns = find_patterns(np.column_stack([truth, judge]))
        counts = bootstrap.draws(patterns, sources)
        percentile_interval(agreement.weighted_f1(confusion(counts, patterns.rows[:, 0], patterns.rows[:, 1], LEVELS)))
    patterns = find_patterns(np.sort(people, axis=1))
    counts = bootstrap.draws(patterns, sources)
    percentile_interval(agreement.fleiss_kappa(counts, class_counts(patterns.rows, LEVELS)))


def ours_paired(truth: np.ndarray, judges: np.ndarray, bootstrap: SourceBootstrap) -> None:
    patterns = find_patterns(np.column_stack([truth, judges[:, :2]]))
    counts = bootstrap.draws(patterns, np.arange(len(truth)))
    first, second = (
        agreement.weighted_f1(confusion(counts, patterns.rows[:, 0], patterns.rows[:, judge], LEVELS))
        for judge in (1, 2)
    )
    percentile_interval(first - second)


def loop(people: np.ndarray, truth: np.ndarray, judges: np.ndarray, resamples: int) -> None:
    rng = np.random.default_rng(0)
    for _ in range(resamples):
        rows = rng.integers(0, len(truth), len(truth))
        for judge in judges.T:
            f1_score(truth[rows], judge[rows], average="weighted", zero_division=0)
        fleiss_kappa(aggregate_raters(people[rows], n_cat=LEVELS)[0])


def loop_paired(truth: np.ndarray, judges: np.ndarray, resamples: int) -> None:
    rng = np.random.default_rng(0)
    for _ in range(resamples):
        rows = rng.integers(0, len(truth), len(truth))
        for judge in judges.T[:2]:
            f1_score(truth[rows], judge[rows], average="weighted", zero_division=0)


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    """Print a table of both, the ratios and the targets."""
    warnings.simplefilter("ignore")
    cells = LANGUAGES * CRITERIA
    print(f"{cells} cells, {RESAMPLES} resamples; loops timed on {SAMPLE} resamples of one cell and extrapolated")
    print(f"{'task':<10}{'items':>8}{'ours s':>10}{'loop s':>12}{'ratio':>9}{'target':>9}")
    for items in (1_000, 10_000):
        measure(items, cells)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def measure(items: int, cells: int) -> None:
    """Both tasks at one size."""
    worlds = [world(items, seed) for seed in range(cells)]
    people, truth, judges = worlds[0]
    ours(people, truth, judges, SourceBootstrap(RESAMPLES, 1))  # warm up
    loop(people, truth, judges, 2)
    mine = seconds(lambda: [ours(*one, SourceBootstrap(RESAMPLES, 0)) for one in worlds])
    theirs = seconds(lambda: loop(people, truth, judges, SAMPLE))
    report("bootstrap", items, mine, theirs / SAMPLE * RESAMPLES * cells)
    mine = seconds(lambda: [ours_paired(one[1], one[2], SourceBootstrap(RESAMPLES, 0)) for one in worlds])
    theirs = seconds(lambda: loop_paired(truth, judges, SAMPLE))
    report("paired", items, mine, theirs / SAMPLE * RESAMPLES * cells)


def report(task: str, items: int, mine: float, theirs: float) -> None:
    print(f"{task:<10}{items:>8,}{mine:>10.2f}{theirs:>12.1f}{theirs / mine:>8.0f}x{TARGETS[task, items]:>8}x")


if __name__ == "__main__":
    main()
