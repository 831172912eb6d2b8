"""Who rated what: the tables of `metal check`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from metal.data.dataset import Dataset


def profile(dataset: Dataset) -> dict[str, pd.DataFrame]:
    """Three tables by name.

    ratings: for each language and criterion, ratings by kind of rater, and outputs that 1, 2, 3 or more people rated.
    raters: for each rater, kind, group, numbers of questions and answers, coverage, languages and criteria.
    labels: for each rater and criterion, how often it gave each level.
    """
    return {"ratings": _ratings(dataset), "raters": _raters(dataset), "labels": _labels(dataset)}


def _ratings(dataset: Dataset) -> pd.DataFrame:
    table = dataset.ratings
    kinds = table.groupby(["language", "criterion", "kind"], observed=True).size().unstack("kind", fill_value=0)
    human = table[(table["kind"] == "human") & table["score"].notna()]
    people = human.groupby(["language", "criterion", "output"], observed=True).size().rename("people").reset_index()
    people["people"] = people["people"].clip(upper=3).map({1: "by 1", 2: "by 2", 3: "by 3+"})
    sizes = people.groupby(["language", "criterion", "people"], observed=True).size().unstack("people", fill_value=0)
    outputs = table.groupby(["language", "criterion"], observed=True)["output"].nunique().rename("outputs")
    joined = pd.concat([outputs, kinds, sizes], axis=1).fillna(0).astype(np.int64)
    joined.columns = [str(name) for name in joined.columns]
    return joined.sort_index().reset_index()


def _raters(dataset: Dataset) -> pd.DataFrame:
    rows = []
    grouped = dict(list(dataset.ratings.groupby("rater", observed=True)))
    for name, rater in sorted(dataset.raters.items()):
        ratings = grouped.get(name, dataset.ratings.iloc[:0])
        asked, answered = len(ratings), int(ratings["score"].notna().sum())
        rows.append(
            {
                "rater": name,
                "kind": rater.kind,
                "group": rater.group,
                "asked": asked,
                "answered": answered,
                "coverage": answered / asked if asked else float("nan"),
                "languages": ratings["language"].nunique(),
                "criteria": ratings["criterion"].nunique(),
            }
        )
    return pd.DataFrame(rows)


def _labels(dataset: Dataset) -> pd.DataFrame:
    rows = []
    answered = dataset.ratings[dataset.ratings["score"].notna()]
    for (criterion, rater), ratings in answered.groupby(["criterion", "rater"], observed=True, sort=True):
        counts = ratings["score"].value_counts()
        for level in dataset.criteria[str(criterion)].scale.levels:
            count = int(counts.get(level.value, 0))
            rows.append(
                {
                    "criterion": criterion,
                    "rater": rater,
                    "level": f"{level.value:g} {level.label}",
                    "count": count,
                    "share": count / len(ratings),
                }
            )
    return pd.DataFrame(rows, columns=["criterion", "rater", "level", "count", "share"])
