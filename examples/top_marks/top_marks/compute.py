"""Data in, a table out: no files, no pages."""

from __future__ import annotations

import pandas as pd

from metal.data.dataset import Dataset


def top_shares(dataset: Dataset) -> pd.DataFrame:
    """Count the best marks of each rater.

    Args:
        dataset: What was rated.

    Returns: A row for each language, criterion and rater: ratings, and the share of them at the
        best level.
    """
    rated = dataset.ratings.dropna(subset=["score"])
    rows = []
    keys = ["language", "criterion", "rater"]
    for (language, criterion, rater), ratings in rated.groupby(keys, observed=True):
        position = dataset.criteria[criterion].share(ratings["score"].to_numpy())
        row = {"language": language, "criterion": criterion, "rater": rater}
        rows.append(row | {"ratings": len(ratings), "top": float((position == 1).mean())})
    return pd.DataFrame(rows, columns=[*keys, "ratings", "top"])
