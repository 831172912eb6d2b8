"""How much a rater's answers to pairs depend on the order in which the outputs were shown."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from metal.auditing.cells import judges_of
from metal.auditing.figures import columns, undefined_note
from metal.auditing.settings import AuditSettings
from metal.data.dataset import Dataset
from metal.data.pairs import MADE, swapped_pairs
from metal.data.people import people_named
from metal.data.records import FIRST, SECOND, Estimate
from metal.stats.intervals import interval_of_mean
from metal.stats.leniency import mean_shift
from metal.stats.significance import by_family, holm

NEVER_BOTH = "no pair was answered in both orders"
ONE_ORDER = (
    "all pairs were shown in one order, so a preference for the first place cannot be told from "
    "quality"
)


def pair_rows(dataset: Dataset, settings: AuditSettings) -> Iterator[dict[str, Any]]:
    """A row for each rater of pairs, by language and criterion, if some pairs were shown in reverse
    order.

    swap_consistency: the share of pairs answered in both orders that got the same answer.
    first_place: the share of answers other than ties that chose the output shown first;
    first_place_log_odds: 0 if the order does not matter. Intervals are over sources (Wilson's on
    the jackknife). p: the p-value of the hypothesis that the order does not matter, by Student's t
    over sources, with Holm's correction over the rater's rows.
    """
    swapped = swapped_pairs(dataset)
    if not swapped:
        return
    table = dataset.ratings[dataset.ratings["score"].notna()]
    table = table.assign(
        turned=table["output"].isin(swapped), pair=table["output"].astype(object).replace(swapped)
    )
    limits = (
        ("criterion", settings.criteria),
        ("language", settings.languages),
        ("rater", [*people_named(dataset, settings.reference), *judges_of(dataset, settings)]),
    )
    for column, names in limits:
        table = table[table[column].isin(names)] if names else table
    records: list[dict[str, Any]] = []
    p_values: list[float] = []
    grouped: Any = table.groupby(["criterion", "language", "rater"], observed=True)
    for (criterion, language, rater), rows in grouped:
        never_shown = MADE in dataset.extra and not rows["turned"].any()
        if never_shown or not rows["pair"].isin(set(swapped.values())).any():
            continue
        both = rows.groupby("pair").agg(
            n=("score", "size"), answers=("score", "nunique"), source=("source", "first")
        )
        both = both[both["n"] == 2]
        consistent = _share(both["answers"] == 1, both["source"], NEVER_BOTH)
        decided = rows[rows["score"].isin((FIRST, SECOND))]
        first, p = Estimate.undefined(ONE_ORDER, len(decided)), math.nan
        if rows["turned"].any() and not rows["turned"].all():
            chose_first = (decided["score"] == SECOND) == decided["turned"]
            first = _share(chose_first, decided["source"], "every answer is a tie")
            if len(decided):
                p = float(
                    mean_shift(chose_first.to_numpy() - 0.5, pd.factorize(decided["source"])[0]).p[
                        0
                    ]
                )
        figures = {
            "swap_consistency": consistent,
            "first_place": first,
            "first_place_log_odds": _log_odds(first),
        }
        p_values.append(p)
        records.append(
            {
                "language": language,
                "criterion": criterion,
                "judge": rater,
                "items": int(rows["pair"].nunique()),
                "both_orders": len(both),
                **columns(figures),
                "undefined": undefined_note(figures),
            }
        )
    for row, p in zip(
        records, by_family(p_values, [row["judge"] for row in records], holm), strict=True
    ):
        yield row | {"p_adjusted": p}


def _share(yes: pd.Series, source: pd.Series, why: str) -> Estimate:
    """The share of true values in a column, with its interval over sources."""
    if yes.empty:
        return Estimate.undefined(why)
    codes = pd.factorize(source.astype(object))[0]
    counts = np.bincount(codes).astype(np.float64)
    ends = interval_of_mean(np.bincount(codes, yes).astype(np.float64), counts)
    return Estimate(float(yes.mean()), *ends, n=len(yes))


def _log_odds(share: Estimate) -> Estimate:
    """The log-odds of a share; undefined at 0 and 1, whose log-odds are infinite."""
    if share.value is None or share.low is None or share.high is None:
        return Estimate.undefined(share.reason, share.n)
    if not 0 < share.value < 1:
        return Estimate.undefined("always chose the same place", share.n)
    parts = share.value, share.low, share.high
    value, low, high = (
        math.log(p / (1 - p)) if 0 < p < 1 else math.copysign(math.inf, p - 0.5) for p in parts
    )
    return Estimate(value, low, high, n=share.n)
