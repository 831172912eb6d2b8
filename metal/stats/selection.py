"""A threshold of confidence above which a judge may answer alone, with guaranteed agreement.

Source: fixed sequence testing, as Jung et al. (2025) use it for judges. Thresholds are tried from
strict to loose, each with an exact binomial test (Clopper and Pearson 1934). The first failure ends
the sequence. So the chance that errors at the chosen threshold exceed alpha is at most delta.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metal.stats.patterns import Codes, Numbers

# Fixed beforehand, as the guarantee needs it; finer near 1, where confidences crowd.
GRID = (
    1.0,
    0.99999,
    0.9999,
    0.9995,
    0.999,
    0.9975,
    *(round(1 - step / 200, 3) for step in range(1, 201)),
)


@dataclass(frozen=True)
class Threshold:
    """value: answers with this confidence or more are kept; NaN if no threshold is guaranteed.
    kept, errors: how many of the items used for the choice are kept, and how many of these are
    wrong. limit: the upper limit of the share of errors, NaN if `value` is.
    """

    value: float
    kept: int
    errors: int
    limit: float


def upper_limit(errors: int, items: int, delta: float) -> float:
    """The Clopper-Pearson upper limit of a share at confidence 1 - delta; 1 without items.

    >>> round(upper_limit(0, 29, 0.05), 4)  # 1 - 0.05 ** (1 / 29)
    0.0981
    """
    from scipy.special import betaincinv

    return 1.0 if errors >= items else float(betaincinv(errors + 1, items - errors, 1 - delta))


def needed(alpha: float, delta: float) -> int:
    """The smallest number of items that can give a guarantee: if all of them are right, the upper
    limit of the share of errors, at confidence 1 - delta, is at most alpha.

    >>> needed(0.1, 0.05)
    29
    """
    return int(np.ceil(np.log(delta) / np.log1p(-alpha)))


def first_step(alpha: float, delta: float) -> int:
    """How many items the strictest threshold should keep, so that a judge with half of the allowed
    errors passes.
    """
    items = needed(alpha, delta)
    while upper_limit(int(items * alpha / 2), items, delta) > alpha:
        items += 1
    return items


def answers_at(confidence: Numbers, threshold: float) -> Codes:
    """(items,) the index of the first judge whose confidence reaches the threshold, -1 if none
    does.

    confidence: (items, judges), NaN without an answer; judges are in the order in which they are
    asked.
    >>> answers_at(np.array([[0.9, np.nan], [0.5, 0.8], [0.5, np.nan]]), 0.7).tolist()
    [0, 1, -1]
    """
    sure = confidence >= threshold
    return np.where(sure.any(axis=1), sure.argmax(axis=1), -1)


def fixed_sequence(confidence: Numbers, wrong: Numbers, alpha: float, delta: float) -> Threshold:
    """The loosest threshold of the sequence for which errors among kept items are at most alpha,
    with probability 1 - delta.

    confidence: (items, judges) as in `answers_at`, for independent items. wrong: (items, judges) 0
    or 1. The sequence begins at a threshold that keeps enough items (`first_step`, or half of
    them); this choice does not depend on the errors.
    """
    result, kept_before = Threshold(np.nan, 0, 0, np.nan), -1
    items = int((~np.isnan(confidence)).any(axis=1).sum())
    if items < needed(alpha, delta):
        return result
    enough = min(first_step(alpha, delta), max(needed(alpha, delta), items // 2))
    for value in GRID:
        who = answers_at(confidence, value)
        rows = np.flatnonzero(who >= 0)
        if len(rows) < enough:
            continue
        errors = int(wrong[rows, who[rows]].sum())
        limit = upper_limit(errors, len(rows), delta)
        if limit > alpha:
            return result
        if len(rows) != kept_before or confidence.shape[1] > 1:
            result, kept_before = Threshold(value, len(rows), errors, limit), len(rows)
    return result
