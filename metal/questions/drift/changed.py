"""The outputs on which a judge gives another answer than at the baseline."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd

from metal.data.dataset import Dataset
from metal.data.records import Criterion

KEYS = ["language", "criterion", "output"]
CHANGED = (*KEYS, "judge", "before_judge", "score_before", "score", "size")


def changed_answers(
    after: Dataset,
    before: Dataset,
    pairs: Mapping[str, str],
    criteria: Collection[str] = (),
    languages: Collection[str] = (),
) -> pd.DataFrame:
    """One row for each answer that has changed (CHANGED), the largest changes first.

    pairs: as `judge_pairs` returns them. criteria, languages: only these; empty for all. A score is
    NaN if the judge gave none then; such rows come last, as their change has no size. size: the
    distance as a share of the scale; on a nominal scale 1.
    """
    now = _answers(after, pairs, criteria, languages)
    now["before_judge"] = now["judge"].map(pairs)
    then = _answers(before, set(pairs.values()), criteria, languages)
    then = then.rename(columns={"judge": "before_judge", "score": "score_before"})
    both = now.merge(then, on=[*KEYS, "before_judge"])
    away = both["score"] - both["score_before"]
    answered = both["score"].notna() | both["score_before"].notna()
    both["size"] = away.abs() / both["criterion"].map(_spans(both, after.criteria)).astype(float)
    nominal = both["criterion"].isin(
        [name for name, each in after.criteria.items() if each.scale.measure == "nominal"]
    )
    both.loc[nominal, "size"] = np.sign(away.abs())
    changed = both[answered & (away != 0)]
    in_order = changed.sort_values("size", ascending=False, kind="stable", na_position="last")
    return in_order.loc[:, list(CHANGED)].reset_index(drop=True)


def _answers(
    dataset: Dataset, judges: Collection[str], criteria: Collection[str], languages: Collection[str]
) -> pd.DataFrame:
    """The scores of judges."""
    rows = dataset.ratings[dataset.ratings["rater"].isin(list(judges))]
    for column, wanted in (("criterion", criteria), ("language", languages)):
        rows = rows[rows[column].isin(list(wanted))] if wanted else rows
    answers = rows.loc[:, [*KEYS, "rater"]].astype(str).rename(columns={"rater": "judge"})
    return answers.assign(score=rows["score"])


def _spans(both: pd.DataFrame, criteria: Mapping[str, Criterion]) -> dict[Any, float]:
    """The range of each criterion's scale; without ends, of the scores that occur."""
    spans = {}
    for name, rows in both.groupby("criterion"):
        scale = criteria[str(name)].scale
        scores = rows[["score", "score_before"]].to_numpy()
        scores = scores[~np.isnan(scores)]
        ends = scale.ends or (scores.min(initial=np.inf), scores.max(initial=-np.inf))
        spans[name] = max(ends[1] - ends[0], 0.0) or 1.0
    return spans
