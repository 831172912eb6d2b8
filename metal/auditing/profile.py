"""Who rated what: the tables of `metal check`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from metal.data.dataset import Dataset


def profile(dataset: Dataset) -> dict[str, pd.DataFrame]:
    """Tables by name.

    ratings: per language and criterion, ratings by kind of rater, and outputs with 0, 1, 2, 3+ people.
    raters: per rater, kind, group, what it was asked and answered, coverage, languages and criteria.
    labels: per rater and criterion, how often it gave each level.
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
    for name in sorted(dataset.raters):
        rater, mine = dataset.raters[name], grouped.get(name)
        asked = 0 if mine is None else len(mine)
        answered = 0 if mine is None else int(mine["score"].notna().sum())
        rows.append(
            {
                "rater": name,
                "kind": rater.kind,
                "group": rater.group,
                "asked": asked,
                "answered": answered,
                "coverage": answered / asked if asked else float("nan"),
                "languages": 0 if mine is None else mine["language"].nunique(),
                "criteria": 0 if mine is None else mine["criterion"].nunique(),
            }
        )
    return pd.DataFrame(rows)


def _labels(dataset: Dataset) -> pd.DataFrame:
    rows = []
    answered = dataset.ratings[dataset.ratings["score"].notna()]
    for (criterion, rater), mine in answered.groupby(["criterion", "rater"], observed=True, sort=True):
        levels = dataset.criteria[str(criterion)].scale.levels
        counts = mine["score"].value_counts()
        for level in levels:
            count = int(counts.get(level.value, 0))
            rows.append(
                {
                    "criterion": criterion,
                    "rater": rater,
                    "level": f"{level.value:g} {level.label}",
                    "count": count,
                    "share": count / len(mine),
                }
            )
    return pd.DataFrame(rows, columns=["criterion", "rater", "level", "count", "share"])
