"""A threshold of confidence above which a judge may answer alone, with a guarantee of its
agreement.

Source: fixed sequence testing, as Jung et al. (2025) use it for judges. Thresholds are tried from
strict to loose, each by an exact binomial test (Clopper and Pearson 1934); the first that fails
ends the sequence, so the chance of a threshold whose errors exceed alpha is at most delta.
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
    """value: confidence from which on an answer is kept, NaN if none is guaranteed. kept,
    errors: of the items that decided; limit: the upper limit of the share of errors, NaN with the
    value."""

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
    """The fewest items that can guarantee anything: all right, they keep the limit at alpha.

    >>> needed(0.1, 0.05)
    29
    """
    return int(np.ceil(np.log(delta) / np.log1p(-alpha)))


def first_step(alpha: float, delta: float) -> int:
    """How many items the strictest threshold should keep: a judge with half the errors allowed
    passes there.
    """
    items = needed(alpha, delta)
    while upper_limit(int(items * alpha / 2), items, delta) > alpha:
        items += 1
    return items


def answers_at(confidence: Numbers, threshold: float) -> Codes:
    """(items,) the place of the first judge whose confidence reaches the threshold, -1 where none
    does.

    confidence: (items, judges), NaN without an answer; in the order in which judges are asked.
    >>> answers_at(np.array([[0.9, np.nan], [0.5, 0.8], [0.5, np.nan]]), 0.7).tolist()
    [0, 1, -1]
    """
    sure = confidence >= threshold
    return np.where(sure.any(axis=1), sure.argmax(axis=1), -1)


def fixed_sequence(confidence: Numbers, wrong: Numbers, alpha: float, delta: float) -> Threshold:
    """The loosest threshold of the sequence at which errors among the kept are at most alpha,
    surely up to delta.

    confidence: (items, judges) as in `answers_at`; of independent items. wrong: (items, judges) 0
    or 1. The sequence begins where enough items are kept (`first_step`, or half of them), which
    looks at no error.
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
