"""The figures that other libraries compute, each in one call; NaN if a library gives no number."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from metal.errors import MissingExtra

SKLEARN, KRIPPENDORFF, STATSMODELS, SCIPY = "scikit-learn", "krippendorff", "statsmodels", "scipy"
NEEDED = (SKLEARN, KRIPPENDORFF, STATSMODELS, SCIPY)
LARGEST = 20_000_000  # numbers in the krippendorff package's array (outputs, values, values)


@dataclass(frozen=True)
class Recomputed:
    """A figure as another library computes it.

    items: the number of items from which it is computed. reason: why the library gives no number.
    """

    value: float
    library: str
    items: int
    reason: str = ""


def versions() -> dict[str, str]:
    """The versions of the libraries. Raises MissingExtra if one is not installed."""
    try:
        return {name: version(name) for name in NEEDED}
    except PackageNotFoundError:
        raise MissingExtra("metal verify", "verify") from None


def quietly(compute: Callable[..., float]) -> Callable[..., float]:
    """Wrap a function: hide its library's warnings, and return NaN if it raises an error or has no
    input.
    """

    @wraps(compute)
    def computed(*columns: Any, **options: Any) -> float:
        if not len(columns[0]):
            return math.nan
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                return float(compute(*columns, **options))
            except (ValueError, ZeroDivisionError, AssertionError):
                return math.nan

    return computed


@quietly
def f1(truth: Sequence[int], answer: Sequence[int], average: str = "weighted") -> float:
    """F1 by scikit-learn."""
    from sklearn.metrics import f1_score

    return float(f1_score(truth, answer, average=average, zero_division=0))


@quietly
def accuracy(truth: Sequence[int], answer: Sequence[int]) -> float:
    """The share of equal labels by scikit-learn."""
    from sklearn.metrics import accuracy_score

    return float(accuracy_score(truth, answer))


@quietly
def kappa(truth: Sequence[int], answer: Sequence[int]) -> float:
    """Cohen's kappa by scikit-learn."""
    from sklearn.metrics import cohen_kappa_score

    return float(cohen_kappa_score(truth, answer))


@quietly
def quadratic_kappa(table: Any, values: Sequence[float]) -> float:
    """Cohen's kappa by statsmodels, weighted by squared distances between values.

    table: (levels, levels) counts.
    """
    from statsmodels.stats.inter_rater import cohens_kappa

    return float(cohens_kappa(table, weights=values, wt="quadratic", return_results=False))


@quietly
def fleiss(table: Any) -> float:
    """Fleiss' kappa by statsmodels.

    table: (items, levels) counts, with equally many ratings per item.
    """
    from statsmodels.stats.inter_rater import fleiss_kappa

    return float(fleiss_kappa(table))


@quietly
def alpha(scores: Any, measure: Any, domain: Sequence[float]) -> float:
    """Krippendorff's alpha by the package krippendorff.

    scores: (raters, items), NaN without a score.
    """
    from krippendorff import alpha as of_package

    if np.shape(scores)[1] * len(domain) ** 2 > LARGEST:
        return math.nan
    return float(of_package(scores, value_domain=domain, level_of_measurement=measure))


@quietly
def pearson(first: Sequence[float], second: Sequence[float]) -> float:
    """Pearson's correlation by scipy."""
    from scipy.stats import pearsonr

    return float(pearsonr(first, second).statistic)


@quietly
def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's rank correlation by scipy."""
    from scipy.stats import spearmanr

    return float(spearmanr(first, second).statistic)


@quietly
def kendall(first: Sequence[float], second: Sequence[float]) -> float:
    """Kendall's tau-b by scipy."""
    from scipy.stats import kendalltau

    return float(kendalltau(first, second).statistic)


@quietly
def root_mean_squared(truth: Sequence[float], answer: Sequence[float]) -> float:
    """The root mean squared error by scikit-learn."""
    from sklearn.metrics import root_mean_squared_error

    return float(root_mean_squared_error(truth, answer))


def p_below(lead: Any, bound: float, *, signed_ranks: bool) -> float:
    """One-sided p-value by scipy for the hypothesis that a lead is below a bound, by a t test or
    Wilcoxon's test.
    """
    from scipy.stats import ttest_1samp, wilcoxon

    if np.ptp(lead) == 0:  # t is infinite
        return float(lead[0] >= bound)
    if signed_ranks:
        return float(wilcoxon(np.asarray(lead) - bound, alternative="less").pvalue)
    return float(ttest_1samp(lead, bound, alternative="less").pvalue)


def rejected(p_values: Sequence[float], q: float) -> list[bool]:
    """Which hypotheses Benjamini and Yekutieli's procedure rejects, by statsmodels."""
    from statsmodels.stats.multitest import multipletests

    return list(map(bool, multipletests(p_values, alpha=q, method="fdr_by")[0]))
